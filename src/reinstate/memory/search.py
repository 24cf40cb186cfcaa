"""Exact search in tables of keys: distances, the k nearest, a key's own slot.

All of it agrees on one order. The nearest key comes first; of equally near ones, the newest; empty
slots come last, the first of them first. Nothing in here copies the table.
"""

import math
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

Distance = Literal["cosine", "euclidean"]

TINY = 1e-12  # keeps the direction of a zero vector, and its gradient, finite
FULL = jax.lax.Precision.HIGHEST  # short products would confuse near neighbours
LAST = np.iinfo(np.int32).min  # is written earlier than everything


def norm(x: Array) -> Array:
    """Return the length of vectors, at least √TINY, in float32 at least."""
    x = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    return jnp.sqrt(jnp.maximum(jnp.sum(x**2, axis=-1), TINY))


def distances_to(keys: Array, norms: Array, query: Array, distance: Distance) -> Array:
    """Return the distance of each key, (rows, key_size), from a query, (key_size,)."""
    # In float32 at least: a short type would take neighbours for one another.
    precise = jnp.promote_types(keys.dtype, jnp.float32)
    keys, query = keys.astype(precise), query.astype(precise)
    if distance == "euclidean":
        return jnp.sum((keys - query[None, :]) ** 2, axis=1)
    dots = jnp.matmul(keys, query, precision=FULL)
    return jnp.maximum(1 - dots / (norms * norm(query)), 0.0)


def first(ranks: Array, written: Array, k: int) -> Array:
    """Find the slots of the k lowest ranks; ties go to the newest, (k,).

    A tournament: slots are dealt out to about √capacity groups, and after one pass over all of them
    only the best of each group compete. The winner's group then names its next best. What comes
    next in the order can be told from what came last, so that nothing has to be crossed out.
    """
    if k == 1:
        return jnp.argmax(jnp.where(ranks == jnp.min(ranks), written, -1))[None]
    capacity = ranks.shape[0]
    groups = max(1, math.isqrt(capacity))
    spare = -capacity % groups
    # No two slots tie in both: of empty ones, the first is taken to be the newest.
    written = jnp.where(written > 0, written, -1 - jnp.arange(capacity, dtype=written.dtype))
    ranks = jnp.pad(ranks, (0, spare), constant_values=jnp.inf).reshape(-1, groups)
    written = jnp.pad(written, (0, spare), constant_values=LAST).reshape(-1, groups)
    best = jnp.min(ranks, axis=0)  # (groups,)
    newest = jnp.max(jnp.where(ranks == best[None, :], written, LAST), axis=0)

    def pick(leaders: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
        best, newest = leaders
        group = jnp.argmax(jnp.where(best == jnp.min(best), newest, LAST))
        rank, write = best[group], newest[group]
        its_ranks, its_written = ranks[:, group], written[:, group]
        left = (its_ranks > rank) | ((its_ranks == rank) & (its_written < write))
        next_rank = jnp.min(jnp.where(left, its_ranks, jnp.inf))
        next_write = jnp.max(jnp.where(left & (its_ranks == next_rank), its_written, LAST))
        leaders = best.at[group].set(next_rank), newest.at[group].set(next_write)
        return leaders, jnp.argmax(its_written == write) * groups + group

    return jax.lax.scan(pick, (best, newest), None, length=k)[1]


def code(key: Array) -> Array:
    """Return 64 bits that identical keys share, and no others but by an odd chance, (2,); never 0.

    Integers add up to the same in any order, so that they do not depend on how this is compiled.
    """
    key = jnp.where(key == 0, jnp.zeros_like(key), key)  # −0 equals 0
    kind = {1: jnp.uint8, 2: jnp.uint16}.get(key.dtype.itemsize, jnp.uint32)
    bits = jax.lax.bitcast_convert_type(key, kind).ravel().astype(jnp.uint32)
    places = jnp.arange(1, bits.size + 1, dtype=jnp.uint32)
    bits = bits[None, :] + places[None, :] * jnp.array([[0x9E3779B9], [0x7F4A7C15]], jnp.uint32)
    for shift, factor in ((16, 0x21F0AAAD), (15, 0x735A2D97)):  # mixes every bit into every other
        bits = (bits ^ (bits >> shift)) * jnp.uint32(factor)
    return jnp.maximum(jnp.sum(bits ^ (bits >> 15), axis=1, dtype=jnp.uint32), 1)


def find(keys: Array, codes: Array, key: Array) -> tuple[Array, Array]:
    """Find the slot of an identical key by its code, and say whether there is one.

    Codes are a few bytes for each slot, keys are many: only one key is looked at. Should another
    have the same code, which among a million happens once in 10¹³ searches, a key may be missed.
    """
    first_of, second_of = codes
    first, second = code(key)
    slot = jnp.argmax((first_of == first) & (second_of == second))
    return slot, (first_of[slot] > 0) & jnp.all(keys[slot] == key)


def never(x: Array) -> Array:
    """Return false, which XLA cannot know before it has computed all of x."""
    return jnp.any(jnp.isnan(x) & (x > 0))


def ranked(distances: Array, written: Array) -> Array:
    """Put empty slots behind all others."""
    return jnp.where(written > 0, distances, jnp.finfo(distances.dtype).max)
