"""What remembering the whole epoch is worth in the water maze, if no two contexts share a goal."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from reinstate.baselines.water_maze import (
    best_search,
    exposure_mean,
    known_goal_table,
    search_entries,
    search_upper_bound,
)
from reinstate.errors import UserError, require_positive

MAX_SEARCH_ENTRIES = 4e6  # of one exact search among the many: about 0.1 s


@dataclass(frozen=True)
class DistinctGoals:
    """Goals per episode, a bound, with the half width of its 95% interval."""

    mean: float
    half_width: float


@lru_cache(maxsize=8)  # recorded results of one task are judged many times
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
