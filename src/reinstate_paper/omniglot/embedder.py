"""The embedder of drawings after Kaiser et al. 2017: convolutions, then a point on a sphere.

    28×28 → conv3×3 64, conv3×3 64, pool 2, conv3×3 128, conv3×3 128, pool 2 → linear → unit vector

An embedding depends on its drawing alone, not on the rest of the batch.
"""

import dataclasses
import json
import math
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from reinstate.errors import UserError, one_line, require_positive
from reinstate.files import parse, read_arrays, write_arrays
from reinstate.settings import from_dict
from reinstate_paper.omniglot.distortion import centred, views
from reinstate_paper.omniglot.images import SIZE

FORMAT = "reinstate-embedder-1"
CHUNK = 100  # drawings embedded at a time
TINY = 1e-12

# How products are computed: exactly, by the device's default (TF32 on a GPU), or in bfloat16.
Precision = Literal["highest", "default", "bfloat16"]


@dataclass(frozen=True)
class Convolutions:
    """The network's settings; the defaults are those of Kaiser et al. 2017."""

    channels: tuple[int, int] = (64, 128)
    """Channels of the first and the second pair of convolutions."""
    embedding_size: int = 128
    """Length of an embedding."""
    norm_groups: int = 0
    """Groups of channels to normalise within each drawing (Wu & He 2018); 0: none."""
    centred: bool = False
    """Whether to move the centre of each drawing's ink to the middle first."""
    views: bool = False
    """Whether to average embeddings over slightly rotated, slanted and stretched views."""

    def __post_init__(self) -> None:
        require_positive(embedding_size=self.embedding_size)
        for channels in self.channels:
            require_positive(channels=channels)
        if self.norm_groups < 0 or any(c % max(self.norm_groups, 1) for c in self.channels):
            raise UserError(
                f"norm_groups = {self.norm_groups} must divide the channels {self.channels},"
                " or be 0 (none)"
            )


def convolve(x: Array, weight: Array, precision: jax.lax.Precision | None) -> Array:
    """Convolve by XLA's own operation."""
    return jax.lax.conv_general_dilated(
        x,
        weight,
        window_strides=(1, 1),
        padding="SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        precision=precision,
    )


def convolve_by_product(x: Array, weight: Array, precision: jax.lax.Precision | None) -> Array:
    """Convolve by one matrix product: XLA's own is ten times slower in loops on a CPU."""
    _, height, width, _ = x.shape
    padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = [padded[:, i : i + height, j : j + width] for i in range(3) for j in range(3)]
    rows = weight.reshape(-1, weight.shape[-1])  # (9 inputs, outputs)
    return jnp.matmul(jnp.concatenate(windows, axis=3), rows, precision=precision)


class Convolution(eqx.Module):
    """A 3×3 convolution, normalised within groups of channels if wanted, and rectified."""

    weight: Array  # (3, 3, inputs, outputs)
    bias: Array  # (outputs,)
    scale: Array | None  # (outputs,)
    groups: int = eqx.field(static=True)

    def __init__(self, inputs: int, outputs: int, groups: int, *, key: Array) -> None:
        spread = math.sqrt(2 / (9 * inputs))  # keeps the size of activations (He et al. 2015)
        self.weight = spread * jax.random.normal(key, (3, 3, inputs, outputs))
        self.bias = jnp.zeros(outputs)
        self.scale = jnp.ones(outputs) if groups else None
        self.groups = groups

    def __call__(self, x: Array, precision: Precision) -> Array:
        short = jnp.bfloat16 if precision == "bfloat16" else jnp.float32
        exact = jax.lax.Precision.HIGHEST if precision == "highest" else None
        y = jax.lax.platform_dependent(
            x.astype(short),
            self.weight.astype(short),
            cpu=partial(convolve_by_product, precision=exact),
            default=partial(convolve, precision=exact),
        ).astype(jnp.float32)
        if self.scale is not None:
            y = _normalise(y, self.groups) * self.scale[None, None, None, :]
        return jax.nn.relu(y + self.bias[None, None, None, :]).astype(short)


class Embedder(eqx.Module):
    """A network from drawings to unit vectors."""

    layers: tuple[Convolution, ...]  # four
    weight: Array  # (features, embedding_size)
    bias: Array  # (embedding_size,)
    settings: Convolutions = eqx.field(static=True)

    def __init__(self, settings: Convolutions, *, key: Array) -> None:
        self.settings = settings
        first, second = settings.channels
        *keys, last = jax.random.split(key, 5)
        sizes = ((1, first), (first, first), (first, second), (second, second))
        self.layers = tuple(
            Convolution(*size, settings.norm_groups, key=key)
            for size, key in zip(sizes, keys, strict=True)
        )
        features = (SIZE // 4) ** 2 * second
        shape = (features, settings.embedding_size)
        self.weight = jax.random.normal(last, shape) / math.sqrt(features)
        self.bias = jnp.zeros(settings.embedding_size)

    def __call__(self, drawings: Array, precision: Precision = "highest") -> Array:
        """Embed drawings (batch, 28, 28) with ink from 0 to 1, as (batch, embedding_size)."""
        return self.to_sphere(self.features(drawings, precision), precision)

    def features(self, drawings: Array, precision: Precision) -> Array:
        """Return the output of the convolutions, (batch, features)."""
        a, b, c, d = self.layers
        x = (centred(drawings) if self.settings.centred else drawings)[:, :, :, None]
        x = _pool(b(a(x, precision), precision))
        x = _pool(d(c(x, precision), precision))
        return x.reshape(len(x), -1).astype(jnp.float32)

    def to_sphere(self, features: Array, precision: Precision) -> Array:
        """Map features to unit vectors."""
        exact = jax.lax.Precision.HIGHEST if precision == "highest" else None
        return _unit(jnp.matmul(features, self.weight, precision=exact) + self.bias[None, :])


def _unit(x: Array) -> Array:
    return x / jnp.sqrt(jnp.maximum(jnp.sum(x**2, axis=1, keepdims=True), TINY))


def _normalise(x: Array, groups: int) -> Array:
    """Scale to unit root mean square per drawing and group of channels (Zhang & Sennrich 2019).

    The mean is not subtracted, so that paper without ink stays 0. Otherwise blank paper would look
    alike in all drawings, and their embeddings would start, and stay, close together.
    """
    grouped = x.reshape(*x.shape[:3], groups, -1)
    square = jnp.mean(grouped**2, axis=(1, 2, 4), keepdims=True)
    return (grouped * jax.lax.rsqrt(square + 1e-5)).reshape(x.shape)


def _pool(x: Array) -> Array:
    """Take the largest of each 2×2 pixels."""
    batch, height, width, channels = x.shape
    return jnp.max(x.reshape(batch, height // 2, 2, width // 2, 2, channels), axis=(2, 4))


@eqx.filter_jit
def _embed_chunk(embedder: Embedder, drawings: Array) -> Array:
    drawings = drawings.astype(jnp.float32) / 255
    if not embedder.settings.views:
        return embedder(drawings)
    return _unit(sum((embedder(view) for view in views(drawings)), jnp.zeros(())))


def embed(embedder: Embedder, images: np.ndarray) -> np.ndarray:
    """Embed images (…, 28, 28) with ink from 0 to 255, as (…, embedding_size)."""
    if images.shape[-2:] != (SIZE, SIZE):
        raise UserError(f"drawings must be of {SIZE}×{SIZE} pixels, not {images.shape[-2:]}")
    flat = images.reshape(-1, SIZE, SIZE)
    # Chunks of one size: one compilation, and the same order of sums wherever a drawing stands.
    padded = np.concatenate([flat, np.zeros((-len(flat) % CHUNK, SIZE, SIZE), flat.dtype)])
    chunks = [
        np.asarray(_embed_chunk(embedder, jnp.asarray(padded[start : start + CHUNK])))
        for start in range(0, len(padded), CHUNK)
    ]
    found = np.concatenate(chunks)[: len(flat)]
    return found.reshape(*images.shape[:-2], -1)


def rounded(embedder: Embedder) -> Embedder:
    """Round the weights to half precision, as a file keeps them."""
    return jax.tree.map(lambda x: x.astype(jnp.float16).astype(jnp.float32), embedder)


def save_embedder(path: Path, embedder: Embedder) -> None:
    """Write weights in half precision, and settings."""
    arrays = {name: np.asarray(leaf, np.float16) for name, leaf in _by_name(embedder).items()}
    write_arrays(path, arrays, {FORMAT: json.dumps(dataclasses.asdict(embedder.settings))})


def load_embedder(path: Path | None = None) -> Embedder:
    """Load an embedder from its file, by default the one that comes with the package."""
    path = path or packaged_file("embedder.safetensors")
    if not path.is_file():
        raise UserError(f"{path} is no file: name one that reinstate pretrain wrote")
    arrays, metadata = read_arrays(path, "restore it or name another")
    if FORMAT not in metadata:
        raise UserError(f"{path} holds no embedder: name an embedder.safetensors")
    try:
        settings: Convolutions = from_dict(Convolutions, parse(metadata[FORMAT].encode()))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} has broken settings ({one_line(error)}): restore it") from None
    template = eqx.filter_eval_shape(Embedder, settings, key=jax.random.key(0))
    wanted = _by_name(template)
    if {n: a.shape for n, a in arrays.items()} != {n: a.shape for n, a in wanted.items()}:
        raise UserError(f"{path} does not hold the weights that its settings ask for: restore it")
    leaves = [jnp.asarray(arrays[name], jnp.float32) for name in wanted]
    return jax.tree.unflatten(jax.tree.structure(template), leaves)


def _by_name(embedder: Embedder) -> dict[str, Array]:
    return {jax.tree_util.keystr(at): leaf for at, leaf in jax.tree.leaves_with_path(embedder)}


def packaged_file(name: str) -> Path:
    """Return the path of a file that comes with the package."""
    return Path(str(files("reinstate_paper.omniglot") / "data" / name))
