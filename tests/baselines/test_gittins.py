from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from reinstate.baselines.gittins import discounted_table, finite_horizon_table
from reinstate.errors import TooLarge


def discounted_index(a: float, b: float, discount: float, tolerance: float = 1e-6) -> float:
    """That of an arm never pulled."""
    return float(discounted_table(0, a, b, discount, tolerance)[0, 0])


def finite_horizon_index(a: float, b: float, pulls_left: int) -> float:
    return float(finite_horizon_table(pulls_left, 0, a, b)[pulls_left, 0, 0])


@pytest.mark.parametrize(
    ("a", "b", "discount", "expected"),
    [
        (1, 1, 0.9, 0.7029),
        (1, 1, 0.99, 0.8699),
        # Below: found by `bisect_retirement` with 400 pulls of look-ahead.
        (2, 1, 0.9, 0.8001),
        (1, 2, 0.9, 0.5001),
        (4, 2, 0.9, 0.7539),
        (0.5, 2.5, 0.8, 0.2531),
    ],
)
def test_discounted_index_has_the_published_digits(
    a: float, b: float, discount: float, expected: float
) -> None:
    assert round(discounted_index(a, b, discount), 4) == expected


def test_finite_horizon_index_of_the_uniform_prior() -> None:
    assert round(finite_horizon_index(1, 1, 10), 4) == 0.6981


def bisect_retirement(a: float, b: float, discount: float, depth: int) -> float:
    """The textbook calibration: the wage that makes retiring now as good as pulling once more."""
    low, high = 0.0, 1.0
    while high - low > 1e-10:
        wage = (low + high) / 2
        retired = wage / (1 - discount)
        value = np.full(depth + 1, retired)
        for t in reversed(range(depth)):
            m = (a + np.arange(t + 1)) / (a + b + t)
            pull = m * (1 + discount * value[1:]) + (1 - m) * discount * value[:-1]
            value = np.maximum(retired, pull)
        low, high = (wage, high) if pull[0] > retired else (low, wage)
    return low


@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 2), (0.5, 2.5), (1, 6)])
@pytest.mark.parametrize("discount", [0.3, 0.8, 0.95])
def test_discounted_index_makes_retirement_a_matter_of_indifference(
    a: float, b: float, discount: float
) -> None:
    expected = bisect_retirement(a, b, discount, depth=600)
    assert discounted_index(a, b, discount) == pytest.approx(expected, abs=2e-6)
    assert discounted_index(a, b, discount, tolerance=1e-9) == pytest.approx(expected, abs=2e-9)


def best_stopping_rule(a: float, b: float) -> float:
    """Best E[reward] / E[pulls] over all 32 rules that pull once, and then at most twice more."""
    counts = [(1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]
    ratios = []
    for rule in product([False, True], repeat=len(counts)):
        goes_on = dict(zip(counts, rule, strict=True))
        reward = pulls = 0.0
        frontier = {(0, 0): 1.0}
        for _ in range(3):
            following: dict[tuple[int, int], float] = {}
            for (s, f), weight in frontier.items():
                m = (a + s) / (a + b + s + f)
                reward, pulls = reward + weight * m, pulls + weight
                for key, p in (((s + 1, f), m), ((s, f + 1), 1 - m)):
                    following[key] = following.get(key, 0.0) + weight * p
            frontier = {key: w for key, w in following.items() if goes_on.get(key, False)}
        ratios.append(reward / pulls)
    return max(ratios)


@pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 1), (1, 3), (0.4, 0.7)])
def test_finite_horizon_index_is_the_best_of_all_stopping_rules(a: float, b: float) -> None:
    assert finite_horizon_index(a, b, 3) == pytest.approx(best_stopping_rule(a, b), abs=1e-12)


def test_one_pull_left_or_no_patience_leave_the_mean() -> None:
    assert finite_horizon_index(3, 4, 1) == pytest.approx(3 / 7, abs=1e-12)
    assert discounted_index(3, 4, 1e-7) == pytest.approx(3 / 7, abs=1e-6)


def test_tables_hold_the_single_indices() -> None:
    discounted = discounted_table(6, 1, 2, discount=0.85)
    finite = finite_horizon_table(4, 6, 1, 2)
    assert discounted.shape == (7, 7) and finite.shape == (5, 7, 7)
    for s, f in product(range(7), range(7)):
        if s + f > 6:
            assert np.isnan(discounted[s, f]) and np.isnan(finite[:, s, f]).all()
            continue
        assert discounted[s, f] == pytest.approx(discounted_index(1 + s, 2 + f, 0.85), abs=1e-10)
        for n in range(1, 5):
            expected = finite_horizon_index(1 + s, 2 + f, n)
            assert finite[n, s, f] == pytest.approx(expected, abs=1e-10)
    assert np.isnan(finite[0]).all()
    assert finite_horizon_table(3).shape == (4, 4, 4)


def play(table: np.ndarray, means: np.ndarray, pulls: int, seed: int) -> float:
    """Mean total reward of following the index; table[s, f] or table[pulls_left, s, f]."""
    rng = np.random.default_rng(seed)
    lanes = np.arange(len(means))
    counts = np.zeros((2, *means.shape), int)  # (successes and failures, lanes, arms)
    for t in range(pulls):
        now = table[pulls - t] if table.ndim == 3 else table
        arm = now[counts[0], counts[1]].argmax(axis=1)
        paid = rng.random(len(means)) < means[lanes, arm]
        counts[(~paid).astype(int), lanes, arm] += 1
    return float(counts[0].sum() / len(means))


@pytest.mark.parametrize("table", [discounted_table(10), finite_horizon_table(10)])
def test_play_earns_what_rl2_reports_for_gittins(table: np.ndarray) -> None:
    # Duan et al. (2016), table 1: 5 arms of uniform means, 10 pulls: 6.6. Standard error here .01.
    means = np.random.default_rng(0).random((40_000, 5))
    assert play(table, means, 10, seed=1) == pytest.approx(6.6, abs=0.08)


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda: discounted_table(0, discount=0.99999), "lower pulls or discount"),
        (lambda: discounted_table(100, discount=0.999), "lower pulls"),
        (lambda: discounted_table(10**6, discount=0.01), "lower pulls"),
        (lambda: finite_horizon_table(1000), "lower pulls or pulls_left"),
    ],
)
def test_too_large_is_refused_before_it_starts(call: Callable[[], object], advice: str) -> None:
    with pytest.raises(TooLarge, match=r"too large to solve, \d\.\de\+\d+ states") as error:
        call()
    assert advice in str(error.value) and "\n" not in str(error.value)
