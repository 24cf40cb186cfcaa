"""Random draws of a few numbers, in sizes that compile fast and by a program that runs fast.

The numbers are those of `jax.random` with its default generator, partitionable threefry, in which
the n-th number is a hash of the key and of n alone. On a CPU JAX compiles that hash as a loop whose
shifts are variables; written out, as here, training takes 7% less time.

XLA unrolls a short draw completely: ten numbers took 2 s to compile on a CPU, sixteen 0.4 s. So
each draw is made longer and cut, which changes no number, for the n-th does not depend on how many
are drawn. Numbers are of 32 bits, also under jax_enable_x64.
"""

import jax
import jax.numpy as jnp
from jax import Array

ROTATIONS = (13, 15, 26, 6), (17, 29, 16, 24)  # Threefry-2x32, Salmon et al. 2011, table 2
PARITY = 0x1BD11BDA
ROUNDS = 20


def _longer(num: int) -> int:
    return -(-num // 16) * 16


def threefry(key: Array, x0: Array, x1: Array) -> tuple[Array, Array]:
    """Hash counters of two words with a key of two words: Threefry-2x32, 20 rounds."""
    words = key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(PARITY)
    x0, x1 = x0 + words[0], x1 + words[1]
    for number in range(ROUNDS // 4):
        for by in ROTATIONS[number % 2]:
            x0 = x0 + x1
            x1 = x0 ^ (x1 << jnp.uint32(by) | x1 >> jnp.uint32(32 - by))
        x0 = x0 + words[(number + 1) % 3]
        x1 = x1 + (words[(number + 2) % 3] + jnp.uint32(number + 1))
    return x0, x1


def _hashed(key: Array, num: int) -> tuple[Array, Array]:
    """Hash 0, 1, 2, … with a key."""
    count = jnp.arange(_longer(num), dtype=jnp.uint32)
    return threefry(jax.random.key_data(key), jnp.zeros_like(count), count)


@jax.threefry_partitionable(True)
def split(key: Array, num: int) -> Array:
    """Split off `num` keys."""
    words = jnp.stack(_hashed(key, num), axis=-1)[:num]
    return jax.random.wrap_key_data(words, impl="threefry2x32")


@jax.threefry_partitionable(True)
def gumbel(key: Array, rows: int, columns: int) -> Array:
    """Draw (rows, columns) numbers from the standard Gumbel distribution."""
    size = rows * columns
    chance = jnp.maximum(_fraction(*_hashed(key, size)), jnp.finfo(jnp.float32).tiny)
    drawn = -jnp.log(-jnp.log(chance))
    return drawn[:size].reshape(rows, columns)


def _fraction(x0: Array, x1: Array) -> Array:
    """Make numbers 0 ≤ x < 1 of random words: 23 bits behind the exponent of 1, less 1."""
    bits = (x0 ^ x1) >> jnp.uint32(9) | jnp.uint32(0x3F800000)
    return jax.lax.bitcast_convert_type(bits, jnp.float32) - 1


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
