"""A2C's arithmetic against numbers worked by hand, and probes with known answers."""

from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reinstate.agent import Network
from reinstate.cell import Gates
from reinstate.devices import over_seeds
from reinstate.errors import UserError
from reinstate.learner import A2C, Learner, TrainState, a2c_loss, returns
from reinstate.memory import DND
from reinstate.rollout import Step
from reinstate.tasks.bandits import BarcodeBandits

WORLD = BarcodeBandits(num_arms=2, pulls=3, num_contexts=2, repeats=2, barcode_length=3)
SETTINGS = A2C(lanes=4, epochs=3)


def learner(
    settings: A2C = SETTINGS, agent: str = "epl2rl", world: BarcodeBandits = WORLD
) -> Learner:
    return Learner(world, agent, Network(hidden_size=4), DND(capacity=4), settings)


@cache
def compiled(one: Learner, num_seeds: int) -> tuple[Any, Any]:
    return over_seeds(one.init, num_seeds), over_seeds(one.train_epoch, num_seeds)


def trained(one: Learner, seeds: list[int], epochs: int) -> TrainState:
    init, train_epoch = compiled(one, len(seeds))
    state = init(jnp.array(seeds))
    for _ in range(epochs):
        state, _ = train_epoch(state)
    return state


def weights(state: TrainState) -> np.ndarray:
    """Every weight of every seed, (seeds, weights)."""
    leaves = [np.asarray(leaf).reshape(len(leaf), -1) for leaf in jax.tree.leaves(state.params)]
    return np.concatenate(leaves, axis=1)


def test_returns_discount_along_the_last_axis() -> None:
    rewards = jnp.array([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0]])
    expected = [[1 + 0.5 * 1.0, 1.0, 2.0], [0.25, 0.5, 1.0]]
    np.testing.assert_allclose(returns(rewards, 0.5), expected)


def test_loss_of_two_steps_worked_by_hand() -> None:
    """Logits (ln 3, 0) make π = (¾, ¼); G = (1 + ½·2, 2) = (2, 2); V = (1, 3); A = (1, −1)."""
    zeros = jnp.zeros(2)
    steps = Step(
        logits=jnp.array([[np.log(3.0), 0.0], [np.log(3.0), 0.0]]),
        value=jnp.array([1.0, 3.0]),
        action=jnp.array([0, 1]),
        reward=jnp.array([1.0, 2.0]),
        expected_reward=zeros,
        best_expected_reward=zeros,
        gates=Gates(zeros, zeros, zeros, zeros),
        distance=zeros,
        retrieved=zeros,
        trace=(),
    )
    settings = A2C(discount=0.5, value_cost=0.2)
    loss, entropy = a2c_loss(steps, settings, jnp.array(0.1))
    h = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    policy = (-np.log(0.75) * 1 - np.log(0.25) * -1) / 2
    np.testing.assert_allclose(entropy, h, rtol=1e-6)
    np.testing.assert_allclose(loss, policy + 0.2 * 0.5 - 0.1 * h, rtol=1e-5)


def test_policy_loss_does_not_train_the_value() -> None:
    def loss(value: jax.Array) -> jax.Array:
        zeros = jnp.zeros(1)
        steps = Step(
            jnp.zeros((1, 2)), value, jnp.array([0]), jnp.ones(1), zeros, zeros,
            Gates(zeros, zeros, zeros, zeros), zeros, zeros, (),
        )  # fmt: skip
        return a2c_loss(steps, A2C(value_cost=0.3), jnp.array(0.0))[0]

    np.testing.assert_allclose(jax.grad(loss)(jnp.zeros(1)), [-0.3], rtol=1e-6)


def test_entropy_cost_is_annealed_over_all_of_training() -> None:
    one = learner(A2C(epochs=5, entropy_cost=1.0, entropy_cost_end=0.0))
    costs = np.concatenate([one._entropy_cost(one._done(jnp.array(e))) for e in range(5)])
    np.testing.assert_allclose(costs, 1 - np.arange(20) / 20, rtol=1e-6)


def test_learning_rate_reaches_its_end() -> None:
    """At a rate of zero nothing moves: the last epoch of a run that ends there hardly does."""
    settings = A2C(lanes=4, epochs=3, learning_rate=0.1, learning_rate_end=0.0)
    one = learner(settings)
    moved = [weights(trained(one, [0], n)) for n in range(4)]
    steps = [np.abs(b - a).max() for a, b in pairwise(moved)]
    assert steps[2] < 0.6 * steps[0]


def test_seeds_do_not_touch_each_other() -> None:
    """Two seeds trained side by side are the two trained alone, and the same again."""
    one = learner(replace(SETTINGS, optimizer="rmsprop"))
    both = weights(trained(one, [3, 8], 2))
    alone = np.concatenate([weights(trained(one, [3], 2)), weights(trained(one, [8], 2))])
    np.testing.assert_allclose(both, alone, rtol=1e-3, atol=1e-5)
    np.testing.assert_array_equal(both, weights(trained(one, [3, 8], 2)))
    assert np.abs(both[0] - both[1]).max() > 0.01


def test_a_segment_may_span_episodes() -> None:
    """Half as many updates of twice the episodes: fewer steps of the optimiser, all finite."""
    one = learner(replace(SETTINGS, episodes_per_update=2))
    state, metrics = jax.jit(one.train_epoch)(one.init(jnp.array(0)))
    counts = {int(leaf) for leaf in jax.tree.leaves(state.opt_state) if leaf.shape == ()}
    assert counts == {WORLD.episodes_per_epoch // 2}
    assert bool(metrics.finite)


def test_segments_must_fill_the_epoch() -> None:
    with pytest.raises(UserError, match="must divide the epoch's 4 episodes"):
        learner(replace(SETTINGS, episodes_per_update=3))


def test_a_weight_that_is_not_finite_is_noticed() -> None:
    one = learner()
    state = one.init(jnp.array(0))
    poisoned = state._replace(params=jax.tree.map(lambda w: w * jnp.nan, state.params))
    _, metrics = jax.jit(one.train_epoch)(poisoned)
    assert not bool(metrics.finite)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lanes": 0}, "lanes must be positive"),
        ({"learning_rate": -1.0}, "learning_rate must be positive"),
        ({"discount": 1.5}, "discount must lie between 0 and 1"),
        ({"optimizer": "sgd"}, "unknown optimizer"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(UserError, match=message):
        A2C(**settings)  # type: ignore[arg-type]


def test_value_probe() -> None:
    """Every arm pays half the time: the value of the first step must become ½ + ½γ + ½γ²."""
    world = replace(WORLD, p_good=0.5, p_bad=0.5)
    settings = A2C(
        lanes=64, epochs=60, learning_rate=0.02, learning_rate_end=0.0, value_cost=1.0,
        entropy_cost=0.1, entropy_cost_end=0.1, discount=0.5,
    )  # fmt: skip
    one = learner(settings, "l2rl", world)
    state = jax.tree.map(lambda x: x[0], trained(one, [0], 60))
    agent = one.agent(state.params)
    nothing = jnp.zeros(0), jnp.zeros(3), jnp.array(-1), jnp.zeros(()), jnp.zeros(4)
    _, decision = agent(*nothing, agent.initial_state())
    assert abs(float(decision.value) - 0.875) < 0.06
