"""Random draws of a few numbers, in sizes that compile fast.

XLA unrolls a short draw completely: ten numbers took 2 s to compile on a CPU, sixteen 0.4 s. So
each draw is made a little longer and cut. Nothing else changes: JAX's n-th number does not depend
on how many are drawn.
"""

import jax
import jax.numpy as jnp
from jax import Array


def _longer(num: int) -> int:
    return -(-num // 16) * 16


def split(key: Array, num: int) -> Array:
    return jax.random.split(key, _longer(num))[:num]


def gumbel(key: Array, rows: int, columns: int) -> Array:
    size = rows * columns
    return jax.random.gumbel(key, (_longer(size),))[:size].reshape(rows, columns)


def integers(key: Array, num: int, low: Array | int, high: int) -> Array:
    """`num` integers, the i-th uniform over low[i] ≤ n < high."""
    low = jnp.broadcast_to(jnp.asarray(low), (num,))
    low = jnp.pad(low, (0, _longer(num) - num), mode="edge")
    return jax.random.randint(key, low.shape, low, high)[:num]


def shuffle(key: Array, values: Array) -> Array:
    """The values in random order, by sorting a random number for each."""
    num = values.shape[0]
    return values[jnp.argsort(jax.random.bits(key, (_longer(num),))[:num])]


def uniform(key: Array, num: int) -> Array:
    """`num` numbers, each uniform over 0 ≤ x < 1."""
    return jax.random.uniform(key, (_longer(num),))[:num]
