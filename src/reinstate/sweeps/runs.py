"""The job of a sweep: one run, trained to its end and judged with frozen weights.

`python -m reinstate.sweeps.runs FOLDER` is a worker on the sweep in a folder.
"""

import sys
import time
from pathlib import Path
from typing import Any

from reinstate import devices
from reinstate.analysis.documents import checked
from reinstate.analysis.results import Scores
from reinstate.figures.numbers import at
from reinstate.files import locked, read_json, write_document
from reinstate.runs import compile_cache
from reinstate.runs.experiment import find_experiment
from reinstate.runs.judge import Evaluator
from reinstate.runs.progress import Reporter
from reinstate.runs.run import Run, start_run
from reinstate.runs.training import Trained, train
from reinstate.settings import recorded_settings
from reinstate.sweeps.plan import Job
from reinstate.sweeps.queue import Queue
from reinstate.sweeps.worker import Do, main, require_untold

MODULE = "reinstate.sweeps.runs"


def do_run(job: Job, folder: Path, reporter: Reporter) -> dict[str, Any]:
    """Train a run, from its last checkpoint if there is one, and judge it; return its rows."""
    began = time.monotonic()
    experiment, path = find_experiment(job.experiment), folder / "runs" / job.name
    settings = recorded_settings(experiment.world, job.settings)
    with locked(path):
        run = start_run(experiment, job.agent, settings, path, resume=True)
        require_untold()
        trained = train(job.agent, settings, run, reporter)
        judging = time.monotonic()
        verdict = _judged(Evaluator(experiment, job.agent, settings), run, trained)
    now = time.monotonic()
    seconds = {"all": now - began, "training": judging - began, "judging": now - judging}
    return {"rows": rows_of(job, trained, verdict), "seconds": seconds}


def _judged(evaluator: Evaluator, run: Run, trained: Trained) -> Scores:
    """Judge a run, unless that was done before."""
    if run.evaluation_path.exists():
        return checked(Scores, read_json(run.evaluation_path), run.evaluation_path)
    verdict = evaluator.judge_run(run, trained.state)
    write_document(run.evaluation_path, {**verdict})
    return verdict


def rows_of(job: Job, trained: Trained, verdict: Scores) -> list[dict[str, Any]]:
    """Return one row per seed: what it earned, and what that took."""
    first, count = job.settings["first_seed"], job.settings["seeds"]
    rewards: Any = verdict["reward"]["per_seed"]
    regrets: list[float] | list[None] = regret_per_seed(verdict) or [None] * count
    seconds = sum(row["seconds"] for row in trained.metrics)
    steps = trained.metrics[-1]["steps"] // count
    return [
        {
            "seed": first + n,
            "reward": rewards[n],
            "regret": regrets[n],
            "steps": steps,
            "seconds": seconds / count,
        }
        for n in range(count)
    ]


def regret_per_seed(verdict: Scores) -> list[float] | None:
    """Return each seed's expected regret per episode, over all exposures; None if it has none."""
    episodes, by_seed = (
        at(verdict, "by_exposure", "episodes"),
        at(verdict, "by_exposure", "regret", "per_seed"),
    )
    if not (isinstance(episodes, list) and isinstance(by_seed, list)):
        return None
    if any(each is None for row in by_seed for each in row):
        return None
    total = sum(episodes)
    return [sum(n * x for n, x in zip(episodes, row, strict=True)) / total for row in by_seed]


def open_queue(folder: Path, retries: int) -> tuple[Queue, Do]:
    """Return the jobs of the sweep in a folder, and how one is done."""
    from reinstate.sweeps.sweep import read_jobs

    devices.divide_cpu()
    compile_cache.enable()
    jobs = {job.name: job for job in read_jobs(folder)}

    def do(name: str, reporter: Reporter) -> dict[str, Any]:
        return do_run(jobs[name], folder, reporter)

    return Queue(folder, [*jobs], retries), do


if __name__ == "__main__":
    sys.exit(main(open_queue, sys.argv[1:]))
