"""A sweep on disk: experiments × agents × settings × seeds, done once each; then one table.

    OUT/runs/NAME/         a run, as `reinstate train` and `evaluate` leave it
    OUT/logs/              what the runs said
    OUT/sweep.csv          one row per seed

The same call again continues with what is not done. Calls at the same time share the runs: whoever
holds a run's own lock does it.
"""

import hashlib
import itertools
import json
import re
import time
import tomllib
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from reinstate.analysis.results import Scores
from reinstate.errors import Stopped, UserError
from reinstate.figures.chart import at
from reinstate.files import InUse, check, locked, read_bytes, read_json
from reinstate.runs import size
from reinstate.runs.choice_fits import write_csv
from reinstate.runs.engines import Begin, Engine, Job, Started
from reinstate.runs.experiment import Experiment, find_experiment
from reinstate.runs.loop import signals
from reinstate.runs.progress import Reporter, duration
from reinstate.settings import Value, changed, flat, from_dict, to_dict

LONGEST_NAME = 120  # characters of a run's name
PAUSE = 0.1  # seconds between looks at the runs under way
MEASURED = ("seed", "reward", "regret", "steps", "seconds")

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Asked:
    """What a sweep asks for."""

    experiments: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()  # of none, those of each experiment
    preset: str = "quick"
    seeds: int | None = None  # of none, the preset's
    first_seed: int | None = None
    seeds_per_run: int | None = None  # of none, all in one run
    retries: int = 1
    settings: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)


def read_file(path: Path) -> dict[str, Any]:
    """Read a sweep's TOML file: fields of `Asked`, by name."""
    try:
        found = tomllib.loads(read_bytes(path).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is no TOML file: {error}") from None
    asked = {key.replace("-", "_"): value for key, value in found.items()}
    if isinstance(table := asked.get("settings"), dict):
        asked["settings"] = {
            name: value if isinstance(value, list) else [value] for name, value in flat(table)
        }
    checked = from_dict(Asked, asked, str(path))
    return {name: getattr(checked, name) for name in asked}


def plan(asked: Asked) -> list[Job]:
    """List the runs of a sweep, each once; refuse what cannot work."""
    if not asked.experiments:
        raise UserError(
            "a sweep needs experiments, as in --experiments barcode-bandits water-maze;"
            " `reinstate list` has them"
        )
    jobs: dict[str, Job] = {}  # by what makes them what they are
    for name in asked.experiments:
        for job in _of_experiment(asked, find_experiment(name)):
            what = json.dumps([job.experiment, job.agent, job.settings], sort_keys=True)
            jobs.setdefault(what, job)
    if not jobs:
        raise UserError("a setting has nothing to choose from: there would be no run")
    return [*jobs.values()]


def _of_experiment(asked: Asked, experiment: Experiment) -> Iterator[Job]:
    agents = asked.agents or experiment.agents
    for agent, values in itertools.product(agents, itertools.product(*asked.settings.values())):
        options = dict(zip(asked.settings, values, strict=True))
        base = changed(experiment.preset(asked.preset), options)
        seeds = base.seeds if asked.seeds is None else asked.seeds
        first = base.first_seed if asked.first_seed is None else asked.first_seed
        step = seeds if asked.seeds_per_run is None else min(asked.seeds_per_run, seeds)
        size.require_room(replace(base, seeds=step, first_seed=first), agent, evaluated=True)
        for start in range(first, first + seeds, step):
            count = min(step, first + seeds - start)
            settings = to_dict(replace(base, seeds=count, first_seed=start))
            name = _name(asked, experiment.name, agent, options, range(start, start + count))
            yield Job(name, experiment.name, agent, asked.preset, options, settings)


def _name(
    asked: Asked, experiment: str, agent: str, options: Mapping[str, Value], seeds: range
) -> str:
    """Name a run by what tells it from others, and by a hash of all that was asked of it."""
    varied = [name for name, choices in asked.settings.items() if len(choices) > 1]
    short = [name.rpartition(".")[2] for name in varied]
    shown = [
        f"{name if short.count(last) > 1 else last}={options[name]}"
        for name, last in zip(varied, short, strict=True)
    ]
    last = f"seed{seeds[0]}" if len(seeds) == 1 else f"seeds{seeds[0]}-{seeds[-1]}"
    text = re.sub(r"[^\w.=+-]+", "_", "-".join([experiment, agent, *shown, last]))
    whole = [experiment, agent, asked.preset, sorted(options.items()), list(seeds)]
    digest = hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:8]
    return f"{text[:LONGEST_NAME]}-{digest}"


class Swept(NamedTuple):
    """What came of a sweep."""

    jobs: list[Job]
    rows: dict[str, Rows]  # one per seed, by the names of the runs that are done
    errors: dict[str, str]  # by the names of those that failed, the last time each
    files: list[Path]  # nothing, while others are at it


def sweep(asked: Asked, engine: Engine, out: Path, reporter: Reporter) -> Swept:
    """Do all runs of a sweep that are not done, and nobody else is at; then write one table."""
    engine.require_installed()
    jobs = plan(asked)
    folder = out.absolute()  # a cluster's machine starts elsewhere
    handed = Handed(
        [job for job in jobs if not job.is_done(folder)], engine, asked.retries, folder, reporter
    )
    if handed.total < len(jobs):
        reporter.note(f"{len(jobs) - handed.total} of {len(jobs)} runs were done before")
    handed.see_through()
    rows = {job.name: rows_of(job, out) for job in jobs if job.is_done(out)}
    errors = {name: error for name, error in handed.errors.items() if name not in rows}
    complete = len(rows) + len(errors) == len(jobs)
    files = []
    if complete:
        table = table_of(jobs, rows, errors)
        files.append(out / "sweep.csv")
        write_csv(files[0], [*table[0]], [[*row.values()] for row in table])
    return Swept(jobs, rows, errors, files)


class Handed:
    """Jobs that are handed over, as many at once as asked for."""

    def __init__(
        self, jobs: Sequence[Job], engine: Engine, retries: int, folder: Path, reporter: Reporter
    ) -> None:
        self.waiting, self.working = deque(jobs), dict[str, tuple[Job, Started]]()
        self.engine, self.retries, self.folder, self.reporter = engine, retries, folder, reporter
        self.failures, self.errors = Counter[str](), dict[str, str]()
        self.total, self.done, self.began = len(jobs), 0, time.monotonic()

    def see_through(self) -> None:
        """See all jobs to their ends; those that others are at are left to them.

        A signal stops the runs, each after the epoch it is in, and raises `Stopped`.
        """
        begin = self.engine.start(self.folder)
        with signals(self.reporter) as stop:
            try:
                while (self.waiting or self.working) and not stop:
                    self._fill(begin)
                    time.sleep(PAUSE)
                    self._look()
            finally:
                self._stop()
        if stop:
            so_far = f"{self.done} of {self.total} runs done"
            raise Stopped(f"stopped with {so_far}: the same command continues", stop[0])

    def _fill(self, begin: Begin) -> None:
        while self.waiting and len(self.working) < self.engine.workers:
            job = self.waiting.popleft()
            if _is_free(job, self.folder):
                self.working[job.name] = job, begin(job, self.folder)

    def _look(self) -> None:
        """Tell of those that ended; one that failed is tried again, after all others."""
        for job, started in [*self.working.values()]:
            if (error := started.ended()) is None:
                continue
            del self.working[job.name]
            if job.is_done(self.folder):
                self.done += 1
                self.errors.pop(job.name, None)
                pace = (time.monotonic() - self.began) / self.done
                left = duration(pace * (self.total - self.done))
                said = f"done; {self.done} of {self.total} runs done, {left} left"
            elif error:
                self.errors[job.name] = error
                self.failures[job.name] += 1
                if self.failures[job.name] <= self.retries:
                    self.waiting.append(job)
                said = f"failed: {error}"
            else:
                said = "somebody else is at it"
            self.reporter.note(f"{job.name}: {said}")

    def _stop(self) -> None:
        """Stop what is running, and wait for it."""
        for _, started in self.working.values():
            started.stop()
        while any(started.ended() is None for _, started in self.working.values()):
            time.sleep(PAUSE)


def _is_free(job: Job, folder: Path) -> bool:
    """Whether a run is not done, and nobody is at it."""
    try:
        with locked(job.run(folder).path):
            return not job.is_done(folder)
    except InUse:
        return False


def rows_of(job: Job, out: Path) -> Rows:
    """Return one row per seed of a run that is done: what it earned, and what that took."""
    run = job.run(out)
    scores = check(Scores, read_json(run.evaluation_path), run.evaluation_path)
    first, count = job.settings["first_seed"], job.settings["seeds"]
    rewards: Any = scores["reward"]["per_seed"]
    regrets: list[float] | list[None] = regret_per_seed(scores) or [None] * count
    metrics = run.read_metrics()
    seconds, steps = sum(row["seconds"] for row in metrics), metrics[-1]["steps"] // count
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


def regret_per_seed(scores: Scores) -> list[float] | None:
    """Return each seed's expected regret per episode, over all exposures; None if it has none."""
    episodes = at(scores, "by_exposure", "episodes")
    by_seed = at(scores, "by_exposure", "regret", "per_seed")
    if not (isinstance(episodes, list) and isinstance(by_seed, list)):
        return None
    if any(each is None for row in by_seed for each in row):
        return None
    total = sum(episodes)
    return [sum(n * x for n, x in zip(episodes, row, strict=True)) / total for row in by_seed]


def table_of(jobs: Sequence[Job], rows: Mapping[str, Rows], errors: Mapping[str, str]) -> Rows:
    """Put all runs into one table; those not done have a row each, without numbers."""
    options = list(dict.fromkeys(name for job in jobs for name in job.options))
    table = []
    for job in jobs:
        known: dict[str, Any] = {"run": job.name, "experiment": job.experiment, "agent": job.agent}
        known |= {"preset": job.preset, **{name: job.options.get(name) for name in options}}
        for row in rows.get(job.name, [{}]):
            numbers = {name: row.get(name) for name in MEASURED}
            table.append({**known, **numbers, "error": errors.get(job.name)})
    return table
