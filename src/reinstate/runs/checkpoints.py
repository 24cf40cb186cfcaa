"""What training carries, in files: exact, and with a checksum.

A checkpoint holds everything that training continues from. A file of weights holds what an agent is
evaluated by, and nothing else. Both say the epoch they are of.
"""

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np

from reinstate.errors import Damaged, UserError
from reinstate.files import checksum_of, parse, read_arrays, write_arrays

CHECKPOINT = "reinstate-checkpoint-2"
WEIGHTS = "reinstate-weights-2"

Row = dict[str, Any]  # a line of metrics.jsonl


def write_checkpoint(path: Path, state: Any, epoch: int) -> None:
    """Write everything that training continues from after an epoch."""
    arrays = {name: np.asarray(raw(leaf)) for name, leaf in leaves(state).items()}
    _write(path, arrays, CHECKPOINT, epoch)


def write_weights(path: Path, params: Any, epoch: int, dtype: Any = None) -> None:
    """Write weights alone, in a shorter dtype if one is given: to be evaluated, not continued."""
    arrays = {name: np.asarray(leaf, dtype) for name, leaf in leaves(params).items()}
    _write(path, arrays, WEIGHTS, epoch)


def load_checkpoint(path: Path, template: Any) -> tuple[Any, int]:
    """Read a checkpoint and the epoch it is of, if it fits the template (or its shapes)."""
    arrays, epoch = _read(path, CHECKPOINT)
    return _fill(path, arrays, template), epoch


def load_weights(path: Path, template: Any) -> tuple[Any, int]:
    """Read weights and the epoch they are of, in the template's dtypes, from a file of weights."""
    arrays, epoch = _read(path, WEIGHTS)
    wanted = leaves(template)
    typed = {n: a.astype(wanted[n].dtype) if n in wanted else a for n, a in arrays.items()}
    return _fill(path, typed, template), epoch


def leaves(tree: Any) -> dict[str, Any]:
    """Return the arrays of a tree by their names in it."""
    return {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree.leaves_with_path(tree)}


def _write(path: Path, arrays: dict[str, np.ndarray], kind: str, epoch: int) -> None:
    about = {"epoch": epoch, "sha256": checksum_of(arrays)}
    write_arrays(path, arrays, {kind: json.dumps(about)})


def _read(path: Path, kind: str) -> tuple[dict[str, np.ndarray], int]:
    """Read arrays of a kind of file, and the epoch they are of."""
    advice = f"it is cut short, or no file of ours; restore it, or {_AGAIN}"
    arrays, metadata = read_arrays(path, advice)
    try:
        about = parse(metadata[kind].encode())
        epoch, checksum = about["epoch"], about["sha256"]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise UserError(f"{path} is no {kind}: choose or restore another") from None
    if checksum != checksum_of(arrays) or type(epoch) is not int:
        raise Damaged(f"{path} is damaged: its checksum differs; restore it, or {_AGAIN}")
    return arrays, epoch


_AGAIN = "continue the run, which makes it again"


def _fill(path: Path, arrays: dict[str, np.ndarray], template: Any) -> Any:
    """Put arrays in the place of a template's leaves, which they must fit."""
    wanted = leaves(template)
    for name in sorted(wanted.keys() | arrays.keys()):
        have = _kind(arrays[name]) if name in arrays else "nothing"
        want = _kind(jax.eval_shape(raw, wanted[name])) if name in wanted else "nothing"
        if have != want:
            raise UserError(
                f"{path} is of another agent or other settings: {name} is {have}, expected {want}"
            )
    filled = [typed(arrays[name], leaf) for name, leaf in wanted.items()]
    return jax.tree.unflatten(jax.tree.structure(template), filled)


def _kind(array: Any) -> str:
    return f"{array.dtype}{list(array.shape)}"


def _is_key(leaf: Any) -> bool:
    return jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def raw(leaf: Any) -> Any:
    """Return random keys as the plain integers they are made of, and other arrays as they are."""
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def typed(array: Any, leaf: Any) -> jax.Array:
    """Return an array, or random keys made of it where `leaf` has keys."""
    plain = jax.numpy.asarray(array)
    return jax.random.wrap_key_data(plain) if _is_key(leaf) else plain
