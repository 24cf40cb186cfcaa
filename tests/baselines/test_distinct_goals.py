"""The bound for mazes with distinct goals, against every set of goals and the best of all play."""

from functools import cache
from itertools import combinations, permutations

import numpy as np
import pytest

from reinstate.baselines import water_maze as module
from reinstate.baselines.water_maze import (
    best_search,
    distinct_goals,
    known_goal_table,
    water_maze_optimum,
)

Law = tuple[float, ...]  # of the goals of all contexts
Left = tuple[int, ...]  # episodes, by context


def over_all_sets(height: int, width: int, steps: int, contexts: int, exposures: int) -> float:
    """The bound without sampling: the mean over every set of goals that are known already."""
    known, cells = known_goal_table(height, width, steps), height * width
    first = []
    for m in range(contexts):
        values = []
        for excluded in combinations(range(cells), m):
            gain = 1 + known
            gain[:, list(excluded)] = 0
            values.append(cells / (cells - m) * best_search(height, width, gain))
        first.append(np.mean(values))
    return float((np.mean(first) + (exposures - 1) * known[steps].mean()) / exposures)


def best_of_all_strategies(
    height: int, width: int, steps: int, contexts: int, exposures: int
) -> float:
    """Goals per episode of the best play of whole epochs, by recursion over what can be known."""
    cells = range(height * width)
    goals = np.array(list(permutations(cells, contexts)))  # (cases, contexts)
    y, x = np.divmod(np.arange(height * width), width)
    near = np.abs(y[:, None] - y) + np.abs(x[:, None] - x) == 1

    def at(cell: int, law: Law, seen: np.ndarray, left: Left, k: int, more: int) -> float:
        joint = np.array(law) * seen
        p = float(joint.sum())
        return p * during(tuple((joint / p).round(12).tolist()), left, k, cell, more) if p else 0.0

    def placed(law: Law, seen: np.ndarray, left: Left, k: int, more: int) -> float:
        """Start, or start again, at any cell but the goal."""
        chance = [seen * (goals[:, k] != start) / (len(cells) - 1) for start in cells]
        return sum(at(start, law, chance[start], left, k, more) for start in cells)

    @cache
    def between(law: Law, left: Left) -> float:
        total, always = 0.0, np.ones(len(goals))
        for k, count in enumerate(left):
            if count:
                fewer = (*left[:k], count - 1, *left[k + 1 :])
                total += count / sum(left) * placed(law, always, fewer, k, steps)
        return total

    @cache
    def during(law: Law, left: Left, k: int, cell: int, more: int) -> float:
        if more == 0:
            return between(law, left)
        values = []
        for entered in np.flatnonzero(near[cell]).tolist():
            found = goals[:, k] == entered
            value = float(np.array(law) @ found) + placed(law, found, left, k, more - 1)
            values.append(value + at(entered, law, ~found, left, k, more - 1))
        return max(values)

    prior = tuple(np.full(len(goals), 1 / len(goals)).tolist())
    return between(prior, (exposures,) * contexts) / (contexts * exposures)


@pytest.mark.parametrize(
    ("maze", "attained"),
    [
        ((1, 3, 3, 2, 2), True),
        ((2, 3, 1, 2, 2), False),
        ((2, 2, 2, 3, 1), True),  # what is found in neither of two cells is in the third
        ((1, 5, 2, 2, 2), False),
        ((2, 2, 1, 3, 1), False),
    ],
)
def test_no_strategy_beats_the_bound(maze: tuple[int, int, int, int, int], attained: bool) -> None:
    bound, best = over_all_sets(*maze), best_of_all_strategies(*maze)
    assert best <= bound + 1e-9
    assert (best == pytest.approx(bound, abs=1e-9)) == attained
    own = water_maze_optimum(*maze[:3], maze[4])
    assert best >= own.mean_over_exposures - 1e-12 or not own.goal_always_found


@pytest.mark.parametrize("maze", [(2, 3, 7, 4, 3), (3, 3, 9, 3, 5), (1, 5, 6, 5, 1)])
def test_a_few_sets_stand_for_all(maze: tuple[int, int, int, int, int]) -> None:
    exact = over_all_sets(*maze)
    few, many = distinct_goals(*maze, sets=4), distinct_goals(*maze, sets=60)
    assert few.mean == pytest.approx(exact, abs=2 * few.half_width)
    assert many.mean == pytest.approx(exact, abs=1.5 * many.half_width)
    assert 0 < many.half_width < few.half_width


def test_in_the_papers_maze_some_best_search_always_finds_the_goal() -> None:
    # A bonus of 1 for finding it is earned in full, so that revealing it tells nothing new.
    gain, rng = 1 + known_goal_table(4, 4, 20), np.random.default_rng(2)
    for m in (1, 4, 9):
        left = np.isin(np.arange(16), rng.permutation(16)[m:]) * 16 / (16 - m)
        plain, paid = (best_search(4, 4, g * left) for g in (gain, gain + 1))
        assert paid == pytest.approx(plain + 1, abs=1e-9)


def test_a_large_maze_gets_a_looser_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    tight = distinct_goals(3, 3, 9, 4, 3)
    monkeypatch.setattr(module, "MAX_SEARCH_ENTRIES", 0)
    loose = distinct_goals.__wrapped__(3, 3, 9, 4, 3)  # past the cache
    assert tight.mean < loose.mean < tight.mean + 0.2
    assert distinct_goals(8, 8, 60, 3).mean < known_goal_table(8, 8, 60)[60].mean()
