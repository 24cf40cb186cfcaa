"""Back-propagation through time, written out, beside what differentiating the play gives."""

from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reference.through_time import go_back
from reinstate import recompute
from reinstate.agent import Agent, Network, make_agent
from reinstate.learner import A2C, a2c_loss
from reinstate.memory import DND
from reinstate.recompute import play_to_learn
from reinstate.rollout import Options, start_lanes
from reinstate.tasks.bandits import BarcodeBandits
from reinstate.tasks.base import World
from test_early_end import WORLD as UNTIL_REWARDED

pytestmark = pytest.mark.usefixtures("without_gpu")

WORLD = BarcodeBandits(
    num_arms=3, pulls=3, num_contexts=3, repeats=2, barcode_length=4, trial_input=True
)
KERNEL, SERVES = recompute.go_back, recompute.serves  # before they are replaced
NETWORK = Network(hidden_size=6)
EPOCH = replace(NETWORK, reset="epoch")
MEMORY = DND(capacity=6)
SETTINGS = A2C(lanes=2, epochs=1, discount=0.8, value_cost=0.3)


@pytest.fixture
def without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let agents retrace, by the equations; the kernel has a test of its own."""
    monkeypatch.setattr("reinstate.recompute.serves", lambda units, dtype: True)
    monkeypatch.setattr("reinstate.recompute.go_back", go_back)


def gradient(agent: Any, world: World = WORLD, **how: Any) -> Any:
    """Return the loss over an epoch of two lanes, and its gradient."""
    tasks = jax.vmap(world.sample_epoch, out_axes=1)(jax.random.split(jax.random.key(3), 2))
    keys = jax.random.split(jax.random.key(4), 2)

    def loss(agent: Any) -> Any:
        start = start_lanes(world, agent, MEMORY, 2)
        _, played = play_to_learn(world, agent, MEMORY, start, tasks, keys, **how)
        return a2c_loss(played.steps, SETTINGS, jnp.array(0.1))[0]

    return eqx.filter_jit(eqx.filter_value_and_grad(loss))(agent)


def assert_same(one: Any, other: Any) -> None:
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "network", "world"),
    [
        ("epl2rl", NETWORK, WORLD),
        ("epl2rl", replace(NETWORK, feedback="joint", reinstated="first-step"), UNTIL_REWARDED),
        ("epl2rl", EPOCH, UNTIL_REWARDED),
        ("l2rl-context", EPOCH, WORLD),
        ("epl2rl-input-2", NETWORK, WORLD),
    ],
)
def test_the_gradient_is_that_of_the_play(name: str, network: Network, world: World) -> None:
    agent = make_agent(name, world, network, key=jax.random.key(0))
    assert agent.again is not None
    found = gradient(agent, world)
    assert_same(found, gradient(agent, world, fused=False))
    assert all(np.any(np.asarray(g) != 0) for g in jax.tree.leaves(found[1]))


def test_gradients_through_storage_are_those_of_the_play() -> None:
    agent = make_agent("epl2rl", WORLD, NETWORK, key=jax.random.key(0))
    through = gradient(agent, options=Options(through_storage=True))
    assert_same(through, gradient(agent, options=Options(through_storage=True), fused=False))
    assert np.abs(gradient(agent)[1].cell.weight - through[1].cell.weight).max() > 1e-5


def test_agents_with_weights_in_what_comes_back_do_not_retrace() -> None:
    agent = make_agent("epl2rl-recognition", WORLD, NETWORK, key=jax.random.key(0))
    assert agent.again is None


class Louder(Agent):
    """A subclass that steps in a way of its own."""

    def __call__(self, *shown: Any) -> Any:
        state, decision = super().__call__(*shown)
        return state, decision._replace(logits=2 * decision.logits)


class Picky(Agent):
    """A subclass that recalls in a way of its own, with what may be weights."""

    def read(self, *asked: Any) -> Any:
        recalled, *after = super().read(*asked)
        return 0.5 * recalled, *after


@pytest.mark.parametrize("kind", [Louder, Picky])
def test_an_agent_with_ways_of_its_own_does_not_retrace(kind: Any) -> None:
    plain: Any = make_agent("epl2rl", WORLD, NETWORK, key=jax.random.key(0))
    agent = kind(WORLD, plain.wiring, NETWORK, key=jax.random.key(0))
    assert plain.again is not None and agent.again is None
    assert_same(gradient(agent), gradient(agent, fused=False))


@pytest.mark.parametrize(("units", "gates"), [(20, 5), (5, 4)])
def test_the_kernel_computes_the_equations(units: int, gates: int) -> None:
    """More sequences than a program has, units that are no power of two, and two seeds."""
    seeds, steps, rows, width = 2, 3, 40, recompute.width_of(units)
    keys = iter(jax.random.split(jax.random.key(0), 6))

    def draw(*shape: int) -> jax.Array:
        return jax.random.normal(next(keys), (seeds, *shape))

    def filled_up(x: jax.Array) -> jax.Array:
        return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, width - units)])

    gated = filled_up(0.2 * draw(units, gates, units)), filled_up(draw(steps, rows, gates, units))
    known = *gated, draw(rows, units), *(draw(steps, rows, units) for _ in range(3))
    found = jax.vmap(partial(KERNEL, interpret=True))(*known)
    assert_same(found, jax.vmap(go_back)(*known))


def test_where_the_kernel_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reinstate.recompute.serves", SERVES)
    assert not SERVES(50, jnp.float32)  # on a CPU
    monkeypatch.setattr("reinstate.recompute._available", lambda: True)
    assert SERVES(50, jnp.float32) and not SERVES(65, jnp.float32)
    assert not SERVES(50, jnp.dtype("float64"))
    with jax.default_matmul_precision("highest"):
        assert not SERVES(50, jnp.float32)
