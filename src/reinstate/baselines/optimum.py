"""The optimum of each experiment's task, whatever its settings, as a dict of values by name.

Values are reward per episode (in the maze: goals), except for the maze's `steps_…`. Where they are
known, each dict has

- `chance`: of random actions;
- `without_memory`: the ceiling of an agent that remembers nothing of earlier episodes;
- `with_memory`: the ceiling of an agent whose memory lasts an epoch, exact where it is attained and
  otherwise a bound from above; each function says which.

What is reachable, where that is less than the bound, stands beside it. What is simulated, not
exact, says so in its name or has a half width, of its 95% interval, beside it. A task that cannot
be solved raises Unsolvable.
"""

from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from reinstate.baselines.bandits import compositional, one_exposure, own_memory
from reinstate.baselines.elimination import elimination, elimination_bound
from reinstate.baselines.pooling import pooled
from reinstate.baselines.two_step import good_state_probability, ideal_observers, pay
from reinstate.baselines.water_maze import (
    best_search,
    exposure_mean,
    known_goal_table,
    random_walk_goals,
    search_entries,
    search_upper_bound,
    water_maze_bounds,
    water_maze_optimum,
)
from reinstate.errors import TooLarge, UserError, require_positive
from reinstate.processes import Bag, Urn
from reinstate.tasks.bandits import BarcodeBandits, OmniglotBandits
from reinstate.tasks.base import RecurringWorld
from reinstate.tasks.compositional import CompositionalBandits
from reinstate.tasks.two_step import EpisodicTwoStep
from reinstate.tasks.water_maze import WaterMaze

Values = dict[str, Any]


def bandit_optimum(task: BarcodeBandits) -> Values:
    """Return what is best without memory, with memory of the own context, and of all contexts.

    Exact: chance, without_memory, own_memory. with_memory is own_memory, hence exact, if contexts'
    arms are independent, and a bound (`elimination_bound`) if they share out the arms; then
    elimination_simulated is reachable. Under the urn and Zipf's law, with_memory counts an arm as
    known after one exposure, a bound, and is left out where contexts share out the arms. Contexts
    count as recognised whatever their noise.
    """
    arms = task.num_arms, task.pulls, task.p_good, task.p_bad
    chance = (task.p_good + (task.num_arms - 1) * task.p_bad) / task.num_arms
    without = one_exposure(*arms)
    values: Values = {"chance": task.pulls * chance, "without_memory": task.pulls * without}
    if not isinstance(task.sequence, Bag):  # no fixed number of exposures per context
        if task.mapping == "independent":
            best = max(task.p_good, task.p_bad) if task.num_arms > 1 else task.p_good
            values["with_memory"] = task.pulls * exposure_mean(without, best, _exposures(task))
        return values
    by_exposure = task.pulls * own_memory(*arms, exposures=task.repeats)
    values["own_memory"] = values["with_memory"] = float(np.mean(by_exposure))
    values["own_memory_by_exposure"] = by_exposure.tolist()
    if task.mapping == "permutation":
        bound = elimination_bound(*arms, task.repeats, task.num_contexts)
        values["with_memory"] = task.pulls * float(np.mean(bound))
    if task.mapping == "permutation" and task.num_contexts == task.num_arms:
        with suppress(TooLarge):  # the bound stands without it
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
    """Return what is best if both stimuli are novel, if either is known, and over an epoch.

    Exact: chance, without_memory (both stimuli are novel in every episode), either_known.
    with_memory and by_exposure count a stimulus as known after one exposure: bounds.
    pooled_simulated is reachable (`pooled`).
    """
    task = task.for_evaluation()
    half = task.num_classes // 2  # high-paying, and as many low-paying
    world = half, task.repeats, task.pulls, task.p_high, task.p_low
    found = compositional(*world)
    values: Values = {
        "chance": task.pulls * (task.p_high + task.p_low) / 2,
        "without_memory": task.pulls * found.novel,
        "either_known": task.pulls * found.known,
        "with_memory": task.pulls * found.mean,
        "by_exposure": (task.pulls * found.by_exposure).tolist(),
    }
    with suppress(TooLarge):  # the bound stands without it
        reached = pooled(*world)
        values["pooled_simulated"] = {
            "mean": task.pulls * reached.mean,
            "half_width": task.pulls * reached.half_width,
        }
    return values


def maze_optimum(task: WaterMaze) -> Values:
    """Return the optimum, or upper bounds under the same names where the maze is too large.

    Exact, unless the maze is too large: chance (the random walk), without_memory, goal_known.
    mean_over_exposures is for memory of the own context alone; it is exact if goal_always_found,
    and a bound if not. with_memory is the same if goals are independent. If they are distinct, it
    is the bound of `distinct_goals`, known to with_memory_half_width, and attained where searches
    always find the goal, as in the paper's maze; under the urn it is then left out.
    """
    size = task.height, task.width, task.steps
    try:
        values = asdict(water_maze_optimum(*size, _exposures(task)))
    except TooLarge:
        values = _maze_bounds(task)
    values = {"chance": values["random_walk"], **values}
    if task.goals == "independent":
        values |= {"with_memory": values["mean_over_exposures"], "with_memory_half_width": 0.0}
    elif task.process == "bag":
        found = distinct_goals(*size, task.num_contexts, task.repeats)
        values |= {"with_memory": found.mean, "with_memory_half_width": found.half_width}
    return values


def _maze_bounds(task: WaterMaze) -> Values:
    found = water_maze_bounds(task.height, task.width, task.steps, _exposures(task))
    return {
        "bounds": asdict(found),
        "random_walk": random_walk_goals(task.height, task.width, task.steps),
        "without_memory": found.without_memory_upper,
        "goal_known": found.goal_known,
        "mean_over_exposures": found.mean_over_exposures_upper,
        "steps_goal_known": found.steps_goal_known,
    }


def _exposures(task: RecurringWorld) -> float:
    """Return episodes per context that is met, on average.

    Of the urn it is N / sum_{n < N} alpha / (alpha + n); of Zipf's law N / sum_i 1 - (1 - p_i)^N.
    """
    episodes, process = task.episodes_per_epoch, task.sequence
    if isinstance(process, Bag):
        return process.repeats
    if isinstance(process, Urn):
        return episodes / sum(task.alpha / (task.alpha + n) for n in range(episodes))
    weight = (1.0 + np.arange(process.num_tasks)) ** -process.exponent
    return episodes / float(np.sum(1 - (1 - weight / weight.sum()) ** episodes))


def two_step_optimum(task: EpisodicTwoStep) -> Values:
    """Return the rewards of ideal observers; those of the incremental ones are simulated.

    Exact if p_high + p_low = 1: chance, uncued, episodic_cued, and with_memory, the mean of these
    two over the epoch. Elsewhere all but chance are of greedy observers: reachable, but no proven
    bound (see `reinstate.baselines.two_step`). without_memory has counting_cued for cued episodes,
    simulated to simulation_half_width. It is greedy too: reachable, and the best known without
    recall of single episodes, but no proven bound. Without cued episodes nothing is to be recalled.
    """
    chance = (task.p_high + task.p_low) / 2
    if task.cued == 0:
        best = float(np.mean(pay(task, good_state_probability(task))))
        return {"uncued": best, "with_memory": best, "without_memory": best, "chance": chance}
    found = ideal_observers(task)
    share = task.cued / task.episodes_per_epoch
    stderr = max(found.incremental_cued.stderr, found.counting_cued.stderr)

    def over_epoch(cued: float) -> float:
        return (1 - share) * found.uncued + share * cued

    return {
        "uncued": found.uncued,
        "episodic_cued": found.episodic_cued,
        "incremental_cued": found.incremental_cued.mean,
        "counting_cued": found.counting_cued.mean,
        "simulation_half_width": 1.96 * stderr,
        "with_memory": over_epoch(found.episodic_cued),
        "without_memory": over_epoch(found.counting_cued.mean),
        "chance": chance,
    }


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
