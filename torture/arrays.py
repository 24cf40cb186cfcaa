"""Damage to safetensors, by what they mean: headers, metadata, arrays, checksums."""

import json
import struct
from random import Random
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from reinstate.files import checksum_of
from reinstate.runs.checkpoints import METRICS
from torture.values import change, damage_lines, odd

DTYPES = ("BF16", "F8_E4M3", "F64", "I8", "BOOL", "U64", "F16", "C64", "F32", "U8", "?")
NUMBERS = (np.nan, np.inf, 0.0, -1e30)


def damage_arrays(content: bytes, draw: Random, seed: int) -> bytes:
    """Damage what a file says of its arrays, its metadata, or the arrays with a right checksum."""
    size = struct.unpack("<Q", content[:8])[0]
    head, body = json.loads(content[8 : 8 + size]), content[8 + size :]
    act = draw.random()
    if act < 0.3:
        return _rewritten(content, head.get("__metadata__"), draw, seed)
    if act < 0.6 and (about := head.get("__metadata__")):
        name = draw.choice([*about])
        about[name] = _changed_text(about[name], draw, seed)
    else:
        head = _changed_head(head, draw, seed)
    text = json.dumps(head).encode()
    length = len(text) if draw.random() < 0.9 else draw.choice((0, 1, 2**40, len(text) + 9))
    return struct.pack("<Q", length) + text + body


def _rewritten(content: bytes, about: Any, draw: Random, seed: int) -> bytes:
    """Change arrays as an author can: the checksum in the metadata is that of what is written."""
    arrays = load(content)
    name = draw.choice(sorted(arrays))
    array, act = arrays[name], draw.randrange(6)
    if METRICS in arrays and draw.random() < 0.5:
        lines = damage_lines(arrays[METRICS].tobytes(), draw, seed)
        arrays[METRICS] = np.frombuffer(lines, np.uint8)
    elif act == 0:
        arrays[name] = np.full_like(
            array, draw.choice(NUMBERS if array.dtype.kind == "f" else (7,))
        )
    elif act == 1:
        arrays[name] = array.astype(draw.choice(("f8", "i8", "f2", "u1", "?")))
    elif act == 2:
        arrays[name] = array.reshape(draw.choice(((-1,), (1, -1), (*array.shape, 1))))
    elif act == 3:
        arrays[draw.choice(("x", "['w']", "../x", "x" * 300))] = arrays.pop(name)
    elif act == 4:
        del arrays[name]
    else:
        arrays[name] = array[:0] if array.ndim else np.zeros((3, 3), array.dtype)
    return save(arrays, _signed(about, arrays))


def _signed(about: Any, arrays: dict[str, np.ndarray]) -> Any:
    for name, text in (about or {}).items():
        if '"sha256"' in text:
            about[name] = json.dumps({**json.loads(text), "sha256": checksum_of(arrays)})
    return about


def _changed_text(text: str, draw: Random, seed: int) -> str:
    try:
        return json.dumps(change(json.loads(text), draw, seed))
    except ValueError:
        return str(odd(draw, seed))


def _changed_head(head: Any, draw: Random, seed: int) -> Any:
    names = [name for name in head if name != "__metadata__"]
    if not names or draw.random() < 0.3:
        return change(head, draw, seed)
    name, act = draw.choice(names), draw.randrange(5)
    entry = head[name]
    if act == 0:
        entry["dtype"] = draw.choice(DTYPES)
    elif act == 1:
        entry["shape"] = draw.choice(([], [-1], [0], [2**40], [1] * 40, [*entry["shape"], 1]))
    elif act == 2:
        entry["data_offsets"] = draw.choice(([0, 0], [4, 0], [0, 2**50], [-8, 8], [0, 4]))
    elif act == 3:
        entry["shape"] = entry["shape"][::-1]
    else:
        head[draw.choice(("x", METRICS, "../x"))] = head.pop(name)
    return head
