"""Contexts that come back exactly: barcodes, and the worlds whose tasks they identify."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from reinstate import draws
from reinstate.errors import UserError
from reinstate.tasks.base import UNIT, Bounds, RecurringWorld

MAX_BARCODE_LENGTH = 30  # barcodes are drawn as int32 numbers


def check_barcodes(num: int, length: int) -> None:
    """Refuse a length that does not give `num` distinct barcodes."""
    if not 1 <= length <= MAX_BARCODE_LENGTH:
        raise UserError(f"barcode_length must be 1 to {MAX_BARCODE_LENGTH}, not {length}")
    if num > 2**length - 1:
        longer = num.bit_length()
        possible = longer <= MAX_BARCODE_LENGTH
        fix = f"raise barcode_length to {longer} or more" if possible else "lower that number"
        raise UserError(
            f"barcodes of length {length} give {2**length - 1} contexts and up to {num} are needed:"
            f" {fix}"
        )


def barcodes(key: Array, num: int, length: int) -> Array:
    """Draw `num` distinct binary strings, uniformly without replacement, (num, length).

    The all-zero string is left out: it has no direction, so cosine distance cannot find it.
    """
    numbers = 1 + distinct_integers(key, num, 2**length - 1)
    bits = (numbers[:, None] >> jnp.arange(length, dtype=jnp.int32)[None, :]) & 1
    return bits.astype(jnp.float32)


def distinct_integers(key: Array, num: int, limit: int) -> Array:
    """Draw `num` of range(limit), uniformly without replacement, by the Fisher-Yates shuffle.

    Step i swaps places i and j ≥ i of an array that starts as 0, 1, 2, … Only the places that a
    swap has touched are kept, so that the cost is num², whatever the limit.
    """

    def swap(moved: tuple[Array, Array], step: tuple[Array, Array]) -> tuple[Any, Array]:
        places, contents = moved
        i, j = step

        def look_up(place: Array) -> Array:
            touched = places == place
            last = num - 1 - jnp.argmax(touched[::-1])
            return jnp.where(jnp.any(touched), contents[last], place)

        drawn = look_up(j)
        return (places.at[i].set(j), contents.at[i].set(look_up(i))), drawn

    i = jnp.arange(num, dtype=jnp.int32)
    j = draws.integers(key, num, i, limit)
    untouched = jnp.full(num, -1, jnp.int32)
    _, drawn = jax.lax.scan(swap, (untouched, untouched), (i, j))
    return drawn


@dataclass(frozen=True)
class BarcodeWorld(RecurringWorld):
    """A world whose contexts are barcodes."""

    barcode_length: int = 10
    """Bits per context."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_barcodes(self.sequence.max_tasks, self.barcode_length)

    @property
    def context_size(self) -> int:
        return self.barcode_length

    def bounds(self) -> Bounds:
        return Bounds(context=UNIT)

    def contexts_of(self, key: Array, index: Array, exposure: Array) -> Array:
        return barcodes(key, self.sequence.max_tasks, self.barcode_length)[index]
