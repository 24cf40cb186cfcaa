"""Drawings turned, warped and centred: at random for training, or to embed several views."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.ndimage import map_coordinates

from reinstate.errors import require_within


@dataclass(frozen=True)
class Distortion:
    """Bounds of the random changes of each drawing in training, each uniform; 0: none."""

    rotation: float = 0.0
    """Degrees, in either direction."""
    scale: float = 0.0
    """Relative change in size, in either direction, of height and width independently."""
    shear: float = 0.0
    """Slant, in pixels per pixel, in either direction."""
    shift: float = 0.0
    """Pixels, in either direction."""

    def __post_init__(self) -> None:
        require_within(0, 0.99, scale=self.scale)  # at 1 a drawing may vanish
        require_within(0, 360, rotation=self.rotation)
        require_within(0, 100, shear=self.shear, shift=self.shift)


def turned(drawings: Array, turns: Array) -> Array:
    """Turn each drawing by `turns` quarters."""
    ways = jnp.stack([jnp.rot90(drawings, k, axes=(1, 2)) for k in range(4)])
    return ways[turns, jnp.arange(len(drawings))]


class Warp(NamedTuple):
    """How drawings change about their middle, each (batch,)."""

    angle: Array  # radians
    tall: Array  # relative to the height
    wide: Array  # relative to the width
    slant: Array  # pixels per pixel
    shift: Array  # (2, batch) pixels


def distorted(bounds: Distortion, drawings: Array, key: Array) -> Array:
    """Rotate, stretch, slant and shift each drawing at random about its middle."""
    low_high = jax.random.uniform(key, (6, len(drawings)), minval=-1.0, maxval=1.0)
    warp = Warp(
        jnp.deg2rad(bounds.rotation) * low_high[0],
        1 + bounds.scale * low_high[1],
        1 + bounds.scale * low_high[2],
        bounds.shear * low_high[3],
        bounds.shift * low_high[4:],
    )
    return warped(drawings, warp)


def views(drawings: Array) -> list[Array]:
    """Return the drawings as they are, and slightly rotated, slanted and stretched both ways."""
    none, full = jnp.zeros(()), jnp.ones(())
    as_is = Warp(none, full, full, none, jnp.zeros(2))
    changes = (
        [{"angle": jnp.deg2rad(way * 10.0)} for way in (-1, 1)]
        + [{"slant": jnp.array(way * 0.1)} for way in (-1, 1)]
        + [{"tall": jnp.array(size), "wide": jnp.array(size)} for size in (0.9, 1.1)]
    )
    batch = drawings.shape[0]
    warps = [as_is._replace(**change) for change in changes]
    alike = [jax.tree.map(lambda x: jnp.stack([x] * batch, axis=-1), warp) for warp in warps]
    return [drawings, *(warped(drawings, warp) for warp in alike)]


def warped(drawings: Array, warp: Warp) -> Array:
    """Warp each drawing, with linear interpolation."""
    size = drawings.shape[-1]
    cos, sin = jnp.cos(warp.angle), jnp.sin(warp.angle)
    # Where a pixel of the new drawing comes from: stretch, then slant, then rotate.
    matrix = jnp.stack(
        [
            jnp.stack([cos / warp.tall, (cos * warp.slant - sin) / warp.wide]),
            jnp.stack([sin / warp.tall, (sin * warp.slant + cos) / warp.wide]),
        ]
    )  # (2, 2, batch)
    middle = (size - 1) / 2
    pixels = jnp.stack(jnp.meshgrid(jnp.arange(size), jnp.arange(size), indexing="ij")) - middle
    source = jnp.einsum("ijb,jyx->biyx", matrix, pixels, precision="highest")
    source = source + (middle + warp.shift).T[:, :, None, None]
    return jax.vmap(lambda image, at: map_coordinates(image, [at[0], at[1]], order=1))(
        drawings, source
    )


def centred(drawings: Array) -> Array:
    """Move each drawing by whole pixels, so that the centre of its ink lies in the middle."""
    size = drawings.shape[-1]
    place = jnp.arange(size)
    ink = jnp.maximum(jnp.sum(drawings, axis=(1, 2)), 1e-6)
    rows, columns = (
        jnp.round(jnp.sum(drawings.sum(axis) * place[None, :], axis=1) / ink - (size - 1) / 2)
        for axis in (2, 1)
    )

    def move(drawing: Array, down: Array, right: Array) -> Array:
        padded = jnp.pad(drawing, size)
        start = size + jnp.stack([down, right]).astype(jnp.int32)
        return jax.lax.dynamic_slice(padded, (start[0], start[1]), (size, size))

    # A drawing without ink has no centre and is not moved.
    blank = jnp.sum(drawings, axis=(1, 2)) <= 1e-6
    return jax.vmap(move)(drawings, jnp.where(blank, 0, rows), jnp.where(blank, 0, columns))
