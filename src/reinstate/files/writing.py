"""Write a file whole or not at all."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from reinstate.errors import UserError
from reinstate.files.folders import beside, is_held, make_parents, require_kept, sweep_beside


def write_atomically(path: Path, content: bytes) -> None:
    """Write beside, then rename: whatever happens, `path` holds the old or the new in full."""
    require_kept(path)
    with disk_errors(path):
        make_parents(path)
        if not is_held(path):  # a folder that is held was swept before
            sweep_beside(path)
        new = beside(path)
        try:
            new.unlink(missing_ok=True)
            with open(new, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
            _flush_folder(path.parent)
        finally:
            new.unlink(missing_ok=True)


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


def open_log(path: Path) -> IO[bytes]:
    """Open a file for what a process says, after what is there."""
    with disk_errors(path):
        make_parents(path)
        return open(path, "ab")


def flush(path: Path) -> None:
    """Make sure that what was appended to a file is on the disk."""
    with disk_errors(path), open(path, "ab") as file:
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Make sure that a new name is on the disk, where folders can be opened."""
    if os.name == "nt":
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
