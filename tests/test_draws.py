"""Drawing a few more numbers than needed changes none of those that are."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from reinstate import draws

KEY = jax.random.key(3)


def test_longer_draws_begin_with_the_shorter() -> None:
    np.testing.assert_array_equal(
        jax.random.key_data(draws.split(KEY, 5)), jax.random.key_data(jax.random.split(KEY, 5))
    )
    np.testing.assert_array_equal(
        draws.gumbel(KEY, 3, 5), jax.random.gumbel(KEY, (15,)).reshape(3, 5)
    )
    low = jnp.arange(5)
    np.testing.assert_array_equal(
        draws.integers(KEY, 5, low, 40), jax.random.randint(KEY, (5,), low, 40)
    )


def test_the_hash_is_threefry() -> None:
    """Known answers of Threefry-2x32 with 20 rounds, from the authors' Random123."""
    for word, counts, wanted in (
        (0, (0, 0), (0x6B200159, 0x99BA4EFE)),
        (0xFFFFFFFF, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
    ):
        key = jnp.array([word, word], jnp.uint32)
        found = draws.threefry(key, *(jnp.array(count, jnp.uint32) for count in counts))
        assert tuple(map(int, found)) == wanted


def test_a_lane_draws_what_it_would_alone() -> None:
    keys = jax.random.split(KEY, 20)
    drawn = jax.jit(jax.vmap(lambda key: draws.gumbel(key, 10, 10)))(keys)
    wanted = jax.jit(jax.vmap(lambda key: jax.random.gumbel(key, (100,))))(keys)
    np.testing.assert_array_equal(drawn.reshape(20, 100), wanted)


def test_integers_keep_their_bounds() -> None:
    keys = jax.random.split(KEY, 500)
    drawn = np.asarray(jax.vmap(lambda key: draws.integers(key, 3, jnp.array([0, 2, 3]), 4))(keys))
    for column, low in enumerate((0, 2, 3)):
        assert set(drawn[:, column]) == set(range(low, 4))


def test_every_order_is_as_likely() -> None:
    num = 6000
    keys = jax.random.split(KEY, num)
    orders = np.asarray(jax.vmap(lambda key: draws.shuffle(key, jnp.arange(3)))(keys))
    _, counts = np.unique(orders @ [9, 3, 1], return_counts=True)
    assert len(counts) == 6
    error = np.sqrt(num * (1 / 6) * (5 / 6))
    assert np.abs(counts - num / 6).max() < 4 * error


@pytest.mark.parametrize("setting", [jax.threefry_partitionable(False), jax.enable_x64(True)])
def test_numbers_do_not_depend_on_the_configuration_of_jax(setting: Any) -> None:
    def draw_each_kind(key: Array) -> list[Array]:
        return [
            jax.random.key_data(draws.split(key, 5)),
            draws.gumbel(key, 2, 3),
            draws.integers(key, 5, 2, 40),
            draws.shuffle(key, jnp.arange(7, dtype=jnp.int32)),
            draws.uniform(key, 5),
        ]

    wanted = draw_each_kind(KEY)
    with setting:
        found = [*draw_each_kind(KEY), *jax.jit(draw_each_kind)(KEY)]
    for one, other in zip(found, [*wanted, *wanted], strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
