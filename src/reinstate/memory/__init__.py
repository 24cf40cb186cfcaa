"""Episodic memories: the protocol that training needs, the paper's DND, and one that consolidates.

The DND is a differentiable neural dictionary after Pritzel et al. 2017 as the paper uses it:
contexts as keys, cell states as values, nearest neighbours by cosine distance, combined by the
normalised inverse kernel. `DND` holds the settings, `Contents` what one lane has stored; every
method is pure, so lanes are `jax.vmap`. Nothing of the rest of the package is needed to use it.
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
from reinstate.registry import Registry

TINY = 1e-12  # keeps the direction of a zero vector, and its gradient, finite
DELTAS = 1e-30, 1e30  # between which the sum of many kernels, 1 / (distance + delta), is a number


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

    Contents are one lane's, and may be any tree of arrays of fixed shape. Subclass this, or write
    a class with the same methods.
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


class Contents(NamedTuple):
    """What a DND holds."""

    keys: Array  # (capacity, key_size)
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
        return Contents(
            keys=jnp.zeros((self.capacity, key_size), dtype),
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
        same = self._same(contents, key)
        # Empty slots were never used, so they come first; a match comes before everything.
        slot = jnp.argmin(jnp.where(same, -1, contents.used))
        merged = jnp.where(same[slot], contents.merged[slot], 0) + 1
        key = self._merge(contents.keys[slot], key, merged)
        now, writes = contents.clock + 1, contents.writes + 1
        return Contents(
            keys=contents.keys.at[slot].set(key),
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

    def _same(self, contents: Contents, key: Array) -> Array:
        """Find the slot, if any, that a write under this key goes to, (capacity,) of booleans."""
        return jnp.all(contents.keys == key[None, :], axis=1) & (contents.written > 0)

    def _merge(self, old: Array, new: Array, count: Array) -> Array:
        """Return the key of a slot that had `old` and gets `new`, the count-th it stands for."""
        return new

    def read(self, contents: Contents, query: Array) -> tuple[Retrieval, Contents]:
        """Combine the k nearest neighbours, and note that they were used.

        weights_i = κ_i / Σ_j κ_j,  κ_i = 1 / (d(query, key_i) + δ)
        """
        query = _checked("query", query, contents.keys, self.capacity)
        slots = self._nearest(contents, jax.lax.stop_gradient(query))
        found = contents.written[slots] > 0  # (k,)
        # Distances again, of the chosen few alone: gradients need no pass over the whole memory.
        distances = self._distances(contents.keys[slots], query)
        kernel = jnp.where(found, 1 / (distances + self.delta), 0.0)
        weights = kernel / jnp.where(jnp.any(found), jnp.sum(kernel), 1.0)
        # Full precision, here and below: an accelerator's short products would blur what is
        # recalled and confuse near neighbours.
        value = jnp.matmul(weights, contents.values[slots], precision=jax.lax.Precision.HIGHEST)
        value = value.astype(contents.values.dtype)
        now = contents.clock + 1
        # A slot that is still empty stays unused, or it would no longer be the first to be filled.
        used = contents.used.at[slots].set(jnp.where(found, now, contents.used[slots]))
        distances = jnp.where(found, distances, jnp.inf)
        retrieval = Retrieval(
            value,
            slots,
            weights,
            distances,
            contents.written[slots],
            contents.values[slots],
            kernel,
            contents.writes,
        )
        return retrieval, contents._replace(used=used, clock=now)

    def _nearest(self, contents: Contents, query: Array) -> Array:
        """Find the slots of the k nearest keys; ties go to the newest."""

        def pick(ranks: Array, _: None) -> tuple[Array, Array]:
            tied = ranks == jnp.min(ranks)
            slot = jnp.argmax(jnp.where(tied, contents.written, -1))
            return ranks.at[slot].set(jnp.inf), slot

        distances = self._distances(jax.lax.stop_gradient(contents.keys), query)
        ranks = self._rank(contents, distances)
        ranks = jnp.where(contents.written > 0, ranks, jnp.finfo(distances.dtype).max)
        _, slots = jax.lax.scan(pick, ranks, None, length=self.k)
        return slots

    def _rank(self, contents: Contents, distances: Array) -> Array:
        """Say which neighbours come first: those of the lowest rank, (capacity,)."""
        return distances

    def _distances(self, keys: Array, query: Array) -> Array:
        # In float32 at least: a short type would take neighbours for one another.
        precise = jnp.promote_types(keys.dtype, jnp.float32)
        keys, query = keys.astype(precise), query.astype(precise)
        if self.distance == "euclidean":
            return jnp.sum((keys - query[None, :]) ** 2, axis=1)
        dots = jnp.matmul(keys, query, precision=jax.lax.Precision.HIGHEST)
        return jnp.maximum(1 - dots / (_norm(keys) * _norm(query)), 0.0)


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


def _norm(x: Array) -> Array:
    return jnp.sqrt(jnp.maximum(jnp.sum(x**2, axis=-1), TINY))


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

    def _same(self, contents: Contents, key: Array) -> Array:
        identical = super()._same(contents, key)
        if self.merge == "none" or not self.reach:
            return identical  # at 0, not all keys of one direction: their cosine distance is 0 too
        distances = self._distances(contents.keys, key)
        distances = jnp.where(contents.written > 0, distances, jnp.inf)
        nearest = jnp.arange(self.capacity) == jnp.argmin(distances)
        within = nearest & (distances <= self.reach)
        return jnp.where(jnp.any(identical), identical, within)

    def _merge(self, old: Array, new: Array, count: Array) -> Array:
        if self.merge != "mean":
            return new
        return jnp.where(count == 1, new, old + (new - old) / count)  # the first replaces another

    def _rank(self, contents: Contents, distances: Array) -> Array:
        if self.recall == "nearest":
            return distances
        return jnp.where(distances <= self.reach, -contents.written, distances)


MEMORIES: Registry[type[Memory]] = Registry("memory", {"dnd": DND, "consolidating": Consolidating})
