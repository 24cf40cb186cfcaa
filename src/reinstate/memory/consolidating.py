"""A memory beyond the paper: one that takes keys which lie close together for one context."""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array

from reinstate.errors import LARGEST_NUMBER, UserError
from reinstate.memory import search
from reinstate.memory.dnd import DND, Contents


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
