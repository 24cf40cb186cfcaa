"""The contract of an episodic memory: what training and evaluation ask of one."""

from typing import Any, Protocol, Self

import jax.numpy as jnp
from jax import Array


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
