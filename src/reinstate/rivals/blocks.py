"""Parts of the cores that are stacks of layers: embedding, residual blocks, attention."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

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
    blocks = -(-length // size)

    def cut(x: Array) -> Array:  # the last block repeats the last query
        return jnp.pad(x, [(0, blocks * size - length), *[(0, 0)] * (x.ndim - 1)], "edge").reshape(
            blocks, size, *x.shape[1:]
        )

    found = jax.lax.map(jax.checkpoint(each), jax.tree.map(cut, queries))
    return found.reshape(blocks * size, *found.shape[2:])[:length]
