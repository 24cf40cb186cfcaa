"""Who starts workers: this machine, submitit (Slurm and what else it knows), or Ray.

All start the same process, with the same words; what differs is where. A worker is a process of its
own, so that a job that brings it down brings down nothing else.
"""

import subprocess
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

from reinstate.errors import UserError, require_choices, require_not_negative, require_positive
from reinstate.sweeps.worker import STOPPED

CRASHED = -1
PATIENCE = 300.0  # seconds for the epoch that a worker is in when a cluster tells it to stop
OWN = arg(help_behavior_hint="(default: the cluster's own)")


@dataclass(frozen=True)
class Crew:
    """Who does the work, and how many of them."""

    executor: Literal["local", "submitit", "ray"] = "local"
    """Who starts workers: this machine; submitit, for Slurm; or the Ray cluster at RAY_ADDRESS."""
    workers: int = 1
    """Workers at once. One uses all cores of its machine, or the GPU that it is given."""
    partition: Annotated[str, OWN] = ""
    """Slurm's partition, with submitit."""
    timeout_min: int = 240
    """Minutes that a worker may take, with submitit; then it is queued again, and continues."""
    cpus: Annotated[int, OWN] = 0
    """Cores for each worker, with submitit or Ray."""
    gpus: Annotated[int, OWN] = 0
    """GPUs for each worker, with submitit or Ray."""

    def __post_init__(self) -> None:
        require_choices(self)
        require_positive(workers=self.workers, timeout_min=self.timeout_min)
        require_not_negative(cpus=self.cpus, gpus=self.gpus)

    def require_installed(self) -> None:
        """Refuse an executor that is not installed, before anything is written."""
        names = {"submitit": ("submitit", "AutoExecutor", "slurm"), "ray": ("ray", "init", "ray")}
        if self.executor in names:
            name, needed, extra = names[self.executor]
            try:  # a folder of this name is a module too, but an empty one
                found = hasattr(import_module(name), needed)
            except ImportError:
                found = False
            if not found:
                fix = f"pip install 'reinstate[{extra}]'"
                raise UserError(f"--executor {name} needs the package {name}: {fix}")

    def start(self, folder: Path) -> "Executor":
        """Get ready to start workers on a folder."""
        kinds: dict[str, Any] = {"local": Local, "submitit": Submitit, "ray": Ray}
        made: Executor = kinds[self.executor](self, folder)
        return made


class Started(ABC):
    """A worker that was started."""

    @abstractmethod
    def ended(self) -> int | None:
        """Return its exit status, CRASHED if it has none; None while it is at work."""

    @abstractmethod
    def stop(self) -> None:
        """Tell it to stop when it can; told a second time, it is ended."""


class Executor(ABC):
    """What starts workers."""

    def __init__(self, crew: Crew, folder: Path) -> None:
        self.crew, self.folder = crew, folder

    @abstractmethod
    def begin(self, words: Sequence[str], log: Path) -> Started:
        """Start `python -m WORDS`, with what it prints in a log."""

    def close(self) -> None:  # noqa: B027, most hold nothing
        """Let go of what the executor holds."""


def spawn(words: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
    """Start a worker here, in a session of its own: Ctrl-C is for who started it."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "ab") as file:
        return subprocess.Popen(
            [sys.executable, "-m", *words],
            stdin=subprocess.PIPE,  # it stops when this end is closed
            stdout=file,
            stderr=file,
            start_new_session=True,
        )


class Launch:
    """Start a worker where this is called, and wait for it. For submitit and Ray."""

    def __call__(self, words: Sequence[str], log: str) -> int:
        with spawn(words, Path(log)) as process:  # which closes its input, whatever happens
            try:
                return process.wait()
            except BaseException:  # told to stop: it has some time to write a checkpoint
                process.terminate()
                try:
                    process.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()
                raise

    def checkpoint(self, *arguments: Any) -> Any:
        """Be queued again when time is up, as submitit wants it said."""
        import submitit

        return submitit.helpers.DelayedSubmission(self, *arguments)


class Local(Executor):
    """Start workers as processes of this machine."""

    def begin(self, words: Sequence[str], log: Path) -> Started:
        return _Process(spawn(words, log))


class _Process(Started):
    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process, self.told = process, False

    def ended(self) -> int | None:
        code = self.process.poll()
        if code is not None and self.process.stdin:
            self.process.stdin.close()
        return code

    def stop(self) -> None:
        self.process.kill() if self.told else self.process.terminate()
        self.told = True


class Submitit(Executor):
    """Submit workers to Slurm; where there is none, submitit starts them here."""

    def __init__(self, crew: Crew, folder: Path) -> None:
        super().__init__(crew, folder)
        import submitit

        self.executor = submitit.AutoExecutor(folder=folder / "submitit")
        asked: dict[str, Any] = {"timeout_min": crew.timeout_min, "name": "reinstate"}
        known = {"slurm_partition": crew.partition, "cpus_per_task": crew.cpus}
        known["gpus_per_node"] = crew.gpus
        self.executor.update_parameters(**asked, **{n: v for n, v in known.items() if v})

    def begin(self, words: Sequence[str], log: Path) -> Started:
        return _Submitted(self.executor.submit(Launch(), [*words], str(log)))


class _Submitted(Started):
    def __init__(self, job: Any) -> None:
        self.job, self.told = job, False

    def ended(self) -> int | None:
        if not self.job.done():
            return None
        try:
            return int(self.job.result())
        except Exception:  # submitit's, about a job that left no result
            return STOPPED if self.told else CRASHED

    def stop(self) -> None:
        self.told = True
        self.job.cancel(check=False)


class Ray(Executor):
    """Hand workers to a Ray cluster: that of RAY_ADDRESS, one on this machine, or a new one."""

    def __init__(self, crew: Crew, folder: Path) -> None:
        super().__init__(crew, folder)
        import ray

        self.ray, self.was_there = ray, ray.is_initialized()
        if not self.was_there:
            with warnings.catch_warnings():  # of JAX: what Ray forks executes another program
                warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
                ray.init(log_to_driver=False, include_dashboard=False)
        asked = {"num_cpus": crew.cpus, "num_gpus": crew.gpus}
        asked = {name: number for name, number in asked.items() if number}
        self.launch = ray.remote(_launch).options(max_retries=0, **asked)

    def begin(self, words: Sequence[str], log: Path) -> Started:
        return _Remote(self.ray, self.launch.remote([*words], str(log)))

    def close(self) -> None:
        if not self.was_there:
            self.ray.shutdown()


class _Remote(Started):
    def __init__(self, ray: Any, task: Any) -> None:
        self.ray, self.task, self.told = ray, task, False

    def ended(self) -> int | None:
        if not self.ray.wait([self.task], timeout=0)[0]:
            return None
        try:
            return int(self.ray.get(self.task))
        except Exception:  # Ray's, about a task that ended otherwise
            return STOPPED if self.told else CRASHED

    def stop(self) -> None:
        self.ray.cancel(self.task, force=self.told)
        self.told = True


def _launch(words: Sequence[str], log: str) -> int:
    """Do what `Launch` does, as a function, which Ray wants."""
    return Launch()(words, log)
