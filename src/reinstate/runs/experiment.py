"""What an experiment is: a world, agents, presets, and the claims it has to bear out.

The command's help needs an experiment's settings alone: what scores, solves and draws is imported
`later`, when it is called.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from reinstate.analysis.results import AgentResults, CheckRow, Results, Scores
from reinstate.analysis.verdicts import Evidence, Region
from reinstate.errors import UserError, nearest
from reinstate.evaluation import Condition, Record
from reinstate.learner import A2C
from reinstate.memory import DND
from reinstate.registry import Registry, later
from reinstate.settings import Settings
from reinstate.tasks.base import World

if TYPE_CHECKING:
    from reinstate.figures.chart import Drawing

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

Agents = Mapping[str, AgentResults]  # of results.json
Values = dict[str, Any]  # an optimum, by name: see baselines/__init__.py
Baselines = Mapping[str, Any]  # Scores by name


class Check(NamedTuple):
    """A claim, tested on seeds."""

    claim: str
    evidence: Evidence
    region: Region
    bound: str  # the region in words
    section: str = ""  # of the paper, as "4.1"
    paper: str = ""  # what the paper says; nothing, where the claim is ours
    tried: str = ""  # to make it hold, where our own runs do not bear it out
    note: str = ""  # to be read with the verdict

    def as_row(self) -> CheckRow:
        """Return what tables show of it; verdicts are added to all rows at once."""
        value, ci95, *_, seeds = self.evidence
        row: CheckRow = {
            "claim": self.claim,
            "value": value,
            "ci95": ci95,
            "region": [None if math.isinf(end) else end for end in self.region],
            "bound": self.bound,
            "seeds": seeds,
            "p": self.evidence.p,
            "section": self.section,
            "paper": self.paper,
            "tried": self.tried,
        }
        return {**row, "note": self.note} if self.note else row


def score_exposures(world: World, record: Record) -> Scores:
    """Score reward and regret by exposure, which every world has."""
    from reinstate.analysis.exposures import exposure_scores

    return exposure_scores(record)


def no_checks(agents: Agents, optimum: Values, baselines: Baselines) -> list[Check]:
    """Check nothing: an experiment without claims."""
    return []


def no_baselines(settings: Settings) -> dict[str, Record]:
    """Let nobody else play."""
    return {}


def as_shared(agent: str, settings: Settings) -> Settings:
    """Train an agent with the settings that all share."""
    return settings


def at_exposures(label: str, *path: str) -> Callable[[AgentResults], dict[str, float]]:
    """Make columns for tables: the mean of a score at the first, second and last exposure."""

    def columns(agent: AgentResults) -> dict[str, float]:
        from reinstate.figures.chart import at

        means = [math.nan if y is None else y for y in at(agent, *path, "mean") or ()]
        shown = sorted({1, min(2, len(means)), len(means)}) if means else []
        return {f"{label} at exposure 1" if e == 1 else str(e): means[e - 1] for e in shown}

    return columns


regret_columns = at_exposures("regret", "by_exposure", "regret")


class ComposedFigure(NamedTuple):
    """A figure of panels, composed of the results of one experiment or of several."""

    experiments: tuple[str, ...]
    draw: Callable[[Mapping[str, Results], str | None], Any]  # results, and the width that is asked


Charts = Mapping[str, Callable[[Results], Sequence["Drawing"]]]  # file → what is drawn in it
STANDARD_CHARTS: Charts = {
    "training-curves": later("reinstate.figures.learning:training_curves"),
    "by-exposure": later("reinstate.figures.exposures:by_exposure"),
    "regret": later("reinstate.figures.exposures:regret"),
}


def usual_settings(task: World) -> Settings[World, DND]:
    """Return the settings of a task for which nobody has chosen any."""
    writes = task.episodes_per_epoch * task.writes_per_episode
    return Settings(task=task, seeds=4, memory=DND(capacity=writes), learner=LEARNER)


@dataclass(frozen=True)
class Experiment:
    """All that the command needs to know of an experiment. A name and a world are enough."""

    name: str
    world: type[World]
    title: str = ""
    section: str = ""  # of the paper
    summary: str = ""
    agents: tuple[str, ...] = ("epl2rl", "l2rl", "l2rl-context")  # trained by default
    presets: Mapping[str, Settings] = field(default_factory=dict)
    optimum: Callable[[Any], Values] | None = None  # of the task
    ceiling: str = "with_memory"  # the optimum that no agent with an episodic memory can exceed
    ceiling_without_memory: str = "without_memory"  # and no other agent
    lines: Mapping[str, str] = field(default_factory=dict)  # label in figures → the optimum there
    checks: Callable[[Agents, Values, Baselines], list[Check]] = no_checks
    baselines: Callable[[Settings], dict[str, Record]] = no_baselines  # other players
    scores: Callable[[Any, Record], Scores] = score_exposures  # world, record → scores
    milestones: tuple[float, ...] = ()  # shares of training after which agents are evaluated too
    milestone_scores: Callable[[Scores], dict[str, Any]] = dict  # what is kept of those
    probes: Callable[[Settings], dict[str, Condition]] | None = None  # of its memory
    elsewhere: Callable[[Any], Mapping[str, World]] | None = None  # task → other worlds to meet
    settings_of: Callable[[str, Settings], Settings] = as_shared  # an agent's own, of the shared
    ranges: Mapping[str, Any] = field(default_factory=dict)  # in which to tune
    about_world: bool = True  # whether runs in its world that name no experiment are of this one
    columns: Callable[[AgentResults], dict[str, float]] = regret_columns  # in tables
    number: str = ".2f"  # how tables write rewards
    charts: Charts = field(default_factory=lambda: STANDARD_CHARTS)
    figures: Mapping[str, ComposedFigure] = field(default_factory=dict)  # of `reinstate figure`

    def __post_init__(self) -> None:
        about = (self.world.__doc__ or "").strip().partition("\n")[0].rstrip(".")
        filled = {
            "title": self.title or self.name.replace("-", " ").capitalize(),
            "summary": self.summary or self.title or about,
            "presets": self.presets or {"quick": usual_settings(self.world())},
        }
        for name, value in filled.items():
            object.__setattr__(self, name, value)

    def preset(self, name: str) -> Settings:
        """Look a preset up."""
        if name not in self.presets:
            raise UserError(nearest("preset", name, self.presets))
        return self.presets[name]


EXPERIMENTS: Registry[Experiment] = Registry("experiment", {})
TASKS: Registry[type[World]] = Registry("task", {})  # worlds that come without an experiment


def find_experiment(name: str) -> Experiment:
    """Look an experiment up; a task that has none gets one with defaults throughout."""
    if name in EXPERIMENTS:
        experiment = EXPERIMENTS[name]
        return experiment if experiment.name == name else replace(experiment, name=name)
    if name in TASKS:
        return Experiment(name, TASKS[name])
    raise UserError(nearest("experiment", name, experiment_names()))


def of_the_paper() -> tuple[str, ...]:
    """List the experiments that a section of the paper is about, in its order."""
    sections = {name: _section(name) for name in EXPERIMENTS}
    return tuple(sorted((name for name in sections if sections[name]), key=sections.__getitem__))


def _section(name: str) -> str:
    try:
        return find_experiment(name).section
    except UserError:  # another's package cannot be loaded: the paper's experiments still can
        return ""


def experiment_names() -> list[str]:
    """List all that `find_experiment` knows."""
    return list(dict.fromkeys([*EXPERIMENTS, *TASKS]))


def experiment_of(world: type[World]) -> Experiment | None:
    """Find the experiment that is about a world, if any is."""
    found = (find_experiment(name) for name in experiment_names())
    return next((each for each in found if each.about_world and each.world is world), None)
