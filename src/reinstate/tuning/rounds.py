"""A round of a search: in this process, or as a job of a worker, here or on a cluster.

    OUT/rounds/rounds.json   what is searched, and the settings of each round
    OUT/rounds/jobs/         who has which round, and what came of it (`reinstate.sweeps.queue`)

`python -m reinstate.tuning.rounds OUT/rounds` is a worker on them. Rounds do not depend on each
other, and each is the same program wherever it runs.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np

from reinstate import devices
from reinstate.analysis.documents import checked
from reinstate.errors import UserError
from reinstate.files import read_json, write_document
from reinstate.runs import compile_cache
from reinstate.runs.experiment import find_experiment
from reinstate.runs.loop import signals
from reinstate.runs.progress import Reporter
from reinstate.runs.run import require_same
from reinstate.settings import Settings, recorded_settings
from reinstate.sweeps.crew import Supervisor
from reinstate.sweeps.executors import Crew
from reinstate.sweeps.queue import Queue
from reinstate.sweeps.worker import Do, main, told
from reinstate.tuning.batch import CandidateBatch, Scores
from reinstate.tuning.ranges import Candidate, rates_of

MODULE = "reinstate.tuning.rounds"
ROUNDS = "rounds"  # the folder
FILE = "rounds.json"
OURS = "hold rounds of a search", "choose another --out"
RETRIES = 1


class Round(NamedTuple):
    """Candidates that an agent is trained at, side by side."""

    agent: str
    number: int
    drawn: Sequence[Candidate]

    @property
    def name(self) -> str:
        return f"{self.agent}-round{self.number}"


class RoundDocument(TypedDict):
    """A round, in rounds.json."""

    agent: str
    number: int
    drawn: list[list[float]]


class RoundsDocument(TypedDict):
    """What rounds.json holds."""

    search: dict[str, Any]
    rounds: list[RoundDocument]


class RoundTrainer:
    """Trains rounds one after the other; an agent's program is compiled once for all."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.programs: dict[tuple[str, int], CandidateBatch] = {}

    def __call__(self, each: Round, reporter: Reporter, stop: Sequence[int]) -> Scores:
        """Train a round to its end, unless `stop` receives a signal before."""
        agent, number, drawn = each
        key = agent, len(drawn)
        if key not in self.programs:
            self.programs[key] = CandidateBatch(agent, self.settings, len(drawn))
        rates = [rates_of(candidate, self.settings.learner) for candidate in drawn]
        count, seeds = len(drawn), self.settings.seeds
        label = f"{agent}, round {number + 1}: {count} settings × {seeds} seeds"
        return self.programs[key].train(rates, reporter, label, stop)


def rounds_by_workers(
    search: Mapping[str, Any], todo: Sequence[Round], out: Path, crew: Crew, reporter: Reporter
) -> dict[str, Scores]:
    """Let workers train rounds; return their scores by name. What was done before is kept."""
    folder = out / ROUNDS
    if (folder / FILE).exists():
        require_same(out, _read(folder)["search"], {**search})
    rounds = [{**each._asdict(), "drawn": [[*c] for c in each.drawn]} for each in todo]
    write_document(folder / FILE, {"search": {**search}, "rounds": rounds})
    queue = Queue(folder, [each.name for each in todo], RETRIES)
    Supervisor(queue, MODULE, folder, crew).run(reporter)
    found = queue.outcomes()
    for name, outcome in found.items():
        if not outcome["done"]:
            why = outcome["error"] or "another process is at it"
            raise UserError(f"{name} failed: {why}; mend that, and remove {folder} to try again")
    return {name: _scores(outcome["result"]) for name, outcome in found.items()}


def _scores(result: Mapping[str, Any]) -> Scores:
    """Read scores as they were written; None is one that was not finite."""
    reward = [[math.nan if x is None else x for x in row] for row in result["reward"]]
    return Scores(np.array(reward), result["train_seconds"], result["compile_seconds"])


def _read(folder: Path) -> RoundsDocument:
    path = folder / FILE
    return checked(RoundsDocument, read_json(path), path, *OURS)


def open_queue(folder: Path, retries: int) -> tuple[Queue, Do]:
    """Return the rounds of the search in a folder, and how one is done."""
    devices.divide_cpu()
    compile_cache.enable()
    found = _read(folder)
    experiment = find_experiment(str(found["search"].get("experiment")))
    trainer = RoundTrainer(recorded_settings(experiment.world, found["search"].get("settings")))
    rounds = {
        made.name: made
        for each in found["rounds"]
        for made in [Round(each["agent"], each["number"], [Candidate(*c) for c in each["drawn"]])]
    }

    def do(name: str, reporter: Reporter) -> dict[str, Any]:
        with signals(reporter) as stop:
            reward, train_seconds, compile_seconds = trainer(rounds[name], reporter, stop)
        told.extend(stop)  # this round is done, but it is the last
        kept = [[x if math.isfinite(x) else None for x in row] for row in reward.tolist()]
        seconds = {"train_seconds": train_seconds, "compile_seconds": compile_seconds}
        return {"reward": kept, **seconds}

    return Queue(folder, [*rounds], retries), do


if __name__ == "__main__":
    sys.exit(main(open_queue, sys.argv[1:]))
