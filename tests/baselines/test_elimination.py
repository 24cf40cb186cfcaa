"""The bound for agents that remember the whole epoch, against the best of all strategies."""

from collections import Counter
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest

from reinstate.baselines.bandits import one_exposure, own_memory
from reinstate.baselines.epoch_memory import elimination, elimination_bound
from reinstate.errors import UserError

Law = tuple[float, ...]  # of the mappings


def mappings(num_arms: int, contexts: int) -> tuple[np.ndarray, Law]:
    """List the good arms of all contexts, (mappings, contexts), as the task draws them."""
    found: Counter[tuple[int, ...]] = Counter()
    for rest in product(range(num_arms), repeat=contexts - num_arms):
        found.update(permutations((*range(num_arms), *rest)))
    weights = np.array(list(found.values()))
    return np.array(list(found)), tuple(weights / weights.sum())


def best_of_all_strategies(
    num_arms: int, pulls: int, p_good: float, p_bad: float, exposures: int, contexts: int
) -> float:
    """Reward per pull of the best play of whole epochs, by recursion over what can be known."""
    good, prior = mappings(num_arms, contexts)

    @cache
    def between(law: Law, left: tuple[int, ...]) -> float:
        if not any(left):
            return 0.0
        total = 0.0
        for context, count in enumerate(left):
            if count:
                fewer = (*left[:context], count - 1, *left[context + 1 :])
                total += count / sum(left) * during(law, fewer, context, pulls)
        return total

    @cache
    def during(law: Law, left: tuple[int, ...], context: int, more: int) -> float:
        if more == 0:
            return between(law, left)
        values = []
        for arm in range(num_arms):
            pays, value = np.where(good[:, context] == arm, p_good, p_bad), 0.0
            for reward, chance in ((1, pays), (0, 1 - pays)):
                joint = np.array(law) * chance
                if (p := joint.sum()) > 0:
                    after = tuple((joint / p).round(12).tolist())
                    value += p * (reward + during(after, left, context, more - 1))
            values.append(value)
        return max(values)

    return between(prior, (exposures,) * contexts) / (pulls * exposures * contexts)


def test_the_paper() -> None:
    bound = elimination_bound()
    assert bound[0] == pytest.approx(np.mean([one_exposure(m) for m in range(1, 11)]))
    assert bound == pytest.approx([0.650367, *[0.9] * 9], abs=1e-6)
    assert bound.mean() == pytest.approx(0.8750367, abs=1e-7)
    reached = elimination()
    assert own_memory().mean() < reached.mean + reached.half_width < bound.mean()


@pytest.mark.parametrize(
    ("num_arms", "pulls", "p_good", "p_bad", "exposures", "contexts"),
    [
        (2, 2, 0.9, 0.1, 2, 2),
        (2, 1, 0.7, 0.4, 3, 2),
        (2, 2, 0.3, 0.8, 2, 2),
        (3, 2, 0.9, 0.1, 1, 3),
        (3, 1, 0.3, 0.8, 1, 3),
        (3, 2, 0.0, 1.0, 1, 3),
        (2, 1, 0.9, 0.1, 2, 3),
        (2, 1, 0.2, 0.7, 1, 4),
    ],
)
def test_no_strategy_beats_the_bound(
    num_arms: int, pulls: int, p_good: float, p_bad: float, exposures: int, contexts: int
) -> None:
    settings = num_arms, pulls, p_good, p_bad, exposures
    best = best_of_all_strategies(*settings, contexts)
    bound = elimination_bound(*settings, contexts)
    assert best <= bound.mean() + 1e-9
    assert bound.mean() < max(p_good, p_bad)
    assert best >= own_memory(*settings).mean() - 1e-9
    if contexts == num_arms:
        greedy = elimination(*settings, epochs=4000)
        assert greedy.mean - 2 * greedy.half_width < best


@pytest.mark.parametrize(("p_good", "p_bad"), [(1.0, 0.0), (0.0, 1.0)])
@pytest.mark.parametrize(("pulls", "exposures", "contexts"), [(1, 2, 2), (2, 1, 2), (2, 2, 2)])
def test_it_is_attained_where_a_first_episode_leaves_no_doubt(
    p_good: float, p_bad: float, pulls: int, exposures: int, contexts: int
) -> None:
    best = best_of_all_strategies(2, pulls, p_good, p_bad, exposures, contexts)
    bound = elimination_bound(2, pulls, p_good, p_bad, exposures, contexts)
    assert best == pytest.approx(bound.mean(), abs=1e-12)
    # Half of all epochs have one wrong pull, the first.
    assert best == pytest.approx(1 - 0.5 / (pulls * exposures * contexts))


def test_with_one_good_arm_to_avoid_any_known_arm_is_best() -> None:
    # Only the very first episode of an epoch has no arm known to be another context's.
    bound = elimination_bound(4, 3, 0.2, 0.7, 2)
    assert bound == pytest.approx([(one_exposure(4, 3, 0.2, 0.7) + 3 * 0.7) / 4, 0.7])


def test_further_contexts_have_independent_arms() -> None:
    alone, aided = one_exposure(3, 4, 0.8, 0.3), elimination_bound(3, 4, 0.8, 0.3, 5)[0]
    found = elimination_bound(3, 4, 0.8, 0.3, 5, num_contexts=7)
    assert found == pytest.approx([(3 * aided + 4 * alone) / 7, *[0.8] * 4])
    with pytest.raises(UserError, match="2 contexts are too few for 3 arms: raise num_contexts"):
        elimination_bound(3, 4, num_contexts=2)
