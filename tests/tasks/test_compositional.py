"""Compositional bandits by their rules: what recurs, where it is shown, and what it pays."""

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reinstate.tasks.compositional import (
    HIGH,
    LOW,
    CompositionalBandits,
    CompositionalTask,
    Trial,
)
from tasks.known_drawings import recognise

WORLD = CompositionalBandits(num_classes=8, repeats=3, pulls=4, stimuli="barcodes")
DRAWN = CompositionalBandits(num_classes=6, repeats=4, pulls=4, scale=2.0)
EPOCHS, EPISODES = 40, 3000
TASK = CompositionalTask(
    context_id=jnp.array(3),
    exposure=jnp.array(1),
    classes=jnp.array([3, 6]),  # high and low
    exposures=jnp.array([1, 2]),
    stimuli=jnp.array([[1.0, 2.0], [3.0, 4.0]]),
    others=jnp.zeros((0, 2, 2)),
    exchange=jnp.zeros(()),
)


def trial(high_at: int, query: int, pulls: int = 0) -> Trial:
    nothing = jnp.zeros(2, jnp.int32)
    return Trial(jnp.array(pulls), jnp.array(high_at), jnp.array(query), nothing)


def sample(world: CompositionalBandits) -> Any:
    keys = jax.random.split(jax.random.key(0), EPOCHS)
    return jax.tree.map(np.asarray, jax.jit(partial(jax.lax.map, world.sample_epoch))(keys))


@pytest.fixture(scope="module")
def epochs() -> Any:
    return sample(WORLD)


@pytest.fixture(scope="module")
def classes(epochs: Any) -> np.ndarray:
    """Which class each stimulus is of, by its barcode: (epochs, episodes, high or low)."""
    bits = epochs.stimuli.astype(int)
    names: np.ndarray = bits @ (1 << np.arange(bits.shape[-1]))
    return names


def test_every_class_takes_part_equally_often_and_half_of_them_are_high(
    classes: np.ndarray,
) -> None:
    assert classes.shape == (EPOCHS, 12, 2)
    for epoch in classes:
        high, low = (Counter(epoch[:, row].tolist()) for row in (HIGH, LOW))
        assert not set(high) & set(low)  # a class keeps its worth through the epoch
        assert [sorted(c.values()) for c in (high, low)] == [[3, 3, 3, 3]] * 2


def test_classes_recur_in_new_combinations(classes: np.ndarray) -> None:
    pairs = np.array([len({tuple(pair) for pair in epoch.tolist()}) for epoch in classes])
    # A pair never meets with C(9,3)/C(12,3) = .38: 9.9 of 16 do, and 4 if pairs were fixed.
    assert 9.0 < pairs.mean() < 10.8


def test_drawings_are_of_the_class_and_never_the_same() -> None:
    tasks = sample(DRAWN)
    np.testing.assert_allclose(np.linalg.norm(tasks.stimuli, axis=-1), 2.0, rtol=1e-5)
    of, drawing = recognise(tasks.stimuli / 2)  # halving is exact
    for epoch in range(EPOCHS):
        counts = Counter(of[epoch].ravel().tolist())
        assert sorted(counts.values()) == [4] * 6
        assert not set(of[epoch, :, HIGH].tolist()) & set(of[epoch, :, LOW].tolist())
        looks = zip(of[epoch].ravel().tolist(), drawing[epoch].ravel().tolist(), strict=True)
        assert len(set(looks)) == 24
        ids = zip(tasks.context_id[epoch].tolist(), of[epoch, :, HIGH].tolist(), strict=True)
        assert len(set(ids)) == 3
    assert len(set(of.ravel().tolist())) > 140  # 40 × 6 of 659: 201 different ones are expected


@pytest.mark.parametrize(("trained_on", "training"), [(2, 329), (3, 219), (32, 20)])
def test_agents_are_judged_on_classes_they_never_learned_on(trained_on: int, training: int) -> None:
    world = CompositionalBandits(num_classes=20, judged_classes=330, trained_on=trained_on)
    judged = world.for_evaluation()
    assert len(world.pool) == training and len(judged.pool) == 659 - training
    assert sorted([*world.pool.tolist(), *judged.pool.tolist()]) == list(range(659))
    assert judged == replace(world, num_classes=330, judged_classes=0, classes="evaluation")
    assert judged.for_evaluation() == judged


def test_only_classes_of_the_pool_are_on_show() -> None:
    world = replace(DRAWN, trained_on=32, judged_classes=10)
    seen = [
        {int(c) for c in recognise(sample(used).stimuli / 2)[0].ravel()}
        for used in (world, world.for_evaluation())
    ]
    assert seen[0] == set(range(31, 659, 32))  # 40 epochs show 6 of these 20, and miss none
    assert not seen[1] & seen[0] and len(seen[1]) > 250  # of 639: 299 are expected


def test_barcodes_are_always_new_so_that_none_are_held_out() -> None:
    world = replace(WORLD, trained_on=3)
    assert world.for_evaluation() == world
    for ours, plain in zip(sample(world), sample(WORLD), strict=True):
        np.testing.assert_array_equal(ours, plain)


def test_stimuli_are_seen_in_the_places_of_their_arms() -> None:
    for query in (HIGH, LOW):
        left = WORLD.observe(TASK, trial(high_at=0, query=query))
        right = WORLD.observe(TASK, trial(high_at=1, query=query))
        np.testing.assert_array_equal(left.features, [1, 2, 3, 4])
        np.testing.assert_array_equal(right.features, [3, 4, 1, 2])
        assert left.context == right.context == query


@pytest.mark.parametrize("high_at", [0, 1])
def test_the_arm_of_the_high_stimulus_pays(high_at: int) -> None:
    world = replace(WORLD, p_high=0.8, p_low=0.3)
    expected = world.expected_rewards(TASK, trial(high_at, LOW))
    np.testing.assert_allclose(expected, [0.8, 0.3][:: -1 if high_at else 1])
    keys = jax.random.split(jax.random.key(1), 2000)
    for action, odds in ((high_at, 0.8), (1 - high_at, 0.3)):
        step = jax.vmap(lambda key, a=action: world.step(key, TASK, trial(high_at, HIGH), a)[1])
        paid = np.asarray(step(keys))
        assert set(paid.tolist()) == {0.0, 1.0}
        assert paid.mean() == pytest.approx(odds, abs=4 * np.sqrt(odds * (1 - odds) / 2000))


@pytest.fixture(scope="module")
def trials() -> tuple[np.ndarray, np.ndarray]:
    """Places of the high stimulus and queries (episodes, trials), and rewards, of one arm."""

    def episode(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        first, *rest = jax.random.split(key, 4)
        state, rewards = WORLD.reset(first, TASK), []
        seen = [jnp.stack([state.high_at, state.query])]
        for key in rest:
            state, reward = WORLD.step(key, TASK, state, jnp.array(0))
            seen.append(jnp.stack([state.high_at, state.query]))
            rewards.append(reward)
        return jnp.stack(seen), jnp.stack(rewards)

    seen, rewards = jax.jit(jax.vmap(episode))(jax.random.split(jax.random.key(2), EPISODES))
    return np.asarray(seen), np.asarray(rewards)


def test_places_and_queries_are_fair_coins_tossed_anew_on_every_trial(
    trials: tuple[np.ndarray, np.ndarray],
) -> None:
    seen, rewards = trials  # (episodes, trials, place or query), (episodes, trials − 1)
    noise = 4 * np.sqrt(0.25 * 0.75 / EPISODES)
    for n, both in product(range(4), product((0, 1), (0, 1))):
        assert (seen[:, n] == both).all(-1).mean() == pytest.approx(0.25, abs=noise)
    coin = 4 * np.sqrt(0.25 / EPISODES)
    for n, row, before in product(range(1, 4), (0, 1), (0, 1)):
        changed = seen[:, n, row] != seen[:, n - 1, before]
        assert changed.mean() == pytest.approx(0.5, abs=coin)
        # Nor does what was just earned say anything of what comes.
        agrees = seen[:, n, row] == rewards[:, n - 1]
        assert agrees.mean() == pytest.approx(0.5, abs=coin)


@pytest.mark.parametrize("query", [HIGH, LOW])
def test_keys_under_which_an_episode_is_stored(query: int) -> None:
    state = trial(1, query)
    assert WORLD.keys_to_store(TASK, state).tolist() == [query]
    assert replace(WORLD, stored="both").keys_to_store(TASK, state).tolist() == [HIGH, LOW]
    np.testing.assert_array_equal(WORLD.contexts(TASK), TASK.stimuli)


def test_analyses_are_told_the_query_and_both_classes_and_exposures() -> None:
    trace = WORLD.trace(TASK, trial(1, LOW))
    assert trace.query == LOW
    assert trace.classes.tolist() == [3, 6] and trace.exposures.tolist() == [1, 2]


def test_classes_are_counted_from_the_high_ones_on(epochs: Any, classes: np.ndarray) -> None:
    np.testing.assert_array_equal(epochs.context_id, epochs.classes[..., HIGH])
    assert set(epochs.classes[..., HIGH].ravel().tolist()) == {0, 1, 2, 3}
    assert set(epochs.classes[..., LOW].ravel().tolist()) == {4, 5, 6, 7}
    for numbers, names in zip(epochs.classes, classes, strict=True):  # each has its own barcode
        pairs = set(zip(numbers.ravel().tolist(), names.ravel().tolist(), strict=True))
        assert len(pairs) == len(dict(pairs)) == 8


@pytest.mark.parametrize(("query", "row"), [("high", HIGH), ("low", LOW)])
def test_the_memory_may_be_asked_for_the_same_kind_always(query: Any, row: int) -> None:
    world = replace(WORLD, query=query)

    def two_trials(key: jax.Array) -> list[Trial]:
        first = world.reset(key, TASK)
        return [first, world.step(key, TASK, first, jnp.array(0))[0]]

    for states in jax.jit(jax.vmap(two_trials))(jax.random.split(jax.random.key(0), 64)):
        assert np.all(states.query == row)
        assert set(states.high_at.tolist()) == {0, 1}  # which arm it is on stays a coin
    assert world.keys_to_store(TASK, trial(0, row)).tolist() == [row]
