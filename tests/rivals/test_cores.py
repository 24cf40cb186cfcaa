"""Every rival: step by step and all at once give the same numbers."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from reinstate.agent import AGENTS, Network
from reinstate.memory import DND
from reinstate.player import Inputs
from reinstate.rivals import EQUAL, MEDIUM, WIDE
from reinstate.rivals.attention import HCAM, Cache
from reinstate.rivals.base import Rival, epoch_steps, in_blocks, num_weights
from reinstate.rivals.deltanet import CHUNK, inverse, solve
from reinstate.tasks.bandits import BarcodeBandits
from reinstate_paper.against_rivals import QUICK

NETWORK = Network(hidden_size=8)
# 42 steps: more than a chunk of DeltaNet, and more episodes than HCAM chooses.
WORLD = BarcodeBandits(num_arms=3, pulls=5, num_contexts=3, repeats=2, barcode_length=4)
LONG = BarcodeBandits(num_arms=3, pulls=6, num_contexts=3, repeats=2, barcode_length=4)
EPOCH = [name for name in EQUAL if name != "epl2rl-oracle"]


def make(name: str, world: BarcodeBandits = LONG) -> Rival:
    rival: Rival = AGENTS[name](world, NETWORK, key=jax.random.key(1))
    return rival


def an_epoch(world: BarcodeBandits = LONG) -> Inputs:
    steps, length = epoch_steps(world), world.episode_length + 1
    rng = np.random.default_rng(0)
    action = rng.integers(0, 3, steps)
    action[::length] = -1
    contexts = rng.integers(0, 2, (steps // length, 4)).repeat(length, axis=0)
    return Inputs(
        jnp.zeros((steps, 0)),
        jnp.array(contexts, jnp.float32),
        jnp.array(action),
        jnp.array(rng.integers(0, 2, steps), jnp.float32),
        jnp.array(action < 0),
    )


def cut(inputs: Inputs, start: int, end: int | None = None) -> Inputs:
    return jax.tree.map(lambda x: x[start:end], inputs)


@eqx.filter_jit
def step_by_step(rival: Rival, inputs: Inputs) -> tuple[Any, Any, Array]:
    """States after every step, logits, values."""

    def step(state: Any, each: Inputs) -> Any:
        state, decision = rival(each, None, state)
        return state, (state, decision.logits, decision.value)

    return jax.lax.scan(step, rival.initial_state(), inputs)[1]


@eqx.filter_jit
def at_once(rival: Rival, inputs: Inputs, state: Any) -> tuple[Array, Array]:
    return rival.unroll(inputs, state)


@pytest.mark.parametrize("name", EPOCH)
def test_all_at_once_is_step_by_step(name: str) -> None:
    rival, inputs = make(name), an_epoch()
    assert inputs.last_action.shape[0] == 42 > CHUNK
    states, *decisions = step_by_step(rival, inputs)
    again = at_once(rival, inputs, rival.initial_state())
    np.testing.assert_allclose(again[0], decisions[0], atol=1e-5)
    np.testing.assert_allclose(again[1], decisions[1], atol=1e-5)
    # From the middle of the third episode, in a state that earlier ones have left.
    middle = jax.tree.map(lambda x: x[16], states)
    rest = at_once(rival, cut(inputs, 17), middle)
    np.testing.assert_allclose(rest[0], decisions[0][17:], atol=1e-5)
    np.testing.assert_allclose(rest[1], decisions[1][17:], atol=1e-5)


@pytest.mark.parametrize("name", EPOCH)
def test_a_step_matters_to_later_episodes_and_to_no_earlier_step(name: str) -> None:
    rival, inputs = make(name), an_epoch()
    logits, _ = at_once(rival, inputs, rival.initial_state())
    for changed in (0, 20):
        context = inputs.context.at[changed].set(1 - inputs.context[changed])
        other, _ = at_once(rival, inputs._replace(context=context), rival.initial_state())
        np.testing.assert_array_equal(other[:changed], logits[:changed])
        assert not np.array_equal(other[changed], logits[changed])
        assert not np.array_equal(other[changed + 7 :], logits[changed + 7 :])


def test_weights_are_as_many_as_those_of_epl2rl() -> None:
    world, network = BarcodeBandits(), Network()
    aim = num_weights(AGENTS["epl2rl"], world, network)
    assert aim == (11 + 50 + 1) * 250 + 51 * 11
    for name in EQUAL:
        assert abs(num_weights(AGENTS[name], world, network) / aim - 1) < 0.13, name
    for name in WIDE:
        assert num_weights(AGENTS[name], world, network) > 4 * aim, name


def test_larger_agents_of_a_small_contest_have_as_many_weights_as_each_other() -> None:
    sizes = {n: num_weights(AGENTS[n], QUICK.task, QUICK.network) for n in MEDIUM}
    small = num_weights(AGENTS["epl2rl"], QUICK.task, QUICK.network)
    assert all(13 * small < size < 20 * small for size in sizes.values()), sizes


def test_an_agent_of_a_size_of_its_own_is_the_papers_but_for_its_size() -> None:
    world, network = BarcodeBandits(num_arms=4), Network(hidden_size=24)
    for name in ("epl2rl", "epl2rl-recognition"):
        same = AGENTS[name](world, replace(network, hidden_size=110), key=jax.random.key(1))
        own = AGENTS[f"{name}-110"](world, network, key=jax.random.key(1))
        assert own.value_size == 110
        jax.tree.map(np.testing.assert_array_equal, *(jax.tree.leaves(a) for a in (own, same)))
        memories = [AGENTS[n].memory_for(DND(), world, network) for n in (name, f"{name}-110")]
        assert memories[0] == memories[1]


def test_the_delta_rule_overwrites_what_a_key_was_bound_to() -> None:
    from reinstate.rivals.deltanet import _chunk

    k = jnp.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    v = jnp.array([[3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    state, y = _chunk(jnp.zeros((2, 2)), (k[::-1], k, v, jnp.ones(3)))
    np.testing.assert_allclose(state, [[7.0, 5.0], [8.0, 6.0]], atol=1e-6)
    np.testing.assert_allclose(y, [[3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], atol=1e-6)


@pytest.mark.parametrize("rows", [3, 32])
def test_the_inverse_and_its_gradient(rows: int) -> None:
    rng = np.random.default_rng(rows)
    lower = jnp.tril(jnp.array(rng.normal(size=(rows, rows)), jnp.float32), -1) / 2
    wanted, weights = jnp.array(rng.normal(size=(2, rows, 3)), jnp.float32)
    known = np.linalg.inv(np.eye(rows) + np.asarray(lower, float))
    np.testing.assert_allclose(jax.jit(inverse)(lower), known, rtol=1e-4, atol=1e-4)
    assert inverse(jnp.zeros((1, 1))) == 1

    def plainly(lower: Array, wanted: Array) -> Array:
        return jnp.linalg.inv(jnp.eye(rows) + jnp.tril(lower, -1)) @ wanted

    def grads(solver: Any) -> Any:
        grad = jax.grad(lambda *parts: jnp.sum(weights * solver(*parts)), (0, 1))
        return jax.jit(grad)(lower, wanted)

    for found, expected in zip(grads(solve), grads(plainly), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", EPOCH)
def test_no_rival_waits_for_threads(name: str) -> None:
    """LAPACK does, of which devices have fewer than they are themselves: all wait for ever."""
    rival, inputs = make(name), an_epoch()
    learn = eqx.filter_grad(lambda rival: at_once(rival, inputs, rival.initial_state())[1].sum())
    learning: Any = eqx.filter_jit(learn)
    program = learning.lower(rival).as_text()
    assert "lapack" not in program and "triangular_solve" not in program


def test_eigenvalues_of_the_linear_recurrent_unit_start_within_their_ring() -> None:
    core: Any = AGENTS["lru-128"](WORLD, NETWORK, key=jax.random.key(0)).core
    moduli = np.abs(core.layers[1].eigenvalues)
    assert 0.9 <= moduli.min() < 0.93 and 0.97 < moduli.max() <= 0.999


def test_the_cache_holds_as_many_steps_as_were_seen() -> None:
    states, *_ = step_by_step(make("transformer"), an_epoch())
    cache: Cache = jax.tree.map(lambda x: x[9], states)
    filled = np.any(np.asarray(cache.k) != 0, axis=(0, 2, 3))
    assert cache.steps == 10 and filled.sum() == 10 and filled[:10].all()


def test_hcam_sees_the_chosen_episodes_alone() -> None:
    rival, inputs = make("hcam"), an_epoch()
    states, *_ = step_by_step(rival, inputs)
    shelf = jax.tree.map(lambda x: x[-1], states)
    core: Any = rival.core
    assert isinstance(core, HCAM) and core.chosen == 4
    assert shelf.steps.tolist() == [7] * 6 and shelf.episode == 5
    y = jnp.linspace(-1, 1, shelf.total.shape[1])
    query = core.recall.read_in(y)[0], y, shelf.episode
    like = jax.vmap(core.summary)(shelf.total / 7) @ core.which(core.recall.norm(y))
    least = int(np.argmin(like[:5]))
    found = core._earlier(query, shelf)

    def without(episode: int) -> Array:
        return core._earlier(query, shelf._replace(v=shelf.v.at[episode].set(0.0)))

    changed = [not np.allclose(without(e), found, atol=1e-7) for e in range(6)]
    assert changed == [e not in (least, 5) for e in range(6)]


def test_blocks_do_not_change_a_scan() -> None:
    def step(total: Array, x: Array) -> tuple[Array, Array]:
        return total + x, total * x

    xs = jnp.arange(7.0)
    plain = jax.lax.scan(step, jnp.zeros(()), xs)[1]
    for block in (1, 3, 7, 9):
        np.testing.assert_array_equal(in_blocks(step, jnp.zeros(()), xs, block)[1], plain)
