"""The example that puts the cell and the memory into a learner that knows nothing of us."""

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from reinstate.baselines.bandits import bandit_optimum

EXAMPLE = Path(__file__).parents[2] / "examples/recurrent_ppo.py"
ppo = SimpleNamespace(**runpy.run_path(str(EXAMPLE)))


def test_it_learns_what_cannot_be_known_without_a_memory() -> None:
    _, curve = jax.jit(ppo.make_train(ppo.Config(updates=100)))(jax.random.key(0))
    assert curve.shape == (100, 5)
    best, last = bandit_optimum(ppo.WORLD), np.asarray(curve[-10:].mean(axis=0))
    assert abs(curve[0].mean() - best["chance"]) < 0.3
    assert last.mean() > best["without_memory"] + 0.2
    assert last[0] < best["without_memory"] + 0.1 < last[1] < last[-1]


def test_without_recall_nothing_is_known() -> None:
    tiny = ppo.Config(lanes=8, updates=2, passes=1, minibatches=2, hidden=4, recall=0.0)
    net, curve = jax.jit(ppo.make_train(tiny))(jax.random.key(0))
    assert curve.shape == (2, 5) and np.isfinite(net.head.weight).all()
    played = ppo.play(net, tiny, jax.random.key(1))
    assert not played.c_ep.any() and sorted(played.number) == sorted([*range(5)] * 3)


def test_gradients_of_the_replay_are_those_of_the_play() -> None:
    """In the play, the memory is there, and nothing that it stores has a gradient."""
    config = ppo.Config(hidden=6)
    net, key = ppo.Network(6, jax.random.key(0)), jax.random.key(1)
    weights = jax.random.normal(jax.random.key(2), (2, 15, ppo.WORLD.pulls))
    batch = ppo.play(net, config, key)
    assert (jnp.abs(batch.c_ep).sum(axis=1) > 0).tolist() == [False] + 14 * [True]

    def by_play(net: Any) -> Any:
        played = ppo.play(net, config, key)
        return jnp.sum(weights[0] * played.value + weights[1] * played.log_prob)

    def by_replay(net: Any) -> Any:
        logits, value = jax.vmap(ppo.replay, (None, 0))(net, batch)
        logs = jnp.take_along_axis(jax.nn.log_softmax(logits), batch.action[..., None], axis=-1)
        return jnp.sum(weights[0] * value + weights[1] * logs[..., 0])

    one, other = (eqx.filter_value_and_grad(loss)(net) for loss in (by_play, by_replay))
    for mine, theirs in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


def test_advantages_are_those_of_the_recursion() -> None:
    config = ppo.Config(discount=0.5, gae_lambda=0.5)
    found = ppo.estimate_advantages(config, jnp.array([1.0, 0, 2]), jnp.array([1.0, 2, 4]))
    # δ = 1 + 2/2 − 1, 0 + 4/2 − 2, 2 − 4 at the end
    np.testing.assert_allclose(found, [1 - 0.25 * 0.5, -0.5, -2])
