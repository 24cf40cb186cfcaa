"""Seeds are spread over devices, and no seed notices."""

import subprocess
import sys
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from reinstate.devices import describe, elsewhere, over_seeds


def walk(key: jax.Array, seed: jax.Array) -> dict[str, Any]:
    """Something that carries keys, as training does, and says which device it is on."""
    step = jax.random.normal(jax.random.fold_in(key, seed), (3,))
    return {
        "key": jax.random.split(key)[0],
        "step": step @ jnp.ones((3, 2)),
        "device": jax.lax.axis_index("seeds"),
    }


@cache
def one_seed() -> Any:
    return over_seeds(walk, 1, jax.local_devices()[:1])


@pytest.mark.parametrize(
    ("seeds", "devices", "where"),
    [
        (1, 2, [0]),
        (2, 2, [0, 1]),
        (3, 2, [0, 0, 1]),
        (4, 2, [0, 0, 1, 1]),
        (5, 2, [0, 0, 0, 1, 1]),
        (3, 1, [0, 0, 0]),
    ],
)
def test_each_seed_is_as_if_alone(seeds: int, devices: int, where: list[int]) -> None:
    check_each_seed_is_as_if_alone(seeds, devices, where)


def check_each_seed_is_as_if_alone(seeds: int, devices: int, where: list[int]) -> None:
    chosen = jax.local_devices()[:devices]
    keys, numbers = jax.random.split(jax.random.key(7), seeds), jnp.arange(seeds)
    program = over_seeds(walk, seeds, chosen).lower(keys, numbers).compile()
    found = program(keys, numbers)
    assert found["device"].tolist() == where
    assert found["step"].sharding.device_set == set(chosen[: max(where) + 1])
    alone = one_seed()
    for seed in range(seeds):
        expected = alone(keys[seed : seed + 1], numbers[seed : seed + 1])
        np.testing.assert_array_equal(found["step"][seed], expected["step"][0])
        ours, theirs = (jax.random.key_data(k) for k in (found["key"][seed], expected["key"][0]))
        np.testing.assert_array_equal(ours, theirs)
    program(found["key"], numbers)  # what comes out can go in again, as in training


def test_an_even_number_is_spread_without_padding() -> None:
    """The program is vmap and shard_map, nothing else: recorded numbers rest on its bits."""
    keys, numbers = jax.random.split(jax.random.key(7), 4), jnp.arange(4)
    mesh, spec = Mesh(np.array(jax.local_devices()), ("seeds",)), PartitionSpec("seeds")
    spread = jax.shard_map(
        jax.vmap(walk), mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False
    )
    plain = jax.jit(spread, in_shardings=NamedSharding(mesh, spec))
    ours = over_seeds(walk, 4).lower(keys, numbers).as_text()
    assert ours == plain.lower(keys, numbers).as_text()


def test_what_it_means_to_continue_on_other_devices() -> None:
    assert describe() == "cpu × 2"
    began = "this began on {} and goes on with cpu × 2: equal but for rounding"
    for recorded, seeds, found in (
        (None, 3, None),  # by an earlier version
        ("cpu × 2", 3, None),
        ("cpu × 4", 1, None),
        ("cpu × 4", 2, None),  # one seed on each of two, here and there
        ("cpu × 1", 1, None),
        ("cpu × 4", 3, f"{began}; JAX_NUM_CPU_DEVICES=4 computes the same"),
        ("cpu × 1", 2, f"{began}; JAX_NUM_CPU_DEVICES=1 computes the same"),
        ("NVIDIA H100 × 2", 2, began),
        ("cpu × 0", 2, f"{began}"),
        ("abacus", 2, began),
    ):
        assert elsewhere(recorded, seeds) == (found and found.format(recorded))


def test_five_seeds_on_four_devices() -> None:
    """Three devices have two places each: 2 + 2 + 1."""
    lines = (
        "import jax; jax.config.update('jax_num_cpu_devices', 4)",
        "from test_devices import check_each_seed_is_as_if_alone",
        "check_each_seed_is_as_if_alone(5, 4, [0, 0, 1, 1, 2])",
        "check_each_seed_is_as_if_alone(7, 4, [0, 0, 1, 1, 2, 2, 3])",
        "check_each_seed_is_as_if_alone(6, 4, [0, 0, 1, 1, 2, 2])",
    )
    words = [sys.executable, "-c", "\n".join(lines)]
    folder = __file__.rpartition("/")[0]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
