"""Intervals and tests worked by hand, by brute force, and by scipy."""

import doctest
import math
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from reinstate.analysis import intervals
from reinstate.analysis.intervals import (
    bootstrap,
    difference,
    interquartile_mean,
    over_seeds,
    permutation_test,
    smallest_p,
    student,
)

RNG = np.random.default_rng(0)


def quantile(values: list[float], share: float) -> float:
    """The least value that at least this share of all does not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


# Intervals


def test_of_two_or_three_seeds_the_interval_is_their_range() -> None:
    assert over_seeds([1, 2, 6]) == {
        "mean": 3.0,
        "ci95": [1, 6],
        "per_seed": [1, 2, 6],
        "iqm": pytest.approx((1 + 4 * 2 + 6) / 6),
    }
    assert over_seeds([0, 1])["ci95"] == [0, 1]


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_few_seeds_are_resampled_in_all_ways(n: int) -> None:
    values = RNG.normal(size=n)
    means = [float(np.mean(drawn)) for drawn in product(values, repeat=n)]
    expected = [quantile(means, 0.025), quantile(means, 0.975)]
    assert over_seeds(values)["ci95"] == pytest.approx(expected, rel=1e-12)


def test_many_seeds_are_resampled_at_random_but_always_alike() -> None:
    values = RNG.exponential(size=10)
    found = over_seeds(values)["ci95"]
    assert over_seeds(values)["ci95"] == found
    drawn = np.random.default_rng(3).choice(values, (20_000, 10)).mean(axis=1)
    assert found == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.04 * values.std())


def test_every_column_has_an_interval_of_its_own() -> None:
    summary = over_seeds([[1, 5, 0], [2, 5, 1], [3, 5, 2]])
    assert summary == {
        "mean": [2, 5, 1],
        "ci95": [[1, 3], [5, 5], [0, 2]],
        "per_seed": [[1, 5, 0], [2, 5, 1], [3, 5, 2]],
    }
    wide = RNG.normal(size=(6, 2, intervals.COLUMNS))  # more than are resampled at a time
    ends = bootstrap(wide)
    assert ends.shape == (2, intervals.COLUMNS, 2)
    for place in ((0, 0), (0, intervals.COLUMNS - 1), (1, 7)):
        np.testing.assert_allclose(ends[place], bootstrap(wide[:, *place]), rtol=1e-12)


@pytest.mark.parametrize("n", [2, 3, 5, 7])
def test_an_interval_never_leaves_the_range_of_the_seeds(n: int) -> None:
    values = np.append(RNG.normal(size=(n, 50)), np.full((n, 1), 0.1), axis=1)
    low, high = np.moveaxis(bootstrap(values), -1, 0)
    assert (low >= values.min(axis=0)).all() and (high <= values.max(axis=0)).all()
    assert ((low <= values.mean(axis=0) + 1e-12) & (values.mean(axis=0) <= high + 1e-12)).all()
    assert (low[-1], high[-1]) == (0.1, 0.1)  # though three tenths are not .3


def test_a_single_seed_has_no_interval() -> None:
    assert over_seeds([7.0]) == {"mean": 7.0, "ci95": None, "per_seed": [7.0], "iqm": 7.0}
    assert over_seeds([[1, 2]]) == {"mean": [1, 2], "ci95": None, "per_seed": [[1, 2]]}
    assert student([1.0]) is None


def test_what_is_not_known_stays_unknown() -> None:
    summary = over_seeds([[1, np.nan], [2, 3], [3, 3], [4, 3], [5, 3], [6, 3]])
    assert np.isnan(summary["mean"][1]) and np.isnan(summary["ci95"][1]).all()
    assert 1 < summary["ci95"][0][0] < 3.5


@pytest.mark.parametrize(("n", "share"), [(3, 0.75), (10, 0.9)])
def test_intervals_hold_the_mean_as_often_as_is_said(n: int, share: float) -> None:
    """Not 95 times in 100: see docs/statistics.md."""
    ends = bootstrap(np.random.default_rng(1).normal(size=(n, 1000)))
    covered = np.mean((ends[:, 0] < 0) & (ends[:, 1] > 0))
    assert covered == pytest.approx(share, abs=0.04)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3], 3),
        ([1, 4], 2.5),
        ([9, 1, 2], (1 + 4 * 2 + 9) / 6),
        ([100, 1, 3, -7], 2),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9, 100], (0.5 * 3 + 4 + 5 + 6 + 7 + 0.5 * 8) / 5),
    ],
)
def test_interquartile_mean(values: list[float], expected: float) -> None:
    assert interquartile_mean(values) == pytest.approx(expected)


@pytest.mark.parametrize("n", [2, 3, 10])
def test_student_against_scipy(n: int) -> None:
    values = RNG.normal(size=n)
    expected = stats.t.interval(0.95, n - 1, loc=values.mean(), scale=stats.sem(values))
    assert student(values) == pytest.approx(list(expected), rel=1e-12)


# Differences


def test_difference_by_brute_force() -> None:
    a, b = RNG.normal(1, 1, 3), RNG.normal(0, 1, 2)
    gaps = [
        float(np.mean(x) - np.mean(y)) for x in product(a, repeat=3) for y in product(b, repeat=2)
    ]
    gap, ends = difference(a, b)
    assert gap == pytest.approx(a.mean() - b.mean())
    assert ends == pytest.approx([quantile(gaps, 0.025), quantile(gaps, 0.975)])


def test_difference_of_pairs_is_that_of_their_differences() -> None:
    a, b = [1.0, 5.0, 9.0], [0.5, 4.0, 8.5]
    gap, ends = difference(a, b, paired=True)
    assert gap == pytest.approx(2 / 3) and ends == [0.5, 1.0]
    _, loose = difference(a, b)
    assert loose is not None and loose[0] < -4  # had the pairs been torn apart
    assert difference([5], [1], paired=True) == (4, None) == difference([5], [1])


def test_difference_of_many_seeds() -> None:
    a, b = RNG.normal(1, 1, 40), RNG.normal(0, 1, 30)
    _, ends = difference(a, b)
    assert ends == difference(a, b)[1]
    expected = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    assert ends == pytest.approx(list(expected), abs=0.1)


# Tests


def test_p_of_seeds_that_lie_apart_is_the_smallest_there_is() -> None:
    assert permutation_test([3, 4, 5], [0, 1, 2]) == 1 / 20 == smallest_p(3, 3)
    assert permutation_test([3, 4, 5], [0, 1, 2], paired=True) == 1 / 8 == smallest_p(3, 3, True)
    assert permutation_test([9] * 5, [1] * 5) == 1 / 252 == smallest_p(5, 5)
    assert permutation_test([0, 1, 2], [3, 4, 5]) == 1
    assert permutation_test([2, 2], [2, 2]) == permutation_test([2], [2], paired=True) == 1


def test_p_by_brute_force() -> None:
    a, b = RNG.normal(0.5, 1, 4), RNG.normal(0, 1, 3)
    every = np.concatenate([a, b])
    gaps = [
        every[list(chosen)].mean() - np.delete(every, chosen).mean()
        for chosen in combinations(range(7), 4)
    ]
    assert permutation_test(a, b) == np.mean(np.array(gaps) >= a.mean() - b.mean() - 1e-12)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize(
    "n", [5, 9]
)  # 9 and 9 are too many to go through, scipy does it all the same
def test_p_against_scipy(paired: bool, n: int) -> None:
    a, b = RNG.normal(0.4, 1, n), RNG.normal(0, 1, n)
    oracle = stats.permutation_test(
        (a, b),
        lambda x, y, axis: x.mean(axis=axis) - y.mean(axis=axis),
        permutation_type="samples" if paired else "independent",
        alternative="greater",
        vectorized=True,
        n_resamples=np.inf,
    )
    noise = 0.015 if n == 9 and not paired else 1e-12
    assert permutation_test(a, b, paired) == pytest.approx(oracle.pvalue, abs=noise)
    assert permutation_test(a, b, paired) == permutation_test(a, b, paired)


@pytest.mark.parametrize("paired", [False, True])
def test_p_of_many_seeds_is_near_that_of_a_t_test(paired: bool) -> None:
    a, b = RNG.normal(0.3, 1, 40), RNG.normal(0, 1, 40)
    test = stats.ttest_rel if paired else stats.ttest_ind
    expected = test(a, b, alternative="greater").pvalue
    assert permutation_test(a, b, paired) == pytest.approx(expected, abs=0.02)


def test_drawn_arrangements_never_give_nothing() -> None:
    far = np.arange(20.0) + 100, np.arange(20.0)
    for paired in (False, True):
        assert permutation_test(*far, paired) == pytest.approx(1 / 10_001)
        assert permutation_test(*far, paired) >= smallest_p(20, 20, paired) > 0


def test_rounding_hides_no_tie() -> None:
    """.1 + .2 is not .3; dealt in the other order, the sums are to count as equal."""
    assert permutation_test([0.1, 0.2, 0.3], [0.3, 0.2, 0.1]) > 0.5
    assert permutation_test([0.1 + 0.2], [0.3]) == 1


def test_the_example_of_the_documentation() -> None:
    page = Path(__file__).parents[2] / "docs/statistics.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert (failed, tried) == (0, 4)
