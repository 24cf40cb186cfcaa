"""The types of results documents: what they accept, and what they refuse."""

from pathlib import Path
from typing import Any

import pytest

from reinstate.analysis.results import CheckRow, OverSeeds, Recorded, Scores
from reinstate.errors import UserError
from reinstate.files import check

HERE = Path("x.json")
ONE: Any = {"mean": 1, "ci95": None, "per_seed": [1.0, None, 2], "error": 1.5, "further": "field"}
CHECK: Any = {
    **dict.fromkeys(("claim", "bound", "section", "paper", "tried"), "x"),
    **{"value": 1.0, "ci95": None, "region": [None, 2.0], "seeds": 1, "p": 1.0},
}
RECORDED: Any = {
    **dict.fromkeys(("version", "jax", "experiment", "preset", "command", "device"), "x"),
    **{name: {} for name in ("settings", "agents", "optimum", "baselines", "seconds")},
    **{"rules": 1, "commit": None},
}


@pytest.mark.parametrize(
    ("kind", "fits", "change", "problem"),
    [
        (OverSeeds, ONE, {"error": []}, "error: Expected float | null, got array"),
        (Scores, {"reward": ONE}, {"reward": 3}, "reward: Expected object, got int"),
        (CheckRow, CHECK, {"verdict": "holds"}, "verdict: Invalid enum value 'holds'"),
        (CheckRow, CHECK, {"ci95": [None, 1.0]}, "ci95[0]: Expected float, got null"),
        (Recorded, RECORDED, {"rules": 2}, "rules: Invalid enum value 2"),
        (Recorded, RECORDED, {"agents": {"a": {}}}, "agents[...]: Object missing required field"),
    ],
)
def test_what_does_not_fit_is_named(kind: Any, fits: Any, change: Any, problem: str) -> None:
    assert check(kind, fits, HERE) is fits  # further fields are no mistake
    with pytest.raises(UserError) as error:
        check(kind, {**fits, **change}, HERE)
    assert f"x.json does not hold results of this program ({problem}" in str(error.value)
