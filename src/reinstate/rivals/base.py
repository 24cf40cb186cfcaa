"""What rivals share: inputs, heads, layers, and how a maker chooses their size.

A rival is a memory of the whole epoch between the same inputs and the same heads: its `Core`.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from reinstate.agent import AGENTS, Maker, Network
from reinstate.errors import require_not_negative, require_positive
from reinstate.player import Again, Decision, Inputs, Player
from reinstate.tasks.base import World


class Core(eqx.Module):
    """What turns inputs into outputs and lasts an epoch; for one lane."""

    @abstractmethod
    def initial_state(self) -> Any:
        """Return the state in which an epoch starts, any tree of arrays."""

    @abstractmethod
    def __call__(self, x: Array, first: Array, state: Any) -> tuple[Any, Array]:
        """Take one step; `first` says whether it is the first of an episode."""

    @abstractmethod
    def unroll(self, x: Array, first: Array, state: Any) -> Array:
        """Take many steps at once, (steps, …), and return the outputs alone."""


class Rival(Player):
    """An agent whose state lasts an epoch. It sees the context, and where an episode starts."""

    core: Core
    head: eqx.nn.Linear  # policy logits and, last, the value
    num_actions: int = eqx.field(static=True)
    joint_feedback: bool = eqx.field(static=True)

    outlives_episodes = True

    def initial_state(self) -> Any:
        """Return the state in which an epoch starts."""
        return self.core.initial_state()

    def __call__(self, inputs: Inputs, recalled: Any, state: Any) -> tuple[Any, Decision]:
        """Take one step."""
        state, y = self.core(self._encode(inputs), inputs.last_action < 0, state)
        return state, self._decide(y)

    @property
    def again(self) -> Again:
        """Take many steps at once."""
        return lambda inputs, recalled, start, kept: jax.vmap(self.unroll)(inputs, start)

    def unroll(self, inputs: Inputs, state: Any) -> tuple[Array, Array]:
        """Return the logits and values of one sequence of steps, (steps, …)."""
        y = self.core.unroll(jax.vmap(self._encode)(inputs), inputs.last_action < 0, state)
        decided = jax.vmap(self._decide)(y)
        return decided.logits, decided.value

    def _encode(self, inputs: Inputs) -> Array:
        action = jax.nn.one_hot(inputs.last_action, self.num_actions)
        reward, start = inputs.last_reward[None], (inputs.last_action < 0).astype(action.dtype)
        x = [inputs.features, inputs.context, action, reward, start[None]]
        if self.joint_feedback:
            x.append(reward * action)
        return jnp.concatenate(x)

    def _decide(self, y: Array) -> Decision:
        out = self.head(y)
        return Decision(out[:-1], out[-1])


@dataclass(frozen=True)
class RivalMaker(Maker):
    """A way to make a rival; each kind of core has one, with settings of its own."""

    width: int = 0
    """Width of the core; 0: the one at which it has as many weights as epL2RL, or nearly."""

    def __post_init__(self) -> None:
        require_not_negative(width=self.width)

    @property
    def multiple(self) -> int:
        """What its width has to be a multiple of."""
        return 1

    def core(self, size: int, width: int, world: World, *, key: Array) -> Core:
        """Make the core, for inputs of a size."""
        raise NotImplementedError

    def __call__(self, world: World, network: Network, *, key: Array) -> Rival:
        """Make an agent."""
        width = self.width or equal_width(self, world, network)
        joint = network.feedback == "joint"
        size = world.observation_size + world.context_size + world.num_actions + 2
        size += world.num_actions if joint else 0
        core_key, head_key = jax.random.split(key)
        head = eqx.nn.Linear(width, world.num_actions + 1, key=head_key)
        core = self.core(size, width, world, key=core_key)
        return Rival(core, head, world.num_actions, joint)


def num_weights(make: Callable[..., Any], world: World, network: Network) -> int:
    """Count the weights of an agent, without making any."""
    shapes = eqx.filter_eval_shape(make, world, network, key=jax.random.key(0))
    return sum(math.prod(x.shape) for x in jax.tree.leaves(shapes) if hasattr(x, "shape"))


@cache
def equal_width(maker: RivalMaker, world: World, network: Network) -> int:
    """Find the width at which a rival's number of weights is nearest to epL2RL's."""
    aim = num_weights(AGENTS["epl2rl"], world, network)

    def excess(units: int) -> int:
        wide = replace(maker, width=units * maker.multiple)
        return num_weights(wide, world, network) - aim

    high = 1
    while excess(high) < 0:
        high *= 2
    low = high // 2
    while high - low > 1:  # excess(low) < 0 ≤ excess(high), or low is 0
        middle = (low + high) // 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    near = low if low and -excess(low) < excess(high) else high
    return near * maker.multiple


def epoch_steps(world: World) -> int:
    """Count what a player is shown in an epoch: every step, and every episode's outcome."""
    return world.episodes_per_epoch * (world.episode_length + 1)


def in_blocks(
    step: Callable[[Any, Any], tuple[Any, Any]], state: Any, xs: Any, block: int
) -> tuple[Any, Any]:
    """Scan in blocks whose insides are computed again for gradients.

    Kept are a state per block and, of one block at a time, what its steps keep: with blocks of √T
    steps, of the order of √T of both. The last block is filled up with zeros, which come after
    all else; the final state counts them.
    """
    require_positive(block=block)
    length = jax.tree.leaves(xs)[0].shape[0]

    @jax.checkpoint
    def one(state: Any, block_xs: Any) -> tuple[Any, Any]:
        return jax.lax.scan(step, state, block_xs)

    state, ys = jax.lax.scan(one, state, jax.tree.map(lambda x: cut(x, block), xs))
    return state, jax.tree.map(lambda y: y.reshape(-1, *y.shape[2:])[:length], ys)


def cut(x: Array, block: int, fill: str = "constant") -> Array:
    """Cut into blocks, (blocks, block, …), of which the last is filled up."""
    blocks = -(-x.shape[0] // block)
    pads = [(0, blocks * block - x.shape[0]), *[(0, 0)] * (x.ndim - 1)]
    return jnp.pad(x, pads, fill).reshape(blocks, block, *x.shape[1:])


def root(steps: int) -> int:
    """Return the length of blocks that keeps least, √T."""
    return max(1, math.isqrt(steps))


QUERIES = 256  # that are answered at once
EXPANSION = 2  # of a feed-forward layer's inside over its outside
FAR = -1e30  # the score of what must not be attended to; finite, so that gradients stay numbers


class FeedForward(eqx.Module):
    """x + W₂ gelu(W₁ norm(x)), for one step."""

    norm: eqx.nn.LayerNorm
    inside: eqx.nn.Linear
    outside: eqx.nn.Linear

    def __init__(self, width: int, *, key: Array) -> None:
        one, other = jax.random.split(key)
        self.norm = eqx.nn.LayerNorm(width)
        self.inside = eqx.nn.Linear(width, EXPANSION * width, key=one)
        self.outside = eqx.nn.Linear(EXPANSION * width, width, key=other)

    def __call__(self, x: Array) -> Array:
        return x + self.outside(jax.nn.gelu(self.inside(self.norm(x))))


class Attention(eqx.Module):
    """x + W_o attention of norm(x); who sees what is the caller's."""

    norm: eqx.nn.LayerNorm
    project: eqx.nn.Linear  # to q, k and v
    merge: eqx.nn.Linear
    heads: int = eqx.field(static=True)

    def __init__(self, width: int, heads: int, *, key: Array) -> None:
        one, other = jax.random.split(key)
        self.heads, self.norm = heads, eqx.nn.LayerNorm(width)
        self.project = eqx.nn.Linear(width, 3 * width, use_bias=False, key=one)
        self.merge = eqx.nn.Linear(width, width, key=other)

    def read_in(self, x: Array) -> tuple[Array, Array, Array]:
        """Return q, k and v of one step, (heads, d) each."""
        z = self.project(self.norm(x))
        q, k, v = (heads_of(part, self.heads) for part in jnp.split(z, 3))
        return q, k, v


def heads_of(x: Array, heads: int) -> Array:
    """Split the last axis among heads: (…, width) → (…, heads, width / heads)."""
    return x.reshape(*x.shape[:-1], heads, -1)


def attend(q: Array, k: Array, v: Array, seen: Array) -> Array:
    """Attend with queries (n, heads, d) to keys and values (m, heads, d) where `seen`, (n, m).

    softmax(q kᵀ / √d) v, each head by itself; a query that sees nothing gets zeros. (n, heads × d)
    """
    scores = jnp.einsum("nhd,mhd->hnm", q, k) * q.shape[-1] ** -0.5
    scores = jnp.where(seen[None], scores, FAR)
    weights = jnp.where(seen[None], jax.nn.softmax(scores, axis=-1), 0.0)
    return jnp.einsum("hnm,mhd->nhd", weights, v).reshape(q.shape[0], -1)


def each_again(step: Callable[..., Array], *xs: Array) -> Array:
    """Map over steps, (steps, …); for gradients their insides are computed again."""
    # A function of its own: modules cannot be hashed, and `jax.checkpoint` wants to.
    found: Array = jax.checkpoint(lambda *xs: jax.vmap(step)(*xs))(*xs)
    return found


def over_queries(each: Callable[[Any], Array], queries: Any) -> Array:
    """Map over queries, (n, …), a block at a time; blocks are computed again for gradients.

    What a query has to do with every key is then kept for one block alone.
    """
    length = jax.tree.leaves(queries)[0].shape[0]
    size = min(QUERIES, length)
    blocks = jax.tree.map(lambda x: cut(x, size, "edge"), queries)  # repeats the last query
    found = jax.lax.map(jax.checkpoint(each), blocks)
    return found.reshape(-1, *found.shape[2:])[:length]
