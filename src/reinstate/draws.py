"""Random draws of a few numbers, in sizes that compile fast.

XLA unrolls a short draw completely: ten numbers took 2 s to compile on a CPU, sixteen 0.4 s. So
each draw is made longer and cut. That changes no number as long as the n-th does not depend on how
many are drawn, which holds for JAX's partitionable threefry only: every draw switches it on.
Numbers are of 32 bits, also under jax_enable_x64.
"""

import jax
import jax.numpy as jnp
from jax import Array


def _longer(num: int) -> int:
    return -(-num // 16) * 16


@jax.threefry_partitionable(True)
def split(key: Array, num: int) -> Array:
    """Split off `num` keys."""
    return jax.random.split(key, _longer(num))[:num]


@jax.threefry_partitionable(True)
def gumbel(key: Array, rows: int, columns: int) -> Array:
    """Draw (rows, columns) numbers from the standard Gumbel distribution."""
    size = rows * columns
    drawn = jax.random.gumbel(key, (_longer(size),), jnp.float32)
    return drawn[:size].reshape(rows, columns)


@jax.threefry_partitionable(True)
def integers(key: Array, num: int, low: Array | int, high: int) -> Array:
    """Draw `num` integers, the i-th uniform over low[i] ≤ n < high."""
    low = jnp.broadcast_to(jnp.asarray(low, jnp.int32), (num,))
    low = jnp.pad(low, (0, _longer(num) - num), mode="edge")
    return jax.random.randint(key, low.shape, low, high, jnp.int32)[:num]


@jax.threefry_partitionable(True)
def shuffle(key: Array, values: Array) -> Array:
    """Put the values in random order, by sorting a random number for each."""
    num = values.shape[0]
    return values[jnp.argsort(jax.random.bits(key, (_longer(num),), jnp.uint32)[:num])]


@jax.threefry_partitionable(True)
def uniform(key: Array, num: int) -> Array:
    """Draw `num` numbers, each uniform over 0 ≤ x < 1."""
    return jax.random.uniform(key, (_longer(num),), jnp.float32)[:num]
