"""The network: its shape, its sphere, its purity, and its files."""

import json
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save

from reinstate.errors import UserError
from reinstate.tasks.drawings import load_embeddings, save_embeddings
from reinstate_paper.omniglot.embedder import (
    CHUNK,
    Convolutions,
    Embedder,
    convolve,
    convolve_by_product,
    embed,
    load_embedder,
    rounded,
    save_embedder,
)

SMALL = Convolutions(channels=(2, 4), embedding_size=5, norm_groups=2)
RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (3, 2, 28, 28), np.uint8)


@cache
def small(settings: Convolutions = SMALL) -> Embedder:
    """An embedder whose weights, biases and scales are random: drawn here, nothing compiles."""
    shapes = jax.eval_shape(lambda: Embedder(settings, key=jax.random.key(0)))
    rng = np.random.default_rng(1)
    return jax.tree.map(lambda x: jnp.asarray(rng.normal(0.3, 0.5, x.shape), x.dtype), shapes)


def slow(embedder: Embedder, image: np.ndarray) -> np.ndarray:
    """The network pixel by pixel, in double precision."""
    x = image[:, :, None] / 255
    for number, layer in enumerate(embedder.layers):
        padded = np.pad(x, ((1, 1), (1, 1), (0, 0)))
        weight = np.asarray(layer.weight, np.float64)
        y = np.zeros((*x.shape[:2], weight.shape[3]))
        for row in range(y.shape[0]):
            for column in range(y.shape[1]):
                window = padded[row : row + 3, column : column + 3]
                y[row, column] = np.einsum("ijc,ijco->o", window, weight)
        if layer.scale is not None:
            for group in np.split(np.arange(y.shape[2]), layer.groups):
                y[:, :, group] /= np.sqrt(np.mean(y[:, :, group] ** 2) + 1e-5)
            y = y * np.asarray(layer.scale)
        x = np.maximum(y + np.asarray(layer.bias), 0)
        if number in (1, 3):
            x = np.maximum.reduce([x[i::2, j::2] for i in range(2) for j in range(2)])
    out = x.reshape(-1) @ np.asarray(embedder.weight) + np.asarray(embedder.bias)
    return out / np.linalg.norm(out)


@pytest.mark.parametrize("groups", [0, 2])
def test_against_a_slow_twin(groups: int) -> None:
    embedder = small(replace(SMALL, norm_groups=groups))
    found = embed(embedder, IMAGES[0])
    np.testing.assert_allclose(found, [slow(embedder, image) for image in IMAGES[0]], atol=1e-5)


def test_the_paper_s_network() -> None:
    shapes = jax.eval_shape(lambda: Embedder(Convolutions(), key=jax.random.key(0)))
    assert [layer.weight.shape for layer in shapes.layers] == [
        (3, 3, 1, 64),
        (3, 3, 64, 64),
        (3, 3, 64, 128),
        (3, 3, 128, 128),
    ]
    assert shapes.weight.shape == (7 * 7 * 128, 128)
    assert all(layer.scale is None for layer in shapes.layers)


def test_both_convolutions_are_one() -> None:
    # Which of them runs depends on the platform.
    x, w = RNG.normal(size=(2, 4, 6, 3)), RNG.normal(size=(3, 3, 3, 5))
    exact = jax.lax.Precision.HIGHEST
    both = jax.jit(lambda x, w: (convolve(x, w, exact), convolve_by_product(x, w, exact)))
    one, other = both(x.astype(np.float32), w.astype(np.float32))
    np.testing.assert_allclose(one, other, atol=1e-5)


def test_embeddings_are_unit_vectors_and_a_pure_function_of_the_drawing() -> None:
    embedder = small()
    found = embed(embedder, IMAGES)
    assert found.shape == (3, 2, 5) and found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=-1), 1, atol=1e-6)
    np.testing.assert_array_equal(embed(embedder, IMAGES), found)
    # Whatever stands beside it, and wherever in a chunk it stands.
    many = np.concatenate([np.zeros((CHUNK - 1, 28, 28), np.uint8), IMAGES[1]])
    np.testing.assert_allclose(embed(embedder, many)[-2:], found[1], atol=1e-6)


def test_a_blank_drawing_is_finite() -> None:
    blank = np.zeros((1, 28, 28), np.uint8)
    assert np.isfinite(embed(small(), blank)).all()


def test_short_products_are_near_the_exact_ones() -> None:
    embedder, drawings = small(), jnp.asarray(IMAGES[0] / 255, jnp.float32)
    both = jax.jit(lambda x: (embedder(x), embedder(x, "bfloat16")))
    exact, short = both(drawings)
    assert short.dtype == jnp.float32
    np.testing.assert_allclose(short, exact, atol=0.03)
    assert not np.array_equal(short, exact)


def test_a_file_keeps_the_rounded_embedder(tmp_path: Path) -> None:
    embedder = small()
    save_embedder(tmp_path / "e.safetensors", embedder)
    loaded = load_embedder(tmp_path / "e.safetensors")
    assert loaded.settings == SMALL
    for a, b in zip(jax.tree.leaves(loaded), jax.tree.leaves(rounded(embedder)), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(embed(loaded, IMAGES), embed(rounded(embedder), IMAGES))


def test_embeddings_are_normalised_after_rounding(tmp_path: Path) -> None:
    found = embed(small(), IMAGES)
    save_embeddings(tmp_path / "x.safetensors", found)
    loaded = load_embeddings(tmp_path / "x.safetensors")
    assert loaded.shape == (3, 2, 5) and loaded.dtype == np.float32
    np.testing.assert_allclose(loaded, found, atol=1e-3)
    np.testing.assert_allclose(np.linalg.norm(loaded, axis=-1), 1, atol=1e-6)


def test_files_that_are_something_else(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    with pytest.raises(UserError, match="is no file"):
        load_embedder(path)
    path.write_bytes(b"nothing")
    with pytest.raises(UserError, match="cannot be read"):
        load_embeddings(path)
    save_embeddings(path, embed(small(), IMAGES))
    with pytest.raises(UserError, match="holds no embedder"):
        load_embedder(path)
    save_embedder(path, small())
    with pytest.raises(UserError, match="holds no embeddings"):
        load_embeddings(path)
    settings = json.dumps(asdict(small().settings))
    path.write_bytes(save({"x": np.zeros(3)}, {"reinstate-embedder-1": settings}))
    with pytest.raises(UserError, match="does not hold the weights"):
        load_embedder(path)
    for nonsense in ("{", "[]", '{"channels": 3}', settings.replace("[2", '["a"')):
        path.write_bytes(save({"x": np.zeros(3)}, {"reinstate-embedder-1": nonsense}))
        with pytest.raises(UserError, match="settings"):
            load_embedder(path)


def test_settings_and_drawings_that_cannot_work() -> None:
    with pytest.raises(UserError, match="must divide the channels"):
        Convolutions(norm_groups=3)
    with pytest.raises(UserError, match="28×28 pixels"):
        embed(small(), np.zeros((2, 27, 28), np.uint8))
