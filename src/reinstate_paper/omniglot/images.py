"""Omniglot's drawings: the public archives, fetched and checked, as arrays.

Of an archive only files with the data set's names are read, and together they must have the public
ones' checksum; what has it needs no further check.
"""

import hashlib
import http.client
import io
import os
import re
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reinstate.errors import UserError, one_line
from reinstate.files import write_atomically
from reinstate.runs.progress import Reporter

VARIABLE = "REINSTATE_OMNIGLOT"
PUBLIC = "https://raw.githubusercontent.com/brendenlake/omniglot/master/python"
PATIENCE = 30.0  # seconds without a byte
LARGEST = 40_000_000  # bytes of an archive, packed or not; the largest has some ten million
DRAWERS = 20  # people who drew each character once
SIDE = 105  # pixels of a drawing as distributed
SIZE = 28  # pixels of a drawing as it is learned from


class Archive(NamedTuple):
    """One archive of the public distribution."""

    address: str  # below PUBLIC; its last part is the name of the file
    pattern: str  # the files that count
    sha256: str  # over the bytes of those files, in the order of their paths


DRAWING = r"[^/]+/character\d\d/\d{4}_\d\d\.png"
ARCHIVES = {
    "background": Archive(
        "images_background.zip",
        DRAWING,
        "b38e1a99da123d983059b091375d7270c294113555d7036a950dc89b3250b80f",
    ),
    "evaluation": Archive(
        "images_evaluation.zip",
        DRAWING,
        "4cee9ec535395b4f7eb89b9e352656aebf0972a41fe46139f4238eb23b022f8b",
    ),
    "one-shot runs": Archive(
        "one-shot-classification/all_runs.zip",
        r"run\d\d/(?:class_labels\.txt|test/item\d\d\.png|training/class\d\d\.png)",
        "4b25adf560e58d2f2bff669331338d7770b5a382b1dff3d03281e74f40638704",
    ),
}


class OneShotRun(NamedTuple):
    """One of Lake's 20 within-alphabet tests: which of 20 characters is each test drawing?"""

    train: NDArray[np.uint8]  # (20, 28, 28), one drawing of each character
    test: NDArray[np.uint8]  # (20, 28, 28), by another drawer
    answer: NDArray[np.int64]  # (20,), the index into train of each test drawing's character


def load_drawings(
    split: str, where: Path | None = None, reporter: Reporter | None = None
) -> NDArray[np.uint8]:
    """Load `background` or `evaluation` from a folder, REINSTATE_OMNIGLOT or the cache.

    Drawings are (characters, drawers, 28, 28), as ink: 0 is paper. Characters are sorted by
    "Alphabet/characterNN", the order of axis 0 everywhere.
    """
    path = _existing(split, where)
    with reporter.working(f"reading {path}") if reporter else nullcontext():
        files = read_archive(split, path)  # in the order of their paths, DRAWERS per character
        return decode(files.values()).reshape(-1, DRAWERS, SIZE, SIZE)


def load_one_shot_runs(where: Path | None = None) -> list[OneShotRun]:
    """Load Lake's 20 runs in their order."""
    files = read_archive("one-shot runs", _existing("one-shot runs", where))
    return [_one_shot_run(run, files) for run in sorted({n.partition("/")[0] for n in files})]


def _one_shot_run(run: str, files: dict[str, bytes]) -> OneShotRun:
    lines = files[f"{run}/class_labels.txt"].decode("ascii").split()
    labels = dict(zip(lines[::2], lines[1::2], strict=True))  # each test's training image
    tests, characters = sorted(labels), sorted(labels.values())
    train, test = (decode(files[name] for name in names) for names in (characters, tests))
    return OneShotRun(train, test, np.array([characters.index(labels[name]) for name in tests]))


def decode(drawings: Iterable[bytes]) -> NDArray[np.uint8]:
    """Read PNG files, shrunk one by one: in full size those of a split take a gigabyte."""
    from PIL import Image  # here: only reading drawings needs Pillow

    def paper(content: bytes) -> NDArray[np.bool_]:
        return np.asarray(Image.open(io.BytesIO(content), formats=["PNG"]).convert("1"))

    return np.stack([shrink(~paper(content)) for content in drawings])


def shrink(ink: NDArray[np.bool_], size: int = SIZE) -> NDArray[np.uint8]:
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


def folder_of(where: Path | None = None) -> Path:
    """Return the folder that the call names, or the environment, or else the cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return where or Path(os.environ.get(VARIABLE) or cache / "reinstate" / "omniglot")


def path_of(name: str, where: Path | None = None) -> Path:
    """Return where the archive of one part of the data lies, or should."""
    return folder_of(where) / Path(ARCHIVES[name].address).name


def _existing(name: str, where: Path | None) -> Path:
    path = path_of(name, where)
    for found in (path, path.with_name(f"{name.replace(' ', '_').replace('-', '_')}.zip")):
        if found.is_file():  # all_runs.zip goes by one_shot_runs.zip too
            return found
    raise UserError(
        f"there is no {path.name} of Omniglot in {path.parent}: fetch it with"
        f" `reinstate pretrain omniglot --download`, or set {VARIABLE}=FOLDER to where it lies"
    )


def read_archive(name: str, path: Path, packed: bytes | None = None) -> dict[str, bytes]:
    """Read and check all files of one part of the data, by their inner path, in order."""
    wanted = re.compile(f"(?:^|/)({ARCHIVES[name].pattern})$")
    try:
        with zipfile.ZipFile(path if packed is None else io.BytesIO(packed)) as zipped:
            entries = {
                found[1]: entry
                for entry in zipped.infolist()
                if (found := wanted.search(entry.filename))
            }
            if sum(entry.file_size for entry in entries.values()) > LARGEST:
                raise ValueError("it holds more than Omniglot has")
            files = {inside: zipped.read(entries[inside]) for inside in sorted(entries)}
    except Exception as error:  # zipfile raises whatever comes up where numbers are wrong
        raise UserError(f"{path} cannot be read ({one_line(error)}): fetch it again") from None
    if content_sha256(files) != ARCHIVES[name].sha256:
        raise UserError(
            f"{path} does not hold the public Omniglot images ({name}): its checksum differs;"
            " fetch it again"
        )
    return files


def content_sha256(files: dict[str, bytes]) -> str:
    """Hash what the files hold, however they were packed."""
    return hashlib.sha256(b"".join(files[name] for name in sorted(files))).hexdigest()


def download(
    to: Path | None = None, reporter: Reporter | None = None, base_url: str = PUBLIC
) -> Path:
    """Fetch the archives that a folder lacks (by default the one where they are looked for)."""
    folder, reporter = folder_of(to), reporter or Reporter()
    for name, archive in ARCHIVES.items():
        url, target = f"{base_url}/{archive.address}", path_of(name, folder)
        if target.is_file():
            read_archive(name, target)
            reporter.note(f"{target} is there already, and complete")
            continue
        reporter.note(f"fetching {url} to {target}")
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE) as response:
                content = bytes(response.read(LARGEST))
        except (OSError, http.client.HTTPException, ValueError) as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()  # it holds the line
            raise UserError(
                f"cannot fetch {url} ({one_line(error)}): repeat, or fetch it by hand and set"
                f" {VARIABLE} to its folder"
            ) from None
        try:
            read_archive(name, target, content)
        except UserError:
            raise UserError(f"what came from {url} is not the public archive: repeat") from None
        write_atomically(target, content)
    return folder
