"""Exact optima of the contextual water maze (Experiment 4): pure functions of plain numbers.

The maze is an open grid with the moves left, right, up and down; walls block moves. The
goal is uniform over cells and the start uniform over the other cells. Stepping onto the goal pays 1
and respawns the agent, uniformly over the non-goal cells. An episode has `steps` moves.

If the goal g is known, the quickest way is best, as a move left is never worth less than none. With
d the Manhattan distance, s the start and t the moves left, the goals to come after a respawn are

    K_g(t) = mean over s != g of [d(s, g) <= t] (1 + K_g(t - d(s, g))).

If it is not, all that is learned before the first goal is "not here". Nothing branches, so a search
is one path, fixed at the start. Where it first enters cell q, of n, with t_q moves left,

    V(s) = max over paths of  sum_q gain_q(t_q) / (n - 1),   gain_q(t) = 1 + K_q(t).

The best path need not be the quickest sweep (a central goal is worth more than a corner), so the
maximum is taken over (set of visited cells, position, moves left); `best_search` says at what cost.
"""

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from reinstate.baselines.bandits import Simulated, exposure_mean, exposures_of
from reinstate.errors import TooLarge, UserError, require_positive
from reinstate.tasks.water_maze import WaterMaze

Floats = NDArray[np.float64]
Cells = NDArray[np.uint64]  # sets of cells, one bit per cell

MAX_CELLS = 1024  # for bounds; the exact search stops far earlier
MAX_TABLE_BYTES = 1.2e9  # two neighbouring levels of the search table
MAX_TABLE_ENTRIES = 1.0e9  # all levels together
MAX_SEARCH_ENTRIES = 4e6  # of one exact search among the many of `distinct_goals`: about 0.1 s


@dataclass(frozen=True)
class WaterMazeOptimum:
    """Goals per episode, and moves to its first goal (an episode without one counts `steps`)."""

    random_walk: float
    without_memory: float
    goal_known: float
    mean_over_exposures: float  # one search, then the goal is known
    goal_always_found: bool  # False: mean_over_exposures is only an upper bound
    steps_first_exposure: float  # of the quickest search
    steps_goal_known: float


def water_maze_optimum(
    height: int = 4, width: int = 4, steps: int = 20, exposures: float = 10
) -> WaterMazeOptimum:
    """Solve one maze; `best_search` determines the cost and refuses what is too large.

    `mean_over_exposures` = (without_memory + (exposures - 1) goal_known) / exposures is the mean of
    an agent that remembers its own context. It is attained if some best search always finds the
    goal: then a bonus of 1 for finding it raises the value of the best search by a full 1.
    """
    _visited_sets(height, width, steps)  # refuses before any work
    known_goals = known_goal_table(height, width, steps)
    gain, known = 1 + known_goals, float(known_goals[steps].mean())
    without = best_search(height, width, gain)
    found = best_search(height, width, gain + 1)
    return WaterMazeOptimum(
        random_walk=random_walk_goals(height, width, steps),
        without_memory=without,
        goal_known=known,
        mean_over_exposures=exposure_mean(without, known, exposures),
        goal_always_found=bool(np.isclose(found, without + 1, rtol=0, atol=1e-9)),
        steps_first_exposure=steps - best_search(height, width, _moves_left(gain)),
        steps_goal_known=steps_when_known(height, width, steps),
    )


def water_maze_bounds(
    height: int = 4, width: int = 4, steps: int = 20, exposures: float = 10
) -> dict[str, float]:
    """Bound the optima of any maze by `search_upper_bound`; those with a known goal are exact.

    Cost O(n^2 steps^2), memory O(n^2).
    """
    known_goals = known_goal_table(height, width, steps)
    gain, known = 1 + known_goals, float(known_goals[steps].mean())
    upper = search_upper_bound(height, width, gain)
    quickest = steps - search_upper_bound(height, width, _moves_left(gain))
    return {
        "without_memory_upper": upper,
        "goal_known": known,
        "mean_over_exposures_upper": exposure_mean(upper, known, exposures),
        "steps_first_exposure_lower": quickest,
        "steps_goal_known": steps_when_known(height, width, steps),
    }


def known_goal_table(height: int, width: int, steps: int) -> Floats:
    """Compute K_g(t), (steps + 1, cells): goals after a respawn, with t moves left and g known."""
    distance, cells = _distances(height, width, steps), height * width
    table = np.zeros((steps + 1, cells))
    for t in range(1, steps + 1):
        in_reach = (distance > 0) & (distance <= t)  # (start, goal)
        after = 1 + table[np.maximum(t - distance, 0), np.arange(cells)]
        table[t] = np.where(in_reach, after, 0.0).sum(0) / (cells - 1)
    return table


def steps_when_known(height: int = 4, width: int = 4, steps: int = 20) -> float:
    """Compute expected moves to the first goal if it is known: the mean of min(d(s, g), steps)."""
    distance = np.minimum(_distances(height, width, steps), steps)
    return float(distance.sum() / (distance > 0).sum())


def random_walk_goals(height: int = 4, width: int = 4, steps: int = 20) -> float:
    """Compute expected goals per episode of a random walk, by recursion over moves left.

    F_t(s, g) = mean over actions of (1 + mean_s' F_{t-1}(s', g) if q = g else F_{t-1}(q, g)).
    """
    cells = _count_cells(height, width, steps)
    y, x = np.divmod(np.arange(cells), width)
    moves = [
        np.clip(y + dy, 0, height - 1) * width + np.clip(x + dx, 0, width - 1)
        for dy, dx in ((0, -1), (0, 1), (-1, 0), (1, 0))
    ]
    other = 1 - np.eye(cells)
    value = np.zeros((cells, cells))  # (position, goal)
    for _ in range(steps):
        respawn = 1 + (value * other).sum(0) / (cells - 1)
        entered = np.where(other == 0, respawn, value)
        value = np.mean([entered[q] for q in moves], axis=0)
    return float((value * other).sum() / (cells * (cells - 1)))


def best_search(height: int, width: int, gain: Floats) -> float:
    """Solve for the max over paths of sum_q gain[t_q, q] / (n - 1), averaged over starts.

    `gain` is (steps + 1, cells): what finding the goal at q with t moves left is worth. It grows
    with t, so walking into a wall never helps. By the number k of visited cells, with W the set of
    them, p the position in W and t <= steps - k + 1,

        V_k(W, p, t) = max over neighbours q of p of
            V_k(W, q, t - 1)                              if q is in W
            gain[t - 1, q] + V_{k+1}(W + q, q, t - 1)     otherwise.

    Only connected W can occur: 11,506 in a 4x4 maze, not 2^16, but 2.3 million in 5x5 and about
    a billion in 6x6. With N_k of them, the cost is O(cells sum_k N_k (steps - k + 2)), the memory
    8 bytes * cells * N_k (steps - k + 2) for two neighbouring k: at 20 steps 0.1 s and 5 MB for
    4x4, 15 s and 1 GB for 5x5. Raises TooLarge before solving where that is too large.
    """
    steps, cells = len(gain) - 1, height * width
    levels = _visited_sets(height, width, steps)
    near = _neighbours(height, width)
    bit = np.uint64(1) << np.arange(cells, dtype=np.uint64)[:, None]
    # Beyond the last level no cell or no move is left, and nothing to gain.
    larger, value = np.zeros(1, np.uint64), np.zeros((steps - len(levels) + 1, cells, 1))
    for k in range(len(levels), 0, -1):
        sets = levels[k - 1]
        visited = (sets & bit) != 0  # (cells, sets)
        # The place of W + q; a meaningless index, never used, where that is not connected.
        grown = np.minimum(np.searchsorted(larger, sets | bit), len(larger) - 1)
        after, value = value, np.zeros((steps - k + 2, cells, len(sets)))
        for t in range(1, steps - k + 2):
            enter = gain[t - 1][:, None] + np.take_along_axis(after[t - 1], grown, axis=1)
            stand = np.where(visited, value[t - 1], enter)
            for p in range(cells):
                np.max(stand[near[p]], axis=0, out=value[t, p])
        larger = sets
    return float(value[steps].diagonal().mean() / (cells - 1))  # each start is its own first set


def search_upper_bound(height: int, width: int, gain: Floats) -> float:
    """Bound `best_search` from above for any size: cells visited in any order, one per move.

    It keeps that move tau enters one cell, that q needs tau >= d(s, q), and that tau and d(s, q)
    are both even or both odd, but not that successive cells touch. What remains is an assignment of
    moves to cells for each start, O(steps^2 cells) each.
    """
    steps, cells = len(gain) - 1, height * width
    distance = _distances(height, width, steps)
    tau = np.arange(1, steps + 1)
    worth = gain[steps - tau].T  # (cells, moves)
    total = 0.0
    for d in distance[:, :, None]:  # one start
        prize = np.where((d > 0) & (tau >= d) & ((tau - d) % 2 == 0), worth, 0.0)
        total += prize[linear_sum_assignment(prize, maximize=True)].sum()
    return float(total / (cells * (cells - 1)))


def _moves_left(gain: Floats) -> Floats:
    """Return gain_q(t) = t, whose best search is the quickest."""
    return np.zeros_like(gain) + np.arange(len(gain))[:, None]


def _count_cells(height: int, width: int, steps: int) -> int:
    require_positive(height=height, width=width, steps=steps)
    if height * width < 2:
        raise UserError("a water maze needs at least 2 cells: raise height or width")
    return height * width


def _distances(height: int, width: int, steps: int) -> NDArray[np.int64]:
    """Compute Manhattan distances (cells, cells)."""
    cells = _count_cells(height, width, steps)
    if cells > MAX_CELLS:
        raise TooLarge(
            f"a {height}x{width} water maze is too large even for bounds: {cells:,} cells, over "
            f"{MAX_CELLS:,}, would take {cells**2 * 6e-8:.3g} GB and hours; lower height or width"
        )
    y, x = np.divmod(np.arange(cells), width)
    return np.asarray(np.abs(y[:, None] - y) + np.abs(x[:, None] - x), np.int64)


@lru_cache(maxsize=1)
def _neighbours(height: int, width: int) -> list[list[int]]:
    return [np.flatnonzero(row == 1).tolist() for row in _distances(height, width, 1)]


@lru_cache(maxsize=1)  # the three searches of one maze share it
def _visited_sets(
    height: int, width: int, steps: int, most: float = MAX_TABLE_ENTRIES
) -> list[Cells]:
    """List connected sets of 1, 2, ... cells that leave a cell and a move; refuse a large maze.

    That is one whose table in `best_search` has more than `most` entries.
    """
    cells = _count_cells(height, width, steps)
    refusal = TooLarge(
        f"a {height}x{width} water maze with {steps} steps is too large to solve exactly: lower"
        " height, width or steps (bounds at any size: water_maze_bounds)"
    )
    if cells > 64:  # more than the bits of a set
        raise refusal
    bit = np.uint64(1) << np.arange(cells, dtype=np.uint64)
    around = [np.bitwise_or.reduce(bit[near]) for near in _neighbours(height, width)]
    levels = [bit.copy()]
    while len(levels) < min(cells - 1, steps):
        w = levels[-1]
        grown = [w[(w & q == 0) & (w & a != 0)] | q for q, a in zip(bit, around, strict=True)]
        levels.append(np.unique(np.concatenate(grown)))
        entries = np.array([cells * len(sets) * (steps - k + 1.0) for k, sets in enumerate(levels)])
        if 8 * np.convolve(entries, [1, 1]).max() > MAX_TABLE_BYTES or entries.sum() > most:
            raise refusal
    return levels


@lru_cache(maxsize=8)  # recorded results of one task are read many times
def distinct_goals(
    height: int = 4,
    width: int = 4,
    steps: int = 20,
    contexts: int = 10,
    exposures: int = 10,
    sets: int = 8,
    seed: int = 0,
) -> Simulated:
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
    try:
        _visited_sets(height, width, steps, MAX_SEARCH_ENTRIES)
        solve = best_search
    except TooLarge:
        solve = search_upper_bound
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
    return Simulated(mean, 1.96 * variance**0.5 / exposures)


def maze_optimum(task: WaterMaze) -> dict[str, Any]:
    """Return the optimum, or upper bounds under the same names where the maze is too large.

    Exact, unless the maze is too large: chance (the random walk), without_memory, goal_known.
    mean_over_exposures is for memory of the current context alone; exact if goal_always_found,
    and a bound if not. with_memory is the same if goals are independent. If they are distinct, it
    is the bound of `distinct_goals`, known to with_memory_half_width, and attained where searches
    always find the goal, as in the paper's maze; under the urn it is then left out.
    """
    size = task.height, task.width, task.steps
    try:
        values: dict[str, Any] = asdict(water_maze_optimum(*size, exposures_of(task)))
    except TooLarge:
        bounds = water_maze_bounds(*size, exposures_of(task))
        upper = {n.removesuffix("_upper"): bound for n, bound in bounds.items()}
        del upper["steps_first_exposure_lower"]
        values = {"bounds": bounds, "random_walk": random_walk_goals(*size), **upper}
    values = {"chance": values["random_walk"], **values}
    if task.goals == "independent":
        values |= {"with_memory": values["mean_over_exposures"], "with_memory_half_width": 0.0}
    elif task.process == "bag":
        found = distinct_goals(*size, task.num_contexts, task.repeats)
        values |= {"with_memory": found.mean, "with_memory_half_width": found.half_width}
    return values
