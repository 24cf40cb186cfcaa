"""What `search.json` holds, and what follows from it: which setting ranks where."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from reinstate.analysis.results import Provenance

if TYPE_CHECKING:
    Setting = dict[str, float]
    SearchSeconds = dict[str, float]
else:

    class Setting(TypedDict):
        """The hyper-parameters that are searched."""

        learning_rate: float
        entropy_cost: float
        discount: float
        value_cost: float

    class SearchSeconds(TypedDict):
        """How long a search took."""

        compile: float
        train: float


class Score(TypedDict):
    """What one agent earned at one setting."""

    reward: float | None  # per episode, mean over seeds; null where a seed was not finite
    per_seed: list[float | None]


class Trial(TypedDict):
    """A setting that was tried. Trial 0 is the preset's own."""

    number: int
    round: int
    setting: Setting  # by hyper-parameter
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
    seconds: SearchSeconds
    trials: list[Trial]


def agents_of(trials: Sequence[Trial]) -> list[str]:
    """List the agents that were trained in any trial, the one searched for first."""
    return list(dict.fromkeys(agent for trial in trials for agent in trial["agents"]))


def ranked(trials: Sequence[Trial], agent: str) -> list[Trial]:
    """Sort the trials that an agent has done, the best first, failed ones last."""
    done = [trial for trial in trials if agent in trial["agents"]]  # of equals, the first drawn
    return sorted(done, key=lambda trial: _worth(trial["agents"][agent]), reverse=True)


def _worth(score: Score) -> float:
    return -math.inf if score["reward"] is None else score["reward"]


def best_for(trials: Sequence[Trial], agent: str) -> Trial | None:
    """Return the best trial of an agent; None where none stayed finite."""
    best = next(iter(ranked(trials, agent)), None)
    return best if best and best["agents"][agent]["reward"] is not None else None


def rank_of(trials: Sequence[Trial], agent: str, number: int) -> int | None:
    """Rank a trial among those of an agent, from 1; None where it was not trained there."""
    numbers = [trial["number"] for trial in ranked(trials, agent)]
    return numbers.index(number) + 1 if number in numbers else None
