"""Files: written whole or not at all, read with care; one process per folder.

A file is written under a temporary name and renamed, so that nobody sees half of one. What is read
may be anybody's: a regular file of bounded size, JSON or safetensors, never pickle, so that reading
executes nothing. The process that fills a folder holds a lock on FOLDER/.lock, which dies with it.
"""

import hashlib
import json
import os
import re
import shutil
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import filelock
import msgspec
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from reinstate.errors import Damaged, UserError, one_line

LOCK = ".lock"
LEFTOVER = re.compile(r"\..+\.\d+\.tmp")  # what a killed process was writing
INNER = ("checkpoints", "milestones")  # folders within a run that have no lock of their own
CHECKSUM = "checksum"
LARGEST = 64_000_000  # bytes of a document; ours have some millions
LARGEST_LINES = 512_000_000  # bytes of a file of lines: one per epoch
LARGEST_ARRAYS = 64_000_000_000  # bytes
RESULTS = "hold results of this program"
REPRODUCED = "name what reinstate reproduce or train left"

T = TypeVar("T")


class InUse(UserError):
    """A folder that another process holds."""


def write_atomically(path: Path, content: bytes) -> None:
    """Write beside, then rename: whatever happens, `path` holds the old or the new in full."""
    new = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with disk_errors(path):
        _make_folder(Path(os.path.realpath(path.parent)))
        try:
            with open(new, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)


def _make_folder(folder: Path) -> None:
    """Make the folder of a file, unless it is held: then it is there, or was removed meanwhile."""
    if str(folder) not in _held:
        folder.mkdir(parents=not _held.keys() & {*map(str, folder.parents)}, exist_ok=True)


@contextmanager
def disk_errors(path: Path, advice: str = "what was saved before is kept") -> Iterator[None]:
    """Turn a full or read-only disk, which is the user's to mend, into one line."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot write {path}: {reason}; {advice}") from None


def append_line(path: Path, value: Any) -> None:
    """Add a line of JSON to a file of them. It reaches the disk with the next `flush`."""
    with disk_errors(path), open(path, "ab") as file:  # bytes: the same on every system
        file.write(f"{json.dumps(value)}\n".encode())


def flush(path: Path) -> None:
    """Make sure that what was appended to a file is on the disk."""
    with disk_errors(path), open(path, "ab") as file:
        os.fsync(file.fileno())


def read_bytes(path: Path, limit: int = LARGEST) -> bytes:
    """Read a whole file; one that is no regular file, or larger than the limit, is refused."""
    require_regular(path, limit)
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from None


def require_regular(path: Path, limit: int) -> None:
    """Refuse what is no regular file, such as a pipe that never ends, or too large to be read."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise UserError(f"{path} does not exist") from None
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL in it
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{path} cannot be read: {reason}") from None
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no regular file"
        raise UserError(f"{path} cannot be read: it is {kind}")
    if found.st_size > limit:
        raise UserError(f"{path} cannot be read: it is larger than {limit / 1e6:,.0f} MB")


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON, with lists of numbers on one line each."""
    text = _NUMBERS.sub(_on_one_line, json.dumps(value, indent=1))
    write_atomically(path, f"{text}\n".encode())


def write_document(path: Path, document: Mapping[str, Any]) -> None:
    """Write results, with a checksum that tells if they were altered since."""
    plain = {name: value for name, value in document.items() if name != CHECKSUM}
    write_json(path, {**plain, CHECKSUM: _checksum(json.loads(json.dumps(plain)))})


def read_json(path: Path) -> Any:
    """Read untrusted JSON. The checksum of a document that has one is verified, and taken off."""
    content = read_bytes(path)
    try:
        found = parse(content)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read: {one_line(error)}") from None
    if isinstance(found, dict) and CHECKSUM in found and found.pop(CHECKSUM) != _checksum(found):
        raise Damaged(
            f"{path} was altered since it was written: restore it, or delete its"
            f' "{CHECKSUM}" to have it read as it is'
        )
    return found


def read_lines(path: Path) -> list[Any]:
    """Read JSON lines; what is no JSON, such as a last line cut short, is left out."""
    found = []
    for line in read_bytes(path, LARGEST_LINES).splitlines():
        with suppress(ValueError, RecursionError):
            found.append(parse(line))
    return found


def parse(content: bytes) -> Any:
    """Parse JSON; a ValueError or RecursionError if it is none."""
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError as error:  # no ValueError before msgspec 0.21
        raise ValueError(str(error)) from None


def read_document(kind: type[T], path: Path) -> T:
    """Read a file and check that it holds a document of this kind."""
    return check(kind, read_json(path), path)


def check(
    kind: type[T], value: Any, file: Path, does: str = RESULTS, advice: str = REPRODUCED
) -> T:
    """Return plain values as they are if they fit a type; a UserError names what does not.

    Its words are that the file does not do what it should (`does`), and what to do about it. Fields
    that a TypedDict does not name may be there too: experiments add scores of their own.
    """
    try:
        convert(kind, value)
    except UserError as error:
        raise UserError(f"{file} does not {does} ({error}): {advice}") from None
    found: T = value
    return found


def convert(kind: Any, value: Any, where: str = "") -> Any:
    """Make an object of a type from plain values; a UserError names the first that does not fit."""
    try:
        return msgspec.convert(value, kind, dec_hook=lambda _, given: given)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        name = f"{where}{place.rstrip('`')}".lstrip(".") or "it"
        raise UserError(f"{name}: {one_line(problem.replace('`', ''))}") from None
    except RecursionError:
        raise UserError(f"{where or 'it'} is nested too deep") from None


def _checksum(document: Any) -> str:
    """Hash what a document says, however it is laid out."""
    plain = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(plain.encode()).hexdigest()}"


_NUMBER = r"\n\s+(?:-?[\d.]+(?:e[-+]?\d+)?|null)"
# Nothing but a list can look like this: in text, line breaks are escaped.
_NUMBERS = re.compile(rf"\[{_NUMBER}(?:,{_NUMBER})*\n\s+\]")


def _on_one_line(found: re.Match[str]) -> str:
    return re.sub(r"\s*\n\s*", "", found[0]).replace(",", ", ")


def write_arrays(
    path: Path, arrays: dict[str, np.ndarray], metadata: dict[str, str] | None = None
) -> None:
    """Write a safetensors file. Give one entry of metadata at most: several have no fixed order."""
    write_atomically(path, save(arrays, metadata))


def read_arrays(path: Path, advice: str) -> tuple[dict[str, np.ndarray], Mapping[str, str]]:
    """Read a safetensors file and its metadata; `advice` ends the message if it is broken."""
    if not path.exists():
        raise UserError(f"{path} does not exist: {advice}")
    require_regular(path, LARGEST_ARRAYS)
    try:
        with safe_open(path, "numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return arrays, file.metadata() or {}
    # safetensors answers a type that NumPy lacks with an AttributeError or a TypeError.
    except (SafetensorError, OSError, AttributeError, TypeError, ValueError) as error:
        raise Damaged(f"{path} cannot be read ({one_line(error)}): {advice}") from None


def checksum_of(arrays: Mapping[str, np.ndarray]) -> str:
    """Hash arrays with their names, types and shapes."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        found.update(f"{name} {array.dtype} {array.shape}\n".encode())
        found.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return found.hexdigest()


_held: dict[str, int] = {}  # folder → the thread that holds it


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this thread; another process, or another thread, is refused.

    The folder is made if there is none, and goes again if nothing was put into it.
    """
    key = os.path.realpath(folder)
    if _held.get(key) == threading.get_ident():
        yield  # further in, in the same work
        return
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    lock = filelock.FileLock(Path(key, LOCK), timeout=0)
    with disk_errors(folder):
        _make_folder(Path(key))
        try:
            lock.acquire()
        except filelock.Timeout:
            advice = "wait until that ends, or choose another --out"
            raise InUse(f"{folder} is in use by another process: {advice}") from None
    _held[key] = threading.get_ident()
    try:
        _remove_leftovers(folder)
        yield
    finally:
        del _held[key]
        with suppress(OSError):  # before it is let go: who waits for it makes another one
            Path(key, LOCK).unlink()
        lock.release()
        for each in missing:
            with suppress(OSError):  # it holds what was written
                each.rmdir()


def _remove_leftovers(folder: Path) -> None:
    """Remove what a killed process of ours was writing in a folder that is held now."""
    inner = [folder / name for name in INNER]
    for each in (folder, *(path for path in inner if not path.is_symlink())):
        for left in [path for path in each.glob(".*.tmp") if LEFTOVER.fullmatch(path.name)]:
            left.unlink(missing_ok=True)


@contextmanager
def new_folder(out: Path, advice: str) -> Iterator[Path]:
    """Give a place for the files of a new folder, which appears once all of them are written."""
    require_empty(out, advice)
    place = out.with_name(f".{out.name}.new")
    with locked(place):
        for left in place.iterdir():  # by a process that was killed
            if left.name != LOCK:
                left.unlink()
        try:
            yield place
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
    with disk_errors(out):
        if out.exists():
            with locked(out):
                require_empty(out, advice)  # still: somebody may have filled it in the meantime
            shutil.rmtree(out)
        place.rename(out)


def require_empty(path: Path, advice: str) -> None:
    """Refuse a folder with any file but what a killed process of ours left."""
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is a file: choose another --out")
    for each in path.rglob("*"):
        if not (each.is_dir() or each.name == LOCK or LEFTOVER.fullmatch(each.name)):
            raise UserError(f"{path} is not empty: {advice}")


def require_new(path: Path, flag: str) -> None:
    """Refuse to replace a file."""
    if os.path.lexists(path):
        raise UserError(f"{path} exists: choose another {flag}")
