"""The memory against literal numbers, and against a slow twin that sorts and loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reinstate_paper.omniglot.lifelong import EMPTY, LifelongMemory, Slots

KEY = jax.random.key(0)
QUIET = LifelongMemory(slots=6, neighbours=6, age_noise=0.0)

loss = jax.jit(LifelongMemory.loss, static_argnums=0)
update = jax.jit(LifelongMemory.update, static_argnums=0)
query = jax.jit(LifelongMemory.query, static_argnums=0)


def unit(*rows: tuple[float, ...]) -> jax.Array:
    x = jnp.array(rows, jnp.float32)
    return x / jnp.linalg.norm(x, axis=1, keepdims=True)


def filled(labels: list[int], ages: list[int], *keys: tuple[float, ...]) -> Slots:
    """The first slots hold these, the rest of six is empty."""
    spare = 6 - len(labels)
    return Slots(
        keys=jnp.concatenate([unit(*keys), jnp.zeros((spare, len(keys[0])))]),
        labels=jnp.array([*labels, *[EMPTY] * spare]),
        ages=jnp.array([*ages, *[9] * spare]),
    )


def twin_loss(memory: Slots, query: np.ndarray, label: int, settings: LifelongMemory) -> float:
    held = [i for i in range(len(memory.labels)) if memory.labels[i] != EMPTY]
    cosine = {i: float(np.asarray(memory.keys[i], np.float64) @ query) for i in held}
    pool = sorted(held, key=lambda i: -cosine[i])[: settings.neighbours]
    right = [cosine[i] for i in pool if memory.labels[i] == label]
    if not right:
        true = [i for i in held if memory.labels[i] == label]
        right = [cosine[i] for i in sorted(true, key=lambda i: int(memory.ages[i]))[:1]]
    wrong = [cosine[i] for i in pool if memory.labels[i] != label]
    neg, pos = max(wrong, default=0.0), max(right, default=0.0)
    return max(neg - pos + settings.margin, 0) - settings.margin


def twin_update(memory: Slots, queries: np.ndarray, labels: list[int]) -> Slots:
    """Without noise: all right ones first, then the wrong ones, oldest slot first."""
    keys, values, ages = (np.array(x) for x in memory)
    old = keys.astype(np.float64)
    sums: dict[int, np.ndarray] = {}
    is_right: list[bool] = []
    for query, label in zip(queries, labels, strict=True):
        held = [i for i in range(len(values)) if values[i] != EMPTY]
        best = max(held, key=lambda i: old[i] @ query) if held else None
        is_right.append(best is not None and values[best] == label)
        if best is not None and is_right[-1]:
            sums[best] = sums.get(best, old[best]) + query
    ages = ages + 1
    for slot, total in sums.items():
        keys[slot], ages[slot] = total / np.linalg.norm(total), 0
    free = sorted((i for i in range(len(values)) if i not in sums), key=lambda i: -ages[i])
    for n in [n for n, fine in enumerate(is_right) if not fine]:
        slot = free.pop(0)
        keys[slot], values[slot], ages[slot] = queries[n], labels[n], 0
    return Slots(*(jnp.array(x) for x in (keys, values, ages)))


def test_loss_of_literal_numbers() -> None:
    memory = filled([3, 5], [2, 1], (1, 0), (0, 1))
    query = unit((4, 3))  # cosine .8 with label 3, .6 with label 5
    assert loss(QUIET, memory, query, jnp.array([3])).tolist() == pytest.approx([-0.1])  # enough
    assert loss(QUIET, memory, query, jnp.array([5])).tolist() == pytest.approx([0.2])  # .8 − .6
    # An unknown label has no right neighbour: its similarity counts as 0.
    assert loss(QUIET, memory, query, jnp.array([7])).tolist() == pytest.approx([0.8])
    near = unit((1.0, 0.9))  # within the margin: .7433 − .6690 is less than .1
    margin = loss(QUIET, memory, near, jnp.array([3]))
    assert margin.tolist() == pytest.approx([(0.9 - 1.0) / np.hypot(1, 0.9)])


def test_the_newest_slot_steps_in_where_no_neighbour_is_right() -> None:
    memory = filled([3, 5, 5], [0, 4, 2], (1, 0), (-0.6, 0.8), (-1, 0))
    query, label = unit((1, 0)), jnp.array([5])
    one = LifelongMemory(slots=6, neighbours=1)
    # The newest of label 5 is at −1, though its other one is nearer, at −.6.
    assert loss(one, memory, query, label).tolist() == pytest.approx([1 - -1])
    two = LifelongMemory(slots=6, neighbours=2)
    assert loss(two, memory, query, label).tolist() == pytest.approx([1 - -0.6])
    # All neighbours right: no wrong one counts as 0.
    assert loss(one, memory, query, jnp.array([3])).tolist() == pytest.approx([-0.1])


def test_an_empty_memory() -> None:
    memory, queries = QUIET.empty(2), unit((1, 0), (0, 1))
    assert loss(QUIET, memory, queries, jnp.array([0, 1])).tolist() == [0, 0]
    assert query(QUIET, memory, queries)[1].tolist() == [EMPTY, EMPTY]
    after = update(QUIET, memory, queries, jnp.array([0, 1]), KEY)
    assert after.labels.tolist() == [0, 1, EMPTY, EMPTY, EMPTY, EMPTY]
    assert after.ages.tolist() == [0, 0, 1, 1, 1, 1]
    assert [found.tolist() for found in query(QUIET, after, unit((3, 4), (4, 3)))] == [[1, 0]] * 2


def test_update_of_literal_numbers() -> None:
    memory = filled([3, 5, 3, 4, 4, 4], [5, 1, 7, 2, 9, 0], *[(1, 0), (0, 1)], *[(-1, 0)] * 4)
    # Two right ones meet in slot 0; a wrong one takes slot 4, the oldest.
    queries = unit((4, 3), (1, 1.1), (4, -3))
    labels = jnp.array([3, 9, 3])
    after = update(QUIET, memory, queries, labels, KEY)
    assert after.labels.tolist() == [3, 5, 3, 4, 9, 4]
    assert after.ages.tolist() == [0, 2, 8, 3, 0, 1]
    np.testing.assert_allclose(after.keys[0], [1, 0], atol=1e-6)  # (1, 0) + (.8, .6) + (.8, −.6)
    np.testing.assert_allclose(after.keys[4], queries[1])
    same = jnp.array([1, 2, 3, 5])
    np.testing.assert_array_equal(after.keys[same], memory.keys[same])


def test_a_slot_averaged_into_is_not_overwritten() -> None:
    memory = filled([3, 5, 5, 5, 5, 5], [90, 1, 2, 3, 4, 5], (1, 0), *[(0, 1)] * 5)
    queries, labels = unit((1, 0), (1, 0)), jnp.array([3, 7])
    after = update(QUIET, memory, queries, labels, KEY)
    assert after.labels.tolist() == [3, 5, 5, 5, 5, 7]
    assert after.ages.tolist() == [0, 2, 3, 4, 5, 0]
    # Nor by chance, where noise decides which slot is the oldest.
    alike = memory._replace(ages=jnp.zeros(6, jnp.int32))
    noisy = jax.jit(jax.vmap(LifelongMemory(slots=6).update, in_axes=(None, None, None, 0)))
    many = noisy(alike, queries, labels, jax.random.split(KEY, 100))
    assert (many.labels[:, 0] == 3).all()
    assert jnp.sum(many.labels == 7, axis=0).min() == 0 < jnp.sum(many.labels[:, 1:] == 7, 0).min()


RANDOM = LifelongMemory(slots=12, neighbours=3, margin=0.2, age_noise=0.0)


@given(st.integers(0, 2**31 - 1))
def test_against_the_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    slots, batch, size = 12, 4, 3
    keys = rng.normal(size=(slots, size)).astype(np.float32)
    keys /= np.linalg.norm(keys, axis=1, keepdims=True)
    labels = rng.integers(EMPTY, 4, slots)
    keys[labels == EMPTY] = 0
    memory = Slots(jnp.array(keys), jnp.array(labels), jnp.array(rng.permutation(slots)))
    queries = rng.normal(size=(batch, size)).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    asked = rng.integers(0, 5, batch)
    losses = loss(RANDOM, memory, queries, asked)
    expected = [twin_loss(memory, q, y, RANDOM) for q, y in zip(queries, asked, strict=True)]
    np.testing.assert_allclose(losses, expected, atol=1e-5)
    after = update(RANDOM, memory, queries, asked, KEY)
    twin = twin_update(memory, queries, asked.tolist())
    np.testing.assert_allclose(after.keys, twin.keys, atol=1e-5)
    assert after.labels.tolist() == twin.labels.tolist()
    assert after.ages.tolist() == twin.ages.tolist()


def test_gradients_reach_the_query_alone() -> None:
    memory = filled([3, 5], [2, 1], (1, 0), (0, 1))
    query, label = unit((4, 3)), jnp.array([5])

    def total(keys: jax.Array, query: jax.Array) -> jax.Array:
        return jnp.sum(loss(QUIET, memory._replace(keys=keys), query, label))

    to_keys, to_query = jax.grad(total, argnums=(0, 1))(memory.keys, query)
    assert not to_keys.any()
    np.testing.assert_allclose(to_query, [[1, -1]])  # the wrong key less the right one


def test_age_noise_blurs_by_so_many_updates() -> None:
    settings = LifelongMemory(slots=6, age_noise=8.0)
    update = jax.jit(jax.vmap(settings.update, in_axes=(None, None, None, 0)))
    query, label = unit((1, 0)), jnp.array([7])

    def taken(oldest: int) -> set[int]:
        memory = filled([5] * 6, [0, 0, 0, 0, 0, oldest], *[(0, 1)] * 6)
        keys = jax.random.split(KEY, 100)
        after = update(memory, query, label, keys)
        return set(jnp.argmax(after.labels == 7, axis=1).tolist())

    assert taken(17) == {5} and len(taken(10)) > 1
