import math
from collections import Counter
from itertools import permutations
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reinstate.processes import Bag, Process, Urn, exposures


def draw(process: Process, epochs: int) -> np.ndarray:
    """Task indices of many epochs, (epochs, episodes)."""
    keys = jax.vmap(jax.random.key)(jnp.arange(epochs))
    return np.asarray(jax.jit(jax.vmap(process.sample))(keys))


def assert_law(sequences: np.ndarray, law: dict[tuple[int, ...], float]) -> None:
    """Whole sequences occur as often as the law says (χ², and nothing outside it)."""
    counts = Counter(map(tuple, sequences.tolist()))
    assert set(counts) <= set(law)
    expected = [len(sequences) * p for p in law.values()]
    assert stats.chisquare([counts[s] for s in law], expected).pvalue > 1e-3


def test_bag_holds_every_task_exactly_as_often_as_repeats_says() -> None:
    sequences = draw(Bag(num_tasks=5, repeats=3), epochs=200)
    assert sequences.shape == (200, 15)
    for sequence in sequences:
        assert np.bincount(sequence, minlength=5).tolist() == [3] * 5


def test_every_order_of_a_bag_is_equally_likely() -> None:
    orders = set(permutations([0, 0, 1, 1]))
    assert_law(draw(Bag(num_tasks=2, repeats=2), epochs=6000), dict.fromkeys(orders, 1 / 6))


def urn_law(num_episodes: int, alpha: float) -> dict[tuple[int, ...], float]:
    """Every sequence with its probability, by the predictive rule, one draw after the other."""
    law: dict[tuple[int, ...], float] = {(): 1.0}
    for n in range(num_episodes):
        longer = {}
        for past, p in law.items():
            new = max(past, default=-1) + 1  # tasks are numbered by first appearance
            longer[*past, new] = p * alpha / (alpha + n)
            for task in range(new):
                longer[*past, task] = p * past.count(task) / (alpha + n)
        law = longer
    return law


def test_short_urns_follow_the_law_of_the_predictive_rule() -> None:
    alpha = 1.5
    law = urn_law(4, alpha)
    assert len(law) == 15  # set partitions of 4 draws
    assert sum(law.values()) == pytest.approx(1)
    assert_law(draw(Urn(4, alpha), epochs=20000), law)


ALPHA = 3.0


@pytest.fixture(scope="module")
def urns() -> np.ndarray:
    return draw(Urn(num_episodes=60, alpha=ALPHA), epochs=4000)


def test_long_urns_follow_the_predictive_rule_given_their_past(urns: np.ndarray) -> None:
    # Given the past, each indicator minus its predicted probability is a martingale difference, so
    # the sum over draws and epochs divided by its predicted deviation is a standard normal.
    epochs, num_episodes = urns.shape
    totals = {name: np.zeros(2) for name in ("new", "commonest", "rarest", "latest", "first")}
    rows = np.arange(epochs)
    counts = np.zeros((epochs, num_episodes))
    counts[rows, urns[:, 0]] += 1
    for n in range(1, num_episodes):
        known = np.where(counts > 0, counts, np.inf)
        chosen = {
            "commonest": np.argmax(counts, axis=1),
            "rarest": np.argmin(known, axis=1),
            "latest": urns[:, n - 1],
            "first": np.zeros(epochs, int),
        }
        events = {name: (urns[:, n] == j, counts[rows, j]) for name, j in chosen.items()}
        events["new"] = counts[rows, urns[:, n]] == 0, np.full(epochs, ALPHA)
        for name, (happened, mass) in events.items():
            p = mass / (ALPHA + n)
            totals[name] += (happened - p).sum(), (p * (1 - p)).sum()
        counts[rows, urns[:, n]] += 1
    for name, (surplus, variance) in totals.items():
        assert abs(surplus) < 4 * math.sqrt(variance), name


def test_distinct_tasks_of_an_urn_grow_as_its_law_says(urns: np.ndarray) -> None:
    # Draw i is new with probability α/(α+i), independently: mean and variance in closed form.
    p_new = ALPHA / (ALPHA + np.arange(urns.shape[1]))
    distinct = np.maximum.accumulate(urns, axis=1) + 1  # (epochs, draws)
    standard_error = np.sqrt(np.cumsum(p_new * (1 - p_new)) / len(urns))
    error = np.abs(distinct.mean(axis=0) - np.cumsum(p_new))
    assert np.all(error <= 4 * standard_error + 1e-9)


def test_urn_numbers_tasks_by_first_appearance(urns: np.ndarray) -> None:
    newest = np.maximum.accumulate(urns, axis=1)
    assert np.all(urns[:, 0] == 0)
    assert np.all(urns[:, 1:] <= newest[:, :-1] + 1)
    assert np.all(urns >= 0)


def ewens(n: int, alpha: float) -> np.ndarray:
    """E[number of tasks met exactly j times in n draws] for j = 1..n (Ewens 1972).

    (α/j) · n!/(n−j)! · Γ(α+n−j)/Γ(α+n), which is about α/j for j ≪ n: the Zipf-like tail.
    """
    j = np.arange(1, n + 1)
    falling = np.array([math.lgamma(n + 1) - math.lgamma(n - i + 1) for i in j])
    rising = np.array([math.lgamma(alpha + n - i) - math.lgamma(alpha + n) for i in j])
    return alpha / j * np.exp(falling + rising)


def test_ewens_formula_is_one_over_j_for_alpha_one() -> None:
    np.testing.assert_allclose(ewens(60, 1.0), 1 / np.arange(1, 61))
    assert ewens(60, ALPHA) @ np.arange(1, 61) == pytest.approx(60)


def test_urn_frequencies_have_the_zipf_like_tail_of_ewens(urns: np.ndarray) -> None:
    epochs, n = urns.shape
    expected = ewens(n, ALPHA)
    times_met = np.apply_along_axis(np.bincount, 1, urns, minlength=n)
    tasks_met = np.stack([(times_met == j).sum(axis=1) for j in range(1, n + 1)], axis=1)
    # The largest counts occur in few epochs or in none, where the sample's variance says nothing.
    standard_error = np.sqrt(np.maximum(tasks_met.var(axis=0), expected) / epochs)
    assert np.all(np.abs(tasks_met.mean(axis=0) - expected) < 4 * standard_error)


def test_an_urn_of_one_draw_meets_one_new_task() -> None:
    assert draw(Urn(1, 0.5), epochs=20).tolist() == [[0]] * 20


@pytest.mark.parametrize("process", [Bag(3, 4), Urn(12, 2.0)])
def test_sampling_compiles_and_batches(process: Process) -> None:
    keys = jax.vmap(jax.random.key)(jnp.arange(4))
    alone = jax.jit(process.sample)
    one_by_one = np.stack([np.asarray(alone(key)) for key in keys])
    assert one_by_one.shape == (4, process.num_episodes)
    assert np.issubdtype(one_by_one.dtype, np.integer)
    assert one_by_one.max() < process.max_tasks
    np.testing.assert_array_equal(jax.jit(jax.vmap(process.sample))(keys), one_by_one)


@given(st.lists(st.integers(0, 3), min_size=8, max_size=8))
def test_exposures_count_earlier_meetings(indices: list[int]) -> None:
    before = [indices[:n].count(task) for n, task in enumerate(indices)]
    assert exposures(jnp.array(indices)).tolist() == before


def test_a_long_epoch_takes_no_square_of_memory() -> None:
    indices = jax.ShapeDtypeStruct((3000,), jnp.int32)
    program = jax.jit(exposures).lower(indices).compile()
    size: Any = program.memory_analysis()
    assert size.temp_size_in_bytes < 3000**2
