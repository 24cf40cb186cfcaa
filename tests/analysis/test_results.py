"""The types of results documents: what they accept, what they refuse, and their JSON Schema."""

import json
from pathlib import Path
from typing import Any

import pytest

from reinstate.analysis.results import CheckRow, OverSeeds, Results, checked, json_schema
from reinstate.errors import UserError

HERE = Path("x.json")
ONE: Any = {"mean": 1, "ci95": None, "per_seed": [1.0, None, [2]], "iqm": 1.5, "further": "field"}


def test_what_fits_is_returned_as_it_is() -> None:
    assert checked(OverSeeds, ONE, HERE) is ONE


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"mean": "high"}, "mean must be numbers, not 'high'"),
        ({"per_seed": [1.0, [True]]}, "per_seed must be numbers, not"),
        ({"iqm": []}, "iqm must be a number, not []"),
        ({"mean": {"a": 1}}, "mean must be numbers, not {'a': 1}"),
    ],
)
def test_what_does_not_is_named(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError) as error:
        checked(OverSeeds, {**ONE, **change}, HERE)
    assert f"x.json does not hold results of this program ({problem}" in str(error.value)


def test_what_is_missing_is_named() -> None:
    check = {"claim": "c", "value": 1.0, "bound": "b"}
    with pytest.raises(UserError, match="holds is missing"):
        checked(CheckRow, check, HERE)
    with pytest.raises(UserError, match="it must be an object, not 3"):
        checked(CheckRow, 3, HERE)


def test_a_document_nested_too_deep_is_refused() -> None:
    deep: Any = 1.0
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(UserError, match="nested too deep"):
        checked(OverSeeds, {**ONE, "mean": deep}, HERE)


def test_the_schema_is_one_by_the_book() -> None:
    """The reference implementation takes it, and agrees with our own check."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(json.dumps(json_schema(Results)))
    jsonschema.Draft202012Validator.check_schema(schema)
    one = jsonschema.Draft202012Validator(json_schema(OverSeeds))
    assert one.is_valid(ONE)
    assert not one.is_valid({**ONE, "mean": "high"}) and not one.is_valid({"mean": 1.0})
    assert schema["$defs"]["Results"]["required"][:2] == ["version", "commit"]
