"""The rollout resets, reads and writes; everything that learns or is judged rests on it."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from reinstate.agent import Agent, Network, make_agent
from reinstate.memory import DND, Memory
from reinstate.rollout import Step, empty_memories, play, play_episode
from reinstate.tasks.bandits import BanditTask, BarcodeBandits

WORLD = BarcodeBandits(num_arms=3, pulls=4, num_contexts=3, repeats=3, barcode_length=4)
NETWORK = Network(hidden_size=8)
DICTIONARY = DND(capacity=5)


def fresh_memory() -> Memory:
    return DICTIONARY.empty(WORLD.context_size, NETWORK.hidden_size)


def an_agent(name: str) -> Agent:
    return make_agent(name, WORLD, NETWORK, key=jax.random.key(1))


@partial(jax.jit, static_argnums=0)
def an_epoch(name: str, key: Array) -> tuple[BanditTask, Memory, Step]:
    task_key, play_key = jax.random.split(key)
    tasks = WORLD.sample_epoch(task_key)
    memory, steps = play(WORLD, an_agent(name), DICTIONARY, fresh_memory(), tasks, play_key)
    return tasks, memory, steps


def replay(agent: Agent, steps: Step, episode: int, c_ep: Array) -> tuple[list[Array], Any]:
    """The agent stepped by hand through a recorded episode, then once more to see its outcome."""
    state, logits = agent.initial_state(), []
    action, reward = jnp.array(-1), jnp.zeros(())
    for t in range(WORLD.pulls + 1):
        context = jnp.zeros(WORLD.context_size)
        state, decision = agent(jnp.zeros(0), context, action, reward, c_ep, state)
        logits.append(decision.logits)
        if t < WORLD.pulls:
            action, reward = steps.action[episode, t], steps.reward[episode, t]
    return logits[:-1], state


def test_memory_holds_the_state_that_has_seen_the_last_reward() -> None:
    agent = an_agent("epl2rl")
    tasks, memory, steps = an_epoch("epl2rl", jax.random.key(0))
    by_hand = fresh_memory()
    for n in range(WORLD.episodes_per_epoch):
        found, by_hand = DICTIONARY.read(by_hand, tasks.context[n])
        logits, state = replay(agent, steps, n, found.value)
        np.testing.assert_allclose(jnp.stack(logits), steps.logits[n], atol=1e-5)
        by_hand = DICTIONARY.write(by_hand, tasks.context[n], state.c)
    np.testing.assert_allclose(memory.values, by_hand.values, atol=1e-5)
    np.testing.assert_array_equal(memory.keys, by_hand.keys)
    assert int((memory.written > 0).sum()) == WORLD.num_contexts


def test_nothing_crosses_episodes_without_a_memory() -> None:
    _, memory, steps = an_epoch("l2rl", jax.random.key(0))
    np.testing.assert_array_equal(steps.logits[:, 0], steps.logits[:1, 0].repeat(9, axis=0))
    assert int((memory.written > 0).sum()) == 0
    assert np.all(np.isinf(steps.distance))


def test_a_context_met_before_is_found_and_changes_the_first_decision() -> None:
    tasks, _, steps = an_epoch("epl2rl", jax.random.key(3))
    exact = np.asarray(steps.distance[:, 0]) < 1e-6
    np.testing.assert_array_equal(exact, np.asarray(tasks.exposure) > 0)
    first = np.asarray(steps.logits[:, 0])
    assert np.isinf(steps.distance[0, 0])
    assert np.abs(first[exact] - first[0]).max(axis=1).min() > 1e-6


def test_gradients_stop_at_stored_states() -> None:
    """Two episodes of one context: the second's gradient is that of a memory given from outside."""
    key = jax.random.key(5)
    task: Any = jax.tree.map(lambda x: x[:1], WORLD.sample_epoch(key))
    twice = jax.tree.map(lambda x: jnp.concatenate([x, x]), task)
    params, static = eqx.partition(an_agent("epl2rl"), eqx.is_array)
    keys = jax.random.split(key, 2)

    def value_of_second(params: Any, start: Memory, tasks: Any, n: int) -> Array:
        agent = eqx.combine(params, static)
        _, steps = play(WORLD, agent, DICTIONARY, start, tasks, key)
        return jnp.sum(steps.value[n] * jnp.arange(1.0, 5.0))

    def second_alone(params: Any, start: Memory) -> Array:
        one = jax.tree.map(lambda x: x[0], task)
        agent = eqx.combine(params, static)
        _, steps = play_episode(WORLD, agent, DICTIONARY, start, one, keys[1])
        return jnp.sum(steps.value * jnp.arange(1.0, 5.0))

    def after_first(params: Any) -> Memory:
        agent = eqx.combine(params, static)
        first = jax.tree.map(lambda x: x[0], task)
        return play_episode(WORLD, agent, DICTIONARY, fresh_memory(), first, keys[0])[0]

    through = jax.jit(jax.grad(value_of_second), static_argnums=3)(params, fresh_memory(), twice, 1)
    given = jax.jit(jax.grad(second_alone))(params, jax.jit(after_first)(params))
    for a, b in zip(jax.tree.leaves(through), jax.tree.leaves(given), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    assert max(float(jnp.abs(g).max()) for g in jax.tree.leaves(given)) > 1e-3


def test_a_state_reinstated_hundreds_of_times_stays_finite() -> None:
    """Reinstated on every step and stored again, c can nearly double with each exposure."""
    world = BarcodeBandits(num_arms=2, pulls=10, num_contexts=1, repeats=300, mapping="independent")
    agent = make_agent("epl2rl", world, NETWORK, key=jax.random.key(1))
    start = DICTIONARY.empty(world.context_size, NETWORK.hidden_size)
    tasks = world.sample_epoch(jax.random.key(0))
    memory, steps = jax.jit(partial(play, world, agent, DICTIONARY))(
        start, tasks, jax.random.key(0)
    )
    assert np.isfinite(memory.values).all() and np.isfinite(steps.logits).all()
    assert np.abs(memory.values).max() > 1e5  # it did grow


@pytest.mark.parametrize("unroll", [2, 4])
def test_unrolling_changes_nothing_but_speed(unroll: int) -> None:
    tasks, _, steps = an_epoch("epl2rl", jax.random.key(0))
    _, play_key = jax.random.split(jax.random.key(0))
    again = jax.jit(partial(play, WORLD, an_agent("epl2rl"), DICTIONARY, unroll=unroll))
    _, unrolled = again(fresh_memory(), tasks, play_key)
    np.testing.assert_array_equal(unrolled.action, steps.action)
    np.testing.assert_allclose(unrolled.logits, steps.logits, atol=1e-5)


def test_actions_are_drawn_from_the_policy() -> None:
    agent = an_agent("l2rl")
    probabilities = jnp.array([0.6, 0.3, 0.1])
    head = eqx.tree_at(
        lambda h: (h.weight, h.bias),
        agent.head,
        (jnp.zeros_like(agent.head.weight), jnp.append(jnp.log(probabilities), 0.0)),
    )
    agent = eqx.tree_at(lambda a: a.head, agent, head)
    lanes = 400
    keys = jax.random.split(jax.random.key(2), lanes)
    tasks = jax.vmap(WORLD.sample_epoch)(keys)
    memory = empty_memories(WORLD, NETWORK.hidden_size, DICTIONARY, lanes)
    _, steps = jax.jit(jax.vmap(partial(play, WORLD, agent, DICTIONARY)))(memory, tasks, keys)
    draws = lanes * WORLD.episodes_per_epoch * WORLD.pulls
    frequency = np.bincount(np.asarray(steps.action).ravel(), minlength=3) / draws
    error = np.sqrt(np.asarray(probabilities) * (1 - np.asarray(probabilities)) / draws)
    np.testing.assert_array_less(np.abs(frequency - probabilities), 4 * error)


def test_expected_rewards_are_those_of_the_actions_taken() -> None:
    tasks, _, steps = an_epoch("l2rl", jax.random.key(7))
    good = np.asarray(steps.action) == np.asarray(tasks.good_arm)[:, None]
    np.testing.assert_allclose(steps.expected_reward, np.where(good, 0.9, 0.1), rtol=1e-6)
    np.testing.assert_allclose(steps.best_expected_reward, 0.9, rtol=1e-6)
