"""The types of results documents: what they accept, what they refuse, and their JSON Schema."""

import json
from pathlib import Path
from typing import Any

import pytest

from reinstate.analysis.documents import checked, json_schema
from reinstate.analysis.results import (
    CheckRow,
    JudgedAgent,
    OverSeeds,
    Results,
    Scores,
    read_results,
)
from reinstate.analysis.verdicts import VERDICTS
from reinstate.errors import UserError

HERE = Path("x.json")
ONE: Any = {"mean": 1, "ci95": None, "per_seed": [1.0, None, 2], "error": 1.5, "further": "field"}


def test_what_fits_is_returned_as_it_is() -> None:
    assert checked(OverSeeds, ONE, HERE) is ONE


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"mean": "high"}, "mean must be numbers, not 'high'"),
        ({"per_seed": [1.0, True]}, "per_seed must be a list of numbers, in rows of equal length,"),
        ({"per_seed": [[1.0], [1.0, 2.0]]}, "per_seed must be a list of numbers, in rows of equal"),
        ({"per_seed": [[1.0], [[1.0]]]}, "per_seed must be a list of numbers, in rows of equal"),
        ({"per_seed": 1.0}, "per_seed must be a list of numbers, in rows of equal length, not 1.0"),
        ({"error": []}, "error must be a number, not []"),
        ({"mean": {"a": 1}}, "mean must be numbers, not {'a': 1}"),
    ],
)
def test_what_does_not_is_named(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError) as error:
        checked(OverSeeds, {**ONE, **change}, HERE)
    assert f"x.json does not hold results of this program ({problem}" in str(error.value)


CHECK: Any = {
    "claim": "c",
    "value": 1.0,
    "ci95": None,
    "region": [None, 2.0],
    "bound": "at most 2",
    "seeds": 1,
    "p": 1.0,
    "section": "4.1",
    "paper": "",
    "tried": "",
}


SCORES: Any = {"reward": {"mean": 1.0, "ci95": None, "per_seed": [1.0]}}


@pytest.mark.parametrize(
    ("scores", "problem"),
    [
        ({"theirs": [{"a": {"per_seed": [[1], 2]}}]}, "theirs[0].a.per_seed must be a list of num"),
        ({"theirs": {"per_participant": {}}}, "theirs.per_participant must be a list of numbers"),
    ],
)
def test_numbers_over_seeds_are_sound_wherever_they_are(scores: Any, problem: str) -> None:
    assert checked(Scores, {**SCORES, "theirs": {"per_seed": [[1], [None]]}}, HERE)
    with pytest.raises(UserError) as error:
        checked(Scores, {**SCORES, **scores}, HERE)
    assert f"({problem}" in str(error.value)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"mean": [1.0]}, "reward.mean must be a number, not [1.0]"),
        ({"ci95": [1.0]}, "reward.ci95 must be two numbers, not [1.0]"),
        ({"per_seed": [[1.0]]}, "reward.per_seed[0] must be a number, not [1.0]"),
    ],
)
def test_the_reward_of_an_agent_that_was_judged_is_one_number(change: Any, problem: str) -> None:
    assert checked(JudgedAgent, SCORES, HERE)
    with pytest.raises(UserError) as error:
        checked(JudgedAgent, {"reward": {**SCORES["reward"], **change}}, HERE)
    assert f"({problem}" in str(error.value)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"p": 1.5}, "p must be from 0 to 1, not 1.5"),
        ({"p": float("nan")}, "p must be from 0 to 1, not nan"),
        ({"region": [1.0]}, "region must be two numbers, not [1.0]"),
        ({"ci95": [None, 1.0]}, "ci95[0] must be a number, not None"),
    ],
)
def test_a_claim_has_a_sound_p_and_region(change: Any, problem: str) -> None:
    with pytest.raises(UserError) as error:
        checked(CheckRow, {**CHECK, **change}, HERE)
    assert f"({problem}" in str(error.value)


def without(document: Any, field: str) -> Any:
    return {name: value for name, value in document.items() if name != field}


def test_what_is_missing_is_named() -> None:
    assert checked(CheckRow, CHECK, HERE) is CHECK
    with pytest.raises(UserError, match="region is missing"):
        checked(CheckRow, without(CHECK, "region"), HERE)
    with pytest.raises(UserError, match="it must be an object, not 3"):
        checked(CheckRow, 3, HERE)


def test_there_are_three_verdicts() -> None:
    for verdict in VERDICTS:
        assert checked(CheckRow, {**CHECK, "p_holm": None, "verdict": verdict}, HERE)
    with pytest.raises(UserError) as error:
        checked(CheckRow, {**CHECK, "verdict": "holds"}, HERE)
    assert "verdict must be supported or contradicted or undecided" in str(error.value)


RESULTS: Any = {
    **dict.fromkeys(("version", "jax", "experiment", "preset", "command", "device"), "x"),
    **{name: {} for name in ("settings", "agents", "optimum", "baselines")},
    "seconds": {"total": 1.0},
    "commit": None,
    "reference_lines": {},
    "checks": [CHECK],
    "alarms": [],
}


def test_results_are_read_from_a_file_or_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(RESULTS))
    assert read_results(file) == read_results(tmp_path) == RESULTS


def test_verdicts_of_an_earlier_version_are_to_be_renewed(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    old = {"claim": "c", "value": 1.0, "bound": "> 0", "holds": True}
    file.write_text(json.dumps({**RESULTS, "checks": [old]}))
    with pytest.raises(UserError) as error:
        read_results(tmp_path)
    assert f"judge it again with reinstate rejudge {file}" in str(error.value)
    neither: list[Any] = [3, ["x"], [{}]]
    for checks in neither:
        file.write_text(json.dumps({**RESULTS, "checks": checks}))
        with pytest.raises(UserError, match="does not hold results of this program"):
            read_results(tmp_path)
    file.write_text(json.dumps(without(RESULTS, "alarms")))
    with pytest.raises(UserError, match="earlier version"):  # one without claims has none either
        read_results(file)


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
    whole = jsonschema.Draft202012Validator(schema)
    assert whole.is_valid(RESULTS)
    assert not whole.is_valid({**RESULTS, "checks": [{**CHECK, "verdict": "holds"}]})
