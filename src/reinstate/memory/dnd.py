"""Episodic memories: the contract of one, the paper's, and one that consolidates.

The paper's is a differentiable neural dictionary, DND, after Pritzel et al. 2017. Contexts are keys
and cell states values; nearest neighbours by cosine distance are combined by the normalised inverse
kernel. `DND` holds the settings, `Contents` what one lane has stored; every method is pure, so
lanes are `jax.vmap`.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Protocol, Self

import jax
import jax.numpy as jnp
from jax import Array

from reinstate.errors import (
    LARGEST_NUMBER,
    UserError,
    require_choices,
    require_positive,
    require_shape,
    require_within,
)
from reinstate.memory import search
from reinstate.memory.search import FULL


class Found(Protocol):
    """What a read returns, as far as the rollout looks at it."""

    @property
    def value(self) -> Array:
        """c_ep, (value_size,); zeros if there is nothing to recall."""

    @property
    def distances(self) -> Array:
        """From the query to the neighbours, nearest first, (k,); infinite where there is none."""

    @property
    def written(self) -> Array:
        """The numbers of the writes that stored them, from 1, (k,); 0 where there is none."""


class Memory(Protocol):
    """What training and evaluation ask of a memory: the settings of one, as a frozen dataclass.

    Contents are one lane's, and may be any tree of arrays of fixed shape.
    """

    def fitted(self, writes: int) -> Self:
        """Return the memory cut to what `writes` writes can fill; by default it is kept whole."""
        return self

    def empty(self, key_size: int, value_size: int) -> Any:
        """Return the contents with which an epoch starts."""

    def write(self, contents: Any, key: Array, value: Array) -> Any:
        """Return the contents after storing a value under a key."""

    def read(self, contents: Any, query: Array) -> tuple[Found, Any]:
        """Return what is found for a query, and the contents after having been asked."""

    def filled(self, contents: Any) -> Array:
        """Return how many entries there are, for analyses; by default −1: it does not say."""
        return jnp.full((), -1, jnp.int32)


DELTAS = 1e-30, 1e30  # between which the sum of many kernels, 1 / (distance + delta), is a number


class Contents(NamedTuple):
    """What a DND holds."""

    keys: Array  # (capacity, key_size)
    norms: Array  # (capacity,) of the keys
    codes: Array  # (2, capacity) of the keys, by which identical ones are found; 0 if it is empty
    values: Array  # (capacity, value_size)
    written: Array  # (capacity,) the number of the write that filled the slot; 0: it is empty
    used: Array  # (capacity,) when it was last written or read
    merged: Array  # (capacity,) how many writes the key stands for
    writes: Array  # () so far
    clock: Array  # () writes and reads so far


class Retrieval(NamedTuple):
    """What a DND finds."""

    value: Array  # (value_size,) weighted mean of the neighbours' values; zeros if there is none
    slots: Array  # (k,) where the neighbours are, nearest first
    weights: Array  # (k,) sum to 1; a missing neighbour has 0
    distances: Array  # (k,) infinite where a neighbour is missing
    written: Array  # (k,) the number of the write that stored it, from 1; 0 where it is missing
    values: Array  # (k, value_size) the neighbours' own
    kernel: Array  # (k,) κ of each, of which weights are the shares; 0 where it is missing
    writes: Array  # () all that there were before


@dataclass(frozen=True)
class DND(Memory):
    """The paper's dictionary: cell states by context, of which the nearest are combined.

    With k = 1 the only weight is 1 whatever the distance: no gradient reaches query or keys, and
    a context never met before still retrieves the nearest old one. Learned keys need k > 1.
    """

    capacity: int = 100
    """Slots; when all are taken, a new key replaces the least recently used."""
    k: int = 1
    """Neighbours a read combines."""
    distance: Literal["cosine", "euclidean"] = "cosine"
    """Cosine distance, or squared Euclidean."""
    delta: float = 1e-3
    """The kernel's softening, 1 / (distance + delta), after Pritzel et al. 2017."""

    def __post_init__(self) -> None:
        require_positive(capacity=self.capacity, k=self.k, delta=self.delta)
        require_within(*DELTAS, delta=self.delta)
        require_choices(self)
        if self.k > self.capacity:
            raise UserError(
                f"k = {self.k} neighbours need as many slots, and capacity is {self.capacity}:"
                " raise capacity or lower k"
            )

    def fitted(self, writes: int) -> Self:
        """Shrink capacity to what `writes` writes can fill: searching empty slots costs time."""
        return replace(self, capacity=min(self.capacity, max(self.k, writes)))

    def empty(self, key_size: int, value_size: int, dtype: Any = None) -> Contents:
        """Return a dictionary without entries, of float32 or of the dtype that is given."""
        # Each field has an array of its own, so that `jax.jit` may be given all of them to reuse.
        keys = jnp.zeros((self.capacity, key_size), dtype)
        return Contents(
            keys=keys,
            norms=search.norm(keys),
            codes=jnp.zeros((2, self.capacity), jnp.uint32),
            values=jnp.zeros((self.capacity, value_size), dtype),
            written=jnp.zeros(self.capacity, jnp.int32),
            used=jnp.zeros(self.capacity, jnp.int32),
            merged=jnp.zeros(self.capacity, jnp.int32),
            writes=jnp.zeros((), jnp.int32),
            clock=jnp.zeros((), jnp.int32),
        )

    def write(self, contents: Contents, key: Array, value: Array) -> Contents:
        """Store a value over the same key if it is there, else in the least recently used slot."""
        key = _checked("key", key, contents.keys, self.capacity)
        value = _checked("value", value, contents.values, self.capacity)
        slot, same = self._slot(contents, key)
        merged = jnp.where(same, contents.merged[slot], 0) + 1
        key = self._merge(contents.keys[slot], key, merged)
        plain = jax.lax.stop_gradient(key)
        now, writes = contents.clock + 1, contents.writes + 1
        return Contents(
            keys=contents.keys.at[slot].set(key),
            norms=contents.norms.at[slot].set(search.norm(plain)),
            codes=contents.codes.at[:, slot].set(search.code(plain)),
            values=contents.values.at[slot].set(value),
            written=contents.written.at[slot].set(writes),
            used=contents.used.at[slot].set(now),
            merged=contents.merged.at[slot].set(merged),
            writes=writes,
            clock=now,
        )

    def filled(self, contents: Contents) -> Array:
        """Return how many slots are taken."""
        return jnp.sum(contents.written > 0)

    def _slot(self, contents: Contents, key: Array) -> tuple[Array, Array]:
        """Find where a write under this key goes, and whether that slot is its own."""
        key = jax.lax.stop_gradient(key)
        own, same = search.find(contents.keys, contents.codes, key)
        # Empty slots were never used, so they come first.
        return jnp.where(same, own, jnp.argmin(contents.used)), same

    def _merge(self, old: Array, new: Array, count: Array) -> Array:
        """Return the key of a slot that had `old` and gets `new`, the count-th it stands for."""
        return new

    def read(self, contents: Contents, query: Array) -> tuple[Retrieval, Contents]:
        """Combine the k nearest neighbours, and note that they were used.

        weights_i = κ_i / Σ_j κ_j,  κ_i = 1 / (d(query, key_i) + δ)
        """
        query = _checked("query", query, contents.keys, self.capacity)
        found = self._combined(contents, query, self._nearest(contents, query))
        return found, _after(contents, found)

    def _combined(self, contents: Contents, query: Array, slots: Array) -> Retrieval:
        """Combine the values of some slots by their keys' distances."""
        written, values = contents.written[slots], contents.values[slots]
        found = written > 0  # (k,)
        # Distances again, of the chosen few alone: gradients need no pass over the whole memory.
        keys = contents.keys[slots]
        distances = search.distances_to(keys, search.norm(keys), query, self.distance)
        kernel = jnp.where(found, 1 / (distances + self.delta), 0.0)
        weights = kernel / jnp.where(jnp.any(found), jnp.sum(kernel), 1.0)
        # In full precision: an accelerator's short products would blur what is recalled.
        value = jnp.matmul(weights, values, precision=FULL).astype(values.dtype)
        distances = jnp.where(found, distances, jnp.inf)
        seen = weights, distances, written, values, kernel, contents.writes
        return Retrieval(value, slots, *seen)

    def _nearest(self, contents: Contents, query: Array) -> Array:
        """Find the slots of the k nearest keys; ties go to the newest."""
        contents, query = jax.lax.stop_gradient((contents, query))
        distances = search.distances_to(contents.keys, contents.norms, query, self.distance)
        ranks = search.ranked(self._rank(contents, distances), contents.written)
        return search.first(ranks, contents.written, self.k)

    def _rank(self, contents: Contents, distances: Array) -> Array:
        """Say which neighbours come first: those of the lowest rank, (capacity,)."""
        return distances


def _after(contents: Contents, found: Retrieval) -> Contents:
    """Return contents after these neighbours were found: they were used, but for empty slots."""
    slots, there = found.slots, found.written > 0
    # What is read comes before what is written next. Without an order between the two, every step
    # would copy the memory, to read the one and write the other.
    there |= search.never(found.distances) | search.never(found.value)
    now = contents.clock + 1
    # A slot that is still empty stays unused, or it would no longer be the first to be filled.
    used = jnp.where(there, now, contents.used[slots])
    return contents._replace(used=contents.used.at[slots].set(used), clock=now)


def _checked(name: str, array: Any, among: Array, capacity: int) -> Array:
    """Return a key, query or value in the dtype that is stored; refuse another shape."""
    if among.ndim != 2:
        raise ValueError(
            f"contents of shape {among.shape}, where one lane has {capacity} rows: map over the"
            " lanes of both contents and queries with jax.vmap"
        )
    array = jnp.asarray(array, among.dtype)
    whose = "a stored value's size" if name == "value" else "a stored key's size"
    require_shape(name, array, among.shape[1:], whose)
    return array


@dataclass(frozen=True)
class Consolidating(DND):
    """A dictionary of contexts rather than of exposures: keys within reach are one context.

    The paper's gives every key that is not identical a slot of its own. Where a context never looks
    the same twice, its exposures fill many slots, and the nearest is seldom the newest.
    """

    merge: Literal["none", "replace", "mean"] = "mean"
    """What a write does with the nearest key, if that is within reach: nothing, so that it takes a
    slot of its own; take its slot and replace it; or take its slot under the mean of both keys,
    each key counting as often as it was written."""
    reach: float = 0.0
    """The distance within which keys are taken for one context; 0: only identical ones are."""
    recall: Literal["nearest", "newest"] = "nearest"
    """Which of the neighbours within reach comes first on reading: the nearest or the newest."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.reach <= LARGEST_NUMBER:
            raise UserError(f"reach must be a distance, 0 or more, not {self.reach}")

    def _slot(self, contents: Contents, key: Array) -> tuple[Array, Array]:
        slot, identical = super()._slot(contents, key)
        if self.merge == "none" or not self.reach:
            return slot, identical  # at 0, not all keys of one direction: their distance is 0 too
        contents, key = jax.lax.stop_gradient((contents, key))
        distances = search.distances_to(contents.keys, contents.norms, key, self.distance)
        distances = jnp.where(contents.written > 0, distances, jnp.inf)
        nearest = jnp.argmin(distances)
        within = ~identical & (distances[nearest] <= self.reach)
        return jnp.where(within, nearest, slot), identical | within

    def _merge(self, old: Array, new: Array, count: Array) -> Array:
        if self.merge != "mean":
            return new
        mean = jnp.where(count == 1, new, old + (new - old) / count)  # the first replaces another
        # Computed before it is stored, or XLA copies all keys.
        return mean / (1 + search.never(mean))

    def _rank(self, contents: Contents, distances: Array) -> Array:
        if self.recall == "nearest":
            return distances
        return jnp.where(distances <= self.reach, -contents.written, distances)
