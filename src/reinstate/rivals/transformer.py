"""A causal transformer that sees the whole epoch.

Its state is the keys and values of every step so far. Steps have no positions: each shows context,
action and reward together, so that their order can be left to the causal mask, and epochs may be
longer than those trained on. Unrolling computes attention again for gradients, a block of queries
at a time: scores are kept for 256 queries alone, not for all T of them.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from reinstate.errors import require_positive
from reinstate.rivals.base import (
    Attention,
    Core,
    FeedForward,
    RivalMaker,
    attend,
    each_again,
    epoch_steps,
    over_queries,
)
from reinstate.tasks.base import World


class Cache(NamedTuple):
    """Keys and values of earlier steps; a layer's are an array of their own, written in place."""

    k: list[Array]  # of each layer, (steps, heads, d)
    v: list[Array]  # the same
    steps: Array  # () so far


class Transformer(Core):
    """Layers of causal attention, each with a feed-forward layer (Vaswani et al. 2017)."""

    embed: eqx.nn.Linear
    layers: list[tuple[Attention, FeedForward]]
    norm: eqx.nn.LayerNorm
    capacity: int = eqx.field(static=True)  # steps of an epoch

    def initial_state(self) -> Cache:
        attention = self.layers[0][0]
        size = attention.merge.weight.shape[1] // attention.heads
        empty = jnp.zeros((self.capacity, attention.heads, size), attention.merge.weight.dtype)
        each = [empty for _ in self.layers]
        return Cache(each, each, jnp.zeros((), jnp.int32))

    def __call__(self, x: Array, first: Array, state: Cache) -> tuple[Cache, Array]:
        x = self.embed(x)
        seen = jnp.arange(self.capacity) <= state.steps
        keys, values = [], []
        for (attention, forward), k, v in zip(self.layers, state.k, state.v, strict=True):
            q, new_k, new_v = attention.read_in(x)
            k, v = k.at[state.steps].set(new_k), v.at[state.steps].set(new_v)
            x = forward(x + attention.merge(attend(q[None], k, v, seen[None])[0]))
            keys.append(k)
            values.append(v)
        return Cache(keys, values, state.steps + 1), self.norm(x)

    def unroll(self, x: Array, first: Array, state: Cache) -> Array:
        x = jax.vmap(self.embed)(x)
        for layer, k, v in zip(self.layers, state.k, state.v, strict=True):
            x = self._layer(layer, x, k, v, state.steps)
        return jax.vmap(self.norm)(x)

    def _layer(
        self, layer: tuple[Attention, FeedForward], x: Array, k: Array, v: Array, steps: Array
    ) -> Array:
        attention, forward = layer
        q, new_k, new_v = jax.vmap(attention.read_in)(x)
        place, known = jnp.arange(x.shape[0]), jnp.arange(self.capacity) < steps
        if x.shape[0] == self.capacity:  # a whole epoch: there are no earlier steps
            k, v, known = new_k, new_v, known[:0]
        else:
            k, v = jnp.concatenate([k, new_k]), jnp.concatenate([v, new_v])

        def answer(queries: Any) -> Array:
            q, now = queries
            earlier = jnp.broadcast_to(known[None], (now.shape[0], known.shape[0]))
            return attend(q, k, v, jnp.hstack([earlier, place[None] <= now[:, None]]))

        found = over_queries(answer, (q, place))
        return each_again(forward, x + jax.vmap(attention.merge)(found))


@dataclass(frozen=True)
class TransformerMaker(RivalMaker):
    """Makes transformer rivals."""

    layers: int = 2
    """Layers, one above the other: one alone fails at recall in two hops."""
    heads: int = 4
    """Heads of attention, of width / heads each."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(layers=self.layers, heads=self.heads)

    @property
    def multiple(self) -> int:
        return self.heads

    def core(self, size: int, width: int, world: World, *, key: Array) -> Core:
        first, *others = jax.random.split(key, 1 + 2 * self.layers)
        layers = [
            (Attention(width, self.heads, key=one), FeedForward(width, key=other))
            for one, other in zip(others[::2], others[1::2], strict=True)
        ]
        embed = eqx.nn.Linear(size, width, key=first)
        return Transformer(embed, layers, eqx.nn.LayerNorm(width), epoch_steps(world))
