"""Exact search: one order by every way, ties and duplicates included, and no copy of the table."""

from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import Array

from reinstate.memory import DND, Consolidating, Contents, search


def in_order(distances: np.ndarray, written: np.ndarray, k: int) -> np.ndarray:
    """The k nearest that are there, newest first in a tie, then empty slots in their order."""
    empty = written == 0
    return np.lexsort((-written, np.where(empty, 0, distances), empty))[:k]


@cache
def compiled_first(k: int) -> Any:
    return jax.jit(partial(search.first, k=k))


@pytest.mark.parametrize(("capacity", "k"), [(2, 2), (7, 1), (100, 30)])
@settings(max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_the_first_of_ranks_full_of_ties(capacity: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    distances = rng.integers(0, rng.choice([2, capacity + 1]), capacity).astype(np.float32)
    written = rng.permutation(capacity) + 1
    written[rng.random(capacity) < rng.choice([0, 0.5, 0.9])] = 0
    ranks = search.ranked(jnp.asarray(distances), jnp.asarray(written))
    found = compiled_first(k)(ranks, jnp.asarray(written, jnp.int32))
    assert found.tolist() == in_order(distances, written, k).tolist()


def test_norms_and_codes_follow_merged_keys() -> None:
    dnd = Consolidating(capacity=3, reach=100.0, distance="euclidean")
    memory, write = dnd.empty(2, 1), jax.jit(dnd.write)
    for key in ([1.0, 0.0], [3.0, 4.0], [5.0, 2.0]):
        memory = write(memory, jnp.array(key), jnp.ones(1))
    assert memory.keys[0].tolist() == [3.0, 2.0]
    np.testing.assert_allclose(memory.norms[0], np.sqrt(13), rtol=1e-6)
    # By its code the merged key is found again, even where nothing is within reach.
    after = jax.jit(DND(capacity=3).write)(memory, jnp.array([3.0, 2.0]), jnp.zeros(1))
    assert after.values[0].tolist() == [0.0] and int(dnd.filled(after)) == 1


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.float16])
def test_identical_keys_share_a_code_and_others_do_not(dtype: Any) -> None:
    """Barcodes and permutations of a few numbers: what differs, differs in few bits."""
    barcodes = np.array(list(np.ndindex((2,) * 12)), np.float32)
    turned = np.stack([np.roll(np.arange(1, 13, dtype=np.float32), n) for n in range(12)])
    keys = jnp.asarray(np.concatenate([barcodes, -barcodes[1:], turned]), dtype)
    codes = np.asarray(jax.jit(jax.vmap(search.code))(keys))
    assert len({tuple(code) for code in codes.tolist()}) == len(keys) and np.all(codes > 0)
    assert len(np.unique(codes[:, 0])) > 0.99 * len(keys)
    np.testing.assert_array_equal(codes[0], search.code(-keys[0]))  # −0 is 0


def test_a_key_of_the_same_code_is_not_overwritten() -> None:
    keys, codes = jnp.array([[1.0], [2.0], [0.0]]), jnp.zeros((2, 3), jnp.uint32)
    key = jnp.array([2.0])
    codes = codes.at[:, 1].set(search.code(key))
    slot, same = search.find(keys, codes, key)
    assert int(slot) == 1 and same
    assert not search.find(keys.at[1, 0].set(7.0), codes, key)[1]
    assert not search.find(keys, codes, jnp.zeros(1))[1]  # an empty slot's key


def step(dnd: DND, memory: Contents, key: Array) -> tuple[Contents, Array]:
    """What an episode asks of a memory."""
    found, memory = dnd.read(memory, key)
    return dnd.write(memory, key, jnp.tanh(found.value)), found.distances[0]


def written_down(dnd: DND, memory: Contents) -> int:
    """Count what compilers of JAX before 0.10 keep: every difference, before they add it up."""
    older = tuple(int(part) for part in jax.__version__.split(".")[:2]) < (0, 10)
    return int(memory.keys.nbytes) if older and dnd.distance == "euclidean" else 0


@pytest.mark.parametrize(
    "dnd", [DND(3000), DND(3000, k=3, distance="euclidean"), Consolidating(3000, reach=0.1)]
)
@pytest.mark.parametrize("way", ["alone", "in a scan", "in a scan of lanes"])
def test_no_step_copies_the_memory(dnd: DND, way: str) -> None:
    lanes = 2 if way == "in a scan of lanes" else 1
    memory = dnd.empty(64, 32)
    play: Any = partial(step, dnd)
    shape: tuple[int, ...] = (64,)
    if lanes > 1:
        memory = jax.tree.map(lambda x: jnp.stack([x] * lanes), memory)
        play, shape = jax.vmap(play), (lanes, 64)
    if way != "alone":
        play, shape = partial(jax.lax.scan, play), (5, *shape)
    run = jax.jit(play, donate_argnums=0).lower(memory, jax.ShapeDtypeStruct(shape, "f")).compile()
    used: Any = run.memory_analysis()
    table = memory.keys.nbytes + memory.values.nbytes
    assert used.alias_size_in_bytes >= table  # what comes out lies where it came in
    assert used.temp_size_in_bytes < table / 5 + written_down(dnd, memory)
