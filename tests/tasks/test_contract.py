"""What every world owes to whoever drives it. A new world joins by a line in WORLDS."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from reinstate import draws
from reinstate.tasks.bandits import BarcodeBandits, NoisyBandits, OmniglotBandits
from reinstate.tasks.base import Observation, World
from reinstate.tasks.compositional import CompositionalBandits
from reinstate.tasks.drawings import DrawingWorld
from reinstate.tasks.two_step import EpisodicTwoStep
from reinstate.tasks.water_maze import WaterMaze
from tasks.known_drawings import recognise

WORLDS: list[World] = [
    BarcodeBandits(),
    BarcodeBandits(
        num_arms=3, pulls=4, mapping="independent", process="urn", alpha=1.5, trial_input=True
    ),
    NoisyBandits(num_arms=3, num_contexts=4, mapping="independent", zipf=1.0),
    WaterMaze(),
    WaterMaze(height=1, width=6, steps=7, goals="independent", process="urn"),
    EpisodicTwoStep(),
    EpisodicTwoStep(uncued=5, cued=3, p_common=0.7, barcode_length=4),
    OmniglotBandits(),
    OmniglotBandits(num_contexts=4, repeats=3, num_arms=4, held_out=0),
    CompositionalBandits(num_classes=6, repeats=2, stored="both"),
    CompositionalBandits(num_classes=4, repeats=2, stimuli="barcodes", query="low", exchange=0.5),
]
LANES, EPISODES = 3, 600


def keys(num: int) -> Array:
    return jax.vmap(jax.random.key)(jnp.arange(num))


def describe(world: World) -> str:
    return f"{type(world).__name__}-{WORLDS.index(world)}"


@pytest.fixture(scope="module", params=WORLDS, ids=describe)
def world(request: pytest.FixtureRequest) -> World:
    chosen: World = request.param
    return chosen


@pytest.fixture(scope="module")
def epochs(world: World) -> Any:
    """One epoch in each lane, one after the other: arrays of (lanes, episodes, …)."""
    return jax.jit(partial(jax.lax.map, world.sample_epoch))(keys(LANES))


@pytest.fixture(scope="module")
def contexts(world: World, epochs: Any) -> np.ndarray:
    """What each episode can show, (lanes, episodes, shown, context_size)."""
    return np.asarray(jax.vmap(jax.vmap(world.contexts))(epochs))


def test_sizes_are_positive_integers(world: World) -> None:
    sizes = [world.num_actions, world.context_size, world.episode_length]
    sizes += [world.episodes_per_epoch, world.max_exposures]
    assert all(type(size) is int and size > 0 for size in sizes)
    assert type(world.observation_size) is int and world.observation_size >= 0


def test_an_epoch_has_episodes_on_its_leading_axis(world: World, epochs: Any) -> None:
    for leaf in jax.tree.leaves(epochs):
        assert leaf.shape[:2] == (LANES, world.episodes_per_epoch)
    for name in ("context_id", "exposure"):
        assert getattr(epochs, name).shape == (LANES, world.episodes_per_epoch)
        assert jnp.issubdtype(getattr(epochs, name).dtype, jnp.integer)


def test_exposure_counts_earlier_meetings_of_the_context(epochs: Any) -> None:
    for ids, exposure in zip(epochs.context_id.tolist(), epochs.exposure.tolist(), strict=True):
        assert exposure == [ids[:n].count(i) for n, i in enumerate(ids)]


def test_no_context_is_met_more_often_than_max_exposures(world: World, epochs: Any) -> None:
    assert int(epochs.exposure.max()) < world.max_exposures


def shows_drawings(world: World) -> bool:
    """Whether a context looks different each time, and only its class comes back."""
    return isinstance(world, DrawingWorld) or getattr(world, "stimuli", "") == "omniglot"


def identities(world: World, shown: np.ndarray) -> list[Any]:
    """What stays the same of a context when it comes back, for each of (episodes, size)."""
    return recognise(shown)[0].tolist() if shows_drawings(world) else [c.tobytes() for c in shown]


def test_context_ids_and_contexts_name_each_other(
    world: World, epochs: Any, contexts: np.ndarray
) -> None:
    for ids, shown in zip(epochs.context_id.tolist(), contexts[:, :, 0], strict=True):
        pairs = set(zip(ids, identities(world, shown), strict=True))
        assert len(pairs) == len(dict(pairs)) == len({context for _, context in pairs})


def test_every_row_of_contexts_is_named_by_its_id(
    world: World, epochs: Any, contexts: np.ndarray
) -> None:
    """Also where an episode shows several: two stimuli, or a cue and a context of its own."""
    names = np.asarray(jax.vmap(jax.vmap(world.context_ids))(epochs))
    assert names.shape == contexts.shape[:3] and np.issubdtype(names.dtype, np.integer)
    for ids, shown in zip(names, contexts, strict=True):
        whose = identities(world, shown.reshape(-1, world.context_size))
        pairs = set(zip(ids.ravel().tolist(), whose, strict=True))
        assert len(pairs) == len(dict(pairs)) == len({context for _, context in pairs})


def test_a_context_that_changes_its_looks_shows_none_twice_in_an_epoch(
    world: World, contexts: np.ndarray
) -> None:
    for shown in contexts:
        looks = {context.tobytes() for context in shown.reshape(-1, world.context_size)}
        assert (len(looks) == shown.shape[0] * shown.shape[1]) == shows_drawings(world)


def test_contexts_have_their_size_and_a_direction(world: World, contexts: np.ndarray) -> None:
    assert contexts.shape[-1] == world.context_size and contexts.ndim == 4
    assert contexts.dtype == np.float32
    assert np.all(np.linalg.norm(contexts, axis=-1) > 0)  # cosine distance needs one


ONE_OF_EACH_KIND = {type(world): world for world in WORLDS}.values()


@pytest.mark.parametrize("world", ONE_OF_EACH_KIND, ids=describe, indirect=True)
def test_the_same_key_gives_the_same_epoch_alone_or_in_a_batch(world: World, epochs: Any) -> None:
    batched = jax.jit(jax.vmap(world.sample_epoch))(keys(LANES))
    jax.tree.map(np.testing.assert_array_equal, batched, epochs)


class Played(NamedTuple):
    seen: Observation
    expected: Array  # (episodes, steps, num_actions)
    action: Array  # (episodes, steps)
    reward: Array  # (episodes, steps)


def play_at_random(world: World, task: Any, key: Array) -> Played:
    def act(state: Any, key: Array) -> tuple[Any, Played]:
        action_key, step_key = jax.random.split(key)
        action = jax.random.randint(action_key, (), 0, world.num_actions, jnp.int32)
        seen, expected = world.observe(task, state), world.expected_rewards(task, state)
        state, reward = world.step(step_key, task, state, action)
        return state, Played(seen, expected, action, reward)

    chance = draws.split(key, 1 + world.episode_length)
    return jax.lax.scan(act, world.reset(chance[0], task), chance[1:])[1]


@pytest.fixture(scope="module")
def played(world: World, epochs: Any) -> Played:
    """Episodes of random actions in all the tasks sampled, compiled and batched."""
    which = np.arange(EPISODES) % (LANES * world.episodes_per_epoch)
    tasks = jax.tree.map(lambda x: np.concatenate(np.asarray(x))[which], epochs)
    return jax.jit(jax.vmap(partial(play_at_random, world)))(tasks, keys(EPISODES))


def test_observations_have_their_size_and_point_at_a_context(
    world: World, played: Played, contexts: np.ndarray
) -> None:
    features, shown = played.seen
    assert features.shape == (EPISODES, world.episode_length, world.observation_size)
    assert features.dtype == jnp.float32
    assert np.all(np.isfinite(features))
    assert shown.shape == (EPISODES, world.episode_length)
    assert jnp.issubdtype(shown.dtype, jnp.integer)
    assert np.all((np.asarray(shown) >= -1) & (np.asarray(shown) < contexts.shape[2]))


def test_rewards_are_finite_floats_and_expected_for_each_action(
    world: World, played: Played
) -> None:
    assert played.reward.shape == (EPISODES, world.episode_length)
    assert played.expected.shape == (EPISODES, world.episode_length, world.num_actions)
    for rewards in (played.expected, played.reward):
        assert rewards.dtype == jnp.float32
        assert np.all(np.isfinite(rewards))


def test_expected_rewards_are_the_means_of_the_rewards(world: World, played: Played) -> None:
    # Given the state and the action, reward minus expectation has mean zero, so over steps it is a
    # martingale: its sum has about the deviation of independent terms.
    action = np.asarray(played.action)
    expected = np.take_along_axis(np.asarray(played.expected), action[..., None], axis=2)[..., 0]
    surplus = np.asarray(played.reward) - expected
    for chosen in range(world.num_actions):
        mine = surplus[action == chosen]
        assert abs(mine.mean()) <= 4 * mine.std() / np.sqrt(mine.size) + 1e-6
    for promised in np.unique(expected):  # a good and a bad arm must not make up for each other
        mine = surplus[expected == promised]
        if mine.size >= 100:
            assert abs(mine.mean()) <= 4 * mine.std() / np.sqrt(mine.size) + 1e-6


def one_episode(world: World, key: Array) -> dict[str, Any]:
    """Everything that a world hands to its driver, around one step of one episode."""
    history = world.new_history()
    task = jax.tree.map(lambda x: x[0], world.sample_epoch(key))
    updated = world.update_task(history, task)
    state = world.reset(key, updated)
    after, reward = world.step(key, updated, state, jnp.zeros((), jnp.int32))
    return {
        "task": (task, updated),
        "state": (state, after),
        "history": (history, world.update_history(history, updated, after)),
        "rest": (
            reward,
            world.contexts(updated),
            world.observe(updated, state),
            world.expected_rewards(updated, state),
            world.trace(updated, state),
            world.context_ids(updated),
            world.keys_to_store(updated, after),
        ),
    }


@pytest.mark.parametrize("x64", [False, True])
def test_types_stay_the_same_whatever_the_precision(world: World, x64: bool) -> None:
    # What scans over steps and episodes rely on; checked without running anything.
    with jax.enable_x64(x64):
        shapes = jax.eval_shape(partial(one_episode, world), jax.random.key(0))
    for before, after in (shapes["task"], shapes["state"], shapes["history"]):
        assert before == after
    types = {str(leaf.dtype) for leaf in jax.tree.leaves(shapes)}
    assert types - {"bool"} == {"int32", "float32"}
    assert not any(leaf.weak_type for leaf in jax.tree.leaves(shapes))
    assert shapes["rest"][-1].shape == (world.writes_per_episode,)


def test_a_curriculum_changes_no_shapes(world: World) -> None:
    """One compiled update serves all of training, and what is learned fits what is judged."""
    key, share = jax.random.key(0), jax.ShapeDtypeStruct((), jnp.float32)
    learning = jax.eval_shape(world.sample_training_epoch, key, share)
    assert learning == jax.eval_shape(world.sample_epoch, key)
    judged = world.for_evaluation()
    assert judged.for_evaluation() == judged
    for name in ("num_actions", "observation_size", "context_size", "episode_length"):
        assert getattr(judged, name) == getattr(world, name)
