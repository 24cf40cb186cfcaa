"""Intervals worked by hand and by scipy; test_error_rates.py simulates what is said by them."""

import doctest
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from reinstate.analysis.verdicts import (
    NORMAL,
    evaluation_error,
    exact_rate,
    over_seeds,
    student,
    tolerance,
    without_nan,
)

COUNTS = [3, 5, 10, 30]  # of seeds
REPETITIONS = 20_000
NOISE = 4 * math.sqrt(0.95 * 0.05 / REPETITIONS)  # of a simulated coverage: .006


def normal(*shape: int) -> Any:
    return np.random.default_rng(0).normal(size=shape)


def coverage(ends: Any, truth: float) -> float:
    return float(np.mean((ends[..., 0] <= truth) & (truth <= ends[..., 1])))


# Means


def test_three_seeds_by_hand() -> None:
    """Their standard deviation is √7, and t of 2 degrees of freedom is 4.3027."""
    half = 4.302653 * math.sqrt(7 / 3)
    assert over_seeds([1, 2, 6]) == {
        "mean": 3.0,
        "ci95": pytest.approx([3 - half, 3 + half], rel=1e-6),
        "per_seed": [1, 2, 6],
    }


@pytest.mark.parametrize("n", [2, *COUNTS])
def test_student_against_scipy(n: int) -> None:
    values = normal(n)
    expected = stats.t.interval(0.95, n - 1, loc=values.mean(), scale=stats.sem(values))
    assert student(values) == pytest.approx(list(expected), rel=1e-12)


def test_every_column_has_an_interval_of_its_own() -> None:
    values = normal(4, 2, 3)
    summary = over_seeds(values)
    assert np.shape(summary["ci95"]) == (2, 3, 2)
    for place in np.ndindex(2, 3):
        alone = over_seeds(values[:, *place])
        assert np.array(summary["ci95"])[place] == pytest.approx(alone["ci95"])
        assert np.array(summary["mean"])[place] == pytest.approx(alone["mean"])


def test_a_single_seed_has_no_interval() -> None:
    assert over_seeds([7.0]) == {"mean": 7.0, "ci95": None, "per_seed": [7.0]}
    assert over_seeds([[1, 2]]) == {"mean": [1, 2], "ci95": None, "per_seed": [[1, 2]]}
    assert over_seeds([7.0], 0.1)["ci95"] is None  # though its evaluation has an error
    assert student([1.0]) is None


def test_what_is_not_known_stays_unknown() -> None:
    summary = over_seeds([[1, np.nan], [2, 3], [3, 3]])
    assert np.isnan(summary["mean"][1]) and np.isnan(summary["ci95"][1]).all()
    assert without_nan({"a": [1.0, math.nan, [math.nan]], "b": "c"}) == {
        "a": [1.0, None, [None]],
        "b": "c",
    }


@pytest.mark.parametrize(("n", "factor"), [(5, 4.291), (10, 2.856), (20, 2.319), (30, 2.145)])
def test_nine_in_ten_single_runs(n: int, factor: float) -> None:
    """Exact factors are near Howe's, and 95 ranges in 100 hold that share."""
    values = 5 + 2 * normal(n, REPETITIONS)
    ends = tolerance(values)
    assert ends is not None
    found = (ends[:, 1] - ends[:, 0]) / 2 / values.std(axis=0, ddof=1)
    assert found == pytest.approx(factor, rel=0.01)
    held = np.diff(stats.norm.cdf(ends, 5, 2), axis=-1)
    assert np.mean(held >= 0.9) == pytest.approx(0.95, abs=2 * NOISE)
    assert tolerance([1.0]) is None


# The evaluation's own error


def test_no_interval_is_narrower_than_the_evaluation_allows() -> None:
    found = over_seeds([2.0, 2.0, 2.0], 0.5)
    assert found["error"] == 0.5 and found["ci95"] == pytest.approx([2 - 0.98, 2 + 0.98], abs=1e-3)
    apart = over_seeds([1, 2, 6])["ci95"]
    assert over_seeds([1, 2, 6], 0.5)["ci95"] == pytest.approx(apart)
    assert "error" not in over_seeds([1, 2, 6])


def test_evaluation_error_by_hand() -> None:
    """Variances 2 and 8 over 2 epochs: a seed's mean has 1 and 4, their mean (1 + 4) / 4."""
    assert evaluation_error([[1, 3], [2, 6]]) == pytest.approx(math.sqrt(5) / 2)
    assert evaluation_error([[1], [2]]) is None


def widened(rewards: Any) -> Any:
    """A vectorised twin of over_seeds with the error of (seeds, epochs, repetitions)."""
    seeds, epochs = rewards.shape[:2]
    error = np.sqrt(np.sum(rewards.var(axis=1, ddof=1) / epochs, axis=0)) / seeds
    means = rewards.mean(axis=1)
    ends = student(means)
    assert ends is not None
    half = np.maximum((ends[:, 1] - ends[:, 0]) / 2, NORMAL * error)
    return np.stack([means.mean(axis=0) - half, means.mean(axis=0) + half], axis=-1)


@pytest.mark.parametrize("spread", [0.0, 0.5], ids=["evaluation alone", "seeds differ too"])
@pytest.mark.parametrize("n", COUNTS)
def test_the_floor_never_costs_coverage(n: int, spread: float) -> None:
    epochs, repetitions = 10, REPETITIONS // 4
    seeds = spread * np.random.default_rng(2).normal(size=(n, 1, repetitions))
    rewards = seeds + normal(n, epochs, repetitions)
    ends, bare = widened(rewards), student(rewards.mean(axis=1))
    assert bare is not None
    for each in range(5):
        one = rewards[:, :, each]
        exact = over_seeds(one.mean(axis=1), evaluation_error(one))["ci95"]
        assert exact == pytest.approx(ends[each], rel=1e-12)
    assert coverage(ends, 0) >= coverage(bare, 0) >= 0.95 - 2 * NOISE
    width, least = ends[:, 1] - ends[:, 0], 2 * NORMAL / math.sqrt(n * epochs)
    assert width.min() > 0.6 * least  # the error is estimated too
    if n == 3 and spread == 0:  # seeds that happen to agree: the rule is for these
        assert np.mean(bare[:, 1] - bare[:, 0] < 0.5 * least) > 0.04
        assert coverage(ends, 0) > 0.98


# Rates


def test_rates_by_hand() -> None:
    """Where all seeds agree, the open end p solves pⁿ = .025."""
    assert exact_rate(0, 3) == pytest.approx([0, 1 - 0.025 ** (1 / 3)])
    assert exact_rate(20, 20) == pytest.approx([0.025 ** (1 / 20), 1])
    assert exact_rate(5, 10) == pytest.approx([0.1871, 0.8129], abs=1e-4)


@pytest.mark.parametrize("n", COUNTS)
def test_the_exact_interval_covers_every_rate(n: int) -> None:
    """Not simulated: all outcomes are gone through, with their probabilities."""
    ends = np.array([exact_rate(hits, n) for hits in range(n + 1)])
    for rate in np.linspace(0, 1, 101):
        inside = (ends[:, 0] <= rate + 1e-12) & (rate - 1e-12 <= ends[:, 1])
        assert stats.binom.pmf(np.arange(n + 1), n, rate) @ inside >= 0.95


def test_the_example_of_the_documentation() -> None:
    page = Path(__file__).parents[2] / "docs/statistics.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert failed == 0 < tried
