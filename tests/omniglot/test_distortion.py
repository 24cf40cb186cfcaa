"""Drawings moved, turned and stretched by rules whose outcome can be told."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from omniglot.test_embedder import SMALL, small
from reinstate_paper.omniglot import distortion
from reinstate_paper.omniglot.embedder import Convolutions, embed

views, centred = jax.jit(distortion.views), jax.jit(distortion.centred)


class RowsOfInk(eqx.Module):
    """The least that can pass for an embedder; a network seen seven times compiles slowly."""

    settings: Convolutions = eqx.field(static=True)

    def __call__(self, drawings: jax.Array) -> jax.Array:
        rows = jnp.sum(drawings, axis=2) + 0.1
        return rows / jnp.linalg.norm(rows, axis=1, keepdims=True)


def a_cross(row: int, column: int) -> np.ndarray:
    """Five pixels of ink about a place."""
    drawing = np.zeros((28, 28), np.float32)
    drawing[row - 1 : row + 2, column] = 1
    drawing[row, column - 1 : column + 2] = 1
    return drawing


def middle(drawing: np.ndarray) -> np.ndarray:
    """The centre of the ink."""
    places = np.indices(drawing.shape)
    found: np.ndarray = (places * drawing).sum(axis=(1, 2)) / drawing.sum()
    return found


@pytest.fixture(scope="module")
def scattered() -> np.ndarray:
    """Drawings of 10×14 pixels of various ink, in places of their own."""
    rng = np.random.default_rng(0)
    drawings = np.zeros((20, 28, 28), np.float32)
    for drawing in drawings:
        row, column = rng.integers(0, 18), rng.integers(0, 14)
        drawing[row : row + 10, column : column + 14] = rng.random((10, 14))
    return drawings


def test_the_centre_of_the_ink_is_moved_to_the_middle(scattered: np.ndarray) -> None:
    found = np.asarray(centred(jnp.asarray(scattered)))
    before = np.array([middle(drawing) for drawing in scattered])
    after = np.array([middle(drawing) for drawing in found])
    assert np.abs(before - 13.5).max() > 3
    assert np.abs(after - 13.5).max() <= 0.5 + 1e-4  # by whole pixels


def test_ink_that_fits_is_moved_and_never_lost(scattered: np.ndarray) -> None:
    found = np.asarray(centred(jnp.asarray(scattered)))
    for old, new in zip(scattered, found, strict=True):
        np.testing.assert_array_equal(np.sort(old[old > 0]), np.sort(new[new > 0]))


def test_down_is_down_and_right_is_right() -> None:
    found = np.asarray(centred(jnp.asarray(np.stack([a_cross(1, 14), a_cross(14, 26)]))))
    # The middle lies between pixels 13 and 14: either will do.
    for drawing in found:
        row, column = middle(drawing)
        assert row in (13, 14) and column in (13, 14)
        np.testing.assert_array_equal(drawing, a_cross(int(row), int(column)))


def test_blank_and_centred_drawings_stay_as_they_are(scattered: np.ndarray) -> None:
    blank = jnp.zeros((2, 28, 28))
    np.testing.assert_array_equal(centred(blank), blank)
    once = centred(jnp.asarray(scattered))
    np.testing.assert_array_equal(centred(once), once)


def test_views(scattered: np.ndarray) -> None:
    seen = [np.asarray(view) for view in views(jnp.asarray(scattered))]
    assert len(seen) == 7
    np.testing.assert_array_equal(seen[0], scattered)
    for n, view in enumerate(seen):
        assert view.shape == scattered.shape
        for other in seen[:n]:
            assert np.abs(view - other).max() > 0.1


def test_views_are_turned_slanted_and_stretched_either_way() -> None:
    bar = np.zeros((28, 28), np.float32)
    bar[4:24, 13:15] = 1  # upright, about the middle
    places = np.indices((28, 28)) - 13.5
    shape = []
    for view in views(jnp.asarray(bar)[None]):
        drawing = np.asarray(view)[0]
        np.testing.assert_allclose(middle(drawing), 13.5, atol=0.05)
        tall, _, _, wide = np.cov(places.reshape(2, -1), aweights=drawing.ravel()).ravel()
        across = np.cov(places.reshape(2, -1), aweights=drawing.ravel())[0, 1]
        shape.append((tall, across / tall, wide))
    as_is, left, right, _, _, small, large = shape
    assert as_is[1] == pytest.approx(0, abs=1e-6)
    # A turned bar leans by tan 10° = .176; the two ways are mirror images.
    assert abs(left[1]) == pytest.approx(0.176, abs=0.01) and left[1] == pytest.approx(-right[1])
    # Squares of lengths: .9² and 1.1².
    assert small[0] / as_is[0] == pytest.approx(0.81, abs=0.02)
    assert large[0] / as_is[0] == pytest.approx(1.21, abs=0.02)


def test_an_embedding_by_views_is_the_mean_over_them(scattered: np.ndarray) -> None:
    by_views: Any = RowsOfInk(replace(SMALL, views=True))
    images = (255 * scattered[:3]).astype(np.uint8)
    seen = jnp.concatenate(views(jnp.asarray(images, jnp.float32) / 255))
    each = np.asarray(RowsOfInk(SMALL)(seen)).reshape(7, 3, 28)
    mean = each.mean(axis=0)
    expected = mean / np.linalg.norm(mean, axis=-1, keepdims=True)
    np.testing.assert_allclose(embed(by_views, images), expected, atol=1e-5)
    assert np.abs(each[0] - expected).max() > 1e-3


def test_an_embedder_that_centres_does_not_mind_where_a_drawing_is(scattered: np.ndarray) -> None:
    one = small(replace(SMALL, centred=True))
    images = (255 * scattered[:3]).astype(np.uint8)
    moved = np.asarray(centred(jnp.asarray(images, jnp.float32))).astype(np.uint8)
    assert not np.array_equal(images, moved)
    np.testing.assert_allclose(embed(one, images), embed(one, moved), atol=1e-6)
