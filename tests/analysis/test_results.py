"""The types of results documents: what they accept, what they refuse, and their JSON Schema."""

from pathlib import Path
from typing import Any

import pytest

from reinstate.analysis.results import (
    CheckRow,
    EvaluatedAgent,
    OverSeeds,
)
from reinstate.analysis.verdicts import VERDICTS
from reinstate.errors import UserError
from reinstate.files import check

HERE = Path("x.json")
ONE: Any = {"mean": 1, "ci95": None, "per_seed": [1.0, None, 2], "error": 1.5, "further": "field"}


def test_what_fits_is_returned_as_it_is() -> None:
    assert check(OverSeeds, ONE, HERE) is ONE


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"per_seed": 1.0}, "per_seed: Expected array, got float"),
        ({"error": []}, "error: Expected float | null, got array"),
    ],
)
def test_what_does_not_is_named(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError) as error:
        check(OverSeeds, {**ONE, **change}, HERE)
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
    ("change", "problem"),
    [
        ({"mean": [1.0]}, "reward.mean: Expected float, got array"),
        ({"ci95": [1.0]}, "reward.ci95: Expected array of length >= 2"),
        ({"per_seed": [[1.0]]}, "reward.per_seed[0]: Expected float | null, got array"),
    ],
)
def test_the_reward_of_an_agent_that_was_judged_is_one_number(change: Any, problem: str) -> None:
    assert check(EvaluatedAgent, SCORES, HERE)
    with pytest.raises(UserError) as error:
        check(EvaluatedAgent, {"reward": {**SCORES["reward"], **change}}, HERE)
    assert f"({problem}" in str(error.value)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"p": 1.5}, "p: Expected float <= 1.0"),
        ({"region": [1.0]}, "region: Expected array of length >= 2"),
        ({"ci95": [None, 1.0]}, "ci95[0]: Expected float, got null"),
    ],
)
def test_a_claim_has_a_sound_p_and_region(change: Any, problem: str) -> None:
    with pytest.raises(UserError) as error:
        check(CheckRow, {**CHECK, **change}, HERE)
    assert f"({problem}" in str(error.value)


def without(document: Any, field: str) -> Any:
    return {name: value for name, value in document.items() if name != field}


def test_what_is_missing_is_named() -> None:
    assert check(CheckRow, CHECK, HERE) is CHECK
    with pytest.raises(UserError, match="missing required field region"):
        check(CheckRow, without(CHECK, "region"), HERE)
    with pytest.raises(UserError, match="it: Expected object, got int"):
        check(CheckRow, 3, HERE)


def test_there_are_three_verdicts() -> None:
    for verdict in VERDICTS:
        assert check(CheckRow, {**CHECK, "p_holm": None, "verdict": verdict}, HERE)
    with pytest.raises(UserError) as error:
        check(CheckRow, {**CHECK, "verdict": "holds"}, HERE)
    assert "verdict: Invalid enum value 'holds'" in str(error.value)
