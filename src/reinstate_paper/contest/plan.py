"""What is contested: events, who takes part, and how each agent is trained in them.

Every agent sees the same inputs and plays as many steps. One that learns over whole epochs makes
one update per epoch, so it has fewer lanes and, in return, more epochs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import equinox as eqx
import jax

from reinstate.agent import AGENTS, Network
from reinstate.baselines.optimum import bandit_optimum, maze_optimum
from reinstate.errors import UserError, nearest
from reinstate.evaluation import Evaluation
from reinstate.learner import A2C, Rates
from reinstate.memory import DND
from reinstate.rivals import EQUAL, MEDIUM, WIDE
from reinstate.rivals.base import Rival
from reinstate.runs.candidates import Ranges, preset_candidate, rates_of
from reinstate.runs.experiment import LEARNER, Experiment
from reinstate.runs.search import Search
from reinstate.settings import Settings
from reinstate.tasks.bandits import BarcodeBandits, NoisyBandits
from reinstate.tasks.base import World
from reinstate.tasks.water_maze import WaterMaze
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from reinstate_paper.water_maze import WATER_MAZE

REINSTATING = ("epl2rl", "epl2rl-recognition")
AS_TRAINED = "as trained"


@dataclass(frozen=True)
class Event:
    """A task in which agents compete, and other worlds that they then meet with frozen weights."""

    name: str
    title: str
    experiment: Experiment
    settings: Settings
    optimum: Callable[[Any], dict[str, Any]]
    strains: Mapping[str, World] = field(default_factory=dict)

    @property
    def worlds(self) -> dict[str, World]:
        """All worlds in which agents are judged."""
        return {AS_TRAINED: self.settings.task, **self.strains}


@dataclass(frozen=True)
class Plan:
    """A contest."""

    events: tuple[Event, ...]
    agents: tuple[str, ...]
    search: Search
    whole_epoch_lanes: int
    """Lanes of agents that learn over whole epochs; a divisor of the other agents' lanes."""
    finalists: int = 0
    """Settings that are tried with more seeds, the best after one each; 0: one seed decides."""

    def candidates(self, learner: A2C) -> list[Rates]:
        """Draw the rates that are tried; the first are the learner's own."""
        drawn = self.search.draw(0, preset_candidate(learner))
        return [rates_of(candidate, learner) for candidate in drawn]

    def settings_for(self, event: Event, agent: str) -> Settings:
        """Return an agent's settings, before its rates are tuned."""
        settings, learner = event.settings, event.settings.learner
        make = AGENTS.find(agent)
        made = eqx.filter_eval_shape(make, settings.task, settings.network, key=jax.random.key(0))
        if not isinstance(made, Rival):
            return settings
        share, rest = divmod(learner.lanes, self.whole_epoch_lanes)
        if rest:
            raise UserError(
                f"{self.whole_epoch_lanes} lanes are no divisor of {learner.lanes}: choose another"
            )
        episodes = settings.task.episodes_per_epoch
        own = replace(
            learner,
            lanes=self.whole_epoch_lanes,
            epochs=share * learner.epochs,
            episodes_per_update=episodes,
        )
        return replace(settings, learner=own)


def bandit_strains(task: BarcodeBandits) -> dict[str, World]:
    """Return worlds of bandits that differ from the one trained in."""
    strains: dict[str, World] = {
        "twice the contexts": replace(task, num_contexts=2 * task.num_contexts),
        "five times the contexts": replace(task, num_contexts=5 * task.num_contexts),
        "twice the exposures": replace(task, repeats=2 * task.repeats),
        "one bit in ten flipped": NoisyBandits.of(task, noise=0.1),
        "two bits redrawn": NoisyBandits.of(task, redrawn=2),
        "urn": replace(task, process="urn", mapping="independent"),
        "Zipf": NoisyBandits.of(task, zipf=1.0, mapping="independent"),
    }
    if task.mapping == "permutation":
        strains["independent arms"] = replace(task, mapping="independent")
    return strains


def maze_strains(task: WaterMaze) -> dict[str, World]:
    """Return mazes that differ from the one trained in."""
    contexts = 2 * task.num_contexts
    goals = task.goals if contexts <= task.num_cells else "independent"
    return {
        "twice the contexts": replace(task, num_contexts=contexts, goals=goals),
        "twice the exposures": replace(task, repeats=2 * task.repeats),
    }


def bandits(settings: Settings, name: str = "bandits", crowd: int = 0) -> Event:
    """Return an event of barcode bandits; with `crowd`, one strain has so many contexts."""
    task = settings.task
    title = f"Barcode bandits: {task.num_arms} arms, {task.num_contexts} contexts"
    title += ", each arm good once" if task.mapping == "permutation" else ""
    strains = bandit_strains(task)
    if crowd:  # more than the memory has slots
        strains[f"{crowd} contexts"] = replace(task, num_contexts=crowd, repeats=4)
    return Event(name, title, BARCODE_BANDITS, settings, bandit_optimum, strains)


def maze(settings: Settings, name: str = "maze") -> Event:
    """Return an event in the water maze."""
    task = settings.task
    title = f"Water maze: {task.height} × {task.width} cells, {task.num_contexts} contexts"
    return Event(name, title, WATER_MAZE, settings, maze_optimum, maze_strains(task))


def _in(settings: Settings[Any, DND], task: World) -> Settings[Any, DND]:
    return replace(settings, task=task)


QUICK_BANDITS: Settings[BarcodeBandits, DND] = Settings(
    BarcodeBandits(num_arms=4, pulls=3, num_contexts=3, repeats=6, mapping="independent"),
    seeds=8,  # as many as five on a CPU's four devices cost
    network=Network(hidden_size=24),
    memory=DND(capacity=12),  # fewer than five times the contexts
    learner=replace(LEARNER, lanes=32, epochs=375),
    evaluation=Evaluation(epochs=100),
)
QUICK_MAZE = _in(
    replace(QUICK_BANDITS, learner=replace(QUICK_BANDITS.learner, epochs=140)),
    WaterMaze(height=3, width=3, steps=8, num_contexts=3, repeats=6),
)
QUICK_PERMUTATION = _in(
    QUICK_BANDITS, replace(QUICK_BANDITS.task, num_contexts=4, mapping="permutation")
)
PAPER_BANDITS: Settings[BarcodeBandits, DND] = Settings(
    BarcodeBandits(),
    seeds=5,
    learner=replace(LEARNER, lanes=256, epochs=150, unroll=10),
    evaluation=Evaluation(epochs=500),
)
PAPER_INDEPENDENT = replace(PAPER_BANDITS, task=BarcodeBandits(mapping="independent"))
PAPER_MAZE = _in(PAPER_BANDITS, WaterMaze())

RANGES = Ranges(
    learning_rate=(3e-4, 3e-2),
    entropy_cost=(5e-3, 0.1),
    discount=(LEARNER.discount,),
    value_cost=(LEARNER.value_cost,),
)
# The best entropy costs of small rivals lie near the upper end of the range above.
WIDER_RANGES = replace(RANGES, entropy_cost=(5e-3, 0.3))


def changed(plan: Plan, seeds: int | None = None, longer: int = 1) -> Plan:
    """Return a plan with other seeds, or with training that is `longer` times as long."""
    events = []
    for event in plan.events:
        settings = event.settings if seeds is None else replace(event.settings, seeds=seeds)
        learner = replace(settings.learner, epochs=longer * settings.learner.epochs)
        events.append(replace(event, settings=replace(settings, learner=learner)))
    return replace(plan, events=tuple(events))


AT_EQUAL_SIZE = (*REINSTATING, *EQUAL)
QUICK = Plan(
    (bandits(QUICK_BANDITS), maze(QUICK_MAZE)),
    AT_EQUAL_SIZE,
    Search(trials=8, ranges=RANGES),
    whole_epoch_lanes=8,
)
SMALL = replace(
    QUICK,
    events=(*QUICK.events, bandits(QUICK_PERMUTATION, "bandits-permutation")),
    search=Search(trials=16, ranges=RANGES),
    finalists=4,
)
SMALL_WIDE = replace(
    SMALL,
    events=QUICK.events,
    agents=tuple(MEDIUM),
    search=Search(trials=16, ranges=WIDER_RANGES),
)
PAPER = Plan(
    (
        bandits(PAPER_BANDITS, "bandits-permutation", crowd=120),
        bandits(PAPER_INDEPENDENT, "bandits-independent", crowd=120),
        maze(PAPER_MAZE),
    ),
    (*AT_EQUAL_SIZE, *WIDE),
    Search(trials=16, ranges=RANGES),
    whole_epoch_lanes=16,
)
PLANS: Mapping[str, Plan] = {
    "quick": QUICK,
    "small": changed(SMALL, longer=2),
    "small-wide": changed(SMALL_WIDE, longer=2),
    "paper": PAPER,
}


def find_plan(preset: str) -> Plan:
    """Look a preset of the contest up."""
    if preset not in PLANS:
        raise UserError(nearest("preset", preset, PLANS))
    return PLANS[preset]
