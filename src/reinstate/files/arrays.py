"""Arrays by name, as safetensors files: no pickle, so that reading one executes nothing."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from reinstate.errors import Damaged, UserError, one_line
from reinstate.files.reading import require_regular
from reinstate.files.writing import write_atomically

LARGEST_ARRAYS = 64_000_000_000  # bytes


def write_arrays(
    path: Path, arrays: dict[str, np.ndarray], metadata: dict[str, str] | None = None
) -> None:
    """Write a safetensors file. Give one entry of metadata at most: several have no fixed order."""
    write_atomically(path, save(arrays, metadata))


def read_arrays(
    path: Path, advice: str, limit: int = LARGEST_ARRAYS
) -> tuple[dict[str, np.ndarray], Mapping[str, str]]:
    """Read a safetensors file and its metadata; `advice` ends the message if it is broken."""
    try:
        require_regular(path, os.stat(path), limit)
        with safe_open(path, "numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return arrays, file.metadata() or {}
    except FileNotFoundError:
        raise UserError(f"{path} does not exist: {advice}") from None
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
