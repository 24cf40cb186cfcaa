"""Damage to JSON, by what it means: values, names, lengths, depth, encodings, checksums."""

import copy
import json
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from reinstate.files import CHECKSUM, _checksum

LONG = 100_000  # characters of a very long string
DEEP = 70  # levels of brackets: more than are read
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 2, 3.5, -0.0, 1e-320, 1e308, -1e308, 2**31, 2**53, 2**63 - 1),
    *(2**64 - 1, -(2**63), 10**30, float("nan"), float("inf"), -float("inf"), "", "x", "1", "NaN"),
    *([], {}, [[]], [{}], {"": {}}, [None], [0] * 300, [[1, 2], [3]], {"mean": 1}, "../../etc"),
    *("/etc/passwd", "a\nb", "\x00", "\x1b[31m", "\u202e", "\ud800", "[/b]", "<script>", "%s%n"),
    *("epl2rl", "barcode-bandits", "dnd", "x" * 300, {"per_seed": [1, "a"]}, {"kind": "dnd"}),
]
ENCODINGS = ("utf-16", "utf-8-sig", "utf-32", "latin-1", "utf-7", "cp500")


@cache
def pool(seed: int) -> tuple[Any, ...]:
    """Draw values of JSON from Hypothesis, which is better than we are at odd ones."""
    found: list[Any] = []
    plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    values = st.recursive(
        plain,
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner),
        max_leaves=20,
    )

    @seeded(seed)
    @settings(
        max_examples=500,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
    )
    @given(values)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return tuple(found)


def damage_json(content: bytes, draw: Random, seed: int) -> bytes:
    """Damage a document, and make its checksum right again most of the time: authors can."""
    document = json.loads(content)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        document = change(document, draw, seed)
    if isinstance(document, dict) and CHECKSUM in document and draw.random() < 0.9:
        document.pop(CHECKSUM)
        document[CHECKSUM] = _checksum(document)
    return _written(document, draw)


def damage_lines(content: bytes, draw: Random, seed: int) -> bytes:
    """Damage one of a file's lines of JSON, or their order."""
    lines = content.splitlines()
    place, act = draw.randrange(len(lines)), draw.random()
    if act < 0.7:
        lines[place] = _written(change(json.loads(lines[place]), draw, seed), draw)
    elif act < 0.8:
        lines.insert(place, draw.choice((b"", b"{", b"null", b"7", b"[" * DEEP, lines[-1])))
    elif act < 0.9:
        draw.shuffle(lines)
    else:
        lines *= 30
    return b"\n".join(lines) + b"\n"


def change(document: Any, draw: Random, seed: int) -> Any:
    """Change a value at one place."""
    document = copy.deepcopy(document)
    path = draw.choice(list(_places(document)))
    if not path:
        return draw.choice((odd(draw, seed), [document], {"": document}))
    here = document
    for name in path[:-1]:
        here = here[name]
    draw.choice(_CHANGES)(here, path[-1], draw, seed)
    return document


def odd(draw: Random, seed: int) -> Any:
    """Draw a value that is probably not what is expected."""
    return copy.deepcopy(draw.choice(draw.choice((ODD, ODD, pool(seed)))))


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where something could be wrong; in long lists, at a few places only."""
    yield path
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _places(each, (*path, name))
    elif isinstance(value, list):
        for place in sorted({0, 1, len(value) - 1} & {*range(len(value))}):
            yield from _places(value[place], (*path, place))


def _replace(here: Any, name: Any, draw: Random, seed: int) -> None:
    here[name] = odd(draw, seed)


def _delete(here: Any, name: Any, draw: Random, seed: int) -> None:
    del here[name]


def _retype(here: Any, name: Any, draw: Random, seed: int) -> None:
    value = here[name]
    here[name] = draw.choice((str(value)[:100], [value], {"value": value}, [value] * 3, not value))


def _enlarge(here: Any, name: Any, draw: Random, seed: int) -> None:
    value = here[name]
    if isinstance(value, str):
        here[name] = value + draw.choice(("x", "\n", "é")) * draw.choice((10, 1000, LONG))
    elif isinstance(value, list):
        here[name] = draw.choice((value * 7, value[:-1], [*value, odd(draw, seed)], value[::-1]))
    elif isinstance(value, dict):
        value[draw.choice(("", "kind", "per_seed", "a.b", "x" * 300))] = odd(draw, seed)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        here[name] = draw.choice((value * 1e6, -value, value + 0.5, value * 2**40, value * 99))


def _rename(here: Any, name: Any, draw: Random, seed: int) -> None:
    if isinstance(here, dict):
        new = draw.choice((f"{name} ", str(name).upper(), "x", "\ud800", "x" * 300))
        here[new] = here.pop(name)


def _nest(here: Any, name: Any, draw: Random, seed: int) -> None:
    for _ in range(draw.choice((1, 2, 20, DEEP))):
        here[name] = draw.choice(([here[name]], {"x": here[name]}))


def _swap(here: Any, name: Any, draw: Random, seed: int) -> None:
    other = draw.choice([*here] if isinstance(here, dict) else range(len(here)))
    here[name], here[other] = here[other], here[name]


_CHANGES = (
    *(_replace, _replace, _replace, _delete, _delete),
    *(_retype, _enlarge, _enlarge, _rename, _nest, _swap),
)


def _written(document: Any, draw: Random) -> bytes:
    """Write JSON, now and then in another encoding, or with a key twice, or a very long number."""
    text, act = json.dumps(document), draw.random()
    if act < 0.04:
        return text.encode(draw.choice(ENCODINGS), "replace")
    if act < 0.08 and isinstance(document, dict) and document:
        name, value = draw.choice([*document]), draw.choice(ODD)
        return f"{{{json.dumps(name)}: {json.dumps(value)}, {text[1:]}".encode()
    if act < 0.1:
        return text.replace("1", "1" * draw.choice((25, 500)), 1).encode()
    return text.encode()
