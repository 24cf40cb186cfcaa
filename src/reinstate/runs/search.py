"""A random search on disk: rounds of candidates trained at once, for one agent after another.

    OUT/search.json   every trial: its setting, and what each agent earned there
    OUT/search.png    reward against each hyper-parameter; also as .svg

search.json is written after each round of an agent; after an interruption the same call continues
from there.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, cast

import numpy as np

from reinstate import devices
from reinstate.analysis.results import Provenance
from reinstate.errors import Stopped, UserError, require_positive, require_seed
from reinstate.figures import mpl
from reinstate.figures.chart import Chart, Marker, Series
from reinstate.figures.style import BLACK, GREY, label, palette
from reinstate.files import check, locked, read_json, require_empty, write_document
from reinstate.learner import A2C, Rates
from reinstate.runs import size
from reinstate.runs.candidates import (
    Candidate,
    CandidateBatch,
    Ranges,
    Scores,
    preset_candidate,
    rates_of,
)
from reinstate.runs.experiment import Experiment
from reinstate.runs.loop import signals
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance
from reinstate.runs.run import require_same
from reinstate.settings import Settings, to_dict

OURS = "hold a search of this program", "choose another --out or file"
PANELS = {  # hyper-parameter → whether it lies on a logarithmic axis
    "learning_rate": True,
    "entropy_cost": True,
    "discount": False,
    "value_cost": False,
}


class Score(TypedDict):
    """What one agent earned at one setting."""

    reward: float | None  # per episode, mean over seeds; null where a seed was not finite
    per_seed: list[float | None]


class Trial(TypedDict):
    """A setting that was tried. Trial 0 is the preset's own."""

    number: int
    round: int
    setting: dict[str, float]  # a Candidate
    agents: dict[str, Score]


class SearchDocument(Provenance):
    """What was searched for and how, and every trial."""

    preset: str
    command: str
    device: str
    experiment: str
    agent: str  # that is searched for
    settings: dict[str, Any]
    ranges: dict[str, Any]
    trials_a_round: int
    draw_seed: int
    seconds: dict[str, float]  # compile, train
    trials: list[Trial]


def agents_of(trials: Sequence[Trial]) -> list[str]:
    """List the agents that were trained in any trial, the one searched for first."""
    return list(dict.fromkeys(agent for trial in trials for agent in trial["agents"]))


def ranked(trials: Sequence[Trial], agent: str) -> list[Trial]:
    """Sort the trials that an agent has done, the best first, failed ones last."""
    done = [trial for trial in trials if agent in trial["agents"]]  # of equals, the first drawn
    rewards = {trial["number"]: trial["agents"][agent]["reward"] for trial in done}
    return sorted(
        done, key=lambda t: -math.inf if (r := rewards[t["number"]]) is None else r, reverse=True
    )


def best_for(trials: Sequence[Trial], agent: str) -> Trial | None:
    """Return the best trial of an agent; None where none stayed finite."""
    best = next(iter(ranked(trials, agent)), None)
    return best if best and best["agents"][agent]["reward"] is not None else None


def _read(path: Path) -> SearchDocument:
    document = check(SearchDocument, read_json(path), path, *OURS)
    if any(trial["setting"].keys() != {*Candidate._fields} for trial in document["trials"]):
        raise UserError(f"{path} does not {OURS[0]}: {OURS[1]}")
    return document


def best_rates(path: Path, agents: Sequence[str], learner: A2C) -> dict[str, Rates]:
    """Read the rates at which each agent earned most, from what `search` has written."""
    found = {}
    for agent in agents:
        best = best_for(_read(path)["trials"], agent)
        if best is None:
            raise UserError(f"{path} has no rates for {agent}: tune it too (--agents)")
        found[agent] = rates_of(Candidate(**best["setting"]), learner)
    return found


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
        require_seed(seed=self.seed)

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
            size.require_room(self.settings_of(agent), agent, candidates=self.search.trials)

    def settings_of(self, agent: str) -> Settings:
        """Return the settings of an agent, which may have lanes and epochs of its own."""
        return self.experiment.settings_of(agent, self.settings)

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

    def new_trials(self, number: int) -> list[Trial]:
        """Return the trials of a round, before any agent has done them."""
        drawn = self.search.draw(number, preset_candidate(self.settings.learner))
        first = number * self.search.trials
        return [
            {"number": n, "round": number, "setting": candidate._asdict(), "agents": {}}
            for n, candidate in enumerate(drawn, first)
        ]


def search(asked: Asked, out: Path, reporter: Reporter, *, command: str) -> SearchDocument:
    """Search for the first agent; train the others at the same candidates, to see how they do."""
    with locked(out):
        asked.require_possible()
        document = _begun(asked, out)
        done = {(agent, t["round"]) for t in document["trials"] for agent in t["agents"]}
        with signals(reporter) as stop:
            for agent in dict.fromkeys(asked.agents):
                batch: CandidateBatch | None = None
                for number in range(asked.search.rounds):
                    if (agent, number) in done:
                        continue
                    batch = batch or CandidateBatch(
                        agent, asked.settings_of(agent), asked.search.trials
                    )
                    _add_round(document, asked, batch, number, reporter, stop)
                    document |= {"preset": asked.preset, "command": command, **provenance()}
                    document["device"] = devices.describe()
                    write_document(out / "search.json", document)
                    if stop:
                        where = f"stopped after round {number + 1} of {agent}"
                        raise Stopped(f"{where}: the same command continues", stop[0])
        mpl.save(search_panels(document), out / "search", f"{asked.experiment.title}, search")
        return document


def _begun(asked: Asked, out: Path) -> SearchDocument:
    """Read the search that is in `out`, and refuse another one; begin one where there is none."""
    path, wanted = out / "search.json", asked.identity()
    if not path.exists():
        require_empty(out, "it holds no search; choose another --out")
        return cast(SearchDocument, {**wanted, "seconds": {}, "trials": []})
    found = _read(path)
    require_same(out, {name: cast(Any, found)[name] for name in wanted}, wanted)
    return found


def _add_round(
    document: SearchDocument,
    asked: Asked,
    batch: CandidateBatch,
    number: int,
    reporter: Reporter,
    stop: Sequence[int],
) -> None:
    """Train an agent at the settings of a round, and put what it earned into the document."""
    trials = [trial for trial in document["trials"] if trial["round"] == number]
    if not trials:
        trials = asked.new_trials(number)
        document["trials"] += trials
    learner = asked.settings.learner
    rates = [rates_of(Candidate(**trial["setting"]), learner) for trial in trials]
    sizes = f"{len(trials)} settings × {asked.settings.seeds} seeds"
    label = f"{batch.agent}, round {number + 1}: {sizes}"
    scores: Scores = batch.train(rates, reporter, label, stop)
    seconds = document["seconds"]
    seconds["compile"] = seconds.get("compile", 0.0) + scores.compile_seconds
    seconds["train"] = seconds.get("train", 0.0) + scores.train_seconds
    for trial, per_seed in zip(trials, scores.reward.tolist(), strict=True):
        kept = [reward if math.isfinite(reward) else None for reward in per_seed]
        reward = None if None in kept else float(np.mean(per_seed))
        trial["agents"][batch.agent] = {"reward": reward, "per_seed": kept}


def search_panels(document: SearchDocument) -> list[Chart]:
    """Show reward against each hyper-parameter, one point per setting; preset and best are marked.

    Settings that failed have no reward: they are crosses at the bottom.
    """
    return [_panel(document, name, logarithmic) for name, logarithmic in PANELS.items()]


def _panel(document: SearchDocument, name: str, logarithmic: bool) -> Chart:
    trials, agents = document["trials"], agents_of(document["trials"])
    best = best_for(trials, document["agent"])

    def points(
        text: str, colour: str, of: Sequence[Trial | None], agents: Sequence[str], marker: Marker
    ) -> Series:
        """Gather these agents' rewards in these trials; crosses are the trials that failed."""
        done = [(t, t["agents"][a]["reward"]) for a in agents for t in of if t and a in t["agents"]]
        known = [(t["setting"][name], y) for t, y in done if (y is None) == (marker == "cross")]
        return Series(text, colour, [x for x, _ in known], [y for _, y in known], marker=marker)

    series = [
        *(
            points(label(a), c, trials, [a], "dot")
            for a, c in zip(agents, palette(agents), strict=True)
        ),
        points(f"best for {label(document['agent'])}", BLACK, [best], agents, "ring"),
        points("preset", BLACK, trials[:1], agents, "diamond"),
        points("failed", GREY, trials, agents, "cross"),
    ]
    shown = [each for each in series if each.x]
    words = ("Search", name.replace("_", " "), "reward per episode")
    return Chart(*words, shown, scatter=True, log_x=logarithmic)
