"""JSON: bounded in size and depth; a document of results carries a checksum of itself."""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from reinstate.errors import Damaged, UserError
from reinstate.files.reading import LARGEST, read_bytes
from reinstate.files.writing import write_atomically

CHECKSUM = "checksum"
DEEPEST = 64  # lists and objects within each other; ours have a dozen
LARGEST_LINES = 512_000_000  # bytes of a file of lines: one per epoch
RESULTS = "hold results of this program"
REPRODUCED = "name what reinstate reproduce or train left"

T = TypeVar("T")


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON, with lists of numbers on one line each."""
    text = _NUMBERS.sub(_on_one_line, json.dumps(value, indent=1))
    write_atomically(path, f"{text}\n".encode())


def write_document(path: Path, document: Mapping[str, Any]) -> None:
    """Write results, with a checksum that tells if they were altered since."""
    plain = {name: value for name, value in document.items() if name != CHECKSUM}
    write_json(path, {**plain, CHECKSUM: _checksum(json.loads(json.dumps(plain)))})


def read_document(kind: type[T], path: Path, inside: Path | None = None) -> T:
    """Read a file and check that it holds a document of this kind.

    `inside` is the folder that the user named, if it is not the file: no link may lead out of it.
    """
    return check(kind, read_json(path, inside), path)


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
        raise UserError(f"{name}: {problem.replace('`', '')}") from None
    except RecursionError:
        raise UserError(f"{where or 'it'} is nested too deep") from None


def read_json(path: Path, inside: Path | None = None) -> Any:
    """Read untrusted JSON. The checksum of a document that has one is verified, and taken off."""
    content = read_bytes(path, LARGEST, inside)
    try:
        found = parse(content)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    if isinstance(found, dict) and CHECKSUM in found and found.pop(CHECKSUM) != _checksum(found):
        raise Damaged(
            f"{path} was altered since it was written: restore it, or delete its"
            f' "{CHECKSUM}" to have it read as it is'
        )
    return found


def read_lines(path: Path, inside: Path | None = None) -> list[Any]:
    """Read JSON lines; what is no JSON, such as a last line cut short, is left out."""
    found = []
    for line in read_bytes(path, LARGEST_LINES, inside).splitlines():
        try:
            found.append(parse(line))
        except (ValueError, RecursionError):
            continue
    return found


def parse(content: bytes) -> Any:
    """Parse JSON that is not too deep, with whole numbers of 64 bits and text of whole characters.

    JSON can spell half of a character ("\\ud800"), which could be neither printed nor written.
    """
    if _depth(content) > DEEPEST:
        raise ValueError(f"it is nested more than {DEEPEST} deep")
    found = json.loads(content.decode("utf-8"), parse_int=_whole)
    if _HALF.search(content):
        json.dumps(found, ensure_ascii=False).encode()  # a ValueError if the other half is missing
    return found


def _depth(content: bytes) -> int:
    """Return how deep brackets are nested; those within text count too, which does no harm."""
    letters = np.frombuffer(content, np.uint8)
    kinds = np.zeros(256, np.int8)
    kinds[[*b"[{"]], kinds[[*b"]}"]] = 1, -1
    found = kinds[letters]
    steps = found[found != 0]
    return int(np.cumsum(steps, dtype=np.int64).max(initial=0))


def _whole(digits: str) -> int:
    if len(digits) > 20 or not -(2**63) <= int(digits) < 2**64:
        raise ValueError(f"a number is too large: {digits[:20]}…")
    return int(digits)


def _checksum(document: Any) -> str:
    """Hash what a document says, however it is laid out."""
    plain = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(plain.encode()).hexdigest()}"


_HALF = re.compile(rb"\\u[dD][89a-fA-F]")  # of a pair that spells one character
_NUMBER = r"\n\s+(?:-?[\d.]+(?:e[-+]?\d+)?|null)"
# Nothing but a list can look like this: in text, line breaks are escaped.
_NUMBERS = re.compile(rf"\[{_NUMBER}(?:,{_NUMBER})*\n\s+\]")


def _on_one_line(found: re.Match[str]) -> str:
    return re.sub(r"\s*\n\s*", "", found[0]).replace(",", ", ")
