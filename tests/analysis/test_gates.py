"""The r-gate's scores against numbers worked by hand, and each unit's against gates set by hand."""

from functools import cache
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reinstate.agent import Agent, Network, make_agent
from reinstate.analysis.gates import UnitGates, _groups, gate_scores, unit_gates
from reinstate.errors import UserError
from reinstate.evaluation import Condition, Evaluation, Record
from reinstate.memory import DND
from reinstate.tasks.bandits import BarcodeBandits
from reinstate.tasks.two_step import TwoStepTrace

# Two seeds, one epoch each: two uncued episodes, then one cued by the first, one by the second.
CUE_STAGE = [[0.1, 0.2, 0.6, 0.8], [0.3, 0.2, 0.4, 0.6]]
SECOND_STAGE = [[0.2, 0.2, 0.3, 0.5], [0.2, 0.4, 0.5, 0.5]]
OUTCOME = [[0.0, 0.1, 0.2, 0.2], [0.2, 0.1, 0.2, 0.4]]
CUE = [[-1, -1, 0, 1], [-1, -1, 0, 1]]
STATE = [[0, 1, 1, 0], [1, 1, 0, 1]]
REWARD = [[1, 1, 0, 1], [0, 1, 0, 1]]
ACTION = [[0, 0, 0, 1], [0, 0, 0, 0]]
WORTH = [
    [[0.9, 0.1], [0.9, 0.1], [0.82, 0.26], [0.26, 0.74]],
    [[0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.2, 0.8]],
]


def by_step(first: Any, second: Any) -> np.ndarray:
    """(seeds, episodes, …) of both steps → (seeds, 1 epoch, episodes, steps, …)."""
    return np.stack([np.array(first), np.array(second)], axis=2)[:, None]


def a_record(cue: Any = CUE, worth: Any = WORTH, gate: float = 1.0, action: Any = ACTION) -> Record:
    r: Any = gate * by_step(CUE_STAGE, SECOND_STAGE)
    outcome: Any = gate * np.array(OUTCOME)[:, None]
    none = np.zeros_like(REWARD)
    trace: Any = TwoStepTrace(
        by_step(cue, cue),  # type: ignore[arg-type]
        by_step(none - 1, STATE),  # type: ignore[arg-type]
        by_step(none, none),  # type: ignore[arg-type]
        by_step(worth, np.full_like(worth, 0.5)),  # type: ignore[arg-type]
    )
    steps: Any = np.zeros((2, 1, 4, 2))
    episodes: Any = np.zeros((2, 1, 4))
    return Record(
        episodes,
        episodes,
        by_step(action, none + 1),  # type: ignore[arg-type]
        by_step(none, REWARD),  # type: ignore[arg-type]
        steps,
        steps,
        {"r": r},
        {"r": outcome},
        steps,
        steps,
        trace,
    )


def test_gates_by_stage_and_block() -> None:
    found = gate_scores(a_record())
    assert found["stages"] == ["cue", "second stage", "outcome"]
    np.testing.assert_allclose(
        found["over_epoch"], [[0.2, 0.2, 0.5, 0.7], [0.2, 0.3, 0.4, 0.5], [0.1, 0.1, 0.2, 0.3]]
    )
    ends = np.array(found["over_epoch_ci95"])  # (stages, episodes, 2)
    assert ends.shape == (3, 4, 2)
    np.testing.assert_allclose(ends.mean(axis=-1), found["over_epoch"])
    np.testing.assert_allclose(found["uncued"]["per_seed"], [[0.15, 0.2, 0.05], [0.25, 0.3, 0.15]])
    np.testing.assert_allclose(found["cued"]["per_seed"], [[0.7, 0.4, 0.2], [0.5, 0.5, 0.3]])
    np.testing.assert_allclose(found["cued"]["mean"], [0.6, 0.45, 0.25])
    assert found["first_cued"] == 2


MIXED = [[0, 0, 0, 0], [0, 0, 1, 0]]  # each seed chooses rightly, then wrongly


def test_the_gate_at_right_and_at_wrong_choices_of_each_seed() -> None:
    found = gate_scores(a_record(action=MIXED))
    np.testing.assert_allclose(found["correct"]["per_seed"], [0.6, 0.4])
    np.testing.assert_allclose(found["wrong"]["per_seed"], [0.8, 0.6])
    np.testing.assert_allclose(found["correct"]["mean"], 0.5)
    # Seeds are compared, not episodes: an interval of two numbers, whatever the episodes.
    twice = a_record(action=MIXED)
    twice = jax.tree.map(lambda leaf: np.concatenate([leaf, leaf], axis=1), twice)
    assert gate_scores(twice)["correct"] == found["correct"]


def test_a_seed_that_always_chooses_rightly_cannot_be_compared() -> None:
    found = gate_scores(a_record())  # the first does, the second never does
    assert not {"correct", "wrong"} & set(found)


def test_where_both_actions_are_worth_the_same_none_is_wrong() -> None:
    alike = np.array(WORTH)
    alike[0, 2] = 0.5
    found = gate_scores(a_record(worth=alike, action=[[0, 0, 1, 1], MIXED[1]]))
    assert "wrong" not in found  # the first seed's other choice is right


def test_a_gate_that_stays_shut() -> None:
    found = gate_scores(a_record(gate=0.0, action=MIXED))
    assert found["correct"]["per_seed"] == found["wrong"]["per_seed"] == [0.0, 0.0]
    assert found["cued"]["mean"] == [0, 0, 0]


def test_an_agent_without_gate() -> None:
    assert gate_scores(a_record()._replace(report={}, outcome={})) == {}


def test_the_classic_task_has_no_cued_episodes() -> None:
    found = gate_scores(a_record(cue=np.full((2, 4), -1)))
    assert set(found) == {"stages", "over_epoch", "over_epoch_ci95", "uncued"}
    np.testing.assert_allclose(found["uncued"]["mean"], [0.4, 0.35, 0.175])


# Unit by unit

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
