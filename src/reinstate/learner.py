"""Synchronous A2C over many lanes: returns, loss, update, epoch.

A whole epoch is one scan. An update back-propagates through the episodes of one segment, in every
lane; stored cell states carry no gradient.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from reinstate.errors import (
    UserError,
    require_choices,
    require_not_negative,
    require_positive,
    require_within,
)
from reinstate.memory import Memory
from reinstate.player import Player
from reinstate.recompute import play_to_learn
from reinstate.rollout import EpochState, Options, Step, start_lanes
from reinstate.tasks.base import World

if TYPE_CHECKING:
    import optax

LANES = "lanes"  # the axis of devices that share the lanes of a seed


class Rates(NamedTuple):
    """The settings that only enter the arithmetic, under the names they have in A2C.

    No shape and no program depends on them, so they may be traced: `tuning` trains many sets of
    them side by side.
    """

    learning_rate: float | Array
    learning_rate_end: float | Array
    discount: float | Array
    value_cost: float | Array
    entropy_cost: float | Array
    entropy_cost_end: float | Array


@dataclass(frozen=True)
class A2C:
    """The learner's settings, the same for every agent of an experiment."""

    lanes: int = 32
    """Independent streams of epochs, each with a memory of its own, averaged in every update."""
    epochs: int = 50
    """Epochs that each lane plays: the length of training."""
    episodes_per_update: int = 1
    """Episodes that one segment of back-propagation spans."""
    learning_rate: float = 3e-3
    """Learning rate at the start."""
    learning_rate_end: float = 3e-3
    """Learning rate at the end; linear in between."""
    discount: float = 0.9
    """γ, within an episode."""
    value_cost: float = 0.05
    """Weight of the value loss."""
    entropy_cost: float = 0.05
    """Weight of the policy's entropy at the start."""
    entropy_cost_end: float = 0.0
    """Weight of the entropy at the end; linear in between."""
    optimizer: Literal["adam", "rmsprop"] = "adam"
    """How gradients become updates; the paper does not say."""
    max_grad_norm: float = 1.0
    """Gradients are clipped to this global norm."""
    recall_from: float = 0.0
    """Share of training after which retrieved states come back; before it they are withheld."""
    through_storage: bool = False
    """Whether gradients reach the states stored earlier in a segment; in the paper they do not."""
    fused: bool = True
    """Whether gradients go back through time in one fused GPU kernel where there is one: for the
    paper's agents, on NVIDIA GPUs. If not, XLA differentiates the play."""
    unroll: int = 1
    """Steps of an episode compiled side by side: 1 compiles fastest; more runs faster on a GPU."""

    def __post_init__(self) -> None:
        require_positive(
            lanes=self.lanes,
            epochs=self.epochs,
            episodes_per_update=self.episodes_per_update,
            learning_rate=self.learning_rate,
            max_grad_norm=self.max_grad_norm,
            unroll=self.unroll,
        )
        require_not_negative(
            learning_rate_end=self.learning_rate_end,
            value_cost=self.value_cost,
            entropy_cost=self.entropy_cost,
            entropy_cost_end=self.entropy_cost_end,
        )
        require_within(0, 1, discount=self.discount, recall_from=self.recall_from)
        require_choices(self)

    @property
    def rates(self) -> Rates:
        return Rates(*(getattr(self, name) for name in Rates._fields))


class TrainState(NamedTuple):
    """All that training carries from one epoch to the next, for one seed."""

    params: Any  # the agent's arrays; everything else of it is static
    opt_state: Any
    key: Array  # of the seed: epoch n draws from fold_in(key, n), so a resumed run draws the same
    epoch: Array  # () epochs done


class EpochMetrics(NamedTuple):
    reward: Array  # () mean reward per episode, over lanes and episodes
    loss: Array
    entropy: Array
    grad_norm: Array
    finite: Array  # () whether every loss and every weight was


def returns(rewards: Array, discount: float | Array) -> Array:
    """Sum discounted rewards, G_t = r_t + γ G_{t+1}, along the last axis; after the end comes 0."""

    def back(g_tp1: Array, r_t: Array) -> tuple[Array, Array]:
        g_t = r_t + discount * g_tp1
        return g_t, g_t

    time_first = jnp.moveaxis(rewards, -1, 0)
    _, g = jax.lax.scan(back, jnp.zeros_like(time_first[0]), time_first, reverse=True)
    return jnp.moveaxis(g, 0, -1)


def a2c_loss(steps: Step, rates: A2C | Rates, entropy_cost: Array) -> tuple[Array, Array]:
    """Return the mean over steps of −log π(a)·A + c_v·A²/2 − c_e·H, A = G − V, and of H alone.

    Steps after an episode's early end do not count.
    """
    log_pi = jax.nn.log_softmax(steps.logits)
    log_pi_a = jnp.take_along_axis(log_pi, steps.action[..., None], axis=-1)[..., 0]
    entropy = -jnp.sum(jnp.exp(log_pi) * log_pi, axis=-1)
    advantage = returns(steps.reward, rates.discount) - steps.value
    policy_loss = -log_pi_a * jax.lax.stop_gradient(advantage)
    loss = policy_loss + rates.value_cost * advantage**2 / 2 - entropy_cost * entropy
    return jnp.mean(loss, where=steps.played), jnp.mean(entropy, where=steps.played)


class Learner:
    """One agent in one world, as pure functions of one seed; callers map them over seeds."""

    def __init__(
        self,
        world: World,
        make_agent: Callable[..., Any],  # called with a `key` alone
        memory: Memory,
        settings: A2C,
        rates: Rates | None = None,  # in place of the settings' own
    ) -> None:
        episodes, segment = world.episodes_per_epoch, settings.episodes_per_update
        if episodes % segment:
            raise UserError(
                f"episodes_per_update = {segment} must divide the epoch's {episodes} episodes"
            )
        self.world, self.memory, self.settings = world, memory, settings
        self.rates = settings.rates if rates is None else rates
        self._make_agent = make_agent
        self.segments = episodes // segment
        self.num_updates = settings.epochs * self.segments
        self.optimizer = self._make_optimizer()
        # The part of an agent that no seed and no update changes, without making its arrays.
        template = eqx.filter_eval_shape(make_agent, key=jax.random.key(0))
        self._static = eqx.partition(template, eqx.is_array_like)[1]

    def _make_optimizer(self) -> "optax.GradientTransformation":
        import optax  # here, since help does not need it

        s, r = self.settings, self.rates
        rate = optax.linear_schedule(r.learning_rate, r.learning_rate_end, self.num_updates)
        # RMSProp's decay and ε are those usual of A3C, which Wang et al. (2018) trained with.
        rmsprop = optax.rmsprop(rate, decay=0.99, eps=1e-5)
        steps = optax.adam(rate) if s.optimizer == "adam" else rmsprop
        return optax.chain(optax.clip_by_global_norm(s.max_grad_norm), steps)

    @property
    def steps_per_epoch(self) -> int:
        """How many steps all lanes of one seed take in an epoch."""
        return self.settings.lanes * self.world.episodes_per_epoch * self.world.episode_length

    def agent(self, params: Any) -> Any:
        """Return the agent that has these weights."""
        return eqx.combine(params, self._static)

    @property
    def remembers(self) -> bool:
        """Whether the agent has an episodic memory."""
        player: Player = self._static
        return player.remembers

    def init(self, seed: Array) -> TrainState:
        """Return the state of one seed before training."""
        agent_key, key = jax.random.split(jax.random.key(seed))
        params = eqx.filter(self._make_agent(key=agent_key), eqx.is_array)
        return TrainState(params, self.optimizer.init(params), key, jnp.zeros((), jnp.int32))

    def train_epoch(
        self, state: TrainState, over_lanes: int = 1
    ) -> tuple[TrainState, EpochMetrics]:
        """Play one epoch in every lane, with an update after each segment.

        Where `over_lanes` devices share the lanes, along the axis `LANES` of a mesh, each plays its
        part of them, with the keys that those lanes have on a single device.
        """
        lanes = self.settings.lanes
        task_key, play_key = jax.random.split(jax.random.fold_in(state.key, state.epoch))
        progress = self._progress(state.epoch)
        sample = partial(self.world.sample_training_epoch, progress=progress[0])
        task_keys = _own_part(jax.random.split(task_key, lanes), 0, over_lanes)
        tasks = jax.vmap(sample, out_axes=1)(task_keys)
        segments = self.segments, self.settings.episodes_per_update
        tasks = jax.tree.map(  # (episodes, lanes, …) → (segments, episodes per segment, lanes, …)
            lambda x: x.reshape(*segments, *x.shape[1:]), tasks
        )
        keys = _own_part(jax.random.split(play_key, (self.segments, lanes)), 1, over_lanes)
        agent = self.agent(state.params)
        start = start_lanes(self.world, agent, self.memory, lanes // over_lanes)
        (params, opt_state, _), metrics = jax.lax.scan(
            partial(self._update, over_lanes=over_lanes),
            (state.params, state.opt_state, start),
            (tasks, keys, progress),
        )
        weights = [jnp.all(jnp.isfinite(w)) for w in jax.tree.leaves(params)]
        finite = jnp.all(metrics.finite) & jnp.all(jnp.stack(weights))
        metrics = jax.tree.map(jnp.mean, metrics)._replace(finite=finite)
        return TrainState(params, opt_state, state.key, state.epoch + 1), metrics

    def _progress(self, epoch: Array) -> Array:
        """Return the share of training that lies before each update of an epoch."""
        return (epoch * self.segments + jnp.arange(self.segments)) / self.num_updates

    def _entropy_cost(self, progress: Array) -> Array:
        """Anneal linearly over all of training."""
        r = self.rates
        return r.entropy_cost + (r.entropy_cost_end - r.entropy_cost) * progress

    def _recall(self, progress: Array) -> Array | float:
        """Return how much of a retrieved state comes back: all, once recall is switched on."""
        if self.settings.recall_from == 0:
            return 1.0
        return jnp.where(progress < self.settings.recall_from, 0.0, 1.0)

    def _update(
        self,
        carry: tuple[Any, Any, EpochState],
        segment: tuple[Any, Array, Array],
        over_lanes: int = 1,
    ) -> tuple[tuple[Any, Any, EpochState], EpochMetrics]:
        """Play one segment of episodes and update the weights by its loss."""
        import optax

        params, opt_state, before = carry
        tasks, keys, progress = segment
        how = self.settings
        options = Options(how.unroll, self._recall(progress), how.through_storage)

        def segment_loss(params: Any) -> tuple[Array, tuple[EpochState, Array, Array, Any]]:
            agent = self.agent(params)
            after, played = play_to_learn(
                self.world,
                agent,
                self.memory,
                before,
                tasks,
                keys,
                options,
                self.settings.fused,
            )
            loss, entropy = a2c_loss(played.steps, self.rates, self._entropy_cost(progress))
            reward = jnp.mean(jnp.sum(played.steps.reward, axis=-1))
            return loss, (after, reward, entropy, played.steps.played)

        grad = jax.value_and_grad(segment_loss, has_aux=True)
        (loss, (after, reward, entropy, played)), grads = grad(params)
        if over_lanes > 1:
            reward = jax.lax.pmean(reward, LANES)
            loss, entropy, grads = _mean_over_steps((loss, entropy, grads), played)
        updates, opt_state = self.optimizer.update(grads, opt_state, params)
        params = eqx.apply_updates(params, updates)
        metrics = EpochMetrics(reward, loss, entropy, optax.tree.norm(grads), jnp.isfinite(loss))
        return (params, opt_state, after), metrics


def _own_part(keys: Array, axis: int, over_lanes: int) -> Array:
    """Return the keys of the lanes that this device plays."""
    if over_lanes == 1:
        return keys
    size = keys.shape[axis] // over_lanes
    return jax.lax.dynamic_slice_in_dim(keys, jax.lax.axis_index(LANES) * size, size, axis)


def _mean_over_steps(means: Any, played: Any) -> Any:
    """Return means over the steps of all devices, of each one's means over its own.

    After early ends one device has more steps than another: each counts by how many it has.
    """
    if played is None:
        return jax.lax.pmean(means, LANES)
    steps = jnp.sum(played, dtype=jnp.float32)
    share = steps / jax.lax.psum(steps, LANES)
    return jax.lax.psum(jax.tree.map(lambda mean: share * mean, means), LANES)
