"""Omniglot's drawings as arrays: read, checked, shrunk by area, and cached."""

import io
from contextlib import nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reinstate.errors import UserError, nearest, one_line
from reinstate.files import read_bytes, write_atomically
from reinstate.runs.progress import Reporter
from reinstate_paper.omniglot import archives
from reinstate_paper.omniglot.archives import ARCHIVES, DRAWERS, read_archive, require_archive

SPLITS = ("background", "evaluation")
SIDE = 105  # pixels of a drawing as distributed
LARGEST_KEPT = 1 << 28  # bytes of a file in the cache
KEPT = "v1"  # of the cache; raise it when what is kept, or how it is shrunk, changes


class Drawings(NamedTuple):
    """All drawings of one split of the data set, by character."""

    images: NDArray[np.uint8]  # (characters, drawers, size, size), ink: 0 is paper
    characters: list[str]  # "Alphabet/characterNN", sorted: the order of axis 0 everywhere


class OneShotRun(NamedTuple):
    """One of Lake's 20 within-alphabet tests: which of 20 characters is each test drawing?"""

    train: NDArray[np.uint8]  # (20, size, size), one drawing of each character
    test: NDArray[np.uint8]  # (20, size, size), by another drawer
    answer: NDArray[np.int64]  # (20,), the index into train of each test drawing's character


def load_drawings(
    split: str, where: Path | None = None, size: int = 28, reporter: Reporter | None = None
) -> Drawings:
    """Load a split from a named folder, from REINSTATE_OMNIGLOT or from the cache."""
    if split not in SPLITS:
        raise UserError(nearest("split", split, SPLITS))
    _require_size(size)
    if archives.named_folder(where):  # must hold the images, even if their decoded form is cached
        require_archive(split, where)
    name = f"{split}-{ARCHIVES[split].sha256[:16]}-{size}.{KEPT}.npz"
    kept = archives.cache_folder() / name
    drawings = _read_kept(kept, size)
    if drawings is None:
        found = require_archive(split, where)
        with reporter.working(f"reading {found}") if reporter else nullcontext():
            drawings = _read_drawings(split, found, size)
        buffer, characters = io.BytesIO(), np.array(drawings.characters)
        np.savez_compressed(buffer, images=drawings.images, characters=characters)
        with suppress(UserError):  # a cache that cannot be written only costs time
            write_atomically(kept, buffer.getvalue())
    return drawings


def load_one_shot_runs(where: Path | None = None, size: int = 28) -> list[OneShotRun]:
    """Load Lake's 20 runs in their order."""
    _require_size(size)
    path = require_archive("one-shot runs", where)
    files = read_archive("one-shot runs", path)
    names = sorted({name.partition("/")[0] for name in files})
    return [_one_shot_run(path, name, files, size) for name in names]


def shrink(ink: NDArray[np.bool_], size: int) -> NDArray[np.uint8]:
    """Average the ink of (…, 105, 105) over a grid of size × size cells, as 0 … 255.

    Rows and columns are averaged by the share of each pixel in each cell. Shares are counted in
    whole units, so sums are exact and the result is the same on every machine.
    """
    shares = _overlaps(size)
    units = (shares @ ink.astype(np.float32) @ shares.T).astype(np.int64)  # 0 … 105²
    return ((2 * 255 * units + SIDE**2) // (2 * SIDE**2)).astype(np.uint8)


@cache
def _overlaps(size: int) -> NDArray[np.float32]:
    """Return how much of pixel j lies in cell i, in units of 1/size pixel, (size, 105)."""
    cells, pixels = np.arange(size)[:, None], np.arange(SIDE)[None, :]
    begin = np.maximum(cells * SIDE, pixels * size)
    end = np.minimum((cells + 1) * SIDE, (pixels + 1) * size)
    return np.maximum(end - begin, 0).astype(np.float32)


def _require_size(size: int) -> None:
    if not 1 <= size <= SIDE:
        raise UserError(f"size must be from 1 to {SIDE} pixels, not {size}")


def _read_drawings(split: str, path: Path, size: int) -> Drawings:
    files = read_archive(split, path)
    images = _decode(path, files, size).reshape(-1, DRAWERS, size, size)
    # Files come in the order of their paths, DRAWERS per character.
    return Drawings(images, [name.rpartition("/")[0] for name in list(files)[::DRAWERS]])


def _decode(path: Path, files: dict[str, bytes], size: int) -> NDArray[np.uint8]:
    # One by one: in full size the drawings of a split would take a gigabyte.
    return np.stack([shrink(_ink(path, name, content), size) for name, content in files.items()])


def _ink(path: Path, name: str, content: bytes) -> NDArray[np.bool_]:
    """Return where a drawing is black, (105, 105)."""
    from PIL import Image  # here: only reading drawings needs Pillow

    try:
        with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
            width, height = image.size
            known = (width, height) == (SIDE, SIDE)  # before anything is decoded
            paper = np.asarray(image.convert("1")) if known else None
    except Exception as error:  # Pillow reports broken files in a dozen ways
        raise UserError(
            f"{path}: {name} is no drawing ({one_line(error)}); fetch the archive again"
        ) from None
    if paper is None:
        raise UserError(
            f"{path}: {name} has {width}×{height} pixels, not {SIDE}×{SIDE};"
            " fetch the archive again"
        )
    return ~paper


def _one_shot_run(path: Path, run: str, files: dict[str, bytes], size: int) -> OneShotRun:
    words = files.get(f"{run}/class_labels.txt", b"").decode("ascii", "replace").split()
    labels = dict(zip(words[::2], words[1::2], strict=False))  # each test's training image
    test, train = (
        {name: content for name, content in files.items() if name.startswith(f"{run}/{part}/")}
        for part in ("test", "training")
    )
    characters = sorted(train)
    if sorted(labels) != sorted(test) or sorted(labels.values()) != characters:
        raise UserError(f"{path}: the labels of {run} do not fit its images; fetch it again")
    answer = np.array([characters.index(labels[name]) for name in test])
    return OneShotRun(_decode(path, train, size), _decode(path, test, size), answer)


def _read_kept(path: Path, size: int) -> Drawings | None:
    """Read what was decoded before; None if there is nothing, or nothing complete."""
    try:
        content = io.BytesIO(read_bytes(path, LARGEST_KEPT))
        with np.load(content, allow_pickle=False) as kept:
            images, characters = kept["images"], [str(name) for name in kept["characters"]]
        whole = images.dtype == np.uint8 and images.shape == (len(characters), DRAWERS, size, size)
    except Exception:  # whatever is wrong with it, it can be decoded again
        return None
    return Drawings(images, characters) if whole else None
