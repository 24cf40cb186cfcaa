"""Our environments in Stoa's interface, used as Stoix's recurrent PPO uses environments.

Stoix itself is on no package registry. Its recurrent PPO calls reset on a batch of keys and step
inside a scan inside a vmap; it reads discount, last(), extras["episode_metrics"] and both spaces.
Its evaluator steps one lane in a while_loop until last().
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

stoa = pytest.importorskip("stoa")

from stoa.core_wrappers.vmap import VmapWrapper  # noqa: E402

from reinstate.interop.functional import Environment  # noqa: E402
from reinstate.interop.stoa import StoaEnvironment, for_stoix  # noqa: E402
from reinstate.tasks.bandits import BarcodeBandits  # noqa: E402

WORLD = BarcodeBandits(num_arms=3, pulls=2, num_contexts=3, repeats=2, barcode_length=4)
ENV = Environment(WORLD, last_step=True)
EPOCH, LANES = 12, 4
KEYS = jax.random.split(jax.random.PRNGKey(0), 2 * LANES)


@partial(jax.jit, static_argnums=0)
def learn(step: Any, state: Any, timestep: Any) -> Any:
    """Collect experience as a learner does, in (batches, lanes)."""

    def one(carry: Any, key: Any) -> Any:
        state, timestep = carry
        state, timestep = step(state, jax.random.randint(key, (LANES,), 0, 3))
        return (state, timestep), timestep

    def one_batch(state: Any, timestep: Any, key: Any) -> Any:
        keys = jax.random.split(key, 2 * EPOCH + 1)
        return jax.lax.scan(one, (state, timestep), keys)

    keys = jax.random.split(jax.random.PRNGKey(1), 2)
    return jax.vmap(one_batch)(state, timestep, keys)[1]


def play(env: Any) -> Any:
    states = jax.tree.map(lambda x: x.reshape(2, LANES, *x.shape[1:]), env.reset(KEYS))
    return learn(Step(env), *states)


class Step:
    """A step that jit can tell from others: Stoa's environments cannot be hashed."""

    def __init__(self, env: Any) -> None:
        self.env = env

    def __call__(self, state: Any, action: Any) -> Any:
        return self.env.step(state, action)


def test_a_learner_gets_what_stoix_asks_for() -> None:
    training, _ = for_stoix(ENV)
    assert int(training.action_space().num_values) == 3
    assert training.observation_space().generate_value().shape == ENV.obs_shape
    steps = play(training)
    assert steps.observation.shape == (2, 2 * EPOCH + 1, LANES, *ENV.obs_shape)
    last = np.arange(2 * EPOCH + 1) % EPOCH == EPOCH - 1
    assert (np.asarray(steps.last()) == last[None, :, None]).all()
    np.testing.assert_array_equal(steps.discount == 0, steps.last())
    assert not np.any(steps.truncated())
    metrics = steps.extras["episode_metrics"]
    returns = np.asarray(steps.reward)[:, :EPOCH].sum(axis=1)
    np.testing.assert_array_equal(metrics["episode_return"][:, EPOCH - 1], returns)
    final, completed = stoa.get_final_step_metrics(dict(metrics))
    assert completed and set(np.asarray(final["episode_length"])) == {EPOCH}
    # What comes after the end is the next epoch's first observation, the old one's is kept.
    start = ENV.layout["new_episode"]
    assert steps.observation[:, last, :, start].all()
    assert not steps.extras["next_obs"][:, last, :, start].any()
    going_on = steps.observation[:, ~last], steps.extras["next_obs"][:, ~last]
    np.testing.assert_array_equal(*going_on)


def test_wrappers_of_stoa_may_start_the_next_episode_too() -> None:
    wrapped: Any = stoa.RecordEpisodeMetrics(stoa.AddRNGKey(StoaEnvironment(ENV)))
    wrapped = VmapWrapper(stoa.AutoResetWrapper(wrapped, next_obs_in_extras=True))
    steps, same = play(wrapped), play(for_stoix(ENV)[0])
    np.testing.assert_array_equal(steps.step_type, same.step_type)
    jax.tree.map(lambda x, y: np.testing.assert_equal(x.shape, y.shape), steps, same)
    epochs = np.asarray(steps.observation)[:, [0, EPOCH, 2 * EPOCH], :, ENV.layout["context"]]
    assert len({bytes(lane) for lane in np.moveaxis(epochs, 1, 2).reshape(2 * LANES, -1)}) > LANES


def test_an_evaluator_stops_at_the_end_of_one_epoch() -> None:
    _, evaluation = for_stoix(ENV)

    def going_on(carry: Any) -> Any:
        return ~carry[1].last()

    def step(carry: Any) -> Any:
        state, timestep = evaluation.step(carry[0], jnp.int32(1))
        return state, timestep, carry[2] + timestep.reward

    @jax.jit
    @jax.vmap
    def evaluate(key: Any) -> Any:
        return jax.lax.while_loop(going_on, step, (*evaluation.reset(key), 0.0))

    first, _ = evaluation.reset(KEYS[0])
    second, _ = evaluation.step(first, 1)
    assert not np.array_equal(first.rng_key, second.rng_key)
    state, timestep, total = evaluate(KEYS)
    assert (np.asarray(state.time) == EPOCH).all() and timestep.last().all()
    assert np.isfinite(np.asarray(timestep.extras["expected_reward"])).all()
    assert len(set(np.asarray(total))) > 1


def test_an_exposure_can_be_an_episode_of_its_own() -> None:
    env = VmapWrapper(StoaEnvironment(Environment(WORLD, per="exposure"), auto_reset=True))
    steps = play(env)
    assert (np.asarray(steps.last()) == (np.arange(2 * EPOCH + 1) % 2 == 1)[None, :, None]).all()
    assert np.asarray(steps.extras["exposure"]).max() == WORLD.repeats - 1
    with pytest.raises(ValueError, match="needs auto_reset=True"):
        StoaEnvironment(Environment(WORLD, per="exposure"))
    with pytest.raises(ValueError, match="after every episode"):
        for_stoix(Environment(WORLD, per="exposure"))
