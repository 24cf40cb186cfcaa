"""The example that drives a functional environment with a learner that knows nothing of us."""

import runpy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np

from reinstate.interop.functional import Environment

EXAMPLE = Path(__file__).parents[2] / "examples/recurrent_ppo.py"
ppo = SimpleNamespace(**runpy.run_path(str(EXAMPLE)))


def test_it_trains() -> None:
    env = Environment(ppo.WORLD, last_step=True)
    tiny = replace(ppo.Config(), lanes=4, updates=2, passes=1, minibatches=2, hidden=4)
    net, curve = jax.jit(ppo.make_train(env, tiny))(jax.random.key(0))
    assert curve["reward"].shape == (2,) and curve["by_exposure"].shape == (2, 5)
    np.testing.assert_allclose(curve["by_exposure"].mean(axis=1), curve["reward"], rtol=1e-5)
    assert np.isfinite(curve["loss"]).all()
    assert np.isfinite(net.actor.weight).all()


def test_advantages_are_those_of_the_recursion() -> None:
    config = replace(ppo.Config(), discount=0.5, gae_lambda=0.5)
    reward, value = jnp.array([1.0, 0, 2, 1]), jnp.array([1.0, 2, 4, 0])
    steps = ppo.Step(*[None] * 4, value, reward, jnp.array([False, False, True, False]), None)
    found = ppo.estimate_advantages(config, steps, jnp.array(6.0))
    # δ = 1 + 2/2 − 1, 0 + 4/2 − 2, 2 − 4 at the end, 1 + 6/2 − 0
    np.testing.assert_allclose(found, [1 - 0.25 * 0.5, -0.5, -2, 4])
