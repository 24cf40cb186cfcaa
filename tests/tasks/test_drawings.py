"""Contexts that come back as another drawing: which classes they are of, and which drawings."""

from dataclasses import fields, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reinstate.tasks.bandits import Bandits, BarcodeBandits, OmniglotBandits
from reinstate.tasks.drawings import drawings_of
from tasks.known_drawings import recognise

WORLD = OmniglotBandits(num_contexts=4, repeats=20, num_arms=4)
EPOCHS = 150


def sample(world: OmniglotBandits, epochs: int) -> Any:
    keys = jax.random.split(jax.random.key(0), epochs)
    return jax.tree.map(np.asarray, jax.jit(partial(jax.lax.map, world.sample_epoch))(keys))


@pytest.fixture(scope="module")
def shown() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Context ids, classes and drawings of some epochs, each (epochs, episodes)."""
    tasks = sample(WORLD, EPOCHS)
    return tasks.context_id, *recognise(tasks.context)


@pytest.mark.parametrize("held_out", [2, 3, 7, 164])
def test_agents_are_judged_on_classes_they_never_learned_on(held_out: int) -> None:
    world = OmniglotBandits(num_contexts=4, num_arms=4, held_out=held_out)
    training, evaluation = world.pool.tolist(), world.for_evaluation().pool.tolist()
    assert not set(training) & set(evaluation)
    assert sorted(training + evaluation) == list(range(659))
    assert len(evaluation) == 659 // held_out


def test_the_unseen_world_differs_in_its_classes_alone() -> None:
    world = OmniglotBandits(num_arms=3, repeats=4)
    assert world.classes == "training" and world.for_evaluation().classes == "evaluation"
    assert replace(world.for_evaluation(), classes="training") == world
    assert world.for_evaluation().for_evaluation() == world.for_evaluation()


def test_every_context_is_a_class_of_the_pool(
    shown: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    ids, classes, _ = shown
    pool = set(WORLD.pool.tolist())
    assert set(classes.ravel().tolist()) <= pool
    for id_, class_ in zip(ids, classes, strict=True):
        pairs = set(zip(id_.tolist(), class_.tolist(), strict=True))
        assert len(pairs) == len(dict(pairs)) == len(set(class_.tolist())) == 4
    # 150 epochs draw 4 of 440 classes each: 328 different ones are to be expected.
    assert 290 < len(set(classes.ravel().tolist())) < 366


def test_a_class_shows_each_drawing_once(
    shown: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    for ids, _, drawings in zip(*shown, strict=True):
        for context in range(4):
            assert sorted(drawings[ids == context].tolist()) == list(range(20))


def test_each_class_has_an_order_of_its_own_and_every_drawing_may_come_first(
    shown: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    orders = np.array(
        [[drawings[ids == c] for c in range(4)] for ids, _, drawings in zip(*shown, strict=True)]
    )  # (epochs, contexts, exposures)
    first = np.bincount(orders[:, :, 0].ravel(), minlength=20)
    expected = EPOCHS * 4 / 20
    assert ((first - expected) ** 2 / expected).sum() < 43.8  # χ²(19), p = .001
    same = (orders[:, 0] == orders[:, 1]).mean()  # 1 in 20, were they independent
    assert same == pytest.approx(0.05, abs=4 * np.sqrt(0.0475 / (EPOCHS * 20)))


def test_drawings_of_episodes() -> None:
    which, index = jnp.array([7, 650]), jnp.array([1, 0, 1, 1, 0])
    exposure = jnp.array([0, 0, 1, 2, 1])
    found = np.asarray(drawings_of(jax.random.key(3), which, index, exposure))
    classes, drawings = recognise(found)
    assert classes.tolist() == [650, 7, 650, 650, 7]
    assert len(set(zip(classes.tolist(), drawings.tolist(), strict=True))) == 5


@pytest.mark.parametrize(
    "world",
    [
        OmniglotBandits(),
        OmniglotBandits(
            num_contexts=5, repeats=3, process="urn", alpha=1.5, num_arms=3, pulls=6, p_good=0.8,
            p_bad=0.3, mapping="independent", trial_input=True, classes="evaluation",
        ),
    ],
    ids=["default", "urn"],
)  # fmt: skip
def test_with_barcodes_the_bandits_are_the_same(world: OmniglotBandits) -> None:
    told = world.with_barcodes()
    assert type(told) is BarcodeBandits
    for field in fields(Bandits):
        assert getattr(told, field.name) == getattr(world, field.name), field.name
    for size in ("num_actions", "observation_size", "episode_length", "episodes_per_epoch"):
        assert getattr(told, size) == getattr(world, size)
    assert told.max_exposures == world.max_exposures
