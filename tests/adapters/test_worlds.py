"""A gymnax-style environment, written here, as a world: its episodes end early."""

import json
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from reinstate.errors import UserError
from reinstate.interop.functional import Box, Discrete, Environment
from reinstate.interop.worlds import GymnaxWorld, VariantWorld
from reinstate.runs.experiment import usual_settings
from reinstate.settings import recorded_settings, to_dict


class Place(NamedTuple):
    at: Array  # ()
    treasure: Array  # () 0 or LAST
    time: Any = 0


class Pay(NamedTuple):
    """Parameters."""

    treasure: Any = 1.0
    max_steps_in_episode: Any = 6


LAST = 4


class Corridor:
    """Five places in a row; a treasure lies at one end, and nothing at the other ends it."""

    default_params = Pay()

    def reset_env(self, key: Array, params: Pay) -> tuple[dict[str, Array], Place]:
        place = Place(jnp.array(LAST // 2), LAST * jax.random.bernoulli(key).astype(int))
        return self.observe(place), place

    def observe(self, place: Place) -> dict[str, Array]:
        return {"at": jax.nn.one_hot(place.at, LAST + 1), "time": jnp.asarray(place.time)}

    def step_env(
        self, key: Array, state: Place, action: Array, params: Pay
    ) -> tuple[dict[str, Array], Place, Array, Array, dict[str, Array]]:
        at = jnp.clip(state.at + 2 * action - 1, 0, LAST)
        place = Place(at, state.treasure, state.time + 1)
        found = at == state.treasure
        return self.observe(place), place, found * params.treasure, found, {}

    def is_truncated(self, state: Place, params: Pay) -> Array:
        return state.time >= params.max_steps_in_episode

    def action_space(self, params: Pay) -> Discrete:
        return Discrete(2)


CORRIDOR = Corridor()
SIZES: dict[str, Any] = {"num_contexts": 3, "repeats": 2, "barcode_length": 4}
WORLD = GymnaxWorld(env=CORRIDOR, steps=10, **SIZES)


def any_pay(key: Array) -> Pay:
    return Pay(treasure=jax.random.uniform(key))


VARIED = replace(WORLD, vary=any_pay, levels=False)


@partial(jax.jit, static_argnums=0)
def play_episode(world: VariantWorld, task: Any, key: Array, actions: Array) -> Any:
    def step(state: Any, chance: tuple[Array, Array]) -> tuple[Any, Any]:
        now = world.observe(task, state).features, world.done(task, state)
        state, reward = world.step(chance[0], task, state, chance[1])
        return state, (*now, reward)

    keys = jax.random.split(key, len(actions))
    return jax.lax.scan(step, world.reset(key, task), (keys, actions))[1]


@cache
def epoch(world: VariantWorld) -> Any:
    return jax.jit(world.sample_epoch)(jax.random.key(0))


def episode(world: VariantWorld, number: int, key: int, *actions: int) -> Any:
    """Return features, whether the episode was over, and reward, at each step."""
    task = jax.tree.map(lambda x: x[number], epoch(world))
    return play_episode(world, task, jax.random.key(key), jnp.array(actions))


def test_the_episodes_of_a_context_are_of_one_level() -> None:
    tasks = epoch(WORLD)
    outcomes: dict[int, set[tuple[float, ...]]] = {}
    for number in range(WORLD.episodes_per_epoch):
        *_, reward = episode(WORLD, number, number, 1, 1)
        outcomes.setdefault(int(tasks.context_id[number]), set()).add(tuple(np.asarray(reward)))
    assert len(outcomes) == 3
    assert all(len(rewards) == 1 for rewards in outcomes.values())
    assert len(set.union(*outcomes.values())) == 2  # some find it on the right, some do not


def test_what_is_drawn_for_a_context_stays_and_starts_do_not() -> None:
    tasks = epoch(VARIED)
    pay = np.asarray(tasks.params.treasure)
    assert len(set(pay)) == 3
    assert len(set(zip(pay.tolist(), tasks.context_id.tolist(), strict=True))) == 3
    found = [np.asarray(episode(VARIED, 0, key, 1, 1)[2]) for key in range(8)]
    assert {float(rewards[1]) for rewards in found} == {0.0, float(pay[0])}


def test_an_episode_ends_where_the_environment_says_and_is_seen_flat() -> None:
    features, done, reward = map(np.asarray, episode(WORLD, 0, 0, *[1, 0] * 4))
    assert features.shape == (8, WORLD.observation_size) == (8, 6)
    np.testing.assert_array_equal(features[0], [0, 0, 1, 0, 0, 0])
    np.testing.assert_array_equal(features[:, -1], [0, 1, 2, 3, 4, 5, 6, 6])
    np.testing.assert_array_equal(done, np.arange(8) >= 6)  # truncated, before `steps` are done
    assert not reward.any()
    to_both_ends = [0, 0, 1, 1, 1, 1, 0, 0]
    features, done, reward = map(np.asarray, episode(WORLD, 0, 0, *to_both_ends))
    assert reward.sum() == 1
    np.testing.assert_array_equal(done, np.cumsum(reward) - reward > 0)
    assert (features[done] == features[done][0]).all()  # nothing moves after the end


def test_a_round_trip_ends_early_and_goes_on_with_the_epoch() -> None:
    env = Environment(WORLD, per="exposure")
    _, state = env.reset(jax.random.key(1))
    for action in (0, 0, 1, 1, 1, 1):
        observation, state, reward, terminated, _, info = env.step(jax.random.key(2), state, action)
        if terminated:
            break
    assert reward == 1 and state.episode == 1 and info["new_episode"]
    np.testing.assert_array_equal(observation[:6], [0, 0, 1, 0, 0, 0])


@dataclass(frozen=True)
class Corridors(VariantWorld):
    """Corridors with a name, which files can bring back."""

    num_contexts: int = 3
    repeats: int = 2
    steps: int = 6
    environment = CORRIDOR


def test_a_named_world_comes_back_from_a_file() -> None:
    settings = usual_settings(Corridors(levels=True))
    document = json.loads(json.dumps(to_dict(settings)))
    assert recorded_settings(Corridors, document) == settings


def test_what_cannot_be_a_world_is_refused() -> None:
    with pytest.raises(UserError, match="contexts would mean nothing: draw parameters"):
        replace(WORLD, levels=False)
    with pytest.raises(UserError, match="steps must be positive"):
        replace(WORLD, steps=0)

    class Continuous(Corridor):
        def action_space(self, params: Pay) -> Any:
            return Box(np.zeros(1), np.ones(1), (1,))

    with pytest.raises(UserError, match="no discrete actions: wrap it"):
        GymnaxWorld(env=Continuous())
