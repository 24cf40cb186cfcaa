import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax import Array

from reference.dnd import Dictionary, blend, distance_between
from reinstate.memory import DND, Contents, Retrieval

DISTANCES = ["cosine", "euclidean"]
KEY_SIZE, VALUE_SIZE = 4, 2
BF16 = jnp.dtype(jnp.bfloat16)

# All binary strings, the empty direction among them. Their dot products and squared distances are
# small integers, so whatever is tied in mathematics is tied to the bit.
BINARY = np.array(list(np.ndindex((2,) * KEY_SIZE)), np.float32)
GAUSSIAN = np.random.default_rng(0).normal(size=(16, KEY_SIZE)).astype(np.float32)


@cache
def compiled(dnd: DND) -> tuple:
    return jax.jit(dnd.write), jax.jit(dnd.read)


def filled(dnd: DND, *entries: tuple[list[float], list[float]]) -> Contents:
    memory = dnd.empty(len(entries[0][0]), len(entries[0][1]))
    for key, value in entries:
        memory = write(dnd, memory, key, value)
    return memory


def write(dnd: DND, memory: Contents, key: list[float], value: list[float]) -> Contents:
    after: Contents = compiled(dnd)[0](
        memory, np.array(key, np.float32), np.array(value, np.float32)
    )
    return after


def read(dnd: DND, memory: Contents, query: list[float]) -> tuple[Retrieval, Contents]:
    out: tuple[Retrieval, Contents] = compiled(dnd)[1](memory, np.array(query, np.float32))
    return out


def stored(memory: Contents) -> dict[tuple[float, ...], list[float]]:
    full = np.asarray(memory.written) > 0
    keys, values = np.asarray(memory.keys)[full], np.asarray(memory.values)[full]
    return {tuple(k.tolist()): v.tolist() for k, v in zip(keys, values, strict=True)}


def test_inverse_kernel_of_squared_euclidean_distance_by_hand() -> None:
    dnd = DND(capacity=5, k=2, distance="euclidean", delta=1.0)
    memory = filled(dnd, ([1, 0], [10.0]), ([0, 5], [99.0]), ([0, 3], [30.0]))
    retrieval, _ = read(dnd, memory, [0, 0])
    # Distances 1 and 9 (25 is too far); kernel 1/2 and 1/10; weights 5/6 and 1/6.
    assert retrieval.distances.tolist() == [1.0, 9.0]
    np.testing.assert_allclose(retrieval.weights, [5 / 6, 1 / 6], rtol=1e-6)
    np.testing.assert_allclose(retrieval.value, [40 / 3], rtol=1e-6)


def test_inverse_kernel_of_cosine_distance_by_hand() -> None:
    dnd = DND(capacity=5, k=2, distance="cosine", delta=0.1)
    memory = filled(dnd, ([-1, 0], [99.0]), ([0, 7], [16.0]), ([3, 4], [32.0]))
    retrieval, _ = read(dnd, memory, [2, 0])
    # Distances 1 − 3/5 and 1 (2 is too far); kernel 2 and 10/11; weights 22/32 and 10/32.
    np.testing.assert_allclose(retrieval.distances, [0.4, 1.0], rtol=1e-6)
    np.testing.assert_allclose(retrieval.weights, [0.6875, 0.3125], rtol=1e-6)
    np.testing.assert_allclose(retrieval.value, [27.0], rtol=1e-6)


operations = st.lists(
    st.tuples(st.sampled_from(["write", "write", "read"]), st.integers(0, 15), st.integers(-9, 9)),
    min_size=1,
    max_size=20,
)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize(("capacity", "k"), [(3, 1), (3, 3), (6, 2)])
@given(operations=operations, table=st.sampled_from([BINARY, GAUSSIAN]))
def test_any_sequence_of_writes_and_reads_is_that_of_the_twin(
    distance: str, capacity: int, k: int, operations: list[tuple[str, int, int]], table: np.ndarray
) -> None:
    dnd = DND(capacity, k, distance, delta=0.01)  # type: ignore[arg-type]
    write, read = compiled(dnd)
    memory = dnd.empty(KEY_SIZE, VALUE_SIZE)
    twin = Dictionary(capacity, k, distance, dnd.delta, VALUE_SIZE)
    for name, row, number in operations:
        key = table[row]
        if name == "write":
            value = np.array([number, row], float)
            memory = write(memory, key, value.astype(np.float32))
            twin.write(key.astype(float), value)
        else:
            retrieval, memory = read(memory, key)
            value, neighbours, weights, distances = twin.read(key.astype(float))
            missing = k - len(neighbours)
            for entry, slot in zip(neighbours, retrieval.slots, strict=False):
                np.testing.assert_array_equal(memory.keys[slot], entry.key)
            np.testing.assert_allclose(
                retrieval.distances, distances + missing * [np.inf], atol=1e-6
            )
            np.testing.assert_allclose(retrieval.weights, weights + missing * [0], atol=1e-4)
            np.testing.assert_allclose(retrieval.value, value, atol=2e-3)
        assert stored(memory) == {tuple(e.key): e.value.tolist() for e in twin.entries}


def test_a_zero_key_is_stored_and_is_no_duplicate_of_an_empty_slot() -> None:
    dnd = DND(capacity=4, distance="euclidean")
    memory = filled(dnd, ([0, 0], [1.0]), ([1, 0], [2.0]), ([0, 0], [3.0]))
    assert stored(memory) == {(0, 0): [3.0], (1, 0): [2.0]}


def test_fewer_entries_than_k_share_all_the_weight() -> None:
    dnd = DND(capacity=3, k=3, distance="euclidean", delta=1.0)
    memory = filled(dnd, ([1, 0], [3.0]), ([0, 1], [5.0]))
    retrieval, memory = read(dnd, memory, [0, 0])
    assert retrieval.weights.tolist() == [0.5, 0.5, 0.0]
    assert retrieval.distances.tolist() == [1.0, 1.0, np.inf]
    assert retrieval.value.tolist() == [4.0]
    # The empty slot that filled up the k is still the first to be written.
    memory = write(dnd, memory, [2, 2], [7.0])
    assert len(stored(memory)) == 3


Arguments = tuple[np.ndarray, np.ndarray, np.ndarray]


def random_memory(seed: int) -> Arguments:
    """Keys, values and a query in general position."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(5, 3)), rng.normal(size=(5, 2)), rng.normal(size=3)


def to_float32(*arrays: np.ndarray) -> list[np.ndarray]:
    return [x.astype(np.float32) for x in arrays]


def recall(dnd: DND, keys: Array, values: Array, query: Array) -> Array:
    """A number made of what a read returns after the keys were written, so gradients pass both."""
    memory = dnd.empty(keys.shape[1], values.shape[1])
    memory, _ = jax.lax.scan(lambda m, kv: (dnd.write(m, *kv), None), memory, (keys, values))
    return dnd.read(memory, query)[0].value @ jnp.array([1.0, -2.0])


@cache
def recall_gradient(dnd: DND) -> Callable[..., tuple[Array, Array, Array]]:
    return jax.jit(jax.grad(partial(recall, dnd), argnums=(0, 1, 2)))


def slope(f: Callable[..., float], arguments: Arguments, which: int) -> np.ndarray:
    """Central differences of f by one of its arguments, one coordinate at a time."""
    out = np.zeros_like(arguments[which])
    for place in np.ndindex(out.shape):
        ends = []
        for step in (-1e-5, 1e-5):
            nudged = [x.copy() for x in arguments]
            nudged[which][place] += step
            ends.append(f(*nudged))
        out[place] = (ends[1] - ends[0]) / 2e-5
    return out


@pytest.mark.parametrize("distance", DISTANCES)
def test_gradients_of_a_blend_are_the_slopes_of_the_twin(distance: str) -> None:
    dnd = DND(capacity=5, k=3, distance=distance, delta=0.1)  # type: ignore[arg-type]

    def slow(keys: np.ndarray, values: np.ndarray, query: np.ndarray) -> float:
        ranked = sorted((distance_between(k, query, distance), i) for i, k in enumerate(keys))[:3]
        value, _ = blend([d for d, _ in ranked], [values[i] for _, i in ranked], dnd.delta)
        return float(value @ [1.0, -2.0])

    for seed in range(3):
        arguments = random_memory(seed)
        gradients = recall_gradient(dnd)(*to_float32(*arguments))
        for argument, gradient in enumerate(gradients):
            slopes = slope(slow, arguments, argument)
            assert np.abs(slopes).max() > 1e-2
            np.testing.assert_allclose(gradient, slopes, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_single_neighbour_passes_gradient_to_its_value_alone(distance: str) -> None:
    dnd = DND(capacity=5, k=1, distance=distance)  # type: ignore[arg-type]
    for seed in range(3):
        keys, values, query = random_memory(seed)
        by_keys, by_values, by_query = recall_gradient(dnd)(*to_float32(keys, values, query))
        nearest = min(range(5), key=lambda i: distance_between(keys[i], query, distance))
        np.testing.assert_allclose(by_values, np.eye(5)[:, [nearest]] * [[1.0, -2.0]])
        # κ/κ is 1, but its derivative is a difference of equal numbers: zero up to rounding.
        np.testing.assert_allclose(by_keys, np.zeros((5, 3)), atol=1e-5)
        np.testing.assert_allclose(by_query, np.zeros(3), atol=1e-5)


@pytest.mark.parametrize("distance", DISTANCES)
def test_gradients_are_finite_where_there_is_no_direction(distance: str) -> None:
    dnd = DND(capacity=5, k=3, distance=distance, delta=0.1)  # type: ignore[arg-type]
    keys, values, _ = to_float32(*random_memory(0))
    keys[1] = 0
    for query in (np.zeros(3, np.float32), keys[0]):
        for gradient in recall_gradient(dnd)(keys, values, query):
            assert np.all(np.isfinite(gradient))


def test_gradients_are_finite_where_the_memory_is_empty() -> None:
    dnd = DND(capacity=3, k=2)
    empty = dnd.empty(2, 2)
    gradient = jax.jit(jax.grad(lambda q: dnd.read(empty, q)[0].value.sum()))(jnp.zeros(2))
    assert gradient.tolist() == [0, 0]


def test_lanes_are_independent_memories() -> None:
    dnd, lanes = DND(capacity=3, k=2), 4
    rng = np.random.default_rng(0)
    keys = rng.normal(size=(lanes, 5, 3)).astype(np.float32)
    values = rng.normal(size=(lanes, 5, 2)).astype(np.float32)
    queries = rng.normal(size=(lanes, 3)).astype(np.float32)

    def fill_and_read(keys: Array, values: Array, query: Array) -> tuple[Retrieval, Contents]:
        memory = dnd.empty(3, 2)
        memory, _ = jax.lax.scan(lambda m, kv: (dnd.write(m, *kv), None), memory, (keys, values))
        return dnd.read(memory, query)

    together = jax.jit(jax.vmap(fill_and_read))(keys, values, queries)
    alone = jax.jit(fill_and_read)
    for lane in range(lanes):
        one = alone(keys[lane], values[lane], queries[lane])
        jax.tree.map(
            lambda batch, x, lane=lane: np.testing.assert_allclose(batch[lane], x, rtol=1e-5),
            together,
            one,
        )


@pytest.mark.parametrize(
    ("method", "shapes", "message"),
    [
        ("read", [(32, KEY_SIZE)], "query has shape (32, 4), expected (4,).*jax.vmap"),
        ("read", [(3,)], "query has shape (3,), expected (4,), a stored key's size: give it"),
        ("write", [(KEY_SIZE,), (VALUE_SIZE + 1,)], "value has shape (3,), expected (2,)"),
        ("write", [(2, KEY_SIZE), (2, VALUE_SIZE)], "key has shape (2, 4).*jax.vmap"),
    ],
)
def test_a_wrong_shape_is_told_in_words(method: str, shapes: list, message: str) -> None:
    dnd = DND(capacity=3)
    pattern = re.escape(message).replace(r"\.\*", ".*")
    with pytest.raises(ValueError, match=pattern):
        getattr(dnd, method)(dnd.empty(KEY_SIZE, VALUE_SIZE), *(np.zeros(s) for s in shapes))


def test_contents_of_many_lanes_are_told_from_one_lanes() -> None:
    dnd = DND(capacity=3)
    lanes = jax.tree.map(lambda x: jnp.stack([x, x]), dnd.empty(KEY_SIZE, VALUE_SIZE))
    with pytest.raises(ValueError, match=r"contents of shape \(2, 3, 4\).*jax\.vmap"):
        dnd.read(lanes, jnp.zeros(KEY_SIZE))


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_memory_of_short_floats_stays_one_and_finds_its_own_keys(distance: Any) -> None:
    dnd = DND(capacity=16, k=2, distance=distance)
    memory = dnd.empty(KEY_SIZE, VALUE_SIZE, jnp.bfloat16)
    for n, key in enumerate(GAUSSIAN):  # float32, rounded when stored and when asked for
        memory = compiled(dnd)[0](memory, key, np.full(VALUE_SIZE, n, np.float32))
    again = compiled(dnd)[0](memory, GAUSSIAN[3], np.full(VALUE_SIZE, 3, np.float32))
    assert int(dnd.filled(again)) == len(GAUSSIAN)  # the same key: overwritten
    retrieval, after = compiled(dnd)[1](memory, GAUSSIAN[3])
    assert {x.dtype for x in (after.keys, after.values, retrieval.value)} == {BF16}
    assert retrieval.distances.dtype == jnp.float32
    assert int(retrieval.slots[0]) == 3
    assert float(retrieval.distances[0]) < 1e-6


def test_an_empty_memory_can_be_donated() -> None:
    dnd = DND(capacity=3)
    write = jax.jit(dnd.write, donate_argnums=0)
    memory = dnd.empty(KEY_SIZE, VALUE_SIZE)
    after = write(memory, GAUSSIAN[0], np.ones(VALUE_SIZE, np.float32))
    assert memory.keys.is_deleted()
    assert int(dnd.filled(after)) == 1
