"""Hierarchical chunk attention, HCAM (Lampinen et al. 2021): first which episode, then what in it.

Attention within the own episode, and above it attention to earlier ones: summaries (means) choose
the `chosen` episodes that matter most, each is attended to by itself, and what is found is weighted
by how much its episode matters. Unrolling computes both again for gradients, a block of queries at
a time: what a query has to do with chosen episodes is kept for 256 queries alone.
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
    over_queries,
)
from reinstate.tasks.base import World


class Shelf(NamedTuple):
    """What is kept of an epoch; `own` is the episode that goes on."""

    own_k: Array  # (length, heads, d) of the attention within it
    own_v: Array
    k: Array  # (episodes, length, heads, d) of the attention to earlier ones
    v: Array
    total: Array  # (episodes, width) sums of what was shelved: summaries, once divided
    steps: Array  # (episodes,) of each episode so far
    episode: Array  # () the current one; −1 before the first


class HCAM(Core):
    """One layer of attention within episodes, one of attention to earlier ones."""

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
        """Attend to the own episode, up to the step `place`."""
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
