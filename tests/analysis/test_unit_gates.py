"""The r-gate of each unit, against an agent whose gates are set by hand."""

from functools import cache
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reinstate.agent import Agent, Network, make_agent
from reinstate.analysis.gates import UnitGates, _groups, unit_gates
from reinstate.errors import UserError
from reinstate.evaluation import Condition, Evaluation
from reinstate.memory import DND
from reinstate.tasks.bandits import BarcodeBandits

WORLD = BarcodeBandits(num_arms=2, pulls=3, num_contexts=2, repeats=4, barcode_length=4)
CONDITION = Condition(WORLD, DND(capacity=8))
OPEN = (0.2, 0.9, 0.5)  # of three units


def an_agent(name: str) -> Agent:
    """An agent whose r-gates are the same on every step."""
    agent = make_agent(name, WORLD, Network(hidden_size=3), key=jax.random.key(0))
    logits = jnp.log(jnp.array(OPEN) / (1 - jnp.array(OPEN)))
    bias = agent.cell.bias.at[-3:].set(logits)
    flat = jnp.zeros_like(agent.cell.weight)
    return eqx.tree_at(lambda a: (a.cell.weight, a.cell.bias), agent, (flat, bias))


@cache
def found() -> UnitGates:
    return unit_gates(CONDITION, an_agent("epl2rl"), Evaluation(epochs=2), 0)


def test_units_are_sorted_and_each_has_its_own_gate() -> None:
    assert found().unit.tolist() == [1, 2, 0]
    assert found().groups == ["exposure 1", "exposure 2", "exposure 3", "exposure 4"]
    assert found().gate.shape == (4, 3, 4)  # three pulls, and the step that sees the last reward
    np.testing.assert_allclose(found().gate[0], np.array([[0.9], [0.5], [0.2]]).repeat(4, 1), 1e-5)
    np.testing.assert_allclose(found().mean, [0.9, 0.5, 0.2], 1e-5)
    assert found().half == 1  # 0.9 of 1.6
    assert found()._replace(gate=np.ones((1, 3, 4))).half == 2


def test_agents_without_the_gate_are_refused() -> None:
    for name in ("l2rl", "epl2rl-input"):
        agent = make_agent(name, WORLD, Network(hidden_size=3), key=jax.random.key(0))
        with pytest.raises(UserError, match="r-gate, and this agent has none"):
            unit_gates(CONDITION, agent, Evaluation(epochs=2), 0)


def test_episodes_of_the_two_step_task_are_grouped_by_their_cue() -> None:
    cues = np.array([[[-1, -1], [-1, -1], [0, 0]]])  # (epochs, episodes, steps)
    record: Any = SimpleNamespace(trace=SimpleNamespace(cue_episode=cues), exposure=None)
    assert {name: here.tolist() for name, here in _groups(record).items()} == {
        "uncued": [[True, True, False]],
        "cued": [[False, False, True]],
    }
    record.trace.cue_episode = cues[:, :2]
    assert [*_groups(record)] == ["uncued"]
