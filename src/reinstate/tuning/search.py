"""A random search on disk: rounds of candidates trained at once, for one agent after another.

    OUT/search.json   every trial, the best, and where the preset stands
    OUT/search.png    reward against each hyper-parameter; also as .svg

search.json is written after each round of an agent; after an interruption the same call continues
from there.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from reinstate import devices
from reinstate.analysis.documents import checked
from reinstate.analysis.searches import (
    Best,
    Place,
    Score,
    SearchDocument,
    Standing,
    StudyDocument,
    Trial,
)
from reinstate.errors import LARGEST_NUMBER, UserError, require_positive
from reinstate.figures import mpl
from reinstate.figures.search import search_panels
from reinstate.files import locked, read_json, require_empty, write_document
from reinstate.runs import size
from reinstate.runs.experiment import Experiment
from reinstate.runs.loop import Stopped, signals
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance
from reinstate.runs.run import require_same
from reinstate.settings import Settings, require_seed, to_dict
from reinstate.sweeps.executors import Crew
from reinstate.tuning.batch import TAIL, Scores
from reinstate.tuning.ranges import Candidate, Ranges, as_options, preset_candidate, rates_of
from reinstate.tuning.rounds import ROUNDS, Round, RoundTrainer, rounds_by_workers

SCORE = (
    f"mean reward per episode over the last {TAIL:.0%} of training epochs, mean over seeds;"
    " a setting whose loss or weights were not finite in any seed has none"
)
MOST_TRIALS = 100_000  # of all rounds


@dataclass(frozen=True)
class Search:
    """How many candidates are tried, and where they are drawn from."""

    trials: int = 16
    """Settings trained at once; the very first is the preset's own, the others are drawn."""
    rounds: int = 1
    """Rounds of that many trials; each round is kept as soon as it is finished."""
    seed: int = 0
    """Seed of the draw; the seeds of training are --seeds and --first-seed."""
    ranges: Ranges = field(default_factory=Ranges)

    def __post_init__(self) -> None:
        require_positive(trials=self.trials, rounds=self.rounds)
        require_seed(self.seed)
        if self.trials * self.rounds > MOST_TRIALS:
            raise UserError(
                f"{self.trials} trials in {self.rounds} rounds are more than the {MOST_TRIALS}"
                " that search.json can hold: lower --trials or --rounds"
            )

    def draw(self, number: int, preset: Candidate) -> list[Candidate]:
        """Draw the candidates of a round, whatever the number of rounds."""
        rng = np.random.default_rng((self.seed, number))
        drawn = [self.ranges.draw(rng) for _ in range(self.trials)]
        return [preset, *drawn[1:]] if number == 0 else drawn


class Asked(NamedTuple):
    """What is searched: an experiment with its settings, for the first agent, in some ranges."""

    experiment: Experiment
    preset: str
    agents: Sequence[str]
    settings: Settings
    search: Search

    def require_possible(self) -> None:
        """Refuse agents and settings that cannot work, before anything is written."""
        if not self.agents:
            raise UserError("--agents needs at least one name; `reinstate list` has them")
        for agent in self.agents:
            size.require_room(self.settings, agent, candidates=self.search.trials)

    def identity(self) -> dict[str, Any]:
        """Return what must be the same to continue; rounds and other agents may be added."""
        kept = {
            "experiment": self.experiment.name,
            "agent": self.agents[0],
            "settings": to_dict(self.settings),
            "ranges": to_dict(self.search.ranges),
            "trials_a_round": self.search.trials,
            "draw_seed": self.search.seed,
        }
        return json.loads(json.dumps(kept))  # as a file gives it back: tuples are lists


def search(
    asked: Asked, out: Path, reporter: Reporter, *, command: str, crew: Crew | None = None
) -> SearchDocument:
    """Search for the first agent; train the others at the same candidates, to see how they do.

    With a crew, each round of an agent is a job of a worker; without, all are of this process.
    """
    with locked(out):
        return _search(asked, out, reporter, command, crew)


def _search(
    asked: Asked, out: Path, reporter: Reporter, command: str, crew: Crew | None
) -> SearchDocument:
    experiment, preset, agents, settings, how = asked
    asked.require_possible()
    wanted, seconds = asked.identity(), {"compile": 0.0, "train": 0.0}
    new = {"experiment": experiment.name, "score": SCORE, "trials": [], "seconds": seconds}
    document = cast(SearchDocument, earlier(out, wanted, "trials") or new)
    missing = _missing(document["trials"], agents, how.rounds)
    if not missing:
        reporter.note(f"{out} already holds this search")
    preset_own = preset_candidate(settings.learner)
    todo = [Round(agent, number, how.draw(number, preset_own)) for agent, number in missing]
    found = rounds_by_workers(wanted, todo, out, crew, reporter) if crew else {}
    train_round = RoundTrainer(settings)
    with signals(reporter) as stop:
        for each in todo:
            agent, number, drawn = each
            scores = found[each.name] if crew else train_round(each, reporter, stop)
            _add_round(document, agent, number, drawn, scores)
            known = {"preset": preset, "command": command, **provenance()}
            known |= {"device": devices.describe(), **wanted}
            document |= cast(SearchDocument, known | _summary(document["trials"], settings, agents))
            (out / "search.svg").unlink(missing_ok=True)  # which shows fewer rounds
            write_document(out / "search.json", document)
            if stop:
                done = f"stopped after round {number + 1} of {agent}"
                raise Stopped(f"{done}: the same command continues")
    if not (out / "search.svg").exists():  # there are new rounds, or an earlier call was ended
        _draw(document, experiment, out)
    return document


def _draw(document: SearchDocument, experiment: Experiment, out: Path) -> None:
    mpl.save(search_panels(dict(document)), out / "search", f"{experiment.title}, search")


def earlier(out: Path, wanted: Mapping[str, Any], rows: str) -> dict[str, Any] | None:
    """Read the search that is in `out`, if it is of the same kind and the same settings.

    `rows` tells the kind: `trials` of a search, or the searches that are `studied`.
    """
    path = out / "search.json"
    if not path.exists():
        if not (out / ROUNDS).exists():  # of a call that was ended in its first round
            require_empty(out, "it holds no search; choose another --out")
        return None
    found = read_json(path)
    if not isinstance(found, dict) or not isinstance(found.get(rows), list):
        raise UserError(f"{path} is not of this kind of search: choose another --out")
    if rows == "studied":
        studied = [row.get("values") for row in found[rows] if isinstance(row, dict)]
        found.setdefault("tried", studied)  # by versions that did not keep the order
    kind: Any = {"trials": SearchDocument, "studied": StudyDocument}[rows]
    checked(kind, found, path, "hold a search of this program", "choose another --out")
    require_same(out, {name: found.get(name) for name in wanted}, dict(wanted))
    problem = _unsound_rounds(found) if rows == "trials" else _unsound_trials(found)
    if problem:
        raise UserError(f"{path} was altered: {problem}; choose another --out")
    return found


def _unsound_rounds(found: Any) -> str | None:
    """Say what is wrong with trials: rounds are whole, and settings are of what is searched."""
    sizes = Counter(trial["round"] for trial in found["trials"])
    if sizes.keys() != {*range(len(sizes))} or {*sizes.values()} - {found["trials_a_round"]}:
        return "a round of trials is not whole"
    if [trial["number"] for trial in found["trials"]] != [*range(len(found["trials"]))]:
        return "its trials are not numbered one by one"
    for trial in found["trials"]:
        if trial["setting"].keys() != {*Candidate._fields}:
            return f"trial {trial['number']} has other hyper-parameters"
        if not all(abs(value) <= LARGEST_NUMBER for value in trial["setting"].values()):
            return f"trial {trial['number']} has a setting that is no finite number"
    return None


def _unsound_trials(found: Any) -> str | None:
    """Say what is wrong with a study: what was tried is of what is varied, and has a result."""
    studied = [row["values"] for row in found["studied"]]
    for values in [*found["tried"], *studied]:
        known = values.keys() == found["vary"].keys()
        if not (known and all(value in found["vary"][name] for name, value in values.items())):
            return "a trial has values that are not among those to vary"
        if values not in studied:
            return "a trial has no result"
    return None


def _missing(trials: list[Trial], agents: Iterable[str], rounds: int) -> list[tuple[str, int]]:
    """Return agents and rounds still to be trained; a round of an agent is written whole or not."""
    done = {(agent, trial["round"]) for trial in trials for agent in trial["agents"]}
    return [pair for pair in product(dict.fromkeys(agents), range(rounds)) if pair not in done]


def _add_round(
    document: SearchDocument, agent: str, number: int, drawn: Sequence[Candidate], scores: Scores
) -> None:
    """Put what an agent earned in a round into the document."""
    document["seconds"]["compile"] += scores.compile_seconds
    document["seconds"]["train"] += scores.train_seconds
    trials = [trial for trial in document["trials"] if trial["round"] == number]
    if not trials:
        first = len(document["trials"])
        trials = [
            {"number": first + i, "round": number, "setting": candidate._asdict(), "agents": {}}
            for i, candidate in enumerate(drawn)
        ]
        document["trials"] += trials
    for trial, per_seed in zip(trials, scores.reward.tolist(), strict=True):
        kept = [reward if math.isfinite(reward) else None for reward in per_seed]
        reward = None if None in kept else float(np.mean(per_seed))
        trial["agents"][agent] = {"reward": reward, "per_seed": kept}


def ranked(trials: Sequence[Trial], agent: str) -> list[Trial]:
    """Sort the trials that an agent has done, the best first, failed ones last."""
    done = [trial for trial in trials if agent in trial["agents"]]  # of equals, the first drawn
    return sorted(done, key=lambda trial: worth(trial["agents"][agent]), reverse=True)


def worth(score: Score | None) -> float:
    """Return the reward, or minus infinity for what failed."""
    return -math.inf if score is None or score["reward"] is None else score["reward"]


def _summary(trials: list[Trial], settings: Settings, agents: Sequence[str]) -> dict[str, Any]:
    """Name the best for the first agent, and rank it and the preset for every agent."""
    chosen = ranked(trials, agents[0])[0]
    score, setting = chosen["agents"][agents[0]], chosen["setting"]
    options = as_options(rates_of(Candidate(**setting), settings.learner))
    best: Best = {"number": chosen["number"], "setting": setting, **score, "options": options}
    names = [name for trial in trials for name in trial["agents"]]
    return {
        "rounds": 1 + max(trial["round"] for trial in trials),
        "best": None if score["reward"] is None else best,
        "standing": {name: _standing(trials, name, chosen) for name in dict.fromkeys(names)},
    }


def _standing(trials: list[Trial], agent: str, chosen: Trial) -> Standing:
    """Rank, among an agent's trials, its best, the preset, and what the first agent's best is."""
    order = ranked(trials, agent)

    def place(number: int) -> Place | None:
        for rank, trial in enumerate(order, 1):
            if trial["number"] == number:
                return {"number": number, "rank": rank, **trial["agents"][agent]}
        return None  # not trained yet

    return {
        "trials": len(order),
        "failed": sum(trial["agents"][agent]["reward"] is None for trial in order),
        "best": place(order[0]["number"]),
        "preset": place(0),
        "chosen": place(chosen["number"]),
    }
