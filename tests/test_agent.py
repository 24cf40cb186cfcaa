from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from reinstate.agent import AGENTS, Agent, Network, Wiring, make_agent
from reinstate.cell import LSTMState
from reinstate.errors import UserError
from reinstate.memory import DND, Consolidating, Retrieval
from reinstate.memory.recognition import Recognition, Recollection
from reinstate.player import Decision, Inputs
from reinstate.tasks.bandits import BarcodeBandits

WORLD = BarcodeBandits(num_arms=3, barcode_length=6, trial_input=True)
SMALL = Network(hidden_size=5)
PAPERS = [n for n, make in AGENTS.items() if isinstance(make, Wiring) and not make.hidden_size]
PLAIN = ("l2rl", "l2rl-context", "epl2rl", "epl2rl-input")


def shapes(name: str, network: Network, world: BarcodeBandits) -> Agent:
    """An agent without numbers, for its shapes alone."""
    build = partial(make_agent, name, world, network)
    agent: Agent = eqx.filter_eval_shape(lambda key: build(key=key), jax.random.key(0))
    return agent


def make(name: str, network: Network = SMALL) -> Agent:
    """An agent with random weights from NumPy, which compiles nothing."""
    rng = np.random.default_rng(0)

    def fill(x: Any) -> Any:
        known = isinstance(x, jax.ShapeDtypeStruct)
        return jnp.array(rng.normal(size=x.shape), x.dtype) if known else x

    agent: Agent = jax.tree.map(fill, shapes(name, network, WORLD))
    return agent


def input_size(agent: Agent) -> int:
    return agent.cell.weight.shape[0] - agent.cell.hidden_size


# What a step is given: everything present, nothing zero.
INPUTS = Inputs(
    features=jnp.array([0.3]),
    context=jnp.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0]),
    last_action=jnp.array(1),
    last_reward=jnp.array(1.0),
    first_shown=jnp.array(True),
)
C_EP = jnp.linspace(-1.0, 1.0, 5)


def a_state() -> LSTMState:
    return LSTMState(c=jnp.linspace(0.0, 1.0, 5), h=jnp.linspace(0.5, -0.5, 5))


@eqx.filter_jit
def step(agent: Agent, inputs: Inputs, recalled: Any) -> tuple[LSTMState, Decision]:
    return agent(inputs, recalled, a_state())


def act(agent: Agent, recalled: Any = C_EP, **changed: Array) -> tuple[LSTMState, Decision]:
    out: tuple[LSTMState, Decision] = step(agent, INPUTS._replace(**changed), recalled)
    return out


def notices(agent: Agent, recalled: Any = C_EP, **changed: Array) -> bool:
    before, after = act(agent)[1], act(agent, recalled, **changed)[1]
    return not np.array_equal(before.logits, after.logits)


def test_input_sizes_of_the_paper() -> None:
    sizes = {name: input_size(shapes(name, Network(), BarcodeBandits())) for name in PAPERS}
    # Last action (10) and reward (1); the barcode (10); the retrieved state (50, or compressed);
    # how similar its context is (1).
    assert sizes == {
        "l2rl": 11, "l2rl-context": 21, "epl2rl": 11, "epl2rl-recognition": 12,
        "epl2rl-input": 61, "epl2rl-input-2": 13, "epl2rl-input-4": 15, "epl2rl-input-8": 19,
        "epl2rl-input-16": 27,
    }  # fmt: skip


def test_features_of_the_task_are_inputs_of_every_agent() -> None:
    sizes = {name: input_size(shapes(name, SMALL, WORLD)) for name in PLAIN}
    assert sizes == {"l2rl": 5, "l2rl-context": 11, "epl2rl": 5, "epl2rl-input": 10}


@pytest.mark.parametrize("name", [*PLAIN, "epl2rl-input-2"])
def test_what_each_agent_sees(name: str) -> None:
    agent = make(name)
    assert notices(agent, features=jnp.array([0.4]))
    assert notices(agent, last_action=jnp.array(2))
    assert notices(agent, last_reward=jnp.array(0.0))
    assert notices(agent, context=1 - INPUTS.context) == (name == "l2rl-context")
    assert notices(agent, jnp.ones(5)) == name.startswith("epl2rl")


@pytest.mark.parametrize("name", PAPERS)
def test_agents_with_a_memory_are_those_that_see_what_it_recalls(name: str) -> None:
    agent = shapes(name, SMALL, WORLD)
    assert agent.remembers == name.startswith("epl2rl")
    assert agent.cell.episodic == (name in ("epl2rl", "epl2rl-recognition"))


@pytest.mark.parametrize("name", PLAIN)
def test_a_decision_has_a_logit_for_each_action_and_a_value(name: str) -> None:
    _, decision = act(make(name))
    assert decision.logits.shape == (3,)
    assert decision.value.shape == ()
    assert decision.report["r"].shape == (5,)


def test_the_heads_read_the_new_h() -> None:
    agent = make("epl2rl")
    state, decision = act(agent)
    out = agent.head(state.h)
    np.testing.assert_allclose(decision.logits, out[:3], rtol=1e-5)
    np.testing.assert_allclose(decision.value, out[3], rtol=1e-5)


def test_the_memory_stores_c_not_h() -> None:
    state, _ = act(make("epl2rl"))
    np.testing.assert_array_equal(make("epl2rl").to_store(state), state.c)


@pytest.mark.parametrize(
    ("stored", "c", "expected"),
    [
        ("raw", [-2.0, 0.5, 0.0, 20.0, 1e7], [-2.0, 0.5, 0.0, 20.0, 1e6]),
        ("raw", [-1e9, 1e6, 1.0, 2.0, 3.0], [-1e6, 1e6, 1.0, 2.0, 3.0]),
        ("tanh", [-2.0, 0.5, 0.0, 20.0, 1e7], [-0.9640276, 0.4621172, 0.0, 1.0, 1.0]),
        ("rms", [3.0, -4.0, 0.0, 0.0, 0.0], [1.3416408, -1.7888544, 0.0, 0.0, 0.0]),  # / √5
        ("rms", [0.5, -0.5, 0.0, 2.0, 0.5], [0.5, -0.5, 0.0, 2.0, 0.5]),  # it has less than 1
        ("rms", [1e7, -1e7, 1e7, 1e7, 0.0], [1.1180340, -1.1180340, 1.1180340, 1.1180340, 0.0]),
    ],
)
def test_what_is_stored_of_a_cell_state(stored: Any, c: list[float], expected: Any) -> None:
    agent = shapes("epl2rl", Network(hidden_size=5, stored=stored), WORLD)
    found = agent.to_store(LSTMState(c=jnp.array(c), h=jnp.ones(5)))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("stored", ["raw", "tanh", "rms"])
def test_what_is_stored_has_a_gradient_at_zero(stored: Any) -> None:
    """Gradients may go through storage, and an episode may leave no trace in c."""
    agent = shapes("epl2rl", Network(hidden_size=5, stored=stored), WORLD)
    gradient = jax.grad(lambda c: agent.to_store(LSTMState(c, c)).sum())(jnp.zeros(5))
    np.testing.assert_array_equal(gradient, np.ones(5))


@pytest.mark.parametrize(
    ("reinstated", "first", "later"),
    [
        ("every-step", [-0.5, -0.125, 0.25, 0.625, 1.0], [-0.5, -0.125, 0.25, 0.625, 1.0]),
        ("first-step", [-0.5, -0.125, 0.25, 0.625, 1.0], [0.0, 0.125, 0.25, 0.375, 0.5]),
    ],
)
def test_when_a_retrieved_state_comes_back(reinstated: Any, first: Any, later: Any) -> None:
    """Without weights all gates are half open and c_in is 0: c ← (c + c_ep) / 2."""
    agent = make("epl2rl", Network(hidden_size=5, reinstated=reinstated))
    agent = jax.tree.map(jnp.zeros_like, agent)
    for first_shown, expected in ((True, first), (False, later)):
        state, _ = act(agent, first_shown=jnp.array(first_shown))
        np.testing.assert_allclose(state.c, expected, atol=1e-7)


def test_a_memory_that_is_an_input_is_one_on_the_first_step_only_if_asked() -> None:
    agent = make("epl2rl-input", Network(hidden_size=5, reinstated="first-step"))
    for first_shown in (True, False):
        given = {"first_shown": jnp.array(first_shown)}
        states = [act(agent, c_ep, **given)[0] for c_ep in (jnp.zeros(5), jnp.ones(5))]
        assert np.allclose(states[0].h, states[1].h) == (not first_shown)


def test_a_compressed_memory_takes_as_many_inputs_as_asked() -> None:
    agent = make("epl2rl-input-2")
    assert input_size(agent) == 1 + 3 + 1 + 2
    assert agent.shrink is not None
    # Memories that differ only where the linear layer is blind look the same.
    *_, blind = np.linalg.svd(agent.shrink.weight)[2]
    assert np.allclose(agent.shrink.weight @ blind, 0, atol=1e-6)
    seen, unseen = (act(agent, C_EP + step) for step in (0.5, blind))
    same = act(agent)
    np.testing.assert_allclose(unseen[1].logits, same[1].logits, atol=1e-6)
    assert not np.allclose(seen[1].logits, same[1].logits, atol=1e-3)


def test_no_last_action_is_an_all_zero_one_hot() -> None:
    agent = make("l2rl")
    none = {"last_action": jnp.array(-1), "last_reward": jnp.zeros(()), "features": jnp.zeros(1)}
    state, _ = act(agent, **none)
    blank, _ = agent.cell(jnp.zeros(5), a_state())
    np.testing.assert_allclose(state, blank, rtol=1e-6)


def test_actions_are_told_apart() -> None:
    agent = make("l2rl")
    seen = {tuple(act(agent, last_action=jnp.array(a))[1].logits.tolist()) for a in (-1, 0, 1, 2)}
    assert len(seen) == 4


@pytest.mark.parametrize("name", PLAIN)
def test_joint_feedback_adds_an_input_for_each_action(name: str) -> None:
    joint = shapes(name, Network(hidden_size=5, feedback="joint"), WORLD)
    assert input_size(joint) == input_size(shapes(name, SMALL, WORLD)) + 3


@pytest.mark.parametrize("reward", [1.0, 0.0, -2.0])
def test_joint_feedback_is_the_reward_in_the_place_of_the_action(reward: float) -> None:
    agent = make("l2rl-context", Network(hidden_size=5, feedback="joint"))
    state, _ = act(agent, last_reward=jnp.array(reward))
    apart = [0.3, 0.0, 1.0, 0.0, reward]  # feature, action, reward
    x = jnp.array([*apart, 0.0, reward, 0.0, *INPUTS.context.tolist()])
    np.testing.assert_allclose(state, agent.cell(x, a_state())[0], rtol=1e-5)
    # Before the first action there is none to be rewarded.
    state, _ = act(agent, last_action=jnp.array(-1), last_reward=jnp.array(reward))
    x = x.at[jnp.array([2, 6])].set(0.0)
    np.testing.assert_allclose(state, agent.cell(x, a_state())[0], rtol=1e-5)


def test_separate_feedback_is_the_action_and_the_reward() -> None:
    agent = make("l2rl-context")
    state, _ = act(agent)
    x = jnp.array([0.3, 0.0, 1.0, 0.0, 1.0, *INPUTS.context.tolist()])
    np.testing.assert_allclose(state, agent.cell(x, a_state())[0], rtol=1e-5)


def test_an_episode_starts_from_zero() -> None:
    np.testing.assert_array_equal(make("epl2rl").initial_state(), np.zeros((2, 5)))


EVERY_CUE = Recognition(margin=True, age=True, emptiness=True, reach=0.1)


def test_cues_are_further_inputs_of_an_agent_that_recognises() -> None:
    agent = make("epl2rl-recognition", Network(hidden_size=5, recognition=EVERY_CUE))
    assert input_size(agent) == 5 + 4
    cues = jnp.array([0.6, 0.4, 0.2, 1.0])
    state, _ = act(agent, Recollection(C_EP, cues))
    x = jnp.array([0.3, 0.0, 1.0, 0.0, 1.0, *cues.tolist()])
    np.testing.assert_allclose(state, agent.cell(x, a_state(), C_EP)[0], rtol=1e-5)


def test_one_without_cues_differs_from_the_paper_s_in_what_it_recalls_alone() -> None:
    network = Network(hidden_size=5, recognition=Recognition(similarity=False))
    agent, paper = make("epl2rl-recognition", network), make("epl2rl", network)
    assert input_size(agent) == input_size(paper) == 5
    agent = eqx.tree_at(lambda a: (a.cell, a.head), agent, (paper.cell, paper.head))
    state, decision = act(agent, Recollection(C_EP, jnp.zeros(0)))
    expected, meant = act(paper)
    jax.tree.map(np.testing.assert_array_equal, (state, decision.logits), (expected, meant.logits))


@dataclass(frozen=True)
class Always:
    """Finds the same, whatever it is asked."""

    found: Retrieval

    def read(self, contents: Any, query: Array) -> tuple[Retrieval, Any]:
        return self.found, contents


@pytest.mark.parametrize("once", [True, False])
def test_what_agents_make_of_what_is_found(once: bool) -> None:
    network = Network(hidden_size=5, recognition=Recognition(once=once))
    number, one, value = jnp.array([4], jnp.int32), jnp.ones(1), jnp.arange(5.0)
    found = Retrieval(value, number, one, 0.5 * one, number, value[None], one, number[0])
    paper, agent = make("epl2rl", network), make("epl2rl-recognition", network)
    memory: Any = Always(found)
    recalled, *_ = paper.read(memory, (), jnp.zeros(1), None)
    assert recalled is found.value and not paper.recalls_once
    recollection, *_ = agent.read(memory, (), jnp.zeros(1), None)
    np.testing.assert_allclose(recollection.c_ep, np.arange(5), rtol=1e-6)
    np.testing.assert_allclose(recollection.cues, [1.5], rtol=1e-6)
    assert agent.recalls_once == once


@pytest.mark.parametrize("route", ["none", "input"])
def test_only_what_comes_through_the_gate_can_be_recognised(route: Any) -> None:
    assert Wiring("fine", route="gate", recognises=True) and Wiring("fine", route=route)
    with pytest.raises(UserError, match=f"that recognises needs the route 'gate', not '{route}'"):
        Wiring("odd", route=route, recognises=True)
    with pytest.raises(UserError, match="unknown route 'door': choose none, gate or input"):
        Wiring("odd", route="door")  # type: ignore[arg-type]


def test_what_the_kernel_learns_is_part_of_the_agent() -> None:
    plain, network = Recognition(sharpening=False), Network(hidden_size=5)
    for recognition, learned in (
        (plain, []),
        (Recognition(), ["sharpness"]),
        (Recognition(null_slot=True), ["sharpness", "log_null"]),
    ):
        agent = shapes("epl2rl-recognition", replace(network, recognition=recognition), WORLD)
        arrays = jax.tree.leaves_with_path(agent.recognizer)
        assert [path[-1].name for path, _ in arrays] == learned
    assert make("epl2rl").recognizer is None


def test_the_memory_of_each_agent() -> None:
    network, dnd = Network(recognition=EVERY_CUE), DND(capacity=20)
    for name in PAPERS:
        memory = AGENTS[name].memory_for(dnd, WORLD, network)
        recognises = name == "epl2rl-recognition"
        assert memory == (Consolidating(20, 10, reach=0.1) if recognises else dnd)
