"""Frozen weights on fresh keys: what a Record holds, and that nothing else changes."""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reinstate.agent import make_agent
from reinstate.analysis.compositional import Misfiled
from reinstate.evaluation import Condition, Evaluation, Record, evaluate, evaluate_in
from reinstate.memory import DND, Contents, Memory
from reinstate.runs.evaluator import Evaluator
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from tiny import TINY, trained_run

EPOCHS = 200


@pytest.fixture(scope="module")
def uniform() -> Record:
    """The record of one agent whose head is all zero: every arm is as likely."""
    agent = make_agent("epl2rl", TINY.task, TINY.network, key=jax.random.key(0))
    agent = eqx.tree_at(lambda a: (a.head.weight, a.head.bias), agent, replace_fn=jnp.zeros_like)

    @eqx.filter_jit
    def judge(seed: jax.Array) -> Record:
        return evaluate(TINY.task, agent, TINY.memory, Evaluation(epochs=EPOCHS), seed)

    return jax.tree.map(np.asarray, judge(jnp.array(1)))


def test_shapes(uniform: Record) -> None:
    episodes, steps = 6, 3
    assert uniform.context_id.shape == uniform.exposure.shape == (EPOCHS, episodes)
    for leaf in jax.tree.leaves(uniform.outcome):
        assert leaf.shape == (EPOCHS, episodes)
    assert uniform.filled.shape == (EPOCHS, episodes)
    by_episode = ("context_id", "exposure", "outcome", "filled")
    others = [getattr(uniform, name) for name in Record._fields if name not in by_episode]
    assert uniform.played is None  # no episode ends early
    for leaf in jax.tree.leaves(others):
        assert leaf.shape == (EPOCHS, episodes, steps)


def test_a_uniform_policy_earns_what_it_must(uniform: Record) -> None:
    assert set(np.unique(uniform.reward)) == {0, 1}
    num = uniform.reward.size
    mean = (0.9 + 0.1 + 0.1) / 3
    noise = 4 * np.sqrt(mean * (1 - mean) / num)
    assert uniform.reward.mean() == pytest.approx(mean, abs=noise)
    assert uniform.expected_reward.mean() == pytest.approx(mean, abs=noise)
    counts = np.bincount(uniform.action.ravel(), minlength=3)
    np.testing.assert_allclose(counts / num, 1 / 3, atol=4 * np.sqrt(2 / 9 / num))


class Forgetful(DND):
    """A memory that is never filled."""

    def write(self, memory: Contents, key: jax.Array, value: jax.Array) -> Contents:
        return memory


def judged(dnd: Memory, *recall: float) -> list[Record]:
    """One agent with random weights and strong opinions, on the same keys each time."""
    agent = make_agent("epl2rl", TINY.task, TINY.network, key=jax.random.key(0))
    agent = eqx.tree_at(lambda a: a.head.weight, agent, replace_fn=lambda w: 20 * w)
    agent = eqx.tree_at(lambda a: a.cell.weight, agent, replace_fn=lambda w: 3 * w)

    @eqx.filter_jit
    def judge(share: Any) -> Record:
        arena = Condition(TINY.task, dnd, share)
        return evaluate_in(arena, agent, Evaluation(epochs=40), jnp.array(1))

    return [jax.tree.map(np.asarray, judge(jnp.array(share))) for share in recall]


@pytest.fixture(scope="module")
def sound_and_cleared() -> list[Record]:
    return judged(TINY.memory, 1.0, 0.0)


def test_with_recall_at_0_a_memory_is_as_if_it_were_never_filled(
    sound_and_cleared: list[Record],
) -> None:
    sound, cleared = sound_and_cleared
    (never,) = judged(Forgetful(capacity=6), 1.0)
    for name in ("context_id", "action", "reward", "expected_reward"):
        np.testing.assert_array_equal(getattr(cleared, name), getattr(never, name))
    for name, gate in cleared.report.items():
        np.testing.assert_allclose(gate, never.report[name], rtol=1e-6)
    assert np.all(never.retrieved == -1) and np.all(cleared.retrieved[:, 1:] >= 0)
    # The tasks and all chance are the same: whatever differs is owed to the memory.
    np.testing.assert_array_equal(sound.context_id, cleared.context_id)
    np.testing.assert_array_equal(sound.action[:, 0], cleared.action[:, 0])
    assert (sound.action[:, 1:] != cleared.action[:, 1:]).mean() > 0.05


def test_a_misfiled_memory_brings_back_another_context(sound_and_cleared: list[Record]) -> None:
    (lesion,) = judged(Misfiled(TINY.memory), 1.0)
    np.testing.assert_array_equal(lesion.context_id, sound_and_cleared[0].context_id)
    right = {}
    for name, record in (("sound", sound_and_cleared[0]), ("misfiled", lesion)):
        contexts, back = np.asarray(record.context_id), np.asarray(record.retrieved)[..., 0]
        several = [[len(set(epoch[:n])) > 1 for n in range(6)] for epoch in contexts.tolist()]
        known = np.array(several) & (np.asarray(record.exposure) > 0)
        right[name] = (np.take_along_axis(contexts, back, axis=1) == contexts)[known]
    assert right["sound"].all() and not right["misfiled"].any()


def test_weights_are_frozen(tmp_path: Path) -> None:
    evaluator = Evaluator(BARCODE_BANDITS, "epl2rl", TINY)
    state = evaluator.load(trained_run(tmp_path / "x"))
    before = jax.tree.map(np.array, state.params)
    records = [evaluator.record(state) for _ in range(2)]
    for one, two in zip(*map(jax.tree.leaves, records), strict=True):
        np.testing.assert_array_equal(one, two)
    for old, new in zip(jax.tree.leaves(before), jax.tree.leaves(state.params), strict=True):
        np.testing.assert_array_equal(old, new)
    assert records[0].reward.shape == (2, 3, 6, 3)  # seeds first
    # Every seed's agent is judged on numbers of its own.
    assert not np.array_equal(records[0].context_id[0], records[0].context_id[1])


def test_agents_are_judged_on_epochs_they_were_not_trained_on(
    tmp_path: Path, uniform: Record
) -> None:
    """The same seed draws other epochs when it trains than when it is judged."""

    @jax.jit
    def trained_on(key: jax.Array, epoch: jax.Array) -> jax.Array:
        task_key, _ = jax.random.split(jax.random.fold_in(key, epoch))
        return jax.vmap(TINY.task.sample_epoch)(jax.random.split(task_key, EPOCHS)).context_id

    evaluator = Evaluator(BARCODE_BANDITS, "epl2rl", TINY)
    state = evaluator.load(trained_run(tmp_path / "x"))
    for epoch in range(4):
        assert not np.array_equal(trained_on(state.key[1], jnp.array(epoch)), uniform.context_id)
