"""A dictionary of contexts: keys within reach share a slot, and the paper's is what is left."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from reference.dnd import Consolidated
from reinstate.memory import DND, Consolidating, Contents
from test_memory import (
    BINARY,
    GAUSSIAN,
    KEY_SIZE,
    VALUE_SIZE,
    compiled,
    filled,
    operations,
    read,
    stored,
    write,
)


def consolidating(**settings: Any) -> Consolidating:
    """Squared Euclidean distance, so that distances can be read off the keys."""
    return Consolidating(**{"capacity": 4, "distance": "euclidean", "reach": 1.0, **settings})


def full_keys(contents: Contents) -> list[list[float]]:
    """The keys that are there, in the order in which they were last written."""
    written = np.asarray(contents.written)
    order = np.argsort(written)[np.sum(written == 0) :]
    keys: list[list[float]] = np.asarray(contents.keys)[order].tolist()
    return keys


@pytest.mark.parametrize("settings", [{"merge": "none", "reach": 0.5}, {"reach": 0.0}])
@pytest.mark.parametrize("table", [BINARY, GAUSSIAN])
def test_what_merges_nothing_is_the_paper_s_dictionary_bit_for_bit(
    settings: dict[str, Any], table: np.ndarray
) -> None:
    def lived_through(dnd: DND) -> list[Any]:
        """What was found and what was there, through 30 writes and reads at random."""
        rng, seen, memory = np.random.default_rng(1), [], dnd.empty(KEY_SIZE, VALUE_SIZE)
        for _ in range(30):
            key, value = table[rng.integers(16)], rng.normal(size=VALUE_SIZE).astype(np.float32)
            found, memory = compiled(dnd)[1](memory, key)
            if rng.random() < 0.7:
                memory = compiled(dnd)[0](memory, key, value)
            seen.append((found, memory))
        return seen

    histories = lived_through(DND(5, k=2)), lived_through(Consolidating(5, k=2, **settings))
    jax.tree.map(np.testing.assert_array_equal, *histories)


@pytest.mark.parametrize(
    ("merge", "recall", "distance", "reach"),
    [
        ("none", "newest", "cosine", 0.6),
        ("replace", "nearest", "euclidean", 3.0),
        ("mean", "nearest", "cosine", 0.3),
        ("mean", "newest", "euclidean", 3.0),
    ],
)
@given(operations=operations)
def test_any_sequence_of_writes_and_reads_is_that_of_the_twin(
    merge: Any, recall: Any, distance: Any, reach: float, operations: list[tuple[str, int, int]]
) -> None:
    dnd = Consolidating(4, 2, distance, 0.01, merge, reach, recall)
    twin = Consolidated(
        4, 2, distance, dnd.delta, VALUE_SIZE, merge=merge, reach=reach, recall=recall
    )
    memory = dnd.empty(KEY_SIZE, VALUE_SIZE)
    for name, row, number in operations:
        key = GAUSSIAN[row]
        if name == "write":
            value = np.array([number, row], float)
            memory = compiled(dnd)[0](memory, key, value.astype(np.float32))
            twin.write(key.astype(float), value)
        else:
            found, memory = compiled(dnd)[1](memory, key)
            value, neighbours, weights, distances = twin.read(key.astype(float))
            missing = 2 - len(neighbours)
            np.testing.assert_allclose(found.distances, distances + missing * [np.inf], atol=1e-5)
            np.testing.assert_allclose(found.weights, weights + missing * [0], atol=1e-3)
            np.testing.assert_allclose(found.value, value, atol=2e-2)
        newest = sorted(twin.entries, key=lambda e: e.written)
        assert int(dnd.filled(memory)) == len(newest)
        np.testing.assert_allclose(full_keys(memory), [e.key for e in newest], atol=1e-5)


def test_a_key_within_reach_takes_the_slot_and_its_place() -> None:
    dnd = consolidating(merge="replace")
    memory = filled(dnd, ([0, 0], [1.0]), ([9, 0], [2.0]), ([0.6, 0], [3.0]))
    assert stored(memory) == {(np.float32(0.6), 0): [3.0], (9, 0): [2.0]}
    # It is where it is now: 1.4 is within reach of .6, and was not of 0.
    memory = write(dnd, memory, [1.4, 0], [4.0])
    assert full_keys(memory) == [[9, 0], [np.float32(1.4), 0]]
    assert int(memory.writes) == 4 and memory.merged.tolist() == [3, 1, 0, 0]


def test_reach_includes_its_end() -> None:
    memory = filled(consolidating(), ([0, 0], [1.0]), ([1, 0], [2.0]))
    assert full_keys(memory) == [[0.5, 0]]


def test_an_identical_key_comes_before_one_that_is_as_near() -> None:
    """All keys of one direction have cosine distance 0, and the first slot would be taken."""
    far = Consolidating(4, reach=0.1, merge="none")
    memory = filled(far, ([1, 0], [1.0]), ([2, 0], [2.0]))
    for merge in ("replace", "mean"):
        dnd = Consolidating(4, reach=0.1, merge=merge)
        after = write(dnd, memory, [2, 0], [3.0])
        assert stored(after) == {(1, 0): [1.0], (2, 0): [3.0]}


def test_what_a_read_tells_of_each_neighbour() -> None:
    dnd = consolidating(k=3, delta=0.5)
    memory = filled(dnd, ([3, 0], [1.0]), ([0, 1], [2.0]), ([0, 1], [5.0]))
    found, _ = read(dnd, memory, [0, 0])
    np.testing.assert_allclose(found.kernel, [1 / 1.5, 1 / 9.5, 0.0], rtol=1e-6)
    np.testing.assert_allclose(found.weights, found.kernel / found.kernel.sum(), rtol=1e-6)
    assert found.values[:2].tolist() == [[5.0], [1.0]]
    assert found.written.tolist() == [3, 1, 0] and int(found.writes) == 3


def test_gradients_of_merged_keys_are_shares_of_the_mean() -> None:
    dnd = consolidating(reach=100.0)

    def key_of_three(keys: jax.Array) -> jax.Array:
        memory = dnd.empty(2, 1)
        for key in keys:
            memory = dnd.write(memory, key, jnp.ones(1))
        return memory.keys[0, 0]

    gradient = jax.jit(jax.grad(key_of_three))(jnp.arange(6.0).reshape(3, 2))
    np.testing.assert_allclose(gradient, [[1 / 3, 0]] * 3, rtol=1e-6)
