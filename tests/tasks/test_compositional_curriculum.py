"""The curriculum of compositional bandits: what is exchanged, when, and what stays as it was."""

from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reinstate import draws
from reinstate.tasks.base import Observation
from reinstate.tasks.compositional import (
    HIGH,
    LOW,
    CompositionalBandits,
    CompositionalTask,
    Trial,
)
from tasks.known_drawings import recognise

PLAIN = CompositionalBandits(
    num_classes=8, repeats=3, pulls=5, stimuli="barcodes", p_high=1.0, p_low=0.0
)
# The better stimulus gives way before every trial, until it has done so three times.
ALWAYS = replace(PLAIN, exchange=1.0, exchange_high=1.0, exchanges=3)
SOMETIMES = replace(PLAIN, exchange=0.4, exchange_high=0.75, exchange_until=0.3)
EPOCHS = 250
EPISODES, TRIALS = 12, 5


class Played(NamedTuple):
    """Arm 0 pulled throughout; arrays of (epochs, episodes, trials, …)."""

    state: Trial
    seen: Observation
    reward: jax.Array


def play_episode(world: CompositionalBandits, task: CompositionalTask, key: jax.Array) -> Played:
    def pull(state: Trial, key: jax.Array) -> tuple[Trial, Played]:
        after, reward = world.step(key, task, state, jnp.array(0))
        return after, Played(state, world.observe(task, state), reward)

    chance = draws.split(key, 1 + world.pulls)
    return jax.lax.scan(pull, world.reset(chance[0], task), chance[1:])[1]


@cache
def play(world: CompositionalBandits, done: float | None) -> tuple[CompositionalTask, Played]:
    """Epochs as they are after a share of training, or (None) as agents are judged."""
    keys = jax.random.split(jax.random.key(3), EPOCHS)
    if done is None:
        tasks: Any = sampler(world)(keys)
    else:
        tasks = learning_sampler(world)(keys, jnp.full(EPOCHS, done))
    chance = jax.random.split(jax.random.key(4), (EPOCHS, EPISODES))
    both = tasks, player(world)(tasks, chance)
    return jax.tree.map(np.asarray, both)


@cache
def sampler(world: CompositionalBandits) -> Any:
    return jax.jit(jax.vmap(world.sample_epoch))


@cache
def learning_sampler(world: CompositionalBandits) -> Any:
    return jax.jit(jax.vmap(world.sample_training_epoch))


@cache
def player(world: CompositionalBandits) -> Any:
    return jax.jit(jax.vmap(jax.vmap(partial(play_episode, world))))


def shown(played: Played) -> np.ndarray:
    """The stimuli on show, high and low, wherever they are: (epochs, episodes, trials, 2, bits)."""
    in_place = np.asarray(played.seen.features).reshape(EPOCHS, EPISODES, TRIALS, 2, -1)
    swapped = np.asarray(played.state.high_at)[..., None, None] == 1
    return np.where(swapped, in_place[..., ::-1, :], in_place)


def test_the_high_stimulus_gives_way_before_every_trial_and_the_low_one_stays() -> None:
    tasks, played = play(ALWAYS, 0.0)
    np.testing.assert_array_equal(
        played.state.exchanged,
        np.broadcast_to([[0, 0], [1, 0], [2, 0], [3, 0], [3, 0]], (EPOCHS, EPISODES, TRIALS, 2)),
    )
    stimuli = np.asarray(tasks.stimuli)  # (epochs, episodes, 2, bits)
    for n, back in enumerate([0, 1, 2, 3, 3]):  # no more than three times
        high, low = np.moveaxis(shown(played)[:, :, n], -2, 0)
        np.testing.assert_array_equal(low, stimuli[:, :, LOW])
        np.testing.assert_array_equal(high, np.roll(stimuli[:, :, HIGH], back, axis=1))


def test_the_memory_is_not_asked_for_a_stimulus_that_came_in_later() -> None:
    _, played = play(ALWAYS, 0.0)
    query, context = np.asarray(played.state.query), np.asarray(played.seen.context)
    gone = (query == HIGH) & (np.arange(TRIALS) > 0)
    assert 0.3 < gone.mean() < 0.5
    np.testing.assert_array_equal(context, np.where(gone, -1, query))


def test_others_are_drawings_of_other_episodes() -> None:
    """No drawing occurs twice in an epoch, so those of an episode and of its others all differ."""
    world = CompositionalBandits(num_classes=6, repeats=4, exchange=0.5, exchanges=4)
    sample = jax.jit(world.sample_training_epoch)
    tasks: Any = jax.tree.map(np.asarray, sample(jax.random.key(0), jnp.zeros(())))
    series = np.concatenate([tasks.stimuli[:, None], tasks.others], axis=1)  # (12, 5, 2, 128)
    of, drawing = recognise(series)
    for row in (HIGH, LOW):
        for names, looks in zip(of[..., row], drawing[..., row], strict=True):
            assert len(set(zip(names.tolist(), looks.tolist(), strict=True))) == 5
    assert not set(of[..., HIGH].ravel().tolist()) & set(of[..., LOW].ravel().tolist())


def test_rates_of_exchange() -> None:
    _, played = play(SOMETIMES, 0.0)
    change = np.diff(played.state.exchanged, axis=2)  # (epochs, episodes, trials − 1, 2)
    assert set(np.unique(change)) == {0, 1} and change.sum(axis=-1).max() == 1
    happens = change.sum(axis=-1)
    rate, num = happens.mean(), happens.size  # 12,000
    assert rate == pytest.approx(0.4, abs=4 * np.sqrt(0.24 / num))
    high = change[..., HIGH].sum() / happens.sum()
    assert high == pytest.approx(0.75, abs=4 * np.sqrt(0.75 * 0.25 / happens.sum()))
    # Drawn by itself: it says nothing of the next trial, nor of the one before.
    coin = 4 * np.sqrt(0.25 / happens.sum())
    for toss in (played.state.high_at, played.state.query):
        for beside in (toss[:, :, 1:], toss[:, :, :-1]):
            assert beside[happens == 1].mean() == pytest.approx(0.5, abs=coin)
            assert beside[change[..., LOW] == 1].mean() == pytest.approx(0.5, abs=2 * coin)


def test_either_stimulus_is_seen_as_often_exchanged_as_counted() -> None:
    tasks, played = play(SOMETIMES, 0.29)  # just before it ends
    series = np.concatenate([tasks.stimuli[:, :, None], tasks.others], axis=2)
    epoch, episode, _ = np.ogrid[:EPOCHS, :EPISODES, :TRIALS]
    exchanged = np.asarray(played.state.exchanged)
    assert (exchanged.max(axis=(0, 1, 2)) >= 3).all()
    for row in (HIGH, LOW):
        expected = series[epoch, episode, exchanged[..., row], row]
        np.testing.assert_array_equal(shown(played)[..., row, :], expected)
    of_query = np.take_along_axis(exchanged, np.asarray(played.state.query)[..., None], axis=-1)
    np.testing.assert_array_equal(
        played.seen.context, np.where(of_query[..., 0] == 0, played.state.query, -1)
    )


@pytest.mark.parametrize("done", [0.3, 1.0, None], ids=str)
def test_nothing_is_exchanged_once_that_is_over_or_when_agents_are_judged(
    done: float | None,
) -> None:
    tasks, played = play(SOMETIMES, done)
    assert not np.any(tasks.exchange) and not np.any(played.state.exchanged)
    own = np.broadcast_to(np.asarray(tasks.stimuli)[:, :, None], shown(played).shape)
    np.testing.assert_array_equal(shown(played), own)
    np.testing.assert_array_equal(played.seen.context, played.state.query)


def test_without_a_curriculum_there_is_nothing_to_give_way_to() -> None:
    tasks, played = play(PLAIN, None)
    assert tasks.others.shape == (EPOCHS, EPISODES, 0, 1, 10) and not np.any(played.state.exchanged)
    np.testing.assert_array_equal(played.seen.context, played.state.query)


def test_agents_are_judged_on_epochs_of_another_size_and_without_the_curriculum() -> None:
    world = replace(SOMETIMES, judged_classes=12, query="low", stored="both")
    judged = world.for_evaluation()
    assert judged == replace(world, num_classes=12, judged_classes=0, exchange=0.0)
    assert judged.num_classes == 12 and judged.episodes_per_epoch == 18
    assert judged.for_evaluation() == judged
    assert PLAIN.for_evaluation() == PLAIN  # where nothing differs there is one world
    assert replace(PLAIN, judged_classes=8).for_evaluation() == PLAIN
    assert SOMETIMES.for_evaluation().num_classes == SOMETIMES.num_classes
