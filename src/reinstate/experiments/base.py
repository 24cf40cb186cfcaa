"""What an experiment is: a world, agents, presets, and the claims it has to bear out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from reinstate.analysis.exposures import exposure_scores
from reinstate.baselines.optimum import Values
from reinstate.errors import UserError, nearest
from reinstate.evaluation import Arena, Record
from reinstate.learner import A2C
from reinstate.settings import Settings
from reinstate.tasks.base import World

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A random search over 192 settings of learning rate, its end, discount, both costs and the clipping
# norm in barcode bandits. Of those within noise of the best for plain L2RL, which is what the paper
# tuned for, one at which epL2RL learns fast too. An experiment changes what its own search says.
# results/EXPERIMENT/search.json has where it stands among 64 others.
LEARNER = A2C(
    lanes=32,
    learning_rate=0.01,
    learning_rate_end=0.0,
    value_cost=0.5,
    entropy_cost=0.05,
    entropy_cost_end=0.0,
    max_grad_norm=0.3,
)

Results = dict[str, Any]  # what results.json holds, or a part of it


class Check(NamedTuple):
    """A statement of the paper, tested."""

    claim: str
    value: float
    bound: str  # what the value is held against, in words
    holds: bool
    section: str = ""  # of the paper, as "4.1"
    paper: str = ""  # what the paper says; nothing, where the check is ours
    ci95: list[float] | None = None  # of the value
    share: float | None = None  # of its ceiling, where the value is an agent's reward
    tried: str = ""  # to make it hold, where our own runs do not bear it out


def judge_bandit(world: Any, record: Record) -> Results:
    return exposure_scores(record)


def at_exposures(label: str, *path: str) -> Callable[[Results], dict[str, float]]:
    """Columns for tables: the mean of a score at the first, second and last exposure."""

    def columns(agent: Results) -> dict[str, float]:
        scores: Any = agent
        for name in path:
            scores = scores[name]
        means = scores["mean"]
        shown = sorted({1, min(2, len(means)), len(means)})
        return {f"{label} at exposure 1" if e == 1 else str(e): means[e - 1] for e in shown}

    return columns


REGRET = at_exposures("regret", "by_exposure", "regret")


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    section: str
    summary: str
    world: type[World]
    agents: tuple[str, ...]  # those the section speaks of
    presets: dict[str, Settings]
    optimum: Callable[[Any], Values]  # of the task: see baselines/optimum.py
    ceilings: dict[str, str]  # agent → the optimum that it cannot exceed
    lines: dict[str, str]  # label in figures → the optimum that it marks
    checks: Callable[[Results, Values, Results], list[Check]]  # agents, optimum, baselines
    baselines: Callable[[Settings], dict[str, Record]] = lambda settings: {}  # other players
    judge: Callable[[Any, Record], Results] = judge_bandit  # world, record → scores
    milestones: tuple[float, ...] = ()  # shares of training after which agents are judged as well
    glance: Callable[[Results], Results] = lambda verdict: verdict  # what is kept of those verdicts
    probes: Callable[[Settings], dict[str, Arena]] | None = None  # what its memory is put through
    columns: Callable[[Results], dict[str, float]] = REGRET  # what tables show of an agent
    number: str = ".2f"  # how tables write rewards
    figures: dict[str, Callable[[Results], "Figure"]] = field(default_factory=dict)  # file → figure

    def preset(self, name: str) -> Settings:
        if name not in self.presets:
            raise UserError(nearest("preset", name, self.presets))
        return self.presets[name]
