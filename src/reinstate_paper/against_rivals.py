"""Contests: agents whose memory lasts an epoch, against episodic reinstatement.

Every agent sees the same inputs and plays as many steps. One that learns over whole epochs makes
one update per epoch, so it has fewer lanes and, in return, more epochs. Frozen weights then meet
other worlds than the one trained in.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import gcd
from typing import Any, cast

from reinstate.agent import AGENTS, Network
from reinstate.analysis.results import Results
from reinstate.errors import Unsolvable
from reinstate.evaluation import Evaluation
from reinstate.figures.chart import Chart, Series
from reinstate.figures.style import label, palette
from reinstate.memory import DND
from reinstate.registry import later
from reinstate.rivals import EQUAL
from reinstate.rivals.base import RivalMaker
from reinstate.runs.experiment import (
    LEARNER,
    Experiment,
    Values,
    at_exposures,
)
from reinstate.settings import Settings
from reinstate.tasks.bandits import BarcodeBandits, NoisyBandits
from reinstate.tasks.base import World
from reinstate.tasks.water_maze import WaterMaze

CROWD = 120  # contexts, more than the paper's memory has slots
FEW, MANY = 8, 16  # lanes of agents that learn over whole epochs, on a CPU and on an accelerator


def settings_of(agent: str, settings: Settings) -> Settings:
    """Give an agent that learns over whole epochs fewer lanes, and as many more epochs."""
    learner = settings.learner
    if not isinstance(AGENTS.find(agent), RivalMaker):
        return settings
    lanes = gcd(learner.lanes, FEW if learner.lanes < FEW * MANY else MANY)
    own = replace(
        learner,
        lanes=lanes,
        epochs=learner.lanes // lanes * learner.epochs,
        episodes_per_update=settings.task.episodes_per_epoch,
    )
    return replace(settings, learner=own)


def other_bandits(task: BarcodeBandits) -> dict[str, World]:
    """Return bandits that differ from those trained in."""
    worlds: dict[str, World] = {
        "twice the contexts": replace(task, num_contexts=2 * task.num_contexts),
        "five times the contexts": replace(task, num_contexts=5 * task.num_contexts),
        "twice the exposures": replace(task, repeats=2 * task.repeats),
        "one bit in ten flipped": NoisyBandits.of(task, noise=0.1),
        "two bits redrawn": NoisyBandits.of(task, redrawn=2),
        "urn": replace(task, process="urn", mapping="independent"),
        "Zipf": NoisyBandits.of(task, zipf=1.0, mapping="independent"),
    }
    if task.mapping == "permutation":
        worlds["independent arms"] = replace(task, mapping="independent")
    if task.num_contexts == BarcodeBandits.num_contexts:  # as many as in the paper
        worlds[f"{CROWD} contexts"] = replace(task, num_contexts=CROWD, repeats=4)
    return worlds


def other_mazes(task: WaterMaze) -> dict[str, World]:
    """Return mazes that differ from those trained in."""
    contexts = 2 * task.num_contexts
    goals = task.goals if contexts <= task.num_cells else "independent"
    return {
        "twice the contexts": replace(task, num_contexts=contexts, goals=goals),
        "twice the exposures": replace(task, repeats=2 * task.repeats),
    }


def solved(optimum: Callable[[Any], Values], others: Callable[[Any], Mapping[str, World]]) -> Any:
    """Return what solves a task and, as far as that can be done, the other worlds."""

    def values(task: Any) -> Values:
        found: dict[str, Values] = {}
        for name, world in others(task).items():
            try:
                found[name] = optimum(world)
            except Unsolvable as error:
                found[name] = {"unavailable": str(error)}
        return {**optimum(task), "elsewhere": found}

    return values


def presets(quick: Settings, paper: Settings) -> dict[str, Settings]:
    """Return presets; the small one trains twice as long as the quick one."""
    longer = replace(quick.learner, epochs=2 * quick.learner.epochs)
    return {"quick": quick, "small": replace(quick, learner=longer), "paper": paper}


QUICK: Settings[BarcodeBandits, DND] = Settings(
    BarcodeBandits(num_arms=4, pulls=3, num_contexts=3, repeats=6, mapping="independent"),
    seeds=8,  # as many as five on a CPU's four devices cost
    network=Network(hidden_size=24),
    memory=DND(capacity=12),  # fewer than five times the contexts
    learner=replace(LEARNER, lanes=32, epochs=375),
    evaluation=Evaluation(epochs=100),
)
PAPER: Settings[BarcodeBandits, DND] = Settings(
    BarcodeBandits(mapping="independent"),
    seeds=5,
    learner=replace(LEARNER, lanes=256, epochs=150, unroll=10),
    evaluation=Evaluation(epochs=500),
)
QUICK_MAZE: Settings[Any, DND] = replace(
    cast(Settings[Any, DND], QUICK),
    task=WaterMaze(height=3, width=3, steps=8, num_contexts=3, repeats=6),
    learner=replace(QUICK.learner, epochs=140),
)
BANDITS = Experiment(
    name="rivals-bandits",
    title="Rivals: barcode bandits",
    summary="agents whose memory lasts an epoch, against reinstatement, in bandits",
    world=BarcodeBandits,
    about_world=False,
    agents=("epl2rl", "epl2rl-recognition", *EQUAL),
    presets=presets(QUICK, PAPER),
    settings_of=settings_of,
    ranges={
        "learning_rate": (3e-4, 3e-2),
        "entropy_cost": (5e-3, 0.1),
        "discount": (LEARNER.discount,),
        "value_cost": (LEARNER.value_cost,),
    },
    elsewhere=other_bandits,
    optimum=solved(later("reinstate.baselines.bandits:bandit_optimum"), other_bandits),
    ceiling_without_memory="with_memory",  # rivals remember, in a memory of another kind
    lines={
        "own context remembered": "own_memory",
        "no memory": "without_memory",
        "chance": "chance",
    },
    columns=at_exposures("reward", "by_exposure", "reward"),
    charts={
        "rewards": later("reinstate_paper.figures:rewards"),
        "elsewhere": later("reinstate_paper.against_rivals:elsewhere"),
    },
)
PERMUTATION = replace(
    BANDITS,
    name="rivals-permutation",
    title="Rivals: bandits whose contexts share out the arms",
    summary="the same in bandits whose contexts share out the arms: each is good once",
    presets=presets(
        replace(QUICK, task=replace(QUICK.task, num_contexts=4, mapping="permutation")),
        replace(PAPER, task=BarcodeBandits()),
    ),
)
MAZE = replace(
    BANDITS,
    name="rivals-maze",
    title="Rivals: water maze",
    summary="the same in a grid with a hidden goal",
    world=WaterMaze,
    presets=presets(QUICK_MAZE, replace(cast(Settings[Any, DND], PAPER), task=WaterMaze())),
    elsewhere=other_mazes,
    optimum=solved(later("reinstate.baselines.water_maze:maze_optimum"), other_mazes),
    lines={
        "own context remembered": "mean_over_exposures",
        "no memory": "without_memory",
        "chance": "chance",
    },
)


AS_TRAINED = "as trained"
NOTE = (
    "(reward − best without memory) / (best with memory of the own context − best without): 0 is no"
    " better than no memory, 1 is perfect. Weights are frozen; bars are 95% intervals over seeds."
)


def ceiling(optimum: Mapping[str, Any]) -> float | None:
    """Return what an agent can earn that remembers its own context; nothing where it is not known.

    One that remembers the whole epoch may earn more where contexts share out the arms: that is
    `with_memory`.
    """
    for name in ("own_memory", "mean_over_exposures", "with_memory"):
        if name in optimum:
            return float(optimum[name])
    return None


def _worlds(results: Mapping[str, Any]) -> dict[str, tuple[Mapping[str, Any], dict[str, Any]]]:
    """Return, by world, its optimum and every agent's reward there."""
    agents, optimum = results["agents"], results["optimum"]
    found = {AS_TRAINED: (optimum, {name: each["reward"] for name, each in agents.items()})}
    for world, best in optimum["elsewhere"].items():
        rewards = {name: each["elsewhere"][world]["reward"] for name, each in agents.items()}
        found[world] = best, rewards
    return found


def kept(results: Mapping[str, Any]) -> dict[str, dict[str, float | None]]:
    """Return, by world and agent, which share of a memory's worth an agent earns.

    (reward − best without memory) / (best with memory of the current context − best without), where
    both are known: 0 is no better than no memory, 1 is perfect.
    """
    return {
        world: {name: share_of(reward["mean"], best) for name, reward in rewards.items()}
        for world, (best, rewards) in _worlds(results).items()
    }


def share_of(reward: float, optimum: Mapping[str, Any]) -> float | None:
    """Return the share of a memory's worth that a reward is; None where that is not known."""
    best, without = ceiling(optimum), optimum.get("without_memory")
    if best is None or without is None or best <= without:
        return None
    return float((reward - without) / (best - without))


def elsewhere(results: Results) -> list[Chart]:
    """Chart what is left of a memory's worth in every world for which that is known."""
    known = {
        world: (best, rewards)
        for world, (best, rewards) in _worlds(results).items()
        if share_of(0.0, best) is not None
    }
    agents, series = list(results["agents"]), []
    for agent, colour in zip(agents, palette(agents), strict=True):
        rewards = [(best, every[agent]) for best, every in known.values()]
        y = [share_of(reward["mean"], best) for best, reward in rewards]
        ends: Any = [
            tuple(share_of(end, best) for end in reward["ci95"]) if reward["ci95"] else None
            for best, reward in rewards
        ]
        series.append(Series(label(agent), colour, [*range(len(y))], y, ci95=ends))
    axes = "world that is met", "share of a memory's worth"
    names = [name.replace("twice the", "2 ×").replace("five times the", "5 ×") for name in known]
    chart = Chart(
        "Elsewhere", *axes, series, categories=names, include=(0.0, 1.0), dodge=0.08, note=NOTE
    )
    return [chart] if len(known) > 1 else []
