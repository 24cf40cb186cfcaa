"""Functional environments against the worlds they are made of, played by hand."""

import importlib
import sys
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from reinstate.interop import functional
from reinstate.interop.functional import Environment, EnvState
from reinstate.interop.lanes import WORLDS
from reinstate.runs.experiment import find_experiment
from reinstate.tasks.bandits import BanditTask, BarcodeBandits
from reinstate.tasks.base import World
from reinstate.tasks.two_step import EpisodicTwoStep
from reinstate_paper import PAPER_EXPERIMENTS

SIZES: dict[str, Any] = {
    "num_arms": 3,
    "pulls": 2,
    "num_contexts": 3,
    "repeats": 2,
    "barcode_length": 4,
}
BANDITS = BarcodeBandits(**SIZES, p_bad=0.5, trial_input=True)
TWO_STEP = EpisodicTwoStep(uncued=3, cued=3, p_high=0.6, p_low=0.4, barcode_length=4)
EPOCH = 12  # steps of either
STEPS = EPOCH + 5
KEY = jax.random.key(7)
CHANCE = jax.random.split(jax.random.key(8), STEPS)


@partial(jax.jit, static_argnums=0)
def run(env: Environment, state: EnvState, actions: Array) -> Any:
    """Return observation, reward, terminated, truncated and info of each step."""

    def step(state: EnvState, chance: tuple[Array, Array]) -> tuple[EnvState, Any]:
        observation, state, *rest = env.step(chance[0], state, chance[1])
        return state, (observation, *rest)

    return jax.lax.scan(step, state, (CHANCE, actions))[1]


def some_actions(world: World) -> Array:
    return jax.random.randint(jax.random.key(9), (STEPS,), 0, world.num_actions)


class ByHand:
    """The world itself, one function after the other, with the keys that an environment uses."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.sample_epoch, self.play = jax.jit(world.sample_epoch), jax.jit(world.step)
        self.observe, self.worth = jax.jit(world.observe), jax.jit(world.expected_rewards)
        self.start_epoch(KEY)

    def start_epoch(self, key: Array) -> None:
        epoch_key, reset_key = jax.random.split(key)
        self.tasks, self.history = self.sample_epoch(epoch_key), self.world.new_history()
        self.start_episode(reset_key, 0)
        self.last: tuple[int, float] = -1, 0.0

    def start_episode(self, key: Array, number: int) -> None:
        task = jax.tree.map(lambda x: np.asarray(x)[number], self.tasks)
        self.task = self.world.update_task(self.history, task)
        self.state, self.number, self.steps = self.world.reset(key, self.task), number, 0

    def observation(self) -> np.ndarray:
        seen, (action, reward) = self.observe(self.task, self.state), self.last
        row = int(seen.context)
        shown = np.asarray(self.world.contexts(self.task))[row] * (row >= 0)
        one_hot = np.arange(self.world.num_actions) == action
        parts = [np.asarray(seen.features), shown, one_hot, [reward, self.steps == 0]]
        return np.concatenate(parts).astype(np.float32)

    def step(self, key: Array, action: Array) -> dict[str, Any]:
        play_key, move_key = jax.random.split(key)
        expected = self.worth(self.task, self.state)
        self.state, reward = self.play(play_key, self.task, self.state, action)
        self.steps, self.last = self.steps + 1, (int(action), float(reward))
        final, terminated = self.observation(), False
        if self.steps == self.world.episode_length:
            self.history = self.world.update_history(self.history, self.task, self.state)
            terminated = self.number + 1 == self.world.episodes_per_epoch
            if terminated:
                self.start_epoch(move_key)
            else:
                self.start_episode(move_key, self.number + 1)
        return {
            "reward": reward,
            "terminated": terminated,
            "expected_reward": expected[action],
            "best_expected_reward": np.max(expected),
            "context_id": self.task.context_id,
            "exposure": self.task.exposure,
            "new_episode": self.steps == 0,
            "final_observation": final if terminated else self.observation(),
        }


@pytest.mark.parametrize("world", [BANDITS, TWO_STEP], ids=["bandits", "two-step"])
def test_an_environment_plays_as_its_world_does(world: World) -> None:
    env, actions, hand = Environment(world, last_step=True), some_actions(world), ByHand(world)
    observation, state = env.reset(KEY)
    np.testing.assert_array_equal(observation, hand.observation())
    played = jax.tree.map(np.asarray, run(env, state, actions))
    observations, reward, terminated, truncated, info = played
    for n in range(STEPS):
        expected = hand.step(CHANCE[n], actions[n])
        assert (reward[n], terminated[n]) == (expected.pop("reward"), expected["terminated"])
        np.testing.assert_array_equal(observations[n], hand.observation(), str(n))
        for name, value in expected.items():
            np.testing.assert_array_equal(info[name][n], value, f"{name} at step {n}")
    np.testing.assert_array_equal(info["context"], observations[:, env.layout["context"]])
    assert np.flatnonzero(terminated).tolist() == [EPOCH - 1]
    assert not truncated.any()


def test_an_exposure_can_be_an_episode_of_its_own() -> None:
    by_epoch = Environment(BANDITS, last_step=True)
    env, actions = Environment(BANDITS, per="exposure", last_step=True), some_actions(BANDITS)
    _, state = env.reset(KEY)
    observations, reward, terminated, _, info = run(env, state, actions)
    whole = run(by_epoch, state, actions)
    np.testing.assert_array_equal(reward, whole[1])
    starts = np.arange(STEPS) % BANDITS.pulls == BANDITS.pulls - 1
    np.testing.assert_array_equal(terminated, starts)
    np.testing.assert_array_equal(info["new_episode"], starts)
    # The same epochs go by, and nothing is shown of the exposure before.
    np.testing.assert_array_equal(info["exposure"], whole[4]["exposure"])
    last = slice(env.layout["action"].start, env.layout["reward"].stop)
    assert not observations[starts, last].any()
    assert info["final_observation"][starts, last].any(axis=1).all()


def test_without_automatic_reset_the_caller_says_when_to_go_on() -> None:
    env = Environment(BANDITS, per="exposure", last_step=True)
    compiled = jax.jit(env.step_env)
    _, state = env.reset(KEY)
    ids = [state.task.context_id]
    for episode in range(BANDITS.episodes_per_epoch):
        for step in range(BANDITS.pulls):
            last, state, _, terminated, info = env.step_env(CHANCE[step], state, 1)
            assert bool(terminated) == (step == BANDITS.pulls - 1)
        assert not info["new_episode"]
        again, same, reward, terminated, _ = compiled(CHANCE[episode], state, 2)
        assert terminated and reward == 0
        np.testing.assert_array_equal(again, last)
        jax.tree.map(np.testing.assert_array_equal, same, state)
        tasks = state.tasks
        _, state = env.next_exposure(CHANCE[3], state)
        assert env.info(state)["new_episode"] and not state.over
        ids.append(state.task.context_id)
        goes_on = episode + 1 < BANDITS.episodes_per_epoch
        assert np.array_equal(tasks.context, state.tasks.context) == goes_on
    np.testing.assert_array_equal(ids[:-1], tasks.context_id)


def test_parameters_can_cut_an_episode_short() -> None:
    env = Environment(BANDITS)
    _, state = env.reset(KEY)
    for step in range(3):
        _, state, *_, terminated, truncated, _ = env.step(
            CHANCE[step], state, 0, env.default_params.replace(max_steps_in_episode=3)
        )
        assert not terminated
        assert bool(truncated) == (step == 2)
    assert state.time == 0


@dataclass(frozen=True)
class Counted(BarcodeBandits):
    """Bandits that count how often an epoch is sampled."""

    sampled: ClassVar[list[int]] = []

    def sample_epoch(self, key: Array) -> BanditTask:
        jax.debug.callback(lambda: self.sampled.append(1))
        return super().sample_epoch(key)


def test_lanes_are_independent_and_sample_epochs_only_when_one_starts() -> None:
    env = Environment(Counted(**SIZES))
    keys, actions = jax.random.split(KEY, 4), jnp.array([0, 1, 2, 0])
    lanes, seeds_of_lanes = jax.jit(jax.vmap(env.step)), jax.jit(jax.vmap(jax.vmap(env.step)))
    in_two = partial(jax.tree.map, lambda x: x.reshape(2, 2, *x.shape[1:]))
    single = [env.reset(key)[1] for key in keys]
    single[3] = env.step(KEY, single[3], 0)[1]  # one step ahead of the others
    states = jax.tree.map(lambda *x: jnp.stack(x), *single)
    folded = in_two(states)
    for step in range(1, EPOCH + 1):
        jax.effects_barrier()
        Counted.sampled.clear()
        results = [env.step(*args) for args in zip(keys, single, actions, strict=True)]
        jax.effects_barrier()
        starting = {EPOCH - 1: 1, EPOCH: 3}.get(step, 0)
        assert len(Counted.sampled) == starting
        together = lanes(keys, states, actions)
        jax.effects_barrier()
        assert len(Counted.sampled) == starting + bool(starting)  # once for all lanes
        apart = jax.tree.map(lambda *x: jnp.stack(x), *results)
        folded_results = seeds_of_lanes(in_two(keys), folded, in_two(actions))
        jax.tree.map(np.testing.assert_array_equal, together, apart)
        jax.tree.map(np.testing.assert_array_equal, folded_results, in_two(together))
        single, states, folded = [r[1] for r in results], together[1], folded_results[1]
    assert len({bytes(x) for x in np.asarray(states.tasks.context)}) == 4


def test_equal_environments_share_what_is_compiled() -> None:
    compiled: Any = functional._step
    for env in (Environment(TWO_STEP), Environment(EpisodicTwoStep(**vars(TWO_STEP)))):
        _, state = env.reset(KEY)
        before = compiled._cache_size()
        for action in (0, np.int64(1), jnp.int32(1)):
            _, state, *_ = env.step(KEY, state, action)
    assert compiled._cache_size() == before


def test_observations_lie_in_the_space_and_where_the_layout_says() -> None:
    env = Environment(BANDITS, last_step=True)
    names = {"features": 1, "context": 4, "action": 3, "reward": 1, "new_episode": 1}
    assert {name: where.stop - where.start for name, where in env.layout.items()} == names
    observation, _ = env.reset(KEY)
    space = env.observation_space()
    assert observation.shape == space.shape == env.obs_shape == (10,)
    assert observation.dtype == space.dtype == jnp.float32
    assert (observation >= space.low).all() and (observation <= space.high).all()
    actions = env.action_space(env.default_params)
    assert (actions.n, env.num_actions, env.name) == (3, 3, "BarcodeBandits")
    assert Environment(BANDITS).obs_shape == (5,)


def test_an_action_that_does_not_exist_pays_nan() -> None:
    env = Environment(BANDITS)
    _, state = env.reset(KEY)
    for bad in (-1, 3):
        _, _, reward, _, _, info = env.step(KEY, state, bad)
        assert np.isnan(reward) and np.isnan(info["expected_reward"])


def test_wrong_input_is_told_in_words() -> None:
    env = Environment(BANDITS)
    _, state = env.reset(KEY)
    _, lanes = jax.vmap(env.reset)(jax.random.split(KEY, 2))
    for where, action in ((state, 1.0), (state, jnp.array([1])), (lanes, 1)):
        with pytest.raises(TypeError, match=r"whole number, .* use jax\.vmap"):
            env.step(KEY, where, action)
    with pytest.raises(ValueError, match="choose epoch or exposure"):
        Environment(BANDITS, per="episode")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="made of a World"):
        Environment("barcode-bandits")  # type: ignore[arg-type]


def test_a_missing_package_is_named_with_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stoa", None)
    monkeypatch.delitem(sys.modules, "reinstate.interop.stoa", raising=False)
    with pytest.raises(ImportError, match=r'pip install "reinstate\[stoa\]"'):
        importlib.import_module("reinstate.interop.stoa")


def test_names_stand_for_the_worlds_of_their_experiments() -> None:
    assert {name: find_experiment(name).world for name in PAPER_EXPERIMENTS} == WORLDS
