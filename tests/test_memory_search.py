"""Exact search: one order by every way, ties and duplicates included, and no copy of the table."""

from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jax import Array

from reinstate.errors import UserError
from reinstate.memory import DND, Consolidating, Contents, search
from reinstate.memory.search import Table

DISTANCES = ["cosine", "euclidean"]


def true_distances(keys: np.ndarray, queries: np.ndarray, distance: str) -> np.ndarray:
    """In float64, by the definition, (queries, keys)."""
    keys, queries = keys.astype(float), queries.astype(float)
    if distance == "euclidean":
        return np.asarray(((queries[:, None] - keys[None]) ** 2).sum(-1))
    lengths = [np.sqrt(np.maximum((x**2).sum(-1), search.TINY)) for x in (queries, keys)]
    return np.asarray(np.maximum(1 - queries @ keys.T / np.outer(*lengths), 0))


def in_order(distances: np.ndarray, written: np.ndarray, k: int) -> np.ndarray:
    """The k nearest that are there, newest first in a tie, then empty slots in their order."""
    empty = written == 0
    return np.lexsort((-written, np.where(empty, 0, distances), empty))[:k]


def table_of(keys: np.ndarray, written: np.ndarray) -> Table:
    keys = keys.astype(np.float32)
    return Table(jnp.asarray(keys), search.norm(jnp.asarray(keys)), jnp.asarray(written, jnp.int32))


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


def random_table(rng: np.random.Generator, capacity: int) -> tuple[np.ndarray, np.ndarray]:
    """Small integers, so that what is tied is tied to the bit; some keys twice, some missing."""
    keys = rng.integers(-1, 2, (capacity, 6)).astype(np.float32)
    written = rng.permutation(capacity) + 1
    written[rng.random(capacity) < rng.choice([0, 0.3, 0.999])] = 0
    return keys, written


@cache
def compiled_nearest(k: int, distance: Any, precision: Any, block: int | None) -> Any:
    return jax.jit(lambda t, q: search.nearest(t, q, k, distance, precision, block))


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize(
    ("capacity", "k", "precision", "block"),
    [(5, 3, "float32", None), (700, 1, "float32", 64), (700, 10, "bfloat16", 100)],
)
@settings(max_examples=8)
@given(seed=st.integers(0, 10_000))
@example(seed=0)
def test_many_queries_find_what_brute_force_finds_in_the_same_order(
    distance: Any, capacity: int, k: int, precision: Any, block: int | None, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    keys, written = random_table(rng, capacity)
    queries = np.concatenate([keys[:3], rng.integers(-2, 3, (4, 6))]).astype(np.float32)
    run = compiled_nearest(k, distance, precision, block)
    found = np.asarray(run(table_of(keys, written), jnp.asarray(queries)))
    # Cosines of integers are the same fraction whenever they are equal, if they are rounded alike.
    for apart, slots in zip(true_distances(keys, queries, distance).round(5), found, strict=True):
        expected, there = in_order(apart, written, k), min(k, int((written > 0).sum()))
        assert slots[:there].tolist() == expected[:there].tolist()
        assert np.all(written[slots[there:]] == 0)


@pytest.mark.parametrize(
    ("precision", "distance"),
    [("tensorfloat32", "cosine"), ("bfloat16", "cosine"), ("bfloat16", "euclidean")],
)
def test_recall_is_whole_in_short_precision(precision: Any, distance: Any) -> None:
    """Neighbours that bfloat16 cannot tell apart, among others that it can."""
    rng = np.random.default_rng(0)
    keys = rng.normal(size=(3000, 16))
    keys[100:400] = keys[0] + 1e-3 * rng.normal(size=(300, 16))
    queries = np.concatenate([keys[:2], rng.normal(size=(6, 16))]).astype(np.float32)
    table = table_of(keys, rng.permutation(3000) + 1)
    found = np.asarray(compiled_nearest(5, distance, precision, 500)(table, queries))
    apart = true_distances(np.asarray(table.keys), queries, distance)
    for row, slots in zip(apart, found, strict=True):
        np.testing.assert_allclose(row[slots], np.sort(row)[:5], rtol=1e-4, atol=2e-7)


def test_what_is_in_doubt_is_searched_again() -> None:
    """All keys are as near: no group can be left out, and the newest are in the last one asked."""
    keys = np.tile(np.array([[1.0, 2.0]], np.float32), (500, 1))
    table = table_of(keys, np.arange(500, 0, -1))
    found = compiled_nearest(3, "cosine", "bfloat16", 64)(table, jnp.ones((2, 2)))
    assert found.tolist() == [[0, 1, 2]] * 2
    turned = table._replace(written=table.written[::-1])
    found = compiled_nearest(3, "cosine", "bfloat16", 64)(turned, jnp.ones((2, 2)))
    assert found.tolist() == [[499, 498, 497]] * 2


def entries(rows: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, 4)).astype(np.float32), rng.normal(size=(rows, 2)).astype("f")


def test_what_is_held_is_what_writes_leave() -> None:
    dnd, (keys, values) = DND(capacity=7), entries(5)
    memory, write = dnd.empty(4, 2), jax.jit(dnd.write)
    for key, value in zip(keys, values, strict=True):
        memory = write(memory, key, value)
    for name, found in dnd.holding(keys, values)._asdict().items():
        np.testing.assert_allclose(found, getattr(memory, name), rtol=1e-6, err_msg=name)
    with pytest.raises(UserError, match="raise capacity"):
        DND(capacity=4).holding(keys, values)
    with pytest.raises(ValueError, match="one for each key"):
        dnd.holding(keys, values[:4])


@pytest.mark.parametrize("recall", ["nearest", "newest"])
def test_many_reads_at_once_are_reads_one_by_one(recall: Any) -> None:
    dnd = Consolidating(capacity=40, k=3, merge="none", reach=0.3, recall=recall)
    memory, queries = dnd.holding(*entries(30)), entries(6, seed=1)[0]
    found, after = jax.jit(dnd.read_many)(memory, queries)
    one_by_one = jax.jit(jax.vmap(lambda q: dnd.read(memory, q)[0]))(queries)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), found, one_by_one)
    used = np.asarray(memory.used).copy()
    used[np.asarray(found.slots).ravel()] = 31  # all at the same moment
    assert after.used.tolist() == used.tolist() and int(after.clock) == 31


def test_many_reads_pass_gradients_to_what_they_found() -> None:
    dnd, (keys, values), queries = DND(capacity=9, k=3, delta=0.1), entries(9), entries(2, 1)[0]

    def total(many: bool, keys: Array, values: Array, queries: Array) -> Array:
        memory = dnd.holding(keys, values)
        one = jax.vmap(lambda q: dnd.read(memory, q)[0].value)
        return jnp.sum((dnd.read_many(memory, queries)[0].value if many else one(queries)) ** 2)

    ways = [jax.jit(jax.grad(partial(total, many), (0, 1, 2))) for many in (True, False)]
    together, apart = (way(keys, values, queries) for way in ways)
    for one, other in zip(together, apart, strict=True):
        assert np.abs(np.asarray(other)).max() > 1e-2
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_queries_of_another_size_are_refused() -> None:
    dnd = DND(capacity=3)
    with pytest.raises(ValueError, match=r"queries has shape \(2, 5\), expected \(2, 4\)"):
        dnd.read_many(dnd.empty(4, 2), jnp.zeros((2, 5)))


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
