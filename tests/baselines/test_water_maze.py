"""Water-maze optima against the reference values, slow twins over histories, and simulation."""

from functools import cache

import numpy as np
import pytest

from reinstate.baselines.water_maze import (
    WaterMazeOptimum,
    best_search,
    known_goal_table,
    search_upper_bound,
    steps_when_known,
    water_maze_bounds,
    water_maze_optimum,
)
from reinstate.errors import TooLarge

ACTIONS = ((0, -1), (0, 1), (-1, 0), (1, 0))
History = tuple[tuple[int, int, int], ...]  # (action, reward, cell afterwards)


def move(cell: int, action: int, height: int, width: int) -> int:
    y, x = divmod(cell, width)
    y, x = y + ACTIONS[action][0], x + ACTIONS[action][1]
    return y * width + x if 0 <= y < height and 0 <= x < width else cell


class Histories:
    """Best expected goals by enumerating all histories; the posterior is recomputed from each."""

    def __init__(self, height: int, width: int, goals: tuple[int, ...] | None = None) -> None:
        self.shape, self.cells = (height, width), range(height * width)
        self.goals = self.cells if goals is None else goals

    def likelihood(self, goal: int, start: int, history: History) -> float:
        """P(start and all outcomes | goal, actions)."""
        p, cell = (start != goal) / (len(self.cells) - 1), start
        for action, reward, after in history:
            entered = move(cell, action, *self.shape)
            if entered == goal:
                p *= (reward == 1 and after != goal) / (len(self.cells) - 1)
            else:
                p *= reward == 0 and after == entered
            cell = after
        return p

    def value(self, start: int, history: History, left: int) -> float:
        """max over actions of sum over goals and outcomes of P(goal, history) (reward + ...)."""
        if left == 0:
            return 0.0
        best = 0.0
        for action in range(4):
            total = 0.0
            for reward in (0, 1):
                for after in self.cells:
                    longer = (*history, (action, reward, after))
                    p = sum(self.likelihood(g, start, longer) for g in self.goals)
                    if p > 0:
                        total += p * reward + self.value(start, longer, left - 1)
            best = max(best, total)
        return best

    def optimum(self, steps: int) -> float:
        return sum(self.value(s, (), steps) for s in self.cells) / len(self.goals)


def belief_optimum(height: int, width: int, steps: int) -> float:
    """The belief recursion as one would first write it: posterior 1/|S| for each cell left in S."""
    table = known_goal_table(height, width, steps)

    @cache
    def value(left_over: frozenset[int], cell: int, left: int) -> float:
        if left == 0:
            return 0.0
        options = []
        for action in range(4):
            q = move(cell, action, height, width)
            if q in left_over:
                p = 1 / len(left_over)
                later = value(left_over - {q}, q, left - 1) if p < 1 else 0.0
                options.append(p * (1 + table[left - 1, q]) + (1 - p) * later)
            elif q != cell:
                options.append(value(left_over, q, left - 1))
        return max(options)

    cells = frozenset(range(height * width))
    return float(np.mean([value(cells - {s}, s, steps) for s in cells]))


@pytest.fixture(scope="module")
def default() -> WaterMazeOptimum:
    return water_maze_optimum()


def test_reference_values(default: WaterMazeOptimum) -> None:
    assert round(default.random_walk, 2) == 0.70
    assert round(default.without_memory, 2) == 5.54
    assert round(default.goal_known, 2) == 7.44
    assert round(default.mean_over_exposures, 2) == 7.25
    assert round(default.steps_first_exposure, 1) == 8.0
    assert round(default.steps_goal_known, 2) == 2.67
    assert default.goal_always_found


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_against_all_histories_of_a_2x2_maze(steps: int) -> None:
    optimum = water_maze_optimum(2, 2, steps)
    assert optimum.without_memory == pytest.approx(Histories(2, 2).optimum(steps), abs=1e-12)
    known = np.mean([Histories(2, 2, (g,)).optimum(steps) for g in range(4)])
    assert optimum.goal_known == pytest.approx(known, abs=1e-12)


def test_against_all_histories_of_a_corridor() -> None:
    assert water_maze_optimum(1, 3, 4).without_memory == pytest.approx(
        Histories(1, 3).optimum(4), abs=1e-12
    )


@pytest.mark.parametrize(("height", "width", "steps"), [(2, 3, 9), (3, 3, 10), (3, 5, 12)])
def test_against_plain_belief_recursion(height: int, width: int, steps: int) -> None:
    solved = water_maze_optimum(height, width, steps).without_memory
    assert solved == pytest.approx(belief_optimum(height, width, steps), abs=1e-12)


def test_3x5_maze() -> None:
    optimum = water_maze_optimum(3, 5, 20)
    assert optimum.without_memory == pytest.approx(5.70943, abs=1e-5)
    assert optimum.goal_known == pytest.approx(7.46167, abs=1e-5)
    # 15 cells: the 7 starts of the rarer colour have no path through all cells and lose one move
    # in one of 14 goals; the others find the goal in (1 + ... + 14) / 14 = 7.5 moves.
    assert optimum.steps_first_exposure == pytest.approx(7.5 + 7 / 15 / 14, abs=1e-12)
    assert optimum.steps_goal_known == pytest.approx(8 / 3, abs=1e-12)
    turned = water_maze_optimum(5, 3, 20)
    assert turned.without_memory == pytest.approx(optimum.without_memory, abs=1e-12)
    assert turned.random_walk == pytest.approx(optimum.random_walk, abs=1e-12)


def test_steps_are_cut_at_the_end_of_the_episode() -> None:
    # A corridor of 3 with 1 move: from either end 1 of 2 goals is found, from the middle likewise.
    assert water_maze_optimum(1, 3, 1).steps_first_exposure == 1
    assert steps_when_known(1, 3, 1) == 1
    assert steps_when_known(1, 3, 2) == pytest.approx(4 / 3)


def test_an_unfinished_search_is_reported() -> None:
    assert not water_maze_optimum(4, 4, 14).goal_always_found
    assert water_maze_optimum(4, 4, 15).goal_always_found


@pytest.mark.parametrize(("height", "width", "steps"), [(4, 4, 20), (3, 5, 20), (2, 7, 9)])
def test_a_relaxed_search_bounds_the_best(height: int, width: int, steps: int) -> None:
    gain = 1 + known_goal_table(height, width, steps)
    exact = best_search(height, width, gain)
    assert exact - 1e-12 < search_upper_bound(height, width, gain) < 1.02 * exact


def test_bounds_answer_where_the_optimum_does_not() -> None:
    bounds = water_maze_bounds(8, 8, 20)
    assert 0.92 < bounds["without_memory_upper"] < 0.94
    # 20 new cells in 20 moves, of 63: (1 + ... + 20 + 43 * 20) / 63.
    assert bounds["steps_first_exposure_lower"] == pytest.approx((210 + 43 * 20) / 63)


@pytest.mark.parametrize(
    ("height", "width", "steps"), [(6, 6, 20), (8, 8, 20), (100, 100, 20), (4, 4, 100_000)]
)
def test_too_large_is_refused_at_once(height: int, width: int, steps: int) -> None:
    with pytest.raises(TooLarge, match=r"too large .* lower height, width") as error:
        water_maze_optimum(height, width, steps)
    assert "\n" not in str(error.value)
