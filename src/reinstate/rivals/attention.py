"""Attention to the whole epoch: a causal transformer, and hierarchical chunk attention.

Unrolling computes attention again for gradients, a block of queries at a time: what a query has to
do with every key is kept for 256 queries alone, not for all T of them.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from reinstate.errors import require_positive
from reinstate.rivals.base import (
    FAR,
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
    """Layers of causal attention, each with a feed-forward layer (Vaswani et al. 2017).

    Steps have no positions: each shows context, action and reward together, so that their order can
    be left to the causal mask, and epochs may be longer than those trained on.
    """

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


class Shelf(NamedTuple):
    """What is kept of an epoch; `own` is the current episode."""

    own_k: Array  # (length, heads, d) of the attention within it
    own_v: Array
    k: Array  # (episodes, length, heads, d) of the attention to earlier ones
    v: Array
    total: Array  # (episodes, width) sums of what was shelved: summaries, once divided
    steps: Array  # (episodes,) of each episode so far
    episode: Array  # () the current one; −1 before the first


class HCAM(Core):
    """Hierarchical chunk attention (Lampinen et al. 2021): first which episode, then what in it.

    One layer of attention within the current episode, and above it one to earlier ones: summaries
    (means) choose the `chosen` episodes that matter most, each is attended to by itself, and what
    is found is weighted by how much its episode matters.
    """

    embed: eqx.nn.Linear
    local: Attention
    inside: FeedForward
    recall: Attention
    which: eqx.nn.Linear  # of a step: what a summary should be like
    summary: eqx.nn.Linear  # of a summary: what it is like
    above: FeedForward
    norm: eqx.nn.LayerNorm
    chosen: int = eqx.field(static=True)
    shape: tuple[int, int] = eqx.field(static=True)  # episodes, and steps of each

    def initial_state(self) -> Shelf:
        episodes, length = self.shape
        (width, _), heads = self.local.merge.weight.shape, self.local.heads
        dtype = self.local.merge.weight.dtype
        own = jnp.zeros((length, heads, width // heads), dtype)
        shelf = jnp.zeros((episodes, *own.shape), dtype)
        total, steps = jnp.zeros((episodes, width), dtype), jnp.zeros(episodes, jnp.int32)
        return Shelf(own, own, shelf, shelf, total, steps, jnp.full((), -1, jnp.int32))

    def __call__(self, x: Array, first: Array, state: Shelf) -> tuple[Shelf, Array]:
        episode = state.episode + first.astype(jnp.int32)
        place = jnp.where(first, 0, state.steps[episode])
        x = self.embed(x)
        q, k, v = self.local.read_in(x)
        own_k, own_v = state.own_k.at[place].set(k), state.own_v.at[place].set(v)
        y = self._within(x, (q, own_k, own_v, place))
        q, k, v = self.recall.read_in(y)
        state = Shelf(
            own_k,
            own_v,
            state.k.at[episode, place].set(k),
            state.v.at[episode, place].set(v),
            state.total.at[episode].add(y),
            state.steps.at[episode].set(place + 1),
            episode,
        )
        return state, self._above(y, self._earlier((q, y, episode), state))

    def unroll(self, x: Array, first: Array, state: Shelf) -> Array:
        episode = state.episode + jnp.cumsum(first.astype(jnp.int32))
        place = _places(first, state)
        x = jax.vmap(self.embed)(x)
        q, k, v = jax.vmap(self.local.read_in)(x)
        before = jnp.zeros_like(state.k)
        own_k = before.at[state.episode].set(state.own_k).at[episode, place].set(k)
        own_v = before.at[state.episode].set(state.own_v).at[episode, place].set(v)

        def within(queries: Any) -> Array:
            x, q, episode, place = queries
            return jax.vmap(self._within)(x, (q, own_k[episode], own_v[episode], place))

        y = over_queries(within, (x, q, episode, place))
        q, k, v = jax.vmap(self.recall.read_in)(y)
        shelf = state._replace(
            k=state.k.at[episode, place].set(k),
            v=state.v.at[episode, place].set(v),
            total=state.total.at[episode].add(y),
            steps=state.steps.at[episode].max(place + 1),
        )

        def earlier(queries: Any) -> Array:
            return jax.vmap(lambda each: self._earlier(each, shelf))(queries)

        return each_again(self._above, y, over_queries(earlier, (q, y, episode)))

    def _within(self, x: Array, seen: tuple[Array, Array, Array, Array]) -> Array:
        """Attend to the current episode, up to the step `place`."""
        q, k, v, place = seen
        earlier = jnp.arange(k.shape[0]) <= place
        return self.inside(x + self.local.merge(attend(q[None], k, v, earlier[None])[0]))

    def _earlier(self, query: tuple[Array, Array, Array], shelf: Shelf) -> Array:
        """Attend to the episodes before `episode` that matter most to the step y."""
        q, y, episode = query
        steps = jnp.maximum(shelf.steps, 1)[:, None]
        like = jax.vmap(self.summary)(shelf.total / steps)  # (episodes, width)
        matters = like @ self.which(self.recall.norm(y)) * y.shape[0] ** -0.5
        past = jnp.arange(self.shape[0]) < episode
        most, which = jax.lax.top_k(jnp.where(past, matters, FAR), self.chosen)
        weight = jnp.where(past[which], jax.nn.softmax(most), 0.0)
        there = jnp.arange(self.shape[1])[None] < shelf.steps[which][:, None]

        def look(k: Array, v: Array, seen: Array) -> Array:
            return attend(q[None], k, v, seen[None])[0]

        return weight @ jax.vmap(look)(shelf.k[which], shelf.v[which], there)

    def _above(self, y: Array, found: Array) -> Array:
        return self.norm(self.above(y + self.recall.merge(found)))


def _places(first: Array, state: Shelf) -> Array:
    """Count each step's place in its episode."""
    now = jnp.arange(first.shape[0])
    going_on = jnp.where(state.episode < 0, 0, state.steps[state.episode])
    begun = jax.lax.cummax(jnp.where(first, now, -1))
    return jnp.where(begun < 0, now + going_on, now - begun)


@dataclass(frozen=True)
class HCAMMaker(RivalMaker):
    """Makes rivals that attend to episodes."""

    heads: int = 4
    """Heads of attention, of width / heads each."""
    chosen: int = 4
    """Episodes that a step attends to."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(heads=self.heads, chosen=self.chosen)

    @property
    def multiple(self) -> int:
        return self.heads

    def core(self, size: int, width: int, world: World, *, key: Array) -> Core:
        keys = jax.random.split(key, 7)
        return HCAM(
            eqx.nn.Linear(size, width, key=keys[0]),
            Attention(width, self.heads, key=keys[1]),
            FeedForward(width, key=keys[2]),
            Attention(width, self.heads, key=keys[3]),
            eqx.nn.Linear(width, width, key=keys[4]),
            eqx.nn.Linear(width, width, key=keys[5]),
            FeedForward(width, key=keys[6]),
            eqx.nn.LayerNorm(width),
            min(self.chosen, world.episodes_per_epoch),
            (world.episodes_per_epoch, world.episode_length + 1),
        )
