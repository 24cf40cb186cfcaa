"""Files: written atomically, read with care. Nothing else in the package opens one for writing.

A file is written under a temporary name and renamed, so that a reader never sees half of one. No
pickle anywhere: reading a stranger's file executes nothing.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from reinstate.errors import UserError


def write_atomically(path: Path, content: bytes) -> None:
    """Write beside, then rename: whatever happens, `path` holds the old or the new in full."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            with open(beside, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)


@contextmanager
def disk_errors(path: Path, advice: str = "what was saved before is kept") -> Iterator[None]:
    """Turn a full or read-only disk, which is the user's to mend, into one line."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot write {path}: {reason}; {advice}") from None


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON, with lists of numbers on one line each."""
    text = _NUMBERS.sub(_on_one_line, json.dumps(value, indent=1))
    write_atomically(path, f"{text}\n".encode())


_NUMBER = r"\n\s+(?:-?[\d.]+(?:e[-+]?\d+)?|null)"
# Nothing but a list can look like this: in text, line breaks are escaped.
_NUMBERS = re.compile(rf"\[{_NUMBER}(?:,{_NUMBER})*\n\s+\]")


def _on_one_line(found: re.Match[str]) -> str:
    return re.sub(r"\s*\n\s*", "", found[0]).replace(",", ", ")


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path} does not exist") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None


def append_line(path: Path, value: Any) -> None:
    """Add a line of JSON to a file of them."""
    with disk_errors(path), open(path, "ab") as file:  # bytes: the same on every system
        file.write(f"{json.dumps(value)}\n".encode())


def write_arrays(
    path: Path, arrays: dict[str, np.ndarray], metadata: dict[str, str] | None = None
) -> None:
    """Write a safetensors file. Give one entry of metadata at most: several have no fixed order."""
    write_atomically(path, save(arrays, metadata))


def read_arrays(path: Path, advice: str) -> tuple[dict[str, np.ndarray], Mapping[str, str]]:
    """Read a safetensors file and its metadata; `advice` ends the message if it is broken."""
    try:
        with safe_open(path, "numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return arrays, file.metadata() or {}
    # safetensors answers a type that NumPy lacks with an AttributeError or a TypeError.
    except (SafetensorError, OSError, AttributeError, TypeError) as error:
        raise UserError(f"{path} cannot be read ({error}): {advice}") from None


def require_empty(path: Path, advice: str) -> None:
    """Refuse a folder that holds anything: what is new goes into one of its own."""
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is a file: choose another --out")
    if path.exists() and any(path.iterdir()):
        raise UserError(f"{path} is not empty: {advice}")


def require_new(path: Path, flag: str) -> None:
    if path.exists():
        raise UserError(f"{path} exists: choose another {flag}")
