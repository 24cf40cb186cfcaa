"""A contest in numbers: one row per agent, and what each keeps in other worlds."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from reinstate.agent import AGENTS
from reinstate.analysis.results import Results
from reinstate.figures.chart import Chart, Series
from reinstate.figures.style import label, palette
from reinstate.rivals.base import num_weights
from reinstate.rollout import start_epoch
from reinstate.runs.experiment import find_experiment
from reinstate.runs.size import bytes_of
from reinstate.settings import Settings, recorded_settings

AS_TRAINED = "as trained"
SHARE = 0.9  # of the ceiling
NOTE = (
    "(reward − best without memory) / (best with memory of the own context − best without): 0 is no"
    " better than no memory, 1 is perfect. Weights are frozen; bars are 95% intervals over seeds."
)


class Row(NamedTuple):
    """An agent in a contest."""

    task: str
    agent: str
    trials: int | None  # settings that were tried, where that is known
    learner: Mapping[str, Any]  # its settings of training
    weights: int
    state_bytes: int
    reward: Any  # an OverSeeds, per episode
    of_ceiling: float | None  # its mean as a share of what a memory of the own context can earn
    exposures: list[float]  # reward per episode at each
    steps: int  # of training, per seed
    learned_at: list[int | None]  # steps to 90% of that, for each seed; None: never
    seconds: float  # of training one seed


def rows(results: Mapping[str, Any]) -> list[Row]:
    """Return the rows of a contest, in the order of its agents."""
    world = find_experiment(results["experiment"]).world
    settings, best = recorded_settings(world, results["settings"]), ceiling(results["optimum"])
    task, agents = task_of(results), results["agents"].items()
    return [_row(task, name, agent, settings, best) for name, agent in agents]


def task_of(results: Mapping[str, Any]) -> str:
    """Say in words what the task of a contest is."""
    task = results["settings"]["task"]
    contexts = f"{task['num_contexts']} contexts"
    if "height" in task:
        return f"Water maze: {task['height']} × {task['width']} cells, {contexts}"
    shared = ", each arm good once" if task["mapping"] == "permutation" else ""
    return f"Barcode bandits: {task['num_arms']} arms, {contexts}{shared}"


def _row(
    task: str, name: str, agent: Mapping[str, Any], settings: Settings, best: float | None
) -> Row:
    seeds = len(agent["seeds"])
    return Row(
        task,
        name,
        agent.get("trials"),
        agent.get("learner") or vars(settings.learner),
        num_weights(AGENTS.find(name), settings.task, settings.network),
        state_bytes(name, settings),
        agent["reward"],
        agent["reward"]["mean"] / best if best else None,
        agent["by_exposure"]["reward"]["mean"],
        agent["train_steps"] // seeds,
        learned_at(agent["curve"], best),
        agent["train_steps"] / agent["steps_per_second"] / seeds,
    )


def state_bytes(agent: str, settings: Settings) -> int:
    """Count the bytes that an agent carries from step to step in one lane, its memory included."""
    learner = settings.make_learner(agent)
    state = jax.eval_shape(learner.init, jax.ShapeDtypeStruct((), jnp.int32))

    def start(params: Any) -> Any:
        player = learner.agent(params)
        begun = start_epoch(learner.world, player, learner.memory)
        return begun.player, begun.memory if player.remembers else ()

    return bytes_of(jax.eval_shape(start, state.params))


def ceiling(optimum: Mapping[str, Any]) -> float | None:
    """Return what an agent can earn that remembers its own context; nothing where it is not known.

    One that remembers the whole epoch may earn more where contexts share out the arms: that is
    `with_memory`.
    """
    for name in ("own_memory", "mean_over_exposures", "with_memory"):
        if name in optimum:
            return float(optimum[name])
    return None


def learned_at(curve: Mapping[str, Any], best: float | None) -> list[int | None]:
    """Return after how many steps of its own each seed first earned 90% of the ceiling."""
    per_seed = curve["reward"]["per_seed"]  # (seeds, points)
    steps = [step // len(per_seed) for step in curve["steps"]]
    aim = float("inf") if best is None else SHARE * best
    return [
        next((step for step, reward in zip(steps, rewards, strict=True) if reward >= aim), None)
        for rewards in per_seed
    ]


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

    (reward − best without memory) / (best with memory of the own context − best without), where
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
