"""The public Omniglot archives: find them, read them, and check that they are complete.

Nothing is unpacked to disk: files are read from the archive, or from folders that somebody
unpacked. Only names of the data set are read, and their bytes must be the public ones.
"""

import hashlib
import os
import re
import struct
import zipfile
import zlib
from collections import Counter
from pathlib import Path
from typing import IO, NamedTuple

from reinstate.errors import UserError, one_line
from reinstate.files import require_regular

VARIABLE = "REINSTATE_OMNIGLOT"
DRAWERS = 20  # people who drew each character once
LARGEST_FILE = 1 << 13  # bytes; the drawings have some hundreds
MOST_FILES = 50_000  # the largest archive has 19,280
LARGEST_ARCHIVE = 40_000_000  # bytes; the largest has some ten million
PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # ways in which the public ones may be packed
BROKEN = (zipfile.BadZipFile, zlib.error, struct.error)  # what zipfile raises of its own


class Archive(NamedTuple):
    """One archive of the public distribution."""

    address: str  # below the distribution's folder `python`
    places: tuple[str, ...]  # archives and folders that may hold it, below a user's folder
    glob: str  # where in an unpacked folder its files lie
    pattern: str  # the paths that count, as seen from that folder
    sha256: str  # over the bytes of those files, in the order of their paths


DRAWING = r"[^/]+/character\d\d/\d{4}_\d\d\.png"
RUN_FILE = r"run\d\d/(class_labels\.txt|test/item\d\d\.png|training/class\d\d\.png)"


def _drawings(name: str, sha256: str) -> Archive:
    places = (f"{name}.zip", name)
    return Archive(f"{name}.zip", places, "*/character[0-9][0-9]/*", DRAWING, sha256)


ARCHIVES = {
    "background": _drawings(
        "images_background", "b38e1a99da123d983059b091375d7270c294113555d7036a950dc89b3250b80f"
    ),
    "evaluation": _drawings(
        "images_evaluation", "4cee9ec535395b4f7eb89b9e352656aebf0972a41fe46139f4238eb23b022f8b"
    ),
    "one-shot runs": Archive(
        "one-shot-classification/all_runs.zip",
        (
            "all_runs.zip",
            "one_shot_runs.zip",
            "all_runs",
            "one_shot_runs",
            "one-shot-classification/all_runs.zip",
            "one-shot-classification/all_runs",
            "one-shot-classification",
            ".",  # run01 … run20 side by side, as the archive unpacks them
        ),
        "run[0-9][0-9]/**/*",
        RUN_FILE,
        "4b25adf560e58d2f2bff669331338d7770b5a382b1dff3d03281e74f40638704",
    ),
}


def cache_folder() -> Path:
    """Return the folder of downloads and decoded images, unless the user names another."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "reinstate" / "omniglot"


def named_folder(where: Path | None) -> Path | None:
    """Return the folder that the user named, in the call or in the environment."""
    if where is not None:
        return Path(where)
    variable = os.environ.get(VARIABLE)
    return Path(variable) if variable else None


def find_archive(name: str, where: Path | None = None) -> Path | None:
    """Find the archive or unpacked folder of one part of the data; None if there is none."""
    folder = named_folder(where) or cache_folder()
    for place in ARCHIVES[name].places:
        path = folder / place
        if path.is_file() or _listing(path, ARCHIVES[name]):
            return path
    return None


def require_archive(name: str, where: Path | None = None) -> Path:
    """Find the same, or say what to do."""
    found = find_archive(name, where)
    if found is not None:
        return found
    named = named_folder(where)
    if named is None:
        raise UserError(
            f"there are no Omniglot images ({name}) in {cache_folder()}: fetch them with"
            f" `reinstate pretrain omniglot --download`, or set {VARIABLE}=FOLDER to where they lie"
        )
    if not named.is_dir():
        raise UserError(f"{named} is no folder: name one that holds the Omniglot archives")
    raise UserError(
        f"{named} lacks {ARCHIVES[name].places[0]}, zipped or unpacked: put it there,"
        " or name another folder"
    )


def read_archive(name: str, path: Path) -> dict[str, bytes]:
    """Read and check all files of one part of the data, by their inner path, in order."""
    archive = ARCHIVES[name]
    files = _read_zip(path, archive) if path.is_file() else _read_folder(path, archive)
    if not files:
        raise UserError(f"{path} holds no Omniglot images ({name}): fetch it again")
    files = dict(sorted(files.items()))
    if archive.pattern == DRAWING:
        for character, count in Counter(name.rpartition("/")[0] for name in files).items():
            if count != DRAWERS:
                raise UserError(
                    f"{path}: {character} has {count} drawings, not {DRAWERS}; fetch it again"
                )
    if content_sha256(files) != archive.sha256:
        raise UserError(
            f"{path} does not hold the public Omniglot images ({name}): its checksum differs;"
            " fetch it again"
        )
    return files


def content_sha256(files: dict[str, bytes]) -> str:
    """Hash what the files hold, however they were packed."""
    return hashlib.sha256(b"".join(files[name] for name in sorted(files))).hexdigest()


def _read_zip(path: Path, archive: Archive) -> dict[str, bytes]:
    # An archive may or may not repeat its own name as the outermost folder.
    folder = re.escape(Path(archive.address).stem)
    pattern = re.compile(f"(?:{folder}/)?({archive.pattern})")
    files: dict[str, bytes] = {}
    try:
        require_regular(path, LARGEST_ARCHIVE)
        with zipfile.ZipFile(path) as zipped:
            for entry in zipped.infolist():
                match = pattern.fullmatch(entry.filename)
                if match and entry.compress_type not in PACKED:
                    raise zipfile.BadZipFile(f"{entry.filename} is packed in an unknown way")
                if match:
                    with zipped.open(entry) as file:
                        files[match[1]] = _read_drawing(file, path, entry.filename, len(files))
    # zipfile raises a RuntimeError for passwords, and whatever comes up where numbers are wrong.
    except (*BROKEN, RuntimeError, EOFError, ValueError, OSError) as error:
        said = one_line(error)
        raise UserError(
            f"{path} cannot be read ({said}): it is cut short or no zip archive; fetch it again"
        ) from None
    return files


def _read_folder(path: Path, archive: Archive) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for name in _listing(path, archive):
        try:
            with open(path / name, "rb") as file:
                files[name] = _read_drawing(file, path, name, len(files))
        except OSError as error:
            raise UserError(f"{path / name} cannot be read: {error.strerror or error}") from None
    return files


def _listing(folder: Path, archive: Archive) -> list[str]:
    """List the data set's files in an unpacked folder; none if there is no such folder."""
    found = (path for path in folder.glob(archive.glob) if path.is_file())  # not a pipe
    names = (path.relative_to(folder).as_posix() for path in found)
    return [name for name in names if re.fullmatch(archive.pattern, name)]


def _read_drawing(file: IO[bytes], path: Path, name: str, read_before: int) -> bytes:
    """Read a file, but no more than Omniglot can have: the archive may be anything."""
    if read_before >= MOST_FILES:
        raise UserError(f"{path} holds too many files to be Omniglot; fetch it again")
    content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise UserError(f"{path}: {name} is too large for a drawing; fetch the archive again")
    return content
