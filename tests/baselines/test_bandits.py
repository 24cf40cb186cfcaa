import math
from collections.abc import Callable
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reinstate.baselines.bandits import (
    compositional,
    count_beliefs,
    expand_beliefs,
    one_exposure,
    own_memory,
)
from reinstate.baselines.epoch_memory import elimination, list_subsets, sum_assignments
from reinstate.errors import TooLarge


@pytest.mark.parametrize(
    ("num_arms", "pulls", "p_good", "p_bad"),
    [(10, 10, 0.9, 0.1), (3, 6, 0.8, 0.3), (4, 5, 0.2, 0.7), (3, 4, 1.0, 0.4), (5, 4, 0.4, 0.0)],
)
def test_two_exposures_earn_the_optimum_of_twice_the_pulls(
    num_arms: int, pulls: int, p_good: float, p_bad: float
) -> None:
    both = own_memory(num_arms, pulls, p_good, p_bad, exposures=2)
    assert both.mean() == pytest.approx(one_exposure(num_arms, 2 * pulls, p_good, p_bad), abs=1e-10)


def best_of_all_histories(num_arms: int, pulls: int, p_good: float, p_bad: float) -> float:
    """Reward per pull by branching on every history of arms and outcomes, with no merging."""

    def value(joint: np.ndarray, left: int) -> float:  # joint[i] = P(history, arm i is good)
        if left == 0:
            return 0.0
        totals = []
        for arm in range(num_arms):
            pays = np.where(np.arange(num_arms) == arm, p_good, p_bad)
            paid, unpaid = joint * pays, joint * (1 - pays)
            totals.append(paid.sum() + value(paid, left - 1) + value(unpaid, left - 1))
        return max(totals)

    return value(np.full(num_arms, 1 / num_arms), pulls) / pulls


PROBABILITIES = [(0.9, 0.1), (0.8, 0.3), (0.3, 0.8), (1.0, 0.0), (0.0, 1.0), (1.0, 0.4), (0.6, 0.0)]


@pytest.mark.parametrize(("p_good", "p_bad"), PROBABILITIES)
def test_the_optimum_is_the_best_over_all_histories(p_good: float, p_bad: float) -> None:
    expected = best_of_all_histories(3, 4, p_good, p_bad)
    assert one_exposure(3, 4, p_good, p_bad) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.integers(2, 6), st.integers(1, 8), st.floats(0, 1), st.floats(0, 1), st.booleans())
def test_greedy_play_attains_the_optimum(
    num_arms: int, pulls: int, p_good: float, p_bad: float, symmetric: bool
) -> None:
    p_bad = 1 - p_good if symmetric else p_bad
    greedy = own_memory(num_arms, pulls, p_good, p_bad, exposures=1)[0]
    assert greedy == pytest.approx(one_exposure(num_arms, pulls, p_good, p_bad), abs=1e-8)


@pytest.mark.parametrize(("num_arms", "pulls"), [(4, 5), (4, 2), (10, 10), (2, 3)])
def test_certain_arms_are_found_by_elimination(num_arms: int, pulls: int) -> None:
    # Reward 1/0: the good arm is found at try k = 1, 2, ... with equal chances, and pays from then.
    expected = sum(max(0, pulls - k) for k in range(num_arms)) / num_arms / pulls
    assert one_exposure(num_arms, pulls, 1, 0) == pytest.approx(expected, abs=1e-12)
    # Reward 0/1: the one bad arm is met at once or, since the first arm keeps paying, never.
    expected = 1 - 1 / num_arms / pulls
    assert one_exposure(num_arms, pulls, 0, 1) == pytest.approx(expected, abs=1e-12)
    assert own_memory(num_arms, num_arms, 1, 0, 2)[1] == pytest.approx(1, abs=1e-12)


def test_elimination_between_two_certain_contexts_needs_one_look() -> None:
    # Only the very first pull of an epoch of 2 contexts x 3 exposures x 2 pulls can go wrong.
    found = elimination(2, 2, 1, 0, 3, epochs=4000)
    assert found.mean == pytest.approx(1 - 0.5 / 12, abs=2 * found.half_width)
    assert found.half_width == pytest.approx(1.96 * 0.5 / 12 / math.sqrt(4000), rel=0.01)
    assert found.by_exposure[1:].tolist() == [1, 1]


def testsum_assignments_sum_over_permutations() -> None:
    rows = np.random.default_rng(0).random((3, 4, 2))  # (contexts, arms, epochs)
    found = sum_assignments(rows, list_subsets(4))
    for left_out in range(4):
        arms = [arm for arm in range(4) if arm != left_out]
        expected = sum(rows[[0, 1, 2], list(order)].prod(axis=0) for order in permutations(arms))
        assert found[left_out] == pytest.approx(expected)


def test_compositional_of_the_paper() -> None:
    found = compositional()
    assert math.floor(1000 * found.novel) == 837  # .8376
    assert found.known == 0.9
    assert round(found.mean, 3) == 0.893
    assert found.by_exposure == pytest.approx([0.865288, 0.9, 0.9, 0.9, 0.9], abs=1e-6)
    assert found.by_exposure.mean() == pytest.approx(found.mean)
    assert compositional(p_high=0.1, p_low=0.9).known == 0.9


@pytest.mark.parametrize(("num_classes", "exposures"), [(3, 2), (2, 3), (4, 1)])
def test_compositional_epochs_against_every_order_of_the_bags(
    num_classes: int, exposures: int
) -> None:
    found = compositional(num_classes, exposures, 6, 0.8, 0.3)
    orders = set(permutations(np.arange(num_classes).repeat(exposures).tolist()))
    counts = [[order[:t].count(c) for t, c in enumerate(order)] for order in orders]
    rewards = np.zeros((exposures, 2))  # (sum, number)
    for high, low in product(counts, counts):
        for h, other in zip(high, low, strict=True):
            rewards[h] += [found.known if h or other else found.novel, 1]
    assert found.by_exposure == pytest.approx(rewards[:, 0] / rewards[:, 1])
    assert found.mean == pytest.approx(rewards[:, 0].sum() / rewards[:, 1].sum())
    assert found.novel == pytest.approx(one_exposure(2, 6, 0.8, 0.3))


@pytest.mark.parametrize(
    ("call", "setting"),
    [
        (lambda: one_exposure(10, 40), "pulls"),
        (lambda: one_exposure(10, 30, 0.8, 0.3), "pulls"),
        (lambda: one_exposure(10**6, 10**6, 0.8, 0.3), "num_arms"),
        (lambda: own_memory(10, 100, 0.8, 0.3), "exposures"),
        (lambda: own_memory(10**5, 10), "num_arms"),
        (lambda: elimination(25), "num_arms"),
        (lambda: elimination(10**6), "num_arms"),
        (lambda: elimination(epochs=10**6), "epochs"),
        (lambda: compositional(pulls=10**5), "pulls"),
    ],
)
def test_too_large_is_refused_before_it_starts(call: Callable[[], object], setting: str) -> None:
    with pytest.raises(TooLarge, match=r"too large to solve, \d\.\de\+\d+ .* lower") as error:
        call()
    assert setting in str(error.value).split("lower")[1] and "\n" not in str(error.value)


def test_the_size_estimate_bounds_the_beliefs() -> None:
    for num_arms, pulls, p_good, p_bad in [(3, 6, 0.8, 0.3), (10, 8, 0.9, 0.1), (2, 9, 0.7, 0.2)]:
        beliefs, met = np.full((1, num_arms), 1 / num_arms), 1
        for _ in range(pulls):
            _, beliefs = expand_beliefs(beliefs, p_good, p_bad)
            met += len(beliefs)
        bound = count_beliefs(num_arms, pulls, math.isclose(p_good + p_bad, 1))
        assert met <= bound < 5 * met
    # By hand: after t pulls, t on one arm, or (t - 1 and 1) on the two.
    assert count_beliefs(2, 3, False) == 1 + 2 + (3 + 3) + (4 + 6)
