"""A random search on disk: rounds of settings, each trained at once, for one agent after the other.

    OUT/search.json   every trial, the best, and where the preset stands
    OUT/search.png    reward against each hyper-parameter; also as .svg

The file is written anew whenever a round of one agent is finished, so that a call that was
interrupted can be made again and goes on from there.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from reinstate import devices
from reinstate.errors import UserError, require_positive
from reinstate.experiments.base import Experiment
from reinstate.figures import common as figures
from reinstate.figures.search import search_panels
from reinstate.files import read_json, require_empty, write_json
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance
from reinstate.runs.run import require_same
from reinstate.runs.training import Stopped, signals
from reinstate.settings import MAX_SEED, Settings, to_dict
from reinstate.tuning.ranges import Ranges, Setting, as_options, own_setting, rates_of
from reinstate.tuning.side_by_side import TAIL, Scores, SideBySide

SCORE = (
    f"mean reward an episode over the last {TAIL:.0%} of training epochs, mean over seeds;"
    " a setting whose loss or weights were not finite in any seed has none"
)


@dataclass(frozen=True)
class Search:
    """How many settings are tried, and where they come from."""

    trials: int = 16
    """Settings trained at once; the first of all is the preset's own, the others are drawn."""
    rounds: int = 1
    """How many times that many; each round is kept as soon as it is finished."""
    seed: int = 0
    """Of the draw; the seeds of training are --seeds and --first-seed."""
    ranges: Ranges = field(default_factory=Ranges)

    def __post_init__(self) -> None:
        require_positive(trials=self.trials, rounds=self.rounds)
        if not 0 <= self.seed <= MAX_SEED:
            raise UserError(f"seed must lie between 0 and {MAX_SEED}, not {self.seed}")

    def draw(self, number: int, own: Setting) -> list[Setting]:
        """The settings of a round, which do not depend on how many rounds there are."""
        rng = np.random.default_rng((self.seed, number))
        drawn = [self.ranges.draw(rng) for _ in range(self.trials)]
        return [own, *drawn[1:]] if number == 0 else drawn


def search(
    experiment: Experiment,
    preset: str,
    agents: Sequence[str],
    settings: Settings,
    asked: Search,
    out: Path,
    reporter: Reporter,
    *,
    command: str,
) -> dict[str, Any]:
    """Search for the first agent; train the others at the same settings, to see how they do."""
    agents = list(dict.fromkeys(agents))
    require_agents(agents, settings)
    wanted = identity(experiment, agents[0], settings, asked)
    document = earlier(out, wanted, "trials") or {
        "experiment": experiment.name,
        "score": SCORE,
        "trials": [],
        "seconds": {"compile": 0.0, "train": 0.0},
    }
    missing = list(_missing(document["trials"], agents, asked))
    if not missing:
        reporter.note(f"{out} already holds this search")
        return document
    programs = {agent: SideBySide(agent, settings, asked.trials) for agent in agents}
    with signals(reporter) as stop:
        for agent, number in missing:
            drawn = asked.draw(number, own_setting(settings.learner))
            rates = [rates_of(setting, settings.learner) for setting in drawn]
            label = f"{agent}, round {number + 1}: {asked.trials} settings × {settings.seeds} seeds"
            scores = programs[agent].train(rates, reporter, label, stop)
            _add_round(document, agent, number, drawn, scores)
            document |= {
                "preset": preset,
                "command": command,
                **provenance(),
                "device": devices.describe(),
                **wanted,
                "rounds": 1 + max(trial["round"] for trial in document["trials"]),
                **_summary(document["trials"], agents[0], settings),
            }
            if (agent, number) == missing[-1]:
                figures.save(search_panels(document, experiment.title), out / "search")
            write_json(out / "search.json", document)
            if stop:
                done = f"round {number + 1} of {agent}"
                raise Stopped(f"stopped after {done}: the same command continues")
    return document


def require_agents(agents: Sequence[str], settings: Settings) -> None:
    """Whatever can be refused is refused before anything is written."""
    if not agents:
        raise UserError("--agents needs at least one name; `reinstate list` has them")
    for agent in agents:
        settings.make_learner(agent)


def identity(
    experiment: Experiment, agent: str, settings: Settings, asked: Search
) -> dict[str, Any]:
    """What must be the same for a search to be continued; rounds and other agents may be added."""
    kept = {
        "experiment": experiment.name,
        "agent": agent,
        "settings": to_dict(settings),
        "ranges": to_dict(asked.ranges),
        "trials_a_round": asked.trials,
        "draw_seed": asked.seed,
    }
    return json.loads(json.dumps(kept))  # as a file gives it back: tuples are lists


def earlier(out: Path, wanted: dict[str, Any], rows: str) -> dict[str, Any] | None:
    """The search that is in `out`, if it is of the same kind and the same settings."""
    path = out / "search.json"
    if not path.exists():
        require_empty(out, "it holds no search; choose another --out")
        return None
    found = read_json(path)
    if not isinstance(found, dict) or not isinstance(found.get(rows), list):
        raise UserError(f"{path} is not of this kind of search: choose another --out")
    require_same(out, {name: found.get(name) for name in wanted}, wanted)
    return found


def _missing(
    trials: list[dict[str, Any]], agents: list[str], asked: Search
) -> Iterator[tuple[str, int]]:
    """Agents and rounds still to be trained: a round of each agent is written whole or not."""
    done = {(agent, trial["round"]) for trial in trials for agent in trial["agents"]}
    for agent in agents:
        for number in range(asked.rounds):
            if (agent, number) not in done:
                yield agent, number


def _add_round(
    document: dict[str, Any], agent: str, number: int, drawn: list[Setting], scores: Scores
) -> None:
    """Put what an agent earned in a round into the document."""
    document["seconds"]["compile"] += scores.compile_seconds
    document["seconds"]["train"] += scores.train_seconds
    trials = [trial for trial in document["trials"] if trial["round"] == number]
    if not trials:
        first = len(document["trials"])
        trials = [
            {"number": first + i, "round": number, "setting": setting._asdict(), "agents": {}}
            for i, setting in enumerate(drawn)
        ]
        document["trials"] += trials
    for trial, per_seed in zip(trials, scores.reward.tolist(), strict=True):
        trial["agents"][agent] = _score(per_seed)


def _score(per_seed: list[float]) -> dict[str, Any]:
    """A setting's reward, None where a seed failed."""
    kept = [reward if np.isfinite(reward) else None for reward in per_seed]
    return {"reward": None if None in kept else float(np.mean(per_seed)), "per_seed": kept}


def ranked(trials: list[dict[str, Any]], agent: str) -> list[dict[str, Any]]:
    """The trials that an agent has done, the best first, failed ones last."""
    done = [trial for trial in trials if agent in trial["agents"]]

    def worse(trial: dict[str, Any]) -> tuple[bool, float]:
        reward = trial["agents"][agent]["reward"]
        return reward is None, -(reward or 0.0)

    return sorted(done, key=worse)  # stable: of equals, the one drawn first


def _summary(trials: list[dict[str, Any]], agent: str, settings: Settings) -> dict[str, Any]:
    """The best of the agent that was searched for; how that and the preset do for every agent."""
    best = ranked(trials, agent)[0]
    agents = list(dict.fromkeys(name for trial in trials for name in trial["agents"]))
    return {
        "best": None
        if best["agents"][agent]["reward"] is None
        else {
            "number": best["number"],
            "setting": best["setting"],
            **best["agents"][agent],
            "options": as_options(rates_of(Setting(**best["setting"]), settings.learner)),
        },
        "standing": {name: _standing(ranked(trials, name), name, best) for name in agents},
    }


def _standing(order: list[dict[str, Any]], agent: str, chosen: dict[str, Any]) -> dict[str, Any]:
    """Among an agent's trials: its own best, the preset, and what was chosen for the first one."""

    def place(number: int) -> dict[str, Any] | None:
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
