"""Damage to files: by what they mean, as a hostile author would, and by their bytes.

Damage is drawn from the random numbers that are given and from nothing else, so that a case can be
made again. What a file means, its ending says.
"""

import gzip
import os
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

from torture.archives import damage_zip
from torture.arrays import damage_arrays
from torture.tables import damage_parquet, damage_table
from torture.values import DEEP, damage_json, damage_lines

GENERATORS = ("meaning", "bytes", "kind")


def damage(path: Path, generator: str, draw: Random, others: list[bytes], seed: int) -> None:
    """Damage a file; `others` are the bytes of files that it may be mixed with."""
    content = path.read_bytes()
    if generator == "kind":
        _other_kind(path, draw)
    elif generator == "meaning" and path.suffix in BY_MEANING:
        path.write_bytes(BY_MEANING[path.suffix](content, draw, seed))
    else:
        path.write_bytes(damage_bytes(content, draw, others))


def _other_kind(path: Path, draw: Random) -> None:
    """Put something in the place of a file that is no file, or leads to another."""
    path.unlink()
    act = draw.randrange(6)
    if act == 0:
        path.mkdir()
    elif act == 1:
        os.mkfifo(path)
    elif act == 2:
        path.write_bytes(b"")
    elif act == 3:
        path.symlink_to(path.name)  # to itself
    elif act == 4:
        path.symlink_to(draw.choice(("/dev/zero", "/nowhere", "/", "/etc/hostname", "..")))
    # Or there is nothing.


def damage_bytes(content: bytes, draw: Random, others: list[bytes]) -> bytes:
    """Flip, cut, insert, repeat or mix bytes, whatever they mean."""
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        content = draw.choice(_BYTES)(content, draw, others)
    return content


def _flip(content: bytes, draw: Random, others: list[bytes]) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 8, 64)) if changed else 0):
        place = _place(content, draw)
        changed[place] = draw.choice((changed[place] ^ (1 << draw.randrange(8)), 0, 255))
    return bytes(changed)


def _place(content: bytes, draw: Random) -> int:
    """Choose where: the beginning and the end of a file mean most."""
    size = len(content)
    near = draw.randrange(min(size, 64))
    return draw.choice((near, size - 1 - near, draw.randrange(size), draw.randrange(size)))


def _cut(content: bytes, draw: Random, others: list[bytes]) -> bytes:
    return content[: draw.randrange(len(content) + 1)]


def _remove(content: bytes, draw: Random, others: list[bytes]) -> bytes:
    at = draw.randrange(len(content) + 1)
    return content[:at] + content[at + draw.choice((1, 2, 8, 100)) :]


def _insert(content: bytes, draw: Random, others: list[bytes]) -> bytes:
    at, odd = draw.randrange(len(content) + 1), draw.randbytes(draw.randrange(1, 20))
    return content[:at] + draw.choice((odd, bytes(9), b"[" * DEEP, b'"', b"\n")) + content[at:]


def _repeat(content: bytes, draw: Random, others: list[bytes]) -> bytes:
    at, size = draw.randrange(len(content) + 1), draw.randrange(1, 200)
    return content[: at + size] + content[at : at + size] * draw.choice((1, 3, 50)) + content[at:]


def _mix(content: bytes, draw: Random, others: list[bytes]) -> bytes:
    other = draw.choice(others) if others else content[::-1]
    return content[: draw.randrange(len(content) + 1)] + other[draw.randrange(len(other) + 1) :]


def _number(content: bytes, draw: Random, others: list[bytes]) -> bytes:
    """Put a large number where a size or an offset may be."""
    if len(content) < 8:
        return content
    at, number = _place(content[:-7], draw), draw.choice((2**31 - 1, 2**32 - 1, 2**63 - 1, 2**40))
    return content[:at] + struct.pack("<Q", number)[: draw.choice((4, 8))] + content[at + 8 :]


_BYTES = (_flip, _flip, _flip, _cut, _remove, _insert, _repeat, _mix, _number)


def _damage_gz(content: bytes, draw: Random, seed: int) -> bytes:
    if draw.random() < 0.02:
        return gzip.compress(b"a," * 20_000_000, 1)
    return gzip.compress(damage_table(gzip.decompress(content), draw), 1)


BY_MEANING: Mapping[str, Callable[[bytes, Random, int], bytes]] = {
    ".json": damage_json,
    ".jsonl": damage_lines,
    ".safetensors": damage_arrays,
    ".zip": lambda content, draw, seed: damage_zip(content, draw),
    ".csv": lambda content, draw, seed: damage_table(content, draw),
    ".tsv": lambda content, draw, seed: damage_table(content, draw),
    ".gz": _damage_gz,
    ".parquet": lambda content, draw, seed: damage_parquet(content, draw),
}
