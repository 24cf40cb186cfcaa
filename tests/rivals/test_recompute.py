"""Learning over whole epochs: the recomputed gradient is that of the play."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reference.through_time import go_back
from reinstate.agent import AGENTS, Agent, Network
from reinstate.cell import EpisodicLSTMCell
from reinstate.learner import A2C, Learner, a2c_loss
from reinstate.memory import DND, Memory
from reinstate.recompute import play_to_learn
from reinstate.rivals.base import Rival
from reinstate.rivals.recurrent import LSTM
from reinstate.rollout import play, start_lanes
from reinstate.runs.size import bytes_of
from reinstate.tasks.bandits import BarcodeBandits, NoisyBandits
from reinstate.tasks.base import World
from test_early_end import WORLD as UNTIL_REWARDED

WORLD = BarcodeBandits(
    num_arms=3, pulls=3, num_contexts=3, repeats=3, barcode_length=4, trial_input=True
)
NOISY = NoisyBandits.of(WORLD, noise=0.1)  # for all agents: some are told how noisy it is
NETWORK = Network(hidden_size=6)
NONE = DND(capacity=1)
SETTINGS = A2C(lanes=2, epochs=1, discount=0.8, value_cost=0.3)


def shallow(name: str, world: World) -> Any:
    """A rival with one layer: it compiles in half the time."""
    maker: Any = AGENTS[name]
    less = {"layers": 1} if hasattr(maker, "layers") else {}
    return replace(maker, **less)(world, NETWORK, key=jax.random.key(0))


def gradient(play: Callable[..., Any], world: World, agent: Any, memory: Memory = NONE) -> Any:
    """Return the loss over an epoch of two lanes, and its gradient."""
    tasks = jax.vmap(world.sample_epoch, out_axes=1)(jax.random.split(jax.random.key(3), 2))
    keys = jax.random.split(jax.random.key(4), 2)

    def loss(agent: Any) -> Any:
        start = start_lanes(world, agent, memory, 2)
        if play is play_to_learn:
            _, played = play(world, agent, memory, start, tasks, keys)
        else:
            run = jax.vmap(partial(play, world, agent, memory), in_axes=(0, 1, 0))
            _, played = run(start, tasks, keys)
        return a2c_loss(played.steps, SETTINGS, jnp.array(0.1))[0]

    return eqx.filter_jit(eqx.filter_value_and_grad(loss))(agent)


def assert_same(one: Any, other: Any) -> None:
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


KINDS = [name for name in AGENTS if not name[-1].isdigit()]  # the others differ in size


@pytest.mark.parametrize("name", KINDS)
def test_the_gradient_is_that_of_the_play(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every agent that decides again; those with weights in what they recall do not."""
    monkeypatch.setattr("reinstate.recompute.serves", lambda units, dtype: True)  # as on a GPU
    monkeypatch.setattr("reinstate.recompute.go_back", go_back)
    agent, memory = shallow(name, NOISY), AGENTS[name].memory_for(DND(9), NOISY, NETWORK)
    assert agent.again is None or not recalls_by_weights(agent, memory)
    if agent.again is not None:
        again = gradient(play_to_learn, NOISY, agent, memory)
        assert_same(again, gradient(play, NOISY, agent, memory))
        assert all(np.any(np.asarray(g) != 0) for g in jax.tree.leaves(again[1]))


@pytest.mark.parametrize("name", ["epl2rl-recognition", "epl2rl-keys", "epl2rl-soft"])
def test_some_agents_have_weights_in_what_they_recall(name: str) -> None:
    memory = AGENTS[name].memory_for(DND(9), NOISY, NETWORK)
    assert recalls_by_weights(shallow(name, NOISY), memory)


def recalls_by_weights(agent: Any, memory: Memory) -> bool:
    """Whether a gradient of what comes back reaches anything of the agent."""
    if not agent.remembers:
        return False
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(4, NOISY.context_size)).astype(np.float32)
    values = rng.normal(size=(4, agent.value_size)).astype(np.float32)

    @eqx.filter_jit
    @eqx.filter_grad
    def slopes(agent: Any) -> Any:
        contents = memory.empty(NOISY.context_size, agent.value_size)
        for context, value in zip(contexts, values, strict=True):
            contents = memory.write(contents, jnp.array(context), jnp.array(value))
        recalled, *_ = agent.read(memory, contents, jnp.ones(4), agent.initial_state())
        return sum(jnp.sum(part) for part in jax.tree.leaves(recalled))

    return any(np.any(np.asarray(g) != 0) for g in jax.tree.leaves(slopes(agent)))


def test_steps_after_an_early_end_are_not_seen() -> None:
    agent = shallow("gru-epoch", UNTIL_REWARDED)
    again = gradient(play_to_learn, UNTIL_REWARDED, agent)
    assert_same(again, gradient(play, UNTIL_REWARDED, agent))


def test_the_papers_lstm_carried_through_the_epoch_has_the_same_gradient() -> None:
    """It sees the same but for the start, and learns through the play itself."""
    network = replace(NETWORK, reset="epoch")
    paper: Agent = AGENTS["l2rl-context"](WORLD, network, key=jax.random.key(0))
    assert paper.again is None
    # Rows of the paper's weights: trial, action (3), reward, context (4), h. The rival's: trial,
    # context, action, reward, start, h; the start's are zero.
    rows = np.array([0, 5, 6, 7, 8, 1, 2, 3, 4, -1, *range(9, 15)])
    weight = jnp.where((rows >= 0)[:, None], paper.cell.weight[rows], 0.0)
    cell = EpisodicLSTMCell(10, 6, episodic=False, key=jax.random.key(0))
    cell = eqx.tree_at(lambda c: (c.weight, c.bias), cell, (weight, paper.cell.bias))
    rival = Rival(LSTM(cell), paper.head, 3, False)
    assert rival.again is not None
    (value, expected), (again, found) = (
        gradient(play_to_learn, WORLD, agent) for agent in (paper, rival)
    )
    np.testing.assert_allclose(again, value, atol=1e-6)
    own = rows >= 0
    np.testing.assert_allclose(
        found.core.cell.weight[own], expected.cell.weight[rows[own]], atol=1e-5
    )
    assert_same((found.core.cell.bias, found.head), (expected.cell.bias, expected.head))


MEGABYTES = {"lstm-epoch": 8, "lru": 10, "deltanet": 60, "transformer": 40, "hcam": 45}


@pytest.mark.parametrize("name", MEGABYTES)
def test_what_is_kept_of_epochs_of_10_000_steps(name: str) -> None:
    """Bytes that differentiating keeps per lane."""
    world = BarcodeBandits(num_contexts=10, repeats=91)
    assert _kept(world, name, 910) < 1e6 * MEGABYTES[name]


def test_a_window_of_a_tenth_keeps_a_fifth_of_it_or_less() -> None:
    world = BarcodeBandits(num_contexts=10, repeats=91)
    assert _kept(world, "lstm-epoch", 91) < _kept(world, "lstm-epoch", 910) / 5


def _kept(world: World, name: str, episodes: int) -> int:
    learner = Learner(
        world,
        partial(AGENTS[name], world, Network()),
        NONE,
        A2C(lanes=1, epochs=1, episodes_per_update=episodes),
    )
    state = jax.eval_shape(learner.init, jax.ShapeDtypeStruct((), jnp.int32))
    tasks = jax.eval_shape(
        lambda key: jax.vmap(world.sample_epoch, out_axes=1)(jax.random.split(key, 1)),
        state.key,
    )
    start = jax.eval_shape(
        lambda params: start_lanes(world, learner.agent(params), NONE, 1), state.params
    )

    def differentiate(params: Any, start: Any, tasks: Any, key: Any) -> Any:
        segment = jax.tree.map(lambda x: x[:episodes], tasks)

        def loss(params: Any) -> tuple[Any, Any]:
            player, keys = learner.agent(params), jax.random.split(key, 1)
            _, played = play_to_learn(learner.world, player, NONE, start, segment, keys)
            return a2c_loss(played.steps, learner.rates, jnp.zeros(()))[0], played

        _, kept, played = jax.vjp(loss, params, has_aux=True)
        return kept, played

    return bytes_of(jax.eval_shape(differentiate, state.params, start, tasks, state.key))
