"""A2C's arithmetic against numbers worked by hand, and probes with known answers."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reference.through_time import go_back
from reinstate.agent import AGENTS, Network
from reinstate.devices import over_seeds
from reinstate.errors import UserError
from reinstate.learner import A2C, EpochMetrics, Learner, TrainState, a2c_loss, returns
from reinstate.memory import DND
from reinstate.player import Inputs
from reinstate.recompute import play_to_learn
from reinstate.rollout import Step, play, start_lanes
from reinstate.tasks.bandits import BarcodeBandits
from reinstate.tasks.base import World
from reinstate.tasks.compositional import CompositionalBandits

WORLD = BarcodeBandits(num_arms=2, pulls=3, num_contexts=2, repeats=2, barcode_length=3)
SETTINGS = A2C(lanes=4, epochs=3)
SLOWING = replace(SETTINGS, learning_rate=0.1, learning_rate_end=0.0)
NETWORK = Network(hidden_size=4)


@cache
def learner(
    settings: A2C = SETTINGS,
    agent: str = "epl2rl",
    world: World = WORLD,
    network: Network = NETWORK,
) -> Learner:
    make = partial(AGENTS[agent], world, network)
    return Learner(world, make, DND(capacity=4), settings)


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
        report={},
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
            {}, zeros, zeros, (),
        )  # fmt: skip
        return a2c_loss(steps, A2C(value_cost=0.3), jnp.array(0.0))[0]

    np.testing.assert_allclose(jax.grad(loss)(jnp.zeros(1)), [-0.3], rtol=1e-6)


Watch = Callable[[Learner, Callable[..., Any]], list[EpochMetrics]]


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Train through all epochs without playing: each step's logits are 0, its reward as told.

    The reward is a function of the tasks of a segment and of recall.
    """

    def trained(one: Learner, reward: Callable[..., Any]) -> list[EpochMetrics]:
        def dream(world: Any, agent: Any, memory: Any, *rest: Any) -> Any:
            *arrays, options, fused = rest

            def lanes(state: Any, tasks: Any, keys: Any) -> Any:
                return play_to_learn(world, agent, memory, state, tasks, keys, options, fused)

            shapes = jax.eval_shape(lanes, *arrays)
            after, played = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
            told = jnp.zeros_like(played.steps.reward) + reward(arrays[1], options.recall)
            return after, played._replace(steps=played.steps._replace(reward=told))

        monkeypatch.setattr("reinstate.learner.play_to_learn", dream)
        state, train_epoch, seen = one.init(jnp.array(0)), jax.jit(one.train_epoch), []
        for _ in range(one.settings.epochs):
            state, metrics = train_epoch(state)
            seen.append(metrics)
        return seen

    return trained


def test_entropy_cost_is_annealed_over_all_of_training(watch: Watch) -> None:
    one = learner(A2C(lanes=2, epochs=5, entropy_cost=1.0, entropy_cost_end=0.0))
    # Without reward the loss is that of entropy alone, which is ln 2 of two actions of equal odds.
    seen = watch(one, lambda tasks, recall: 0.0)
    costs = [-metrics.loss / np.log(2) for metrics in seen]  # the mean of four updates
    np.testing.assert_allclose(costs, (1 - np.arange(20) / 20).reshape(5, 4).mean(1), rtol=1e-5)


def test_learning_rate_reaches_its_end() -> None:
    """At a rate of zero nothing moves: the last epoch of a run that ends there hardly does."""
    one = learner(SLOWING)
    moved = [weights(trained(one, [0], n)) for n in range(4)]
    steps = [np.abs(b - a).max() for a, b in pairwise(moved)]
    assert steps[2] < 0.6 * steps[0]


def test_seeds_do_not_touch_each_other() -> None:
    """Two seeds trained side by side are the two trained alone, and the same again."""
    one = learner(SLOWING)
    both = weights(trained(one, [3, 8], 2))
    alone = np.concatenate([weights(trained(one, [3], 2)), weights(trained(one, [8], 2))])
    np.testing.assert_allclose(both, alone, rtol=1e-3, atol=1e-5)
    np.testing.assert_array_equal(both, weights(trained(one, [3, 8], 2)))
    assert np.abs(both[0] - both[1]).max() > 0.01


def test_segments_must_fill_the_epoch() -> None:
    with pytest.raises(UserError, match="must divide the epoch's 4 episodes"):
        learner(replace(SETTINGS, episodes_per_update=3))


def test_a_weight_that_is_not_finite_is_noticed() -> None:
    init, train_epoch = compiled(learner(SLOWING), 2)
    state = init(jnp.arange(2))
    assert train_epoch(state)[1].finite.tolist() == [True, True]
    poisoned = jax.tree.map(lambda w: w.at[1].set(jnp.nan), state.params)
    assert train_epoch(state._replace(params=poisoned))[1].finite.tolist() == [True, False]


@pytest.mark.parametrize(
    ("share", "withheld"), [(0.0, 0), (0.5, 10), (0.52, 11), (1.0, 20)], ids=str
)
def test_recall_is_switched_on_once(share: float, withheld: int, watch: Watch) -> None:
    one = learner(A2C(lanes=2, epochs=5, recall_from=share))  # four updates per epoch
    seen = watch(one, lambda tasks, recall: recall)
    recall = [float(metrics.reward) / WORLD.pulls for metrics in seen]
    expected = np.reshape([0.0] * withheld + [1.0] * (20 - withheld), (5, 4)).mean(axis=1)
    np.testing.assert_allclose(recall, expected, rtol=1e-6)


def test_tasks_follow_the_curriculum_through_training(watch: Watch) -> None:
    """Stimuli are exchanged in epochs that start before 55% of training, and in none after."""
    world = CompositionalBandits(
        num_classes=4, repeats=2, pulls=2, stimuli="barcodes", exchange=0.5, exchange_until=0.55
    )
    one = learner(replace(SETTINGS, epochs=4), world=world)
    seen = watch(one, lambda tasks, recall: jnp.max(tasks.exchange))
    exchange = [float(metrics.reward) / world.pulls for metrics in seen]
    assert exchange == [0.5, 0.5, 0.5, 0.0]  # the third starts at 50%


def test_worlds_with_a_curriculum_can_be_learned_without_it() -> None:
    """What nothing gives way to is an empty array, and is dealt to the segments all the same."""
    world = CompositionalBandits(num_classes=4, repeats=2, pulls=2, stimuli="barcodes")
    settings = replace(SETTINGS, episodes_per_update=2)
    one = learner(settings, world=world)
    before = jax.eval_shape(one.init, jnp.array(0))
    assert jax.eval_shape(one.train_epoch, before)[0] == before


def r_gate(state: TrainState) -> tuple[np.ndarray, np.ndarray]:
    """The first seed's weights of the r-gate, and of everything else of the cell."""
    cell = state.params.cell
    rows = np.concatenate([np.asarray(cell.weight[0]), np.asarray(cell.bias[0])[None, :]])
    return rows[:, 16:], rows[:, :16]


def test_while_recall_is_withheld_training_is_that_of_an_agent_without_memory() -> None:
    one = learner(replace(SETTINGS, epochs=2, recall_from=0.5))
    plain = learner(replace(SETTINGS, epochs=2), "l2rl")
    start, first, second = (trained(one, [0], n) for n in range(3))
    np.testing.assert_array_equal(r_gate(first)[0], r_gate(start)[0])  # no gradient at all
    assert np.abs(r_gate(second)[0] - r_gate(first)[0]).min() > 0
    # The same weights but for the r-gate, and the same random numbers.
    init, train_epoch = compiled(plain, 1)
    state = init(jnp.array([0]))
    cell = replace_cell(state.params.cell, start.params.cell)
    params = eqx.tree_at(lambda p: (p.cell, p.head), state.params, (cell, start.params.head))
    after, _ = train_epoch(state._replace(params=params))
    rows = np.concatenate([after.params.cell.weight[0], after.params.cell.bias[0][None, :]])
    np.testing.assert_allclose(rows, r_gate(first)[1], atol=1e-5)
    assert np.abs(r_gate(first)[1] - r_gate(start)[1]).max() > 1e-3


def replace_cell(plain: Any, episodic: Any) -> Any:
    """A plain cell with the weights that an episodic one has besides its r-gate."""
    return eqx.tree_at(
        lambda c: (c.weight, c.bias), plain, (episodic.weight[..., :16], episodic.bias[..., :16])
    )


@pytest.mark.parametrize("through", [True, False])
def test_whether_gradients_reach_stored_states_is_a_setting(
    through: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []  # what it does is the rollout's to test

    def listen(*words: Any) -> Any:
        asked.append(words[-1].through_storage)
        return play(*words)

    monkeypatch.setattr("reinstate.recompute.play", listen)
    one = learner(replace(SETTINGS, through_storage=through))
    jax.eval_shape(one.train_epoch, jax.eval_shape(one.init, jnp.array(0)))
    assert set(asked) == {through}


@pytest.mark.parametrize("fused", [True, False])
def test_whether_a_kernel_goes_back_is_a_setting(
    fused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def listen(*words: Any) -> Any:
        asked.append(words[-1].keep)  # what the player saw, to go back over it
        return play(*words)

    monkeypatch.setattr("reinstate.recompute.play", listen)
    monkeypatch.setattr("reinstate.recompute._available", lambda: True)
    one = learner(replace(SETTINGS, fused=fused))
    monkeypatch.setattr("reinstate.recompute.go_back", go_back)
    jax.eval_shape(one.train_epoch, jax.eval_shape(one.init, jnp.array(0)))
    assert set(asked) == {fused}


def test_an_agent_that_outlives_episodes_is_carried_to_the_next_segment() -> None:
    """Two segments by `_update`, the second beside one played by hand."""
    network = replace(NETWORK, reset="epoch")
    one = learner(replace(SETTINGS, episodes_per_update=2), network=network)
    update = jax.jit(one._update)
    state, (task_key, *play_keys) = one.init(jnp.array(0)), jax.random.split(jax.random.key(1), 3)
    tasks: Any = jax.jit(jax.vmap(WORLD.sample_epoch, out_axes=1))(jax.random.split(task_key, 4))
    early, late = (jax.tree.map(lambda x, n=n: x[n : n + 2], tasks) for n in (0, 2))
    keys = [jax.random.split(key, 4) for key in play_keys]
    start = start_lanes(WORLD, one.agent(state.params), one.memory, 4)
    begun = state.params, state.opt_state, start
    (params, opt_state, life), _ = update(begun, (early, keys[0], jnp.array(0.0)))
    assert np.abs(life.player.c).min() > 1e-4  # there is something to carry
    by_hand = partial(play, WORLD, one.agent(params), one.memory)
    expected, _ = jax.jit(jax.vmap(by_hand, in_axes=(0, 1, 0)))(life, late, keys[1])
    (_, _, lived), _ = update((params, opt_state, life), (late, keys[1], jnp.array(0.5)))
    np.testing.assert_allclose(lived.player.c, expected.player.c, atol=1e-5)


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
    nothing = jnp.zeros(0), jnp.zeros(3), jnp.array(-1), jnp.zeros(()), jnp.array(True)
    _, decision = agent(Inputs(*nothing), jnp.zeros(4), agent.initial_state())
    assert abs(float(decision.value) - 0.875) < 0.06


def test_gradients_are_clipped_before_the_optimizer_takes_them() -> None:
    """Adam's first step is as long as the learning rate, however short the gradient was cut."""
    one = learner(A2C(lanes=4, epochs=3, learning_rate=0.5, max_grad_norm=1e-3))
    params = one.init(jnp.array(0)).params
    step, _ = one.optimizer.update(params, one.optimizer.init(params), params)
    np.testing.assert_allclose(np.abs(step.head.bias), 0.5, rtol=1e-2)
