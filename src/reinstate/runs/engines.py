"""Who does the runs of a sweep: processes of this machine, submitit (Slurm), or Ray.

All do the same job, `do_run`; what differs is where. Here each run is a process of its own, so that
one that brings its process down brings down nothing else.
"""

import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from tyro.conf import arg

from reinstate import devices
from reinstate.errors import (
    UserError,
    one_line,
    require_choices,
    require_not_negative,
    require_positive,
)
from reinstate.files import InUse, locked
from reinstate.runs.card import save_scores
from reinstate.runs.evaluator import Evaluator
from reinstate.runs.experiment import find_experiment
from reinstate.runs.progress import Reporter
from reinstate.runs.run import Run, start_run
from reinstate.runs.training import train
from reinstate.settings import Value, recorded_settings

LAST_BYTES = 4000  # of a log, in which its last line is looked for
OWN = arg(help_behavior_hint="(default: the cluster's own)")


class Job(NamedTuple):
    """One run of a sweep."""

    name: str
    experiment: str
    agent: str
    preset: str
    options: Mapping[str, Value]  # what the sweep set, by the names of train's options
    settings: Mapping[str, Any]  # all, as plain values

    def run(self, folder: Path) -> Run:
        """Return its run, in the folder of the sweep."""
        return Run(folder / "runs" / self.name)

    def is_done(self, folder: Path) -> bool:
        """Whether it was trained and evaluated."""
        return self.run(folder).evaluation_path.exists()


def do_run(job: Job, folder: Path) -> None:
    """Train a run, from its last checkpoint if there is one, and evaluate it.

    What another process is at, or has done, is left as it is.
    """
    devices.divide_cpu()
    devices.keep_programs()
    experiment, reporter = find_experiment(job.experiment), Reporter()
    settings, path = recorded_settings(experiment.world, job.settings), job.run(folder).path
    try:
        with locked(path):
            run = start_run(experiment, job.agent, settings, path, resume=True)
            if not run.evaluation_path.exists():
                trained = train(job.agent, settings, run, reporter)
                evaluator = Evaluator(experiment, job.agent, settings)
                scores = evaluator.evaluate_run(run, trained.state)
                save_scores(run, scores)
    except InUse as error:
        reporter.note(one_line(error))


class Started:
    """A run that was handed over, by the three calls that it answers."""

    def __init__(
        self, done: Callable[[], bool], result: Callable[[], Any], stop: Callable[[], Any]
    ) -> None:
        self._done, self._result = done, result
        self.stop = stop  # after its epoch

    def ended(self) -> str | None:
        """Return None while it runs, then what went wrong, or nothing."""
        if not self._done():
            return None
        try:
            self._result()
        except Exception as error:  # submitit's or Ray's: with the whole traceback in its text
            return last_line(str(error)) or type(error).__name__
        return ""


Begin = Callable[[Job, Path], Started]


@dataclass(frozen=True)
class Engine:
    """Who does the runs, and how many at once."""

    executor: Literal["local", "submitit", "ray"] = "local"
    """Who does the runs: this machine; submitit, for Slurm; or the Ray cluster at RAY_ADDRESS."""
    workers: int = 1
    """Runs at once. One uses all cores of its machine, or the GPU that it is given."""
    partition: Annotated[str, OWN] = ""
    """Slurm's partition, with submitit."""
    timeout_min: int = 240
    """Minutes that a run may take, with submitit; then it is queued again, and continues."""
    cpus: Annotated[int, OWN] = 0
    """Cores for each run, with submitit or Ray."""
    gpus: Annotated[int, OWN] = 0
    """GPUs for each run, with submitit or Ray."""

    def __post_init__(self) -> None:
        require_choices(self)
        require_positive(workers=self.workers, timeout_min=self.timeout_min)
        require_not_negative(cpus=self.cpus, gpus=self.gpus)

    def require_installed(self) -> None:
        """Refuse an executor that is not installed, before anything is written."""
        if self.executor == "local":
            return
        if getattr(find_spec(self.executor), "origin", None) is None:  # a mere folder has none
            extra = "slurm" if self.executor == "submitit" else self.executor
            fix = f"pip install 'reinstate[{extra}]'"
            raise UserError(f"--executor {self.executor} needs its package: {fix}")

    def start(self, folder: Path) -> Begin:
        """Return what begins a job of the sweep in a folder."""
        if self.executor == "submitit":
            return self._submitit(folder)
        return self._ray() if self.executor == "ray" else local

    def _submitit(self, folder: Path) -> Begin:
        """Submit jobs to Slurm; where there is none, submitit does them here."""
        import submitit

        executor = submitit.AutoExecutor(folder=folder / "submitit")
        asked: dict[str, Any] = {"timeout_min": self.timeout_min, "name": "reinstate"}
        known = {"slurm_partition": self.partition, "cpus_per_task": self.cpus}
        known["gpus_per_node"] = self.gpus
        executor.update_parameters(**asked, **{n: v for n, v in known.items() if v})

        def begin(job: Job, folder: Path) -> Started:
            handed = executor.submit(Submitted(), job, folder)
            return Started(handed.done, handed.result, lambda: handed.cancel(check=False))

        return begin

    def _ray(self) -> Begin:
        """Hand jobs to a Ray cluster: that of RAY_ADDRESS, one on this machine, or a new one."""
        import ray

        if not ray.is_initialized():
            with warnings.catch_warnings():  # of JAX: what Ray forks executes another program
                warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
                ray.init(log_to_driver=False, include_dashboard=False)
        asked = {"num_cpus": self.cpus, "num_gpus": self.gpus}
        asked = {name: number for name, number in asked.items() if number}
        task = ray.remote(do_run).options(max_retries=0, **asked)

        def begin(job: Job, folder: Path) -> Started:
            handed = task.remote(job, folder)
            return Started(
                lambda: bool(ray.wait([handed], timeout=0)[0]),
                lambda: ray.get(handed),
                lambda: ray.cancel(handed),
            )

        return begin


def local(job: Job, folder: Path) -> Started:
    """Begin a run in a process of this machine, in a session of its own: Ctrl-C is not for it."""
    path = folder / "logs" / f"{job.name}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, "-m", "reinstate.runs.engines", str(folder)]
    with open(path, "ab") as log:
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
        )
    assert process.stdin
    with suppress(BrokenPipeError), process.stdin as given:  # it may have died at once
        given.write(json.dumps(job).encode())

    def result() -> None:
        if code := process.returncode:
            said = last_line(path.read_bytes()[-LAST_BYTES:].decode("utf-8", "replace"))
            raise RuntimeError(said if code > 0 else f"its process was killed by signal {-code}")

    return Started(lambda: process.poll() is not None, result, process.terminate)


class Submitted:
    """`do_run`, queued again when its time is up, as submitit wants that said."""

    def __call__(self, job: Job, folder: Path) -> None:
        do_run(job, folder)

    def checkpoint(self, job: Job, folder: Path) -> Any:
        import submitit

        return submitit.helpers.DelayedSubmission(self, job, folder)


def last_line(text: str) -> str:
    """Return the last line of a log or of a traceback that says anything."""
    line = next((line for line in reversed(text.split("\n")) if line.strip()), "")
    return one_line(line.removeprefix(f"{UserError.__module__}.{UserError.__name__}: "))


if __name__ == "__main__":  # a process of `local`: standard input describes the run
    do_run(Job(*json.load(sys.stdin)), Path(sys.argv[1]))
