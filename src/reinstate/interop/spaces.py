"""Spaces with the names and fields of gymnax's; gymnax is not needed."""

import sys
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

MOST = float(np.finfo(np.float32).max)  # a finite bound for what a world does not bound


class Discrete(NamedTuple):
    """Whole numbers from 0 to n − 1."""

    n: int
    shape: tuple[int, ...] = ()
    dtype: Any = jnp.int32

    def sample(self, key: Array) -> Array:
        return jax.random.randint(key, (), 0, self.n, jnp.int32)

    def contains(self, x: Array) -> Array:
        return (jnp.asarray(x) >= 0) & (jnp.asarray(x) < self.n)


class Box(NamedTuple):
    """Arrays with bounds for each element."""

    low: np.ndarray
    high: np.ndarray
    shape: tuple[int, ...]
    dtype: Any = jnp.float32

    def sample(self, key: Array) -> Array:
        """Draw each element uniformly, or from a normal distribution where it has no bounds."""
        bounded = (self.low > -MOST) & (self.high < MOST)
        low, high = np.where(bounded, self.low, 0), np.where(bounded, self.high, 1)
        uniform = jax.random.uniform(key, self.shape, jnp.float32, low, high)
        normal = jax.random.normal(key, self.shape, jnp.float32)
        return jnp.where(bounded, uniform, normal).astype(self.dtype)

    def contains(self, x: Array) -> Array:
        return jnp.all((x >= self.low) & (x <= self.high))


def known() -> Any:
    """Return the module of spaces that callers know: gymnax's once it is imported, or this one.

    Wrappers of gymnax accept only spaces of gymnax's own classes.
    """
    return sys.modules.get("gymnax.environments.spaces", sys.modules[__name__])
