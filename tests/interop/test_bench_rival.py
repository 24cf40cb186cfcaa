"""The rival in PyTorch computes what ours does: loss, gradient, memory; and it learns."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import against_pytorch  # noqa: E402
from cases import Case, training  # noqa: E402
from pytorch import Memory, Played, Rival, a2c_loss, draw_epoch  # noqa: E402
from reinstate.agent import make_agent  # noqa: E402
from reinstate.learner import a2c_loss as our_loss  # noqa: E402
from reinstate.memory import DND  # noqa: E402
from reinstate.player import Inputs  # noqa: E402
from reinstate.rollout import Step  # noqa: E402
from reinstate_paper.barcode_bandits import QUICK  # noqa: E402
from tiny import TINY  # noqa: E402

torch.set_num_threads(1)  # small tensors, and others may be at work
LANES, HIDDEN = 5, TINY.network.hidden_size
CPU = torch.device("cpu")


def ours_of(rival: Rival) -> Any:
    """Our agent with the rival's weights: blocks of columns for i, f, o, c_in, r, in this order."""
    agent = make_agent("epl2rl", TINY.task, TINY.network, key=jax.random.key(0))

    def columns(rows: Any) -> Any:
        i, f, o, r, c_in = np.split(rows.detach().numpy(), 5)
        return jnp.array(np.concatenate([i, f, o, c_in, r]).T)

    network = rival.network
    head = [jnp.array(each.detach().numpy()) for each in (network.head.weight, network.head.bias)]
    weights = columns(network.weight), columns(network.bias), *head
    return eqx.tree_at(
        lambda a: (a.cell.weight, a.cell.bias, a.head.weight, a.head.bias), agent, weights
    )


def replayed(agent: Any, played: Played, c_ep: Any) -> Step:
    """Our agent, told to do what the rival did, in every lane."""
    action, reward = (jnp.array(each.numpy().T) for each in (played.action, played.reward))

    def lane(action: Any, reward: Any, c_ep: Any) -> Any:
        state, last, found = agent.initial_state(), (jnp.array(-1), jnp.array(0.0)), []
        for now in zip(action, reward, strict=True):
            inputs = Inputs(jnp.zeros(0), jnp.zeros(4), *last, jnp.array(True))
            state, decision = agent(inputs, c_ep, state)
            found.append(decision)
            last = now
        return jnp.stack([d.logits for d in found]), jnp.stack([d.value for d in found])

    logits, value = jax.vmap(lane)(action, reward, jnp.array(c_ep.numpy()))
    nothing: Any = (None,) * 6
    return Step(logits, value, action.astype(jnp.int32), reward, *nothing)


def test_loss_and_gradient_are_ours() -> None:
    torch.manual_seed(1)
    rival = Rival(TINY, LANES)
    rival.train(3)  # weights that have moved, and something to recall
    context, good = rival.epoch.context[:, 1], rival.epoch.good_arm[:, 1]
    c_ep, _ = rival.memory.read(context / context.norm(dim=1, keepdim=True))
    assert c_ep.abs().sum(1).min() > 0
    played = rival.play(context, good)
    rival.network.zero_grad()
    loss = a2c_loss(played, TINY.learner, 0.03)
    loss.backward()
    agent = ours_of(rival)

    def ours(agent: Any) -> Any:
        return our_loss(replayed(agent, played, c_ep), TINY.learner, jnp.array(0.03))[0]

    value, gradient = eqx.filter_value_and_grad(ours)(agent)
    assert float(value) == pytest.approx(loss.item(), rel=1e-5)
    i, f, o, r, c_in = np.split(_gradient(rival.network.weight), 5)
    theirs = np.concatenate([i, f, o, c_in, r]).T
    assert np.abs(theirs).max() > 1e-4
    np.testing.assert_allclose(gradient.cell.weight, theirs, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(
        gradient.head.weight, _gradient(rival.network.head.weight), rtol=1e-3, atol=1e-6
    )


def _gradient(parameter: Any) -> Any:
    return parameter.grad.numpy()


def test_the_memory_recalls_what_ours_recalls() -> None:
    rng = np.random.default_rng(0)
    pool = np.array([[1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 1]], np.float32)
    keys = pool[rng.integers(0, 4, (6, LANES))]
    values = rng.normal(size=(6, LANES, 2)).astype(np.float32)
    theirs, ours = Memory(LANES, 6, 4, 2, CPU), DND(capacity=6)
    contents = jax.vmap(lambda _: ours.empty(4, 2))(jnp.arange(LANES))
    for key, value in zip(keys, values, strict=True):
        query = torch.tensor(key / np.linalg.norm(key, axis=1, keepdims=True))
        found, slot = theirs.read(query)
        theirs.write(slot, query, torch.tensor(value))
        expected, contents = jax.vmap(ours.read)(contents, jnp.array(key))
        known = np.asarray(expected.distances[:, 0]) < 1e-5  # ties among others are broken our way
        empty = np.isinf(np.asarray(expected.distances[:, 0]))
        np.testing.assert_allclose(found[known | empty], expected.value[known | empty], rtol=1e-6)
        contents = jax.vmap(ours.write)(contents, jnp.array(key), jnp.array(value))
    assert theirs.filled.tolist() == np.asarray(jax.vmap(ours.filled)(contents)).tolist()


def test_tasks_are_those_of_the_paper() -> None:
    task = QUICK.task
    context, good = draw_epoch(task, LANES, CPU)
    assert context.shape == (LANES, 100, 10) and {*context.unique().tolist()} == {0, 1}
    for lane in range(LANES):
        numbers = (context[lane] * 2 ** torch.arange(10)).sum(1).long()
        found, counts = numbers.unique(return_counts=True)
        assert counts.tolist() == [10] * 10 and found.min() > 0
        arms = {int(n): {*good[lane][numbers == n].tolist()} for n in found}
        assert sorted(arm for (arm,) in arms.values()) == list(range(10))


def test_it_learns_to_recall() -> None:
    """Two arms that pay always or never: without a memory, 2.5 of 3 pulls at best."""
    sure = replace(TINY.task, num_arms=2, num_contexts=2, repeats=4, p_good=1.0, p_bad=0.0)
    learner = replace(TINY.learner, epochs=100, learning_rate=0.02)
    torch.manual_seed(0)
    rival = Rival(replace(TINY, task=sure, learner=learner), 64)
    rewards = [rival.train(1) for _ in range(8 * learner.epochs)]
    late = np.reshape(rewards, (learner.epochs, 8))[-10:, 4:].mean()
    assert np.mean(rewards[:8]) < 2 and late > 2.7


def test_turns_of_ours_and_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = Case("tiny", "epl2rl", TINY)

    def case_of(experiment: str, agent: str, preset: str) -> Case:
        return tiny._replace(agent=agent)

    monkeypatch.setattr(against_pytorch, "case_of", case_of)
    monkeypatch.setattr(against_pytorch, "as_preset", lambda *what: training(case_of(*what)))
    monkeypatch.setitem(against_pytorch.BATCHES, "cpu", (1, 8))
    found = against_pytorch.compare("quick", 2)
    names = [(row["name"], row["batch"]) for row in found["rows"]]
    ours = [("reinstate", 8), ("reinstate", 1), ("reinstate without memory", 8)]
    assert names[:3] == ours and {*names[3:]} == {("PyTorch", 1), ("PyTorch", 8)}
    assert found["rows"][0]["ours"]["median"] == 1
    assert all(row["steps_per_second"]["median"] > 0 for row in found["rows"])
