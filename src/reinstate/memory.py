"""The DND, a differentiable neural dictionary: contexts as keys, cell states as values.

After Pritzel et al. 2017 as the paper uses it: nearest neighbours by cosine distance, combined by
the normalised inverse kernel. `DND` holds the settings, `Memory` one lane's contents; every method
is pure, so lanes are `jax.vmap`. Nothing of the rest of the package is needed to use it.
"""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Self

import jax
import jax.numpy as jnp
from jax import Array

from reinstate.errors import UserError, require_positive

TINY = 1e-12  # keeps the direction of a zero vector, and its gradient, finite


class Memory(NamedTuple):
    keys: Array  # (capacity, key_size)
    values: Array  # (capacity, value_size)
    written: Array  # (capacity,) the number of the write that filled the slot; 0: it is empty
    used: Array  # (capacity,) when it was last written or read
    writes: Array  # () so far
    clock: Array  # () writes and reads so far


class Retrieval(NamedTuple):
    value: Array  # (value_size,) weighted mean of the neighbours' values; zeros if there is none
    slots: Array  # (k,) where the neighbours are, nearest first
    weights: Array  # (k,) sum to 1; a missing neighbour has 0
    distances: Array  # (k,) infinite where a neighbour is missing
    written: Array  # (k,) the number of the write that stored it, from 1; 0 where it is missing


@dataclass(frozen=True)
class DND:
    """The dictionary's settings.

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
        if self.k > self.capacity:
            raise UserError(
                f"k = {self.k} neighbours need as many slots, and capacity is {self.capacity}:"
                " raise capacity or lower k"
            )
        if self.distance not in ("cosine", "euclidean"):
            raise UserError(f"unknown distance {self.distance!r}: choose cosine or euclidean")

    def fitted(self, writes: int) -> Self:
        """With no more slots than so many writes can fill: empty ones are searched in vain."""
        return replace(self, capacity=min(self.capacity, max(self.k, writes)))

    def empty(self, key_size: int, value_size: int) -> Memory:
        never = jnp.zeros(self.capacity, jnp.int32)
        return Memory(
            keys=jnp.zeros((self.capacity, key_size)),
            values=jnp.zeros((self.capacity, value_size)),
            written=never,
            used=never,
            writes=jnp.zeros((), jnp.int32),
            clock=jnp.zeros((), jnp.int32),
        )

    def write(self, memory: Memory, key: Array, value: Array) -> Memory:
        """Store a value: over the same key if it is there, else in the least recently used slot."""
        same = jnp.all(memory.keys == key[None, :], axis=1) & (memory.written > 0)
        # Empty slots were never used, so they come first; a match comes before everything.
        slot = jnp.argmin(jnp.where(same, -1, memory.used))
        now, writes = memory.clock + 1, memory.writes + 1
        return Memory(
            keys=memory.keys.at[slot].set(key),
            values=memory.values.at[slot].set(value),
            written=memory.written.at[slot].set(writes),
            used=memory.used.at[slot].set(now),
            writes=writes,
            clock=now,
        )

    def read(self, memory: Memory, query: Array) -> tuple[Retrieval, Memory]:
        """The k nearest neighbours, and the memory that remembers having been asked.

        weights_i = κ_i / Σ_j κ_j,  κ_i = 1 / (d(query, key_i) + δ)
        """
        slots = self._nearest(memory, jax.lax.stop_gradient(query))
        found = memory.written[slots] > 0  # (k,)
        # Distances again, of the chosen few alone: gradients need no pass over the whole memory.
        distances = self._distances(memory.keys[slots], query)
        kernel = jnp.where(found, 1 / (distances + self.delta), 0.0)
        weights = kernel / jnp.where(jnp.any(found), jnp.sum(kernel), 1.0)
        # Full precision, here and below: an accelerator's short products would blur what is
        # recalled and confuse near neighbours.
        value = jnp.matmul(weights, memory.values[slots], precision=jax.lax.Precision.HIGHEST)
        now = memory.clock + 1
        # A slot that is still empty stays unused, or it would no longer be the first to be filled.
        used = memory.used.at[slots].set(jnp.where(found, now, memory.used[slots]))
        distances = jnp.where(found, distances, jnp.inf)
        retrieval = Retrieval(value, slots, weights, distances, memory.written[slots])
        return retrieval, memory._replace(used=used, clock=now)

    def _nearest(self, memory: Memory, query: Array) -> Array:
        """Slots of the k nearest keys; ties go to the newest."""

        def pick(distances: Array, _: None) -> tuple[Array, Array]:
            tied = distances == jnp.min(distances)
            slot = jnp.argmax(jnp.where(tied, memory.written, -1))
            return distances.at[slot].set(jnp.inf), slot

        distances = self._distances(jax.lax.stop_gradient(memory.keys), query)
        distances = jnp.where(memory.written > 0, distances, jnp.finfo(distances.dtype).max)
        _, slots = jax.lax.scan(pick, distances, None, length=self.k)
        return slots

    def _distances(self, keys: Array, query: Array) -> Array:
        if self.distance == "euclidean":
            return jnp.sum((keys - query[None, :]) ** 2, axis=1)
        dots = jnp.matmul(keys, query, precision=jax.lax.Precision.HIGHEST)
        return jnp.maximum(1 - dots / (_norm(keys) * _norm(query)), 0.0)


def _norm(x: Array) -> Array:
    return jnp.sqrt(jnp.maximum(jnp.sum(x**2, axis=-1), TINY))
