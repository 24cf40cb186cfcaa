"""Memories with something wrong, to see what an agent owes to a sound one."""

from dataclasses import dataclass, replace
from typing import Self

import jax.numpy as jnp
from jax import Array
from jax.lax import Precision

from reinstate.memory import DND, Contents, Memory, Retrieval

HIGHEST = Precision.HIGHEST  # as in a sound memory


@dataclass(frozen=True)
class Misfiled(Memory):
    """Every query brings back what was stored under another key, half of the memory further on."""

    sound: DND

    def fitted(self, writes: int) -> Self:
        return replace(self, sound=self.sound.fitted(writes))

    def empty(self, key_size: int, value_size: int) -> Contents:
        return self.sound.empty(key_size, value_size)

    def write(self, contents: Contents, key: Array, value: Array) -> Contents:
        return self.sound.write(contents, key, value)

    def filled(self, contents: Contents) -> Array:
        return self.sound.filled(contents)

    def read(self, contents: Contents, query: Array) -> tuple[Retrieval, Contents]:
        found, after = self.sound.read(contents, query)
        filled = jnp.maximum(self.filled(contents), 1)
        slots = (found.slots + filled // 2) % filled  # they fill in order
        values = contents.values[slots]
        value = jnp.matmul(found.weights, values, precision=HIGHEST)
        written = contents.written[slots]
        return found._replace(value=value, values=values, slots=slots, written=written), after
