"""Memories with something wrong, to see what an agent owes to a sound one."""

from dataclasses import dataclass, fields
from typing import Self

import jax.numpy as jnp
from jax import Array
from jax.lax import Precision

from reinstate.memory import DND, Contents, Retrieval

HIGHEST = Precision.HIGHEST  # as in a sound memory


@dataclass(frozen=True)
class Misfiled(DND):
    """Every query brings back what was stored under another key, half of the memory further on."""

    @classmethod
    def like(cls, dnd: DND) -> Self:
        """With the settings of a sound memory."""
        return cls(**{field.name: getattr(dnd, field.name) for field in fields(DND)})

    def read(self, contents: Contents, query: Array) -> tuple[Retrieval, Contents]:
        found, after = super().read(contents, query)
        filled = jnp.maximum(jnp.sum(contents.written > 0), 1)
        slots = (found.slots + filled // 2) % filled  # they fill in order
        value = jnp.matmul(found.weights, contents.values[slots], precision=HIGHEST)
        return found._replace(value=value, slots=slots, written=contents.written[slots]), after
