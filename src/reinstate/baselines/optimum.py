"""The optimum of each experiment's task, whatever its settings, as a dict of values by name.

Values are reward per episode (in the maze: goals), except for the maze's `steps_…`. What is
simulated, not exact, says so in its name and comes with the half width of its 95% interval. A task
that cannot be solved raises Unsolvable.
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from reinstate.baselines.bandits import compositional, one_exposure, own_memory
from reinstate.baselines.elimination import elimination
from reinstate.baselines.two_step import good_state_probability, ideal_observers, pay
from reinstate.baselines.water_maze import (
    random_walk_goals,
    water_maze_bounds,
    water_maze_optimum,
)
from reinstate.errors import TooLarge, Unsolvable
from reinstate.tasks.bandits import BarcodeBandits, OmniglotBandits
from reinstate.tasks.compositional import CompositionalBandits
from reinstate.tasks.two_step import EpisodicTwoStep
from reinstate.tasks.water_maze import WaterMaze

Values = dict[str, Any]


def bandit_optimum(task: BarcodeBandits) -> Values:
    """Return what is best without memory, with memory of the own context, and of all contexts."""
    arms = task.num_arms, task.pulls, task.p_good, task.p_bad
    chance = (task.p_good + (task.num_arms - 1) * task.p_bad) / task.num_arms
    values: Values = {
        "chance": task.pulls * chance,
        "without_memory": task.pulls * one_exposure(*arms),
    }
    if task.process != "bag":
        return values  # an urn has no fixed number of exposures per context
    by_exposure = task.pulls * own_memory(*arms, exposures=task.repeats)
    values["own_memory"] = float(np.mean(by_exposure))
    values["own_memory_by_exposure"] = by_exposure.tolist()
    if task.mapping == "permutation" and task.num_contexts == task.num_arms:
        simulated = elimination(*arms, exposures=task.repeats)
        values["elimination_simulated"] = {
            "mean": task.pulls * simulated.mean,
            "half_width": task.pulls * simulated.half_width,
            "by_exposure": (task.pulls * simulated.by_exposure).tolist(),
        }
    return values


def omniglot_optimum(task: OmniglotBandits) -> Values:
    """Return the optimum if every class is recognised, an upper bound: failures only cost."""
    return bandit_optimum(task.with_barcodes())


def compositional_optimum(task: CompositionalBandits) -> Values:
    """Return what is best if both stimuli are novel, if either is known, and over an epoch."""
    task = task.for_evaluation()
    half = task.num_classes // 2  # high-paying, and as many low-paying
    found = compositional(half, task.repeats, task.pulls, task.p_high, task.p_low)
    return {
        "chance": task.pulls * (task.p_high + task.p_low) / 2,
        "both_novel": task.pulls * found.novel,
        "either_known": task.pulls * found.known,
        "mean_over_epoch": task.pulls * found.mean,
        "by_exposure": (task.pulls * found.by_exposure).tolist(),
    }


def maze_optimum(task: WaterMaze) -> Values:
    """Return the optimum, or upper bounds under the same names where the maze is too large."""
    if task.start != "elsewhere":
        raise Unsolvable("mazes are solved for starts elsewhere than the goal: use start elsewhere")
    try:
        return asdict(water_maze_optimum(task.height, task.width, task.steps, task.repeats))
    except TooLarge:
        found = water_maze_bounds(task.height, task.width, task.steps, task.repeats)
    return {
        "bounds": asdict(found),
        "random_walk": random_walk_goals(task.height, task.width, task.steps),
        "without_memory": found.without_memory_upper,
        "goal_known": found.goal_known,
        "mean_over_exposures": found.mean_over_exposures_upper,
        "steps_goal_known": found.steps_goal_known,
    }


def two_step_optimum(task: EpisodicTwoStep) -> Values:
    """Return the rewards of ideal observers; those of the incremental ones are simulated."""
    if task.cued == 0:
        return {"uncued": float(np.mean(pay(task, good_state_probability(task))))}
    if task.cues != "uniform":
        raise Unsolvable("cued episodes are solved for cues drawn uniformly: use cues uniform")
    found = ideal_observers(task)
    share = task.cued / task.episodes_per_epoch

    def over_epoch(cued: float) -> float:
        return (1 - share) * found.uncued + share * cued

    return {
        "uncued": found.uncued,
        "episodic_cued": found.episodic_cued,
        "incremental_cued": found.incremental_cued.mean,
        "counting_cued": found.counting_cued.mean,
        "simulation_half_width": 1.96 * found.incremental_cued.stderr,
        "with_memory": over_epoch(found.episodic_cued),
        "without_memory": over_epoch(found.counting_cued.mean),
        "chance": (task.p_high + task.p_low) / 2,
    }
