"""Documents that may be anybody's, checked against the types that say what ours hold.

`checked` is how every JSON file of this program is read: results, evaluations, summaries, searches,
fits, cards. `json_schema` makes a JSON Schema of the same types. Fields that a type does not name
may be there too, and may be anything, but for numbers over seeds: those are looked for everywhere,
since everything computed again is computed from them.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NotRequired,
    Required,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from reinstate.errors import UserError
from reinstate.files import read_json

T = TypeVar("T")

if TYPE_CHECKING:
    Numbers = Any
    Array = Any
    Pair = list[float]
    Ends = list[float | None]
    Probability = float
else:

    class Numbers:
        """A number, null where it is not known, or lists of these, however deep."""

    class Array:
        """A list of such numbers, or of lists of them, in rows of equal length."""

    class Pair:
        """The two ends of an interval."""

    class Ends:
        """The two ends of a region; null where it is open."""

    class Probability:
        """A number between 0 and 1."""


RESULTS = "hold results of this program"
REPRODUCED = "name what reinstate reproduce or train left"
SUMMARISED = ("per_seed", "per_participant")  # names of what summaries are made of, anywhere
_NUMBER = {"type": "number"}
_KINDS: dict[Any, dict[str, Any]] = {
    Pair: {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2},
    Ends: {
        "type": "array",
        "items": {"anyOf": [_NUMBER, {"type": "null"}]},
        "minItems": 2,
        "maxItems": 2,
    },
    Probability: {"type": "number", "minimum": 0, "maximum": 1},
}


def read_document(kind: type[T], path: Path, inside: Path | None = None) -> T:
    """Read a file and check that it holds a document of this kind.

    `inside` is the folder that the user named, if it is not the file: no link may lead out of it.
    """
    return checked(kind, read_json(path, inside), path)


def checked(
    kind: type[T], value: Any, path: Path, does: str = RESULTS, advice: str = REPRODUCED
) -> T:
    """Return the value if it is a document of this kind; a UserError names what is wrong.

    Its words are that the file does not do what it should (`does`), and what to do about it.
    """
    try:
        schema = json_schema(kind)  # type: ignore[arg-type]
        problem = _problem(schema, value, schema["$defs"])
    except RecursionError:
        problem = "it is nested too deep"
    if problem:
        said = " ".join(problem.split())[:200]
        raise UserError(f"{path} does not {does} ({said}): {advice}")
    found: T = value
    return found


_WORDS: dict[str, tuple[Any, str]] = {
    "object": (Mapping, "an object"),
    "array": (list, "a list"),
    "string": (str, "text"),
    "boolean": (bool, "true or false"),
    "null": (NoneType, "nothing"),
    "integer": (int, "a whole number"),
    "number": ((int, float), "a number"),
}


def _problem(schema: Any, value: Any, definitions: Any, where: str = "") -> str | None:
    """Say what is wrong with a value by a schema of `json_schema`, and where; None if nothing."""
    if reference := schema.get("$ref"):
        schema = definitions[reference.rpartition("/")[2]]
    if options := schema.get("anyOf"):
        problems = [_problem(each, value, definitions, where) for each in options]
        words = schema.get("description")
        unmet = _expected(words, value, where) if words else problems[0]
        return None if None in problems else unmet
    if schema.get("description") == _RECTANGULAR:
        return None if _is_array(value) else _expected(_RECTANGULAR, value, where)
    if "type" not in schema:
        return _unsound(value, where)
    types, words = _WORDS[schema["type"]]
    if not isinstance(value, types) or (isinstance(value, bool) and types is not bool):
        return _expected(words, value, where)
    if value not in schema.get("enum", (value,)):
        return _expected(" or ".join(schema["enum"]), value, where)
    if "minimum" in schema and not schema["minimum"] <= value <= schema["maximum"]:
        return _expected(f"from {schema['minimum']} to {schema['maximum']}", value, where)
    parts: Iterable[tuple[Any, Any, str]] = ()
    if schema["type"] == "object":
        for name in schema.get("required", ()):
            if name not in value:
                return f"{f'{where}.{name}'.lstrip('.')} is missing"
        fields, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        parts = ((fields.get(n, others), each, f"{where}.{n}") for n, each in value.items())
    elif schema["type"] == "array":
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            return _expected("two numbers", value, where)
        parts = ((schema["items"], each, f"{where}[{n}]") for n, each in enumerate(value))
    found = (_problem(part, each, definitions, place) for part, each, place in parts)
    return next((problem for problem in found if problem), None)


def _unsound(value: Any, where: str) -> str | None:
    """Say what is wrong with numbers over seeds in a value of which nothing else is known."""
    left = [(value, where)]
    while left:
        here, place = left.pop()
        if isinstance(here, list):
            left += [(e, f"{place}[{n}]") for n, e in enumerate(here) if isinstance(e, dict | list)]
        elif isinstance(here, Mapping):
            for name in SUMMARISED:
                if name in here and not _is_array(here[name]):
                    return _expected(_RECTANGULAR, here[name], f"{place}.{name}")
            left += [(e, f"{place}.{n}") for n, e in here.items() if isinstance(e, dict | list)]
    return None


_RECTANGULAR = "a list of numbers, in rows of equal length"


def _is_array(value: Any) -> bool:
    return isinstance(value, list) and _shape(value) is not None


def _shape(value: Any) -> tuple[int, ...] | None:
    """Return the shape of nested lists of numbers; None if they have none."""
    if not isinstance(value, list):
        known = value is None or (isinstance(value, int | float) and not isinstance(value, bool))
        return () if known else None
    shapes = {_shape(each) for each in value}
    if None in shapes or len(shapes) > 1:
        return None
    return (len(value), *(shapes.pop() or () if shapes else ()))


def _expected(words: str, value: Any, where: str) -> str:
    shown = " ".join(repr(value).split())
    shown = shown if len(shown) <= 40 else f"{shown[:39]}…"
    return f"{where.lstrip('.') or 'it'} must be {words}, not {shown}"


@cache
def json_schema(kind: Any) -> dict[str, Any]:
    """Make a JSON Schema (2020-12) of a document's type."""
    definitions: dict[str, Any] = {}
    schema = _schema(kind, definitions)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**head, **schema, "$defs": definitions}


def _schema(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    plain, arguments = get_origin(kind) or kind, get_args(kind)
    if plain in (Required, NotRequired):
        return _schema(arguments[0], definitions)
    if plain in (Union, UnionType):
        return {"anyOf": [_schema(each, definitions) for each in arguments]}
    if kind is Any:
        return {}
    if kind is Numbers:
        numbers = {"$ref": "#/$defs/Numbers"}
        kinds = [{"type": "number"}, {"type": "null"}, {"type": "array", "items": numbers}]
        definitions["Numbers"] = {"description": "numbers", "anyOf": kinds}
        return numbers
    if kind is Array:
        definitions["Array"] = {"description": _RECTANGULAR, "type": "array"}
        return {"$ref": "#/$defs/Array"}
    if kind in _KINDS:
        return _KINDS[kind]
    if is_typeddict(plain):
        return _schema_of_fields(plain, definitions)
    if plain is dict:
        return {"type": "object", "additionalProperties": _schema(arguments[1], definitions)}
    if plain is list:
        return {"type": "array", "items": _schema(arguments[0], definitions)}
    if plain is Literal:
        return {"type": "string", "enum": list(arguments)}
    names = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
    return {"type": names[plain]}


def _schema_of_fields(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if kind.__name__ not in definitions:
        definitions[kind.__name__] = {}  # in place before its fields: they may refer to it
        types = get_type_hints(kind, include_extras=True)
        definitions[kind.__name__] = {
            "type": "object",
            "description": (kind.__doc__ or "").partition("\n")[0],
            "properties": {name: _schema(each, definitions) for name, each in types.items()},
            "required": [name for name in types if name in kind.__required_keys__],
        }
    return {"$ref": f"#/$defs/{kind.__name__}"}
