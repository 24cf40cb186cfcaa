"""Folders: one process in each, and what a killed one leaves behind is swept up.

The process that fills a folder holds a lock on FOLDER/.lock, which the operating system takes back
when it dies, however it dies. What it was writing is left under a temporary name that says so.
"""

import json
import os
import re
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from reinstate.errors import UserError
from reinstate.files.reading import real

LOCK = ".lock"
LEFTOVER = re.compile(r"\.(.*\.)?(\d+)\.tmp")  # the process that wrote it is in the name
MOMENTS = 50  # hundredths of a second until a lock has a name
INNER = ("checkpoints", "milestones")  # folders within a run that have no lock of their own


class InUse(UserError):
    """A folder that another process holds."""


class _Held(NamedTuple):
    descriptor: int
    thread: int


_held: dict[Path, _Held] = {}


def beside(path: Path) -> Path:
    """Name the temporary file under which this process writes a file."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this thread; another process, or another thread, is refused.

    The folder is made if there is none, and goes again if nothing was put into it.
    """
    key = real(folder)
    if key in _held and _held[key].thread == threading.get_ident():
        yield  # further in, in the same work
        return
    made = _make(folder)
    try:
        _held[key] = _Held(_acquire(folder, key), threading.get_ident())
        try:
            sweep(folder)
            yield
        finally:
            _release(folder, _held.pop(key).descriptor)
    finally:
        with suppress(OSError):  # it holds what was written
            for each in made:
                each.rmdir()


@contextmanager
def new_folder(out: Path, advice: str) -> Iterator[Path]:
    """Give a place for the files of a new folder, which appears once all of them are written."""
    require_empty(out, advice)
    sweep_beside(out)
    made, place = _make(out.parent), beside(out)
    try:
        _remove(place)
        with locked(place):  # so that it is noticed if somebody removes it
            yield place
        if out.exists():
            _vacate(out, advice)
        place.rename(out)
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror or error}") from None
    finally:
        _remove(place)
        with suppress(OSError):
            for each in made:
                each.rmdir()


def _vacate(folder: Path, advice: str) -> None:
    """Remove a folder that is empty, but for what a killed process left, and that nobody holds."""
    with locked(folder):
        require_empty(folder, advice)  # still: somebody may have filled it in the meantime
    for name in INNER:
        with suppress(OSError):
            (folder / name).rmdir()
    folder.rmdir()


def require_kept(path: Path) -> None:
    """Refuse to write into a held folder that somebody has removed: half of it would be made."""
    for folder in _held_above(real(path)):
        if not _is_file(folder / LOCK, _held[folder].descriptor):
            raise UserError(
                f"{folder} was removed or moved while it was in use: repeat the command, which"
                " starts over, or continues where the folder is now"
            )


def is_held(path: Path) -> bool:
    """Tell whether this process holds a folder that a path lies in."""
    return bool(_held_above(real(path)))


def make_parents(path: Path) -> None:
    """Make the folders that a file goes into, but none that is held: that one was removed."""
    here = real(path)
    held = _held_above(here)
    if not held:
        path.parent.mkdir(parents=True, exist_ok=True)
        return
    innermost = max(held, key=lambda folder: len(folder.parts))
    try:
        for folder in reversed([each for each in here.parents if innermost in each.parents]):
            folder.mkdir(exist_ok=True)
    except FileNotFoundError:
        require_kept(path)
        raise


def _held_above(here: Path) -> list[Path]:
    return [folder for folder in _held if folder in here.parents]


def sweep(folder: Path) -> None:
    """Remove what a killed process of ours was writing in a folder that is held now."""
    inner = (folder / name for name in INNER)
    for each in (folder, *(path for path in inner if not path.is_symlink())):
        for path in leftovers(each):
            _remove(path)


def sweep_beside(path: Path) -> None:
    """Remove what processes that are dead were writing in the place of one file."""
    for left in leftovers(path.parent):
        found = LEFTOVER.fullmatch(left.name)
        if found and found[1] == f"{path.name}." and not is_alive(int(found[2])):
            _remove(left)


def leftovers(folder: Path) -> list[Path]:
    """List what has the name of a temporary file of ours."""
    with suppress(OSError):
        return [path for path in folder.iterdir() if LEFTOVER.fullmatch(path.name)]
    return []


def require_empty(path: Path, advice: str) -> None:
    """Refuse a folder that holds anything: what is new goes into one of its own.

    What a killed process was about to write does not count, nor does its lock.
    """
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is a file: choose another --out")
    if path.exists() and not {each.name for each in path.iterdir()} <= _ours(path):
        raise UserError(f"{path} is not empty: {advice}")


def require_new(path: Path, flag: str) -> None:
    if os.path.lexists(path):
        raise UserError(f"{path} exists: choose another {flag}")


def _ours(path: Path) -> set[str]:
    """Name what does not make a folder full; an inner folder does not if it is empty itself."""
    empty = {n for n in INNER if (path / n).is_dir() and not _holds_more(path / n)}
    return {LOCK, *empty, *(left.name for left in leftovers(path))}


def _holds_more(folder: Path) -> bool:
    return len(list(folder.iterdir())) > len(leftovers(folder))


def _make(folder: Path) -> list[Path]:
    """Make a folder and those above it; return the new ones, the innermost first."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise UserError(f"{folder} is a file, or lies in one: choose another --out") from None
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror or error}") from None
    return missing


def _acquire(folder: Path, key: Path) -> int:
    """Return the descriptor of the locked file; raise if somebody else has it."""
    path = folder / LOCK
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror or error}") from None
        if key in _held or not _lock(descriptor):
            owner = _owner(descriptor)
            os.close(descriptor)
            raise InUse(
                f"{folder} is in use by {owner}: wait until that ends, or choose another --out"
            )
        if _is_file(path, descriptor):  # else its last owner removed it in between
            break
        os.close(descriptor)
    with suppress(OSError):  # on a full disk the lock has no name, but it holds
        os.ftruncate(descriptor, 0)
        name = json.dumps({"pid": os.getpid(), "host": socket.gethostname()})
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, name.encode())
    return descriptor


def _release(folder: Path, descriptor: int) -> None:
    path = folder / LOCK
    for _ in range(2):  # a disk may fail once
        if _is_file(path, descriptor):
            with suppress(OSError):
                path.unlink()  # before it is let go: who waits for it looks again
    os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock a file, or say that somebody else has; where there are no locks, trust."""
    if os.name == "nt":
        import msvcrt

        try:
            os.lseek(descriptor, 1 << 20, os.SEEK_SET)  # beyond what is written: that stays legible
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a network's file system may know no locks
        pass
    return True


def _owner(descriptor: int) -> str:
    """Name who holds a lock; who has just got it needs a moment to write that down."""
    for _ in range(MOMENTS):
        try:
            os.lseek(descriptor, 0, os.SEEK_SET)
            owner = json.loads(os.read(descriptor, 1000))
            return f"process {int(owner['pid'])} on {str(owner['host'])[:100]}"
        except (OSError, ValueError, TypeError, KeyError):
            time.sleep(0.01)
    return "another process"


def _is_file(path: Path, descriptor: int) -> bool:
    """Tell whether a path leads to the file of a descriptor."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except OSError:
        return False


def is_alive(pid: int) -> bool:
    """Tell whether there is a process of this number; where asking would stop it, say yes."""
    if os.name == "nt":
        return True  # asking would stop it
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass
    return True


def _remove(path: Path) -> None:
    with suppress(OSError):  # what cannot be removed does no harm
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
