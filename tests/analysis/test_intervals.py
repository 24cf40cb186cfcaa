"""Intervals worked by hand, and scipy as an oracle."""

import numpy as np
import pytest
from scipy import stats

from reinstate.analysis.intervals import difference, half_width, mean_and_noise, over_seeds

RNG = np.random.default_rng(0)


def test_two_and_three_seeds_by_hand() -> None:
    # Standard deviation 1, t(.975; 2) = 4.302653: half width 4.302653 / √3.
    three = over_seeds([1, 2, 3])
    assert three["mean"] == 2 and three["per_seed"] == [1, 2, 3]
    assert three["ci95"] == pytest.approx([2 - 2.484138, 2 + 2.484138], abs=1e-6)
    # Standard deviation √½, t(.975; 1) = 12.706205: half width 12.706205 / 2.
    assert over_seeds([0, 1])["ci95"] == pytest.approx([0.5 - 6.353102, 0.5 + 6.353102], abs=1e-6)


def test_every_column_has_an_interval_of_its_own() -> None:
    summary = over_seeds([[1, 5, 0], [2, 5, 1], [3, 5, 2]])
    assert summary["mean"] == [2, 5, 1]
    assert np.shape(summary["ci95"]) == (3, 2)
    assert summary["ci95"][1] == [5, 5]
    assert summary["ci95"][2] == pytest.approx([1 - 2.484138, 1 + 2.484138], abs=1e-6)


def test_a_single_seed_has_no_interval() -> None:
    assert over_seeds([7.0]) == {"mean": 7.0, "ci95": None, "per_seed": [7.0]}
    assert over_seeds([[1, 2]]) == {"mean": [1, 2], "ci95": None, "per_seed": [[1, 2]]}
    assert half_width(np.ones((1, 4))) is None


@pytest.mark.parametrize("n", [2, 3, 10])
def test_intervals_against_scipy(n: int) -> None:
    values = RNG.normal(size=n)
    expected = stats.t.interval(0.95, n - 1, loc=values.mean(), scale=stats.sem(values))
    assert over_seeds(values)["ci95"] == pytest.approx(list(expected), rel=1e-12)


def test_intervals_hold_the_mean_95_times_in_100() -> None:
    low, high = np.moveaxis(np.array(over_seeds(RNG.normal(size=(4, 20_000)))["ci95"]), -1, 0)
    covered = np.mean((low < 0) & (high > 0))
    assert covered == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 20_000))


def test_mean_and_noise() -> None:
    assert mean_and_noise(over_seeds([1, 2, 3])) == pytest.approx((2, 2.484138), abs=1e-6)
    assert mean_and_noise(over_seeds([3])) == (3, 0)


def test_difference_by_hand() -> None:
    # Both means have variance 1, so 2 degrees of freedom: half width 4.302653 √2.
    assert difference([0, 2], [1, 3]) == pytest.approx((-1, 6.084870), abs=1e-6)
    assert difference([5], [1, 2]) == (3.5, 0)
    assert difference([2, 2], [1, 1]) == (1, 0)


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 5), (10, 4)])
def test_difference_against_welch(n: int, m: int) -> None:
    a, b = RNG.normal(1, 3, n), RNG.normal(0, 0.5, m)
    oracle = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    gap, half = difference(a, b)
    assert (gap - half, gap + half) == pytest.approx((oracle.low, oracle.high), rel=1e-9)
