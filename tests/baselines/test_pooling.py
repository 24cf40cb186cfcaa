"""Pooling what is known of linked stimuli, against exact values and the best of all strategies."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest

from reinstate.baselines.bandits import compositional, own_memory
from reinstate.baselines.epoch_memory import pooled


def test_the_paper() -> None:
    found, bound = pooled(), compositional()
    assert found.mean == pytest.approx(0.893050, abs=1e-5)
    assert bound.mean == pytest.approx(0.8930575, abs=1e-7)
    assert 0 < found.half_width < bound.mean - found.mean
    assert pooled().mean == found.mean  # the same seed, the same epochs


def test_arms_that_are_harder_to_tell_apart() -> None:
    found, bound = pooled(200, 5, 6, 0.7, 0.35), compositional(200, 5, 6, 0.7, 0.35)
    assert 6 * bound.mean == pytest.approx(4.1289, abs=1e-4)
    assert 6 * found.mean == pytest.approx(4.104, abs=1e-3)
    assert 6 * found.half_width < 1e-3
    assert 6 * compositional(16, 4, 6, 0.7, 0.35).mean == pytest.approx(4.1065, abs=1e-4)
    assert 6 * pooled(16, 4, 6, 0.7, 0.35).mean == pytest.approx(4.071, abs=2e-3)


PROBABILITIES = [(0.9, 0.1), (0.7, 0.35), (0.3, 0.8), (1.0, 0.4), (0.6, 0.0), (1.0, 0.0)]


@pytest.mark.parametrize(("p_high", "p_low"), PROBABILITIES)
def test_one_pair_is_a_bandit_of_two_arms(p_high: float, p_low: float) -> None:
    exact = own_memory(2, 4, p_high, p_low, exposures=5).mean()
    found = pooled(1, 5, 4, p_high, p_low)
    assert found.mean == pytest.approx(exact, abs=1.5 * found.half_width + 1e-12)


def test_arms_that_do_not_differ() -> None:
    assert pooled(3, 2, 4, 0.5, 0.5).mean == 0.5


def test_what_is_known_comes_through_other_stimuli() -> None:
    # High 0 meets low 0 and 1, high 1 meets low 1 and 0: by then all four are one set.
    linked, apart = pooled(2, 2, 1, 0.9, 0.1), own_memory(2, 1, exposures=2).mean()
    assert linked.mean > apart + 3 * linked.half_width


def best_of_all_strategies(half: int, repeats: int, p_high: float, p_low: float) -> float:
    """Reward per episode of one pull of the best play of whole epochs, kinds half and half."""
    classes = range(2 * half)
    kinds = np.array([[c in high for c in classes] for high in combinations(classes, half)])

    @cache
    def value(law: tuple[float, ...], left: tuple[int, ...]) -> float:
        total = 0.0  # over the pairs that may come next
        for a, b in combinations(classes, 2):
            shown = np.array(law) * (kinds[:, a] != kinds[:, b]) * left[a] * left[b]
            shown /= (sum(left) / 2) ** 2
            if shown.sum() > 0:
                total += max(pull(shown, left, a, b), pull(shown, left, b, a))
        return total

    def pull(shown: np.ndarray, left: tuple[int, ...], chosen: int, other: int) -> float:
        pays = np.where(kinds[:, chosen], p_high, p_low)
        fewer = tuple(n - (c in (chosen, other)) for c, n in enumerate(left))
        total = float(shown @ pays)
        for joint in (shown * pays, shown * (1 - pays)):
            if (p := float(joint.sum())) > 0 and any(fewer):
                total += p * value(tuple((joint / p).round(12).tolist()), fewer)
        return total

    prior = tuple(np.full(len(kinds), 1 / len(kinds)).tolist())
    return value(prior, (repeats,) * (2 * half)) / (half * repeats)


@pytest.mark.parametrize(
    ("half", "repeats", "p_high", "p_low"),
    [(2, 2, 0.9, 0.1), (2, 2, 0.7, 0.35), (2, 3, 0.8, 0.2), (1, 3, 0.9, 0.1), (3, 1, 0.9, 0.1)],
)
def test_between_greedy_pooling_and_the_bound_lies_the_optimum(
    half: int, repeats: int, p_high: float, p_low: float
) -> None:
    best = best_of_all_strategies(half, repeats, p_high, p_low)
    found = pooled(half, repeats, 1, p_high, p_low)
    assert found.mean - 1.5 * found.half_width <= best + 1e-9
    assert best <= compositional(half, repeats, 1, p_high, p_low).mean + 1e-9
    # The optimum also knows that exactly half are high-paying, which tells most in small epochs.
    assert best - found.mean < 0.01


def test_the_bound_is_attained_where_a_first_pull_leaves_no_doubt() -> None:
    bound = compositional(2, 2, 1, 1, 0).mean
    assert best_of_all_strategies(2, 2, 1, 0) == pytest.approx(bound, abs=1e-9)
    found = pooled(2, 2, 1, 1, 0)
    assert found.mean == pytest.approx(bound, abs=1e-12) and found.half_width == 0
