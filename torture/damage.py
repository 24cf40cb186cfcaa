"""Damage to files: by what they mean, as a hostile author would, and by their bytes.

Damage is drawn from the random numbers that are given and from nothing else, so that a case can be
made again. What a file means, its ending says.
"""

import copy
import json
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from reinstate.files import CHECKSUM, _checksum, checksum_of

DEEP = 70  # levels of brackets: more than are read
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 3.5, -0.0, 1e-320, 1e308, 2**31, 2**53, 2**63 - 1, 2**64),
    *(10**30, float("nan"), float("inf"), -float("inf"), "", "x", "1", "NaN", "../../etc"),
    *([], {}, [[]], [{}], {"": {}}, [None], [0] * 300, [[1, 2], [3]], {"mean": 1}, "/etc/passwd"),
    *("a\nb", "\x00", "\x1b[31m", "\u202e", "\ud800", "[/b]", "<script>", "%s%n", "x" * 100_000),
    *("epl2rl", "barcode-bandits", "dnd", {"per_seed": [1, "a"]}, {"kind": "dnd"}),
]
CELLS = (
    *("", "nan", "1e400", "-1", "1.5", "9" * 400, "x" * 70_000, "é", "\x00", '"', "\r", "a\nb"),
    *("True", "2", "-9223372036854775808", "inf", "1_000", "٣", "=cmd()", "\ufeff", "0x1"),
)
ENCODINGS = ("utf-16", "utf-8-sig", "utf-32", "latin-1", "utf-7", "cp500")
DTYPES = ("BF16", "F8_E4M3", "F64", "I8", "BOOL", "U64", "F16", "C64", "F32", "U8", "?")


def damage(path: Path, draw: Random) -> None:
    """Damage a file."""
    act, content = draw.random(), path.read_bytes()
    if act < 0.05:
        _other_kind(path, draw)
    elif act < 0.6 and path.suffix in BY_MEANING:
        path.write_bytes(BY_MEANING[path.suffix](content, draw))
    else:
        path.write_bytes(_bytes(content, draw))


def _other_kind(path: Path, draw: Random) -> None:
    """Put something in the place of a file that is no file, or leads to another."""
    path.unlink()
    act = draw.randrange(5)
    if act == 0:
        path.mkdir()
    elif act == 1:
        os.mkfifo(path)
    elif act == 2:
        path.write_bytes(b"")
    elif act == 3:
        path.symlink_to(draw.choice((path.name, "/dev/zero", "/nowhere", "/", "..")))
    # Or there is nothing.


def _bytes(content: bytes, draw: Random) -> bytes:
    """Flip, cut, insert or repeat bytes, whatever they mean; or put a large number."""
    for _ in range(draw.choice((1, 1, 2, 5))):
        at, act = draw.randrange(len(content) + 1), draw.randrange(6)
        if draw.random() < 0.5:  # the beginning and the end mean most
            at = draw.choice((min(at, at % 64), max(0, len(content) - at % 64)))
        size = draw.choice((1, 2, 8, 100))
        odd = draw.choice((draw.randbytes(size), bytes(size), b"[" * DEEP, b'"', b"\n"))
        number = struct.pack("<Q", draw.choice((2**31 - 1, 2**32 - 1, 2**63 - 1, 2**40)))
        head, tail = content[:at], content[at:]
        content = (
            head + draw.randbytes(1) + tail[1:],
            head,
            head + tail[size:],
            head + odd + tail,
            head + tail[:size] * draw.choice((2, 50)) + tail,
            head + number + tail[8:],
        )[act]
    return content


def _json(content: bytes, draw: Random) -> bytes:
    """Damage a document, and make its checksum right again most of the time: authors can."""
    document = json.loads(content)
    for _ in range(draw.choice((1, 1, 2, 4))):
        document = changed(document, draw)
    if isinstance(document, dict) and CHECKSUM in document and draw.random() < 0.9:
        document.pop(CHECKSUM)
        document[CHECKSUM] = _checksum(document)
    text = json.dumps(document)
    if draw.random() < 0.05:
        return text.encode(draw.choice(ENCODINGS), "replace")
    return text.encode()


def changed(document: Any, draw: Random) -> Any:
    """Change a value at one place: replace, drop, wrap, enlarge, rename or swap it."""
    document = copy.deepcopy(document)
    path = draw.choice([*_places(document)])
    if not path:
        return draw.choice((odd(draw), [document], {"": document}))
    *folders, name = path
    here = document
    for each in folders:
        here = here[each]
    value, act = here[name], draw.randrange(9)
    if act <= 3:
        here[name] = odd(draw)
    elif act == 4:
        del here[name]
    elif act == 5:
        here[name] = draw.choice((str(value)[:100], [value], {"value": value}, not value))
    elif act == 6:
        for _ in range(draw.choice((1, 2, 20, DEEP))):
            here[name] = draw.choice(([here[name]], {"x": here[name]}))
    elif act == 7 and isinstance(here, dict):
        here[draw.choice((f"{name} ", str(name).upper(), "x", "\ud800"))] = here.pop(name)
    else:
        here[name] = _larger(value, draw)
    return document


def _larger(value: Any, draw: Random) -> Any:
    if isinstance(value, str):
        return value + draw.choice(("x", "\n", "é")) * draw.choice((10, 1000, 100_000))
    if isinstance(value, list):
        return draw.choice((value * 7, value[:-1], [*value, odd(draw)], value[::-1]))
    if isinstance(value, dict):
        return value | {draw.choice(("", "kind", "a.b", "x" * 300)): odd(draw)}
    if isinstance(value, int | float):
        return draw.choice((value * 1e6, -value, value + 0.5, value * 2**40))
    return odd(draw)


def odd(draw: Random) -> Any:
    """Draw a value that is probably not what is expected."""
    return copy.deepcopy(draw.choice(ODD))


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where something could be wrong; in long lists, at a few places only."""
    yield path
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _places(each, (*path, name))
    elif isinstance(value, list):
        for place in sorted({0, 1, len(value) - 1} & {*range(len(value))}):
            yield from _places(value[place], (*path, place))


def _arrays(content: bytes, draw: Random) -> bytes:
    """Damage what a file says of its arrays, or the arrays with a right checksum."""
    size = struct.unpack("<Q", content[:8])[0]
    head, body = json.loads(content[8 : 8 + size]), content[8 + size :]
    if draw.random() < 0.5:
        return _rewritten(content, head.get("__metadata__"), draw)
    name = draw.choice([*head])
    if name != "__metadata__" and draw.random() < 0.5:
        dtype, shape = draw.choice(DTYPES), draw.choice(([], [-1], [0], [2**40], [1] * 40))
        span = draw.choice(([0, 0], [4, 0], [0, 2**50], [-8, 8]))
        part = draw.choice(({"dtype": dtype}, {"shape": shape}, {"data_offsets": span}))
        head[name] = head[name] | part
    else:
        head = changed(head, draw)
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + body


def _rewritten(content: bytes, about: Any, draw: Random) -> bytes:
    """Change arrays as an author can: the checksum in the metadata is that of what is written."""
    arrays = load(content)
    name = draw.choice(sorted(arrays))
    array = arrays.pop(name)
    other = draw.choice(
        (
            {name: array.astype(draw.choice(("f8", "i8", "f2", "u1", "?")))},
            {name: np.full_like(array, np.nan if array.dtype.kind == "f" else 7)},
            {name: array.reshape(draw.choice(((-1,), (1, -1), (*array.shape, 1))))},
            {name: array[:0] if array.ndim else np.zeros((3, 3), array.dtype)},
            {draw.choice(("x", "['w']", "../x", "x" * 300)): array},
            {},
        )
    )
    arrays |= other
    for key, text in (about or {}).items():
        if '"sha256"' in text:
            about[key] = json.dumps({**json.loads(text), "sha256": checksum_of(arrays)})
    return save(arrays, about)


def _table(content: bytes, draw: Random) -> bytes:
    """Change cells, rows and columns of a table, or how it is written."""
    text = content.decode()
    mark = max(",\t", key=text.count)
    rows = [line.split(mark) for line in text.splitlines()]
    for _ in range(draw.choice((1, 1, 2, 5))):
        row, act = draw.choice((rows[0], draw.choice(rows))), draw.randrange(5)
        column = draw.randrange(len(row) or 1)
        if act <= 1:
            row[column:] = [draw.choice(CELLS), *row[column + 1 :]]
        elif act == 2:
            row[column:] = draw.choice(([], [draw.choice(CELLS)] * 30, row * 2))
        elif act == 3:
            rows[1:] = draw.choice((rows[:0:-1], rows[1:] * 3, rows[1:3], [], [[]] * 9))
        else:
            rows = [each[:column] + each[column + 1 :] for each in rows]
    mark = draw.choice((mark, mark, mark, ";", "|"))
    encoding = draw.choice(ENCODINGS) if draw.random() < 0.05 else "utf-8"
    return "\n".join(mark.join(row) for row in rows).encode(encoding, "replace")


BY_MEANING: dict[str, Callable[[bytes, Random], bytes]] = {
    ".json": _json,
    ".safetensors": _arrays,
    ".csv": _table,
    ".tsv": _table,
}
