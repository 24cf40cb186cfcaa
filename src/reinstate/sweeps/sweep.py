"""A sweep on disk: many runs, done once each, by one or many processes; then one table and page.

    OUT/sweep.json         the runs, by name, with all their settings
    OUT/runs/NAME/         a run, as `reinstate train` and `evaluate` leave it
    OUT/jobs/              who has which run, and what came of it
    OUT/logs/              what workers said
    OUT/sweep.csv, .parquet  one row per seed
    OUT/report.html        all runs on one page

The same call again goes on with what is not done. Calls at the same time share the runs.
"""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from reinstate.analysis.documents import checked
from reinstate.errors import UserError
from reinstate.figures.page import require_report, write_page
from reinstate.files import InUse, locked, read_json, require_empty, write_document
from reinstate.files import sweep as tidy
from reinstate.runs.experiment import find_experiment
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance, today
from reinstate.settings import completed, differences
from reinstate.sweeps import runs
from reinstate.sweeps.crew import Supervisor
from reinstate.sweeps.executors import Crew
from reinstate.sweeps.plan import Asked, Job, plan
from reinstate.sweeps.queue import Outcome, Queue
from reinstate.sweeps.table import table_of, write_table

FILE = "sweep.json"
OURS = "hold a sweep of this program", "choose another --out"
PATIENCE = 10.0  # seconds for others who are about to write the same
MOST_ON_PAGE = 24  # runs of an experiment: more cannot be told apart in a chart


class SweepJob(TypedDict):
    """A run, in sweep.json."""

    name: str
    experiment: str
    agent: str
    preset: str
    options: dict[str, Any]
    settings: dict[str, Any]


class SweepDocument(TypedDict):
    """What sweep.json holds."""

    jobs: list[SweepJob]


class Swept(NamedTuple):
    """What came of a sweep."""

    jobs: list[Job]
    outcomes: dict[str, Outcome]
    files: list[Path]  # nothing, while others are at it


def sweep(asked: Asked, crew: Crew, out: Path, reporter: Reporter, *, command: str) -> Swept:
    """Do all runs of a sweep that are not done, and nobody else is at; then gather all."""
    crew.require_installed()
    jobs = plan(asked)
    require_report(out / "report.html")
    _claim_folder(out, jobs, command)
    queue = Queue(out, [job.name for job in jobs], asked.retries)
    Supervisor(queue, runs.MODULE, out, crew).run(reporter)
    outcomes = queue.outcomes()
    files = [] if queue.due() else gather(jobs, outcomes, out, reporter)
    return Swept(jobs, outcomes, files)


def gather(
    jobs: Sequence[Job], outcomes: Mapping[str, Outcome], out: Path, reporter: Reporter
) -> list[Path]:
    """Write one table and one page of all runs."""
    tidy(out / "jobs")
    files = write_table(table_of(jobs, outcomes), out / "sweep")
    shown: dict[str, list[Path]] = {}
    for job in jobs:
        if outcomes[job.name]["done"]:
            shown.setdefault(job.experiment, []).append(out / "runs" / job.name)
    if len(all_shown := [path for each in shown.values() for path in each[:MOST_ON_PAGE]]):
        with reporter.working("one page of all runs"):
            write_page(all_shown, out / "report.html")
        files.append(out / "report.html")
    for name, paths in shown.items():
        if len(paths) > MOST_ON_PAGE:
            reporter.note(f"report.html shows {MOST_ON_PAGE} of {len(paths)} runs of {name}")
    return files


def read_jobs(folder: Path) -> list[Job]:
    """Read the runs of the sweep in a folder."""
    path = folder / FILE
    found = checked(SweepDocument, read_json(path), path, *OURS)
    return [Job(**{name: job[name] for name in Job._fields}) for job in found["jobs"]]  # type: ignore[literal-required]


def _claim_folder(out: Path, jobs: Sequence[Job], command: str) -> None:
    """Write down whose folder this is, or make sure that it is of the same sweep."""
    if not (out / FILE).exists():
        began = time.monotonic()
        while True:
            try:
                with locked(out):
                    return _create(out, jobs, command)
            except InUse:  # by somebody who does the same, most likely
                if time.monotonic() - began > PATIENCE:
                    raise
                time.sleep(0.1)
    _require_same(out, read_jobs(out), jobs)


def _create(out: Path, jobs: Sequence[Job], command: str) -> None:
    if (out / FILE).exists():
        return _require_same(out, read_jobs(out), jobs)
    require_empty(out, "it holds no sweep; choose another --out")
    made = {"date": today(), "command": command, **provenance()}
    write_document(out / FILE, {"format": 1, **made, "jobs": [job._asdict() for job in jobs]})


def _require_same(out: Path, old: Sequence[Job], new: Sequence[Job]) -> None:
    """Refuse another sweep in the same folder."""
    before, now = {job.name: job for job in old}, {job.name: job for job in new}
    for name in dict.fromkeys([*before, *now]):
        if name not in now or name not in before:
            which = "is not part of this one" if name in before else "is not part of that one"
            raise UserError(f"{out} holds another sweep ({name} {which}): choose another --out")
        world = find_experiment(before[name].experiment).world
        known = completed(world, before[name].settings)
        if changed := differences(known, json.loads(json.dumps(now[name].settings))):
            raise UserError(
                f"{out} holds another sweep ({name}: {'; '.join(changed)}): choose another --out"
            )
