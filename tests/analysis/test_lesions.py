"""A misfiled memory brings back what belongs to another key, and nothing that was never stored."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reinstate.analysis.compositional import Misfiled
from reinstate.memory import DND, Contents, Retrieval

KEYS = jnp.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0, 1, 1]])
VALUES = jnp.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0], [5.0, 50.0]])
DICTIONARY = DND(capacity=5)


def filled(num: int, dnd: DND = DICTIONARY) -> Contents:
    memory = dnd.empty(3, 2)
    for key, value in zip(KEYS[:num], VALUES[:num], strict=True):
        memory = dnd.write(memory, key, value)
    return memory


@partial(jax.jit, static_argnums=0)
def read_all(dnd: DND, memory: Contents) -> Retrieval:
    """What each key brings back, were it asked for alone."""
    return jax.vmap(lambda query: dnd.read(memory, query)[0])(KEYS)


@pytest.mark.parametrize("num", [2, 3, 4, 5])
def test_every_query_brings_back_what_is_stored_under_another_key(num: int) -> None:
    memory, lesion = filled(num), Misfiled(DICTIONARY)
    sound, found = (
        jax.tree.map(lambda x: np.asarray(x)[:num], read_all(dnd, memory))
        for dnd in (DICTIONARY, lesion)
    )
    np.testing.assert_array_equal(sound.value, VALUES[:num])  # what each should have brought
    stored = {tuple(value) for value in VALUES[:num].tolist()}
    came = [tuple(value) for value in found.value.tolist()]
    assert set(came) == stored  # each is someone's, and none is left out
    assert all(a != tuple(b) for a, b in zip(came, sound.value.tolist(), strict=True))
    # What it tells of the retrieval is of what came back: the n-th write stored VALUES[n − 1].
    np.testing.assert_array_equal(VALUES[found.written[:, 0] - 1], found.value)
    np.testing.assert_array_equal(memory.values[found.slots[:, 0]], found.value)


def test_a_single_state_and_an_empty_memory() -> None:
    lesion = Misfiled(DICTIONARY)
    found, _ = lesion.read(filled(1), KEYS[1])
    np.testing.assert_array_equal(found.value, VALUES[0])
    found, _ = lesion.read(filled(0), KEYS[1])
    np.testing.assert_array_equal(found.value, [0, 0])
    assert found.written[0] == 0 and np.isinf(found.distances[0])


def test_it_is_written_and_remembers_being_asked_as_a_sound_one() -> None:
    lesion, memory = Misfiled(DICTIONARY), filled(4)
    (_, after), (_, sound) = lesion.read(memory, KEYS[2]), DICTIONARY.read(memory, KEYS[2])
    written = [dnd.write(sound, KEYS[4], VALUES[4]) for dnd in (lesion, DICTIONARY)]
    for one, two in ((after, sound), written):
        jax.tree.map(np.testing.assert_array_equal, one, two)


def test_neighbours_keep_their_weights() -> None:
    dnd = DND(capacity=5, k=2)
    memory, query = filled(4, dnd), jnp.array([1.0, 0.2, 0.0])
    sound, (found, _) = dnd.read(memory, query)[0], Misfiled(dnd).read(memory, query)
    assert sound.slots.tolist() == [0, 3] and found.slots.tolist() == [2, 1]
    np.testing.assert_array_equal(found.weights, sound.weights)
    np.testing.assert_allclose(found.value, sound.weights @ VALUES[jnp.array([2, 1])], rtol=1e-6)
