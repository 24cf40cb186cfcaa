"""Exact search in tables of keys: distances, the k nearest, a key's own slot, many queries at once.

All of it agrees on one order. The nearest key comes first; of equally near ones, the newest; empty
slots come last, the first of them first. Nothing in here copies the table.
"""

import math
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

Distance = Literal["cosine", "euclidean"]
Precision = Literal["float32", "tensorfloat32", "bfloat16"]

TINY = 1e-12  # keeps the direction of a zero vector, and its gradient, finite
FULL = jax.lax.Precision.HIGHEST  # short products would confuse near neighbours
GROUPS = 8, 128  # least and most slots of which a search by many queries keeps the best alone
AT_ONCE = {"cpu": 1 << 21}  # numbers that are worked on at a time: those of a CPU stay in its cache
MORE_AT_ONCE = 1 << 25  # on other devices, which need much to do at a time
SPARE = 6  # groups that are looked at again, besides two for each neighbour
# The largest relative error of rounding a number. TF32 may be cut off rather than rounded.
ROUNDING = {"float32": 0.0, "tensorfloat32": 2.0**-10, "bfloat16": 2.0**-8}
LAST = np.iinfo(np.int32).min  # is written earlier than everything


class Table(NamedTuple):
    """The part of a dictionary's contents that is searched."""

    keys: Array  # (capacity, key_size)
    norms: Array  # (capacity,) of the keys
    written: Array  # (capacity,) the number of the write that filled the slot; 0: it is empty


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


def nearest(
    table: Table,
    queries: Array,
    k: int,
    distance: Distance = "cosine",
    precision: Precision = "float32",
    block: int | None = None,
) -> Array:
    """Find the k nearest keys of one table for many queries at once, (queries, k) slots.

    Blocks of the table stream through one matrix product each, of which only the least distance in
    every group of slots is kept. Groups that come first are looked at again in full precision. The
    rest is known to be farther away, by the largest error that products in this `precision` can
    have; a query for which that does not follow is compared with all keys, one by one.
    """
    table, queries = jax.lax.stop_gradient((table, queries))
    sizes = _sizes(table.written.shape[0], queries.shape[0], block)
    least = _least(table, queries, distance, precision, sizes)  # (groups, queries)
    groups = least.shape[0]
    wanted = min(groups, 2 * k + SPARE)
    order = jnp.arange(groups, 0, -1, dtype=jnp.int32)  # of groups in a tie, any
    chosen = jax.vmap(lambda each: first(each, order, wanted), in_axes=1)(least)
    slots, farthest = _looked_at_again(table, queries, chosen, sizes.group, k, distance)
    if wanted == groups:
        return slots
    # No other group has anything nearer than this.
    bound = jnp.take_along_axis(least, chosen[:, -1:].T, axis=0)[0]  # (queries,)
    margin = _margin(table, queries, distance, precision)
    doubtful = ~(jnp.isinf(bound) | (farthest + margin < bound))
    return _one_by_one(table, queries, slots, doubtful, distance)


class _Sizes(NamedTuple):
    group: int  # slots of which the best alone is kept
    block: int  # slots that are compared with all queries at a time, in whole groups


def _sizes(capacity: int, queries: int, block: int | None) -> _Sizes:
    """Balance what is kept of every group against what is looked at again in a few of them."""
    least, most = GROUPS
    group = min(max(1 << (math.isqrt(capacity) // 8).bit_length(), least), most)
    block = min(block or max(1, _at_once() // queries), capacity)
    return _Sizes(group, -(-block // group) * group)


def _at_once() -> int:
    return AT_ONCE.get(jax.default_backend(), MORE_AT_ONCE)


def never(x: Array) -> Array:
    """Return false, which XLA cannot know before it has computed all of x."""
    return jnp.any(jnp.isnan(x) & (x > 0))


def ranked(distances: Array, written: Array) -> Array:
    """Put empty slots behind all others."""
    return jnp.where(written > 0, distances, jnp.finfo(distances.dtype).max)


def _least(
    table: Table, queries: Array, distance: Distance, precision: Precision, sizes: _Sizes
) -> Array:
    """Return the least distance in each group of slots, up to rounding, (groups, queries)."""
    precise = jnp.promote_types(queries.dtype, jnp.float32)
    norms = norm(queries)
    asked = queries.astype(precise)
    asked = asked / norms[:, None] if distance == "cosine" else asked
    capacity, (group, block) = table.written.shape[0], sizes

    def of(rows: Table) -> Array:
        dots = _products(rows.keys.astype(precise), asked, precision)  # (rows, queries)
        if distance == "cosine":
            scale, base = 1 / rows.norms, jnp.ones_like(rows.norms)
        else:
            scale, base = jnp.full_like(rows.norms, 2), rows.norms**2
        base = jnp.where(rows.written > 0, base, jnp.inf)
        apart = base[:, None] - scale[:, None] * dots
        spare = -apart.shape[0] % group
        apart = jnp.pad(apart, ((0, spare), (0, 0)), constant_values=jnp.inf)
        return jnp.min(apart.reshape(-1, group, apart.shape[1]), axis=1)

    def block_at(start: Array) -> Array:
        return of(jax.tree.map(lambda x: jax.lax.dynamic_slice_in_dim(x, start, block), table))

    parts, whole = [], capacity // block
    if whole:
        blocks = jax.lax.map(block_at, block * jnp.arange(whole))
        parts.append(blocks.reshape(-1, queries.shape[0]))
    if capacity % block:
        parts.append(of(jax.tree.map(lambda x: x[whole * block :], table)))
    least = jnp.concatenate(parts)
    return least if distance == "cosine" else least + norms[None, :] ** 2


def _products(keys: Array, queries: Array, precision: Precision) -> Array:
    """Multiply all keys with all queries, (keys, queries)."""

    def full(keys: Array, queries: Array) -> Array:
        return jnp.matmul(keys, queries.T, precision=FULL)

    def tf32(keys: Array, queries: Array) -> Array:
        preset = jax.lax.DotAlgorithmPreset.TF32_TF32_F32
        return jax.lax.dot(keys, queries.T, precision=preset)

    if precision == "bfloat16":
        short = keys.astype(jnp.bfloat16), queries.T.astype(jnp.bfloat16)
        return jnp.matmul(*short, preferred_element_type=jnp.float32).astype(keys.dtype)
    if precision == "tensorfloat32":  # which other devices do not have: full precision there
        return jax.lax.platform_dependent(keys, queries, cuda=tf32, default=full)
    return full(keys, queries)


def _margin(table: Table, queries: Array, distance: Distance, precision: Precision) -> Array:
    """Return by how much two ways to compute a distance can differ at most, (queries,).

    A product of vectors is wrong by at most (2u + u²) |key| |query| if all numbers are rounded by
    a share of u, and sums of n terms by n roundings more. Norms and the second way add as much.
    """
    rounding, norms = ROUNDING[precision], norm(queries)
    terms = 3 * (queries.shape[1] + 8) * float(jnp.finfo(norms.dtype).eps)
    share = 2 * rounding + rounding**2 + terms
    if distance == "cosine":
        return jnp.full_like(norms, share)
    longest = jnp.max(jnp.where(table.written > 0, table.norms, 0.0))
    return share * (longest + norms) ** 2 + TINY


def _looked_at_again(
    table: Table, queries: Array, groups: Array, group: int, k: int, distance: Distance
) -> tuple[Array, Array]:
    """Find the k nearest keys in some groups, (queries, k), and the distance of the k-th."""
    capacity, key_size = table.keys.shape

    def look(query_and_groups: tuple[Array, Array]) -> tuple[Array, Array]:
        query, groups = query_and_groups
        slots = (groups[:, None] * group + jnp.arange(group)[None, :]).ravel()
        some = jax.tree.map(lambda x: x[slots], table)  # beyond the end, the last
        written = jnp.where(slots < capacity, some.written, 0)
        distances = distances_to(some.keys, some.norms, query, distance)
        ranks = jnp.where(slots < capacity, ranked(distances, written), jnp.inf)
        chosen = first(ranks, written, k)
        return slots[chosen], jnp.where(written[chosen[-1]] > 0, distances[chosen[-1]], jnp.inf)

    at_once = max(1, _at_once() // (groups.shape[1] * group * key_size))
    return jax.lax.map(look, (queries, groups), batch_size=min(at_once, queries.shape[0]))


def _one_by_one(
    table: Table, queries: Array, slots: Array, doubtful: Array, distance: Distance
) -> Array:
    """Search again for the queries that are in doubt, each in all of the table."""
    k = slots.shape[1]

    def settle(state: tuple[Array, Array]) -> tuple[Array, Array]:
        slots, doubtful = state
        which = jnp.argmax(doubtful)
        distances = distances_to(table.keys, table.norms, queries[which], distance)
        found = first(ranked(distances, table.written), table.written, k)
        return slots.at[which].set(found), doubtful.at[which].set(False)

    return jax.lax.while_loop(lambda state: jnp.any(state[1]), settle, (slots, doubtful))[0]
