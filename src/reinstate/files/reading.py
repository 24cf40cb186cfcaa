"""Read a file that may be anybody's: a regular one, of bounded size, where it was said to be."""

import os
import stat
from pathlib import Path

from reinstate.errors import UserError

LARGEST = 64_000_000  # bytes of a document; ours have some millions


def read_bytes(path: Path, limit: int = LARGEST, inside: Path | None = None) -> bytes:
    """Read a whole file; one that is no regular file, or larger than the limit, is refused.

    `inside` is the folder that the user named: a link that leads out of it is not followed.
    """
    try:
        require_inside(path, inside)
        with open(path, "rb", opener=_without_waiting) as file:
            require_regular(path, os.fstat(file.fileno()), limit)
            content: bytes = file.read(limit + 1)
    except FileNotFoundError:
        raise UserError(f"{path} does not exist") from None
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL in it
        raise UserError(
            f"{path} cannot be read: {getattr(error, 'strerror', 0) or error}"
        ) from None
    if len(content) > limit:  # it grows, or does not tell its size
        raise UserError(_too_large(path, limit))
    return content


def require_regular(path: Path, found: os.stat_result, limit: int) -> None:
    """Refuse what is no regular file, or too large to be read."""
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no regular file"
        raise UserError(f"{path} cannot be read: it is {kind}")
    if found.st_size > limit:
        raise UserError(_too_large(path, limit))


def require_inside(path: Path, folder: Path | None) -> None:
    """Refuse a path that leads out of a folder."""
    if folder is not None and real(folder) not in real(path).parents:
        raise UserError(f"{path} is a link that leads out of {folder}: put the file itself there")


def real(path: Path) -> Path:
    """Follow links to the end; `Path.resolve` raises an error of its own where they never end."""
    return Path(os.path.realpath(path))


def _too_large(path: Path, limit: int) -> str:
    return f"{path} cannot be read: it is larger than {limit / 1e6:,.0f} MB"


def _without_waiting(path: str, flags: int) -> int:
    """Open without waiting for somebody at the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
