"""The optimum of the water maze, and a bound where the goals of contexts are distinct."""

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from reinstate.baselines.bandits import exposure_mean, exposures_of
from reinstate.baselines.water_maze import (
    best_search,
    known_goal_table,
    random_walk_goals,
    search_entries,
    search_upper_bound,
    water_maze_bounds,
    water_maze_optimum,
)
from reinstate.errors import TooLarge, UserError, require_positive
from reinstate.tasks.water_maze import WaterMaze

MAX_SEARCH_ENTRIES = 4e6  # of one exact search among the many: about 0.1 s


@dataclass(frozen=True)
class DistinctGoals:
    """Goals per episode, a bound, with the half width of its 95% interval."""

    mean: float
    half_width: float


@lru_cache(maxsize=8)  # recorded results of one task are read many times
def distinct_goals(
    height: int = 4,
    width: int = 4,
    steps: int = 20,
    contexts: int = 10,
    exposures: int = 10,
    sets: int = 8,
    seed: int = 0,
) -> DistinctGoals:
    """Bound goals per episode for every agent that remembers the goals of all contexts.

    An upper bound, by relaxation: reveal a context's goal at the end of its first episode. An agent
    may ignore what it is told, so its best reward is no less than before. Now nothing it does in an
    episode changes what it knows in later ones, so each episode is solved by itself. From the
    second exposure on the goal is known. Where a context is first met after m others, its goal is
    none of their goals, E, but uniform over the other n - m cells; the start is uniform over the
    cells but the goal, so that every pair (start, goal) has 1 / ((n - m)(n - 1)). Hence the search
    of `best_search`, with nothing to gain in E and n / (n - m) in place of 1:

        V_E = n / (n - m) best_search(gain without E).

    If some best search always finds the goal, revealing it tells nothing new and the bound is
    attained: in a 4x4 maze with 20 steps it was for every E tried.

    V_E is exact for each of `sets` random sets E per m, and simulated only in so far as these stand
    for all. The mean over E of K_E, the goals if one of the n - m is known to be the goal, is that
    of all cells, so V_E - K_E is averaged instead, which varies less. A maze whose search would
    take more than `MAX_SEARCH_ENTRIES` gets `search_upper_bound` for `best_search`, and so a looser
    bound. Cost: contexts sets searches; 3 s for 4x4.
    """
    require_positive(contexts=contexts)
    cells = height * width
    if contexts > cells:
        raise UserError(f"{cells} cells cannot give {contexts} contexts a goal each")
    if sets < 2:
        raise UserError(f"sets must be at least 2 for an interval, got {sets}")
    known = known_goal_table(height, width, steps)
    small = search_entries(height, width, steps) <= MAX_SEARCH_ENTRIES
    solve = best_search if small else search_upper_bound
    rng, first, variance = np.random.default_rng(seed), 0.0, 0.0
    for m in range(contexts):
        lost = []  # to the search
        for _ in range(sets if m else 1):
            left = np.ones(cells)
            left[rng.permutation(cells)[:m]] = 0
            value = cells / (cells - m) * solve(height, width, (1 + known) * left)
            lost.append(max(float(known[steps] @ left) / (cells - m) - value, 0.0))
        first += (float(known[steps].mean()) - float(np.mean(lost))) / contexts
        variance += float(np.var(lost)) / (sets - 1) / contexts**2
    mean = exposure_mean(first, float(known[steps].mean()), exposures)
    return DistinctGoals(mean, 1.96 * variance**0.5 / exposures)


def maze_optimum(task: WaterMaze) -> dict[str, Any]:
    """Return the optimum, or upper bounds under the same names where the maze is too large.

    Exact, unless the maze is too large: chance (the random walk), without_memory, goal_known.
    mean_over_exposures is for memory of the own context alone; it is exact if goal_always_found,
    and a bound if not. with_memory is the same if goals are independent. If they are distinct, it
    is the bound of `distinct_goals`, known to with_memory_half_width, and attained where searches
    always find the goal, as in the paper's maze; under the urn it is then left out.
    """
    size = task.height, task.width, task.steps
    try:
        values = asdict(water_maze_optimum(*size, exposures_of(task)))
    except TooLarge:
        values = _maze_bounds(task)
    values = {"chance": values["random_walk"], **values}
    if task.goals == "independent":
        values |= {"with_memory": values["mean_over_exposures"], "with_memory_half_width": 0.0}
    elif task.process == "bag":
        found = distinct_goals(*size, task.num_contexts, task.repeats)
        values |= {"with_memory": found.mean, "with_memory_half_width": found.half_width}
    return values


def _maze_bounds(task: WaterMaze) -> dict[str, Any]:
    found = water_maze_bounds(task.height, task.width, task.steps, exposures_of(task))
    return {
        "bounds": asdict(found),
        "random_walk": random_walk_goals(task.height, task.width, task.steps),
        "without_memory": found.without_memory_upper,
        "goal_known": found.goal_known,
        "mean_over_exposures": found.mean_over_exposures_upper,
        "steps_goal_known": found.steps_goal_known,
    }
