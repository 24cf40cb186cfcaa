"""summary.json: what several experiments come to, their claims judged together."""

import copy
from pathlib import Path
from typing import Any

import pytest

from page.recorded import small
from page.test_claims import check
from reinstate.analysis.results import Summary
from reinstate.analysis.verdicts import with_verdicts
from reinstate.files import check as check_document
from reinstate.runs.whole import summarise

COMMAND = "reinstate reproduce all --preset paper"


def made(*checks: dict[str, Any], alarms: tuple[str, ...] = ()) -> Any:
    """Results with these claims, judged alone as `reproduce` does."""
    rows: Any = list(checks)
    return copy.deepcopy(small()) | {"checks": with_verdicts(rows), "alarms": list(alarms)}


def verdicts_of(document: Any) -> list[str]:
    return [check["verdict"] for check in document["checks"]]


def test_the_papers_claims_are_one_family() -> None:
    """Each is supported in its own results; among three, only the surest is."""
    results = {
        "one": made(check("a", 0.03), check("b", 0.001)),
        "other": made(check("c", 0.03), check("ours", 0.03, paper="")),
    }
    assert verdicts_of(results["one"]) == verdicts_of(results["other"]) == ["supported"] * 2
    given = copy.deepcopy(results)
    parts: Any = summarise(results, COMMAND)["experiments"]
    assert verdicts_of(parts["one"]) == ["undecided", "supported"]
    assert verdicts_of(parts["other"]) == ["undecided", "supported"]
    adjusted = [row["p_holm"] for part in parts.values() for row in part["checks"]]
    assert adjusted == [pytest.approx(0.06), pytest.approx(0.003), pytest.approx(0.06), None]
    assert results == given  # the documents keep their own verdicts
    for name, part in parts.items():  # all else is as it was
        for row, own in zip(part["checks"], results[name]["checks"], strict=True):
            assert row == own | {n: row[n] for n in ("verdict", "p_holm")}


def test_totals_count_the_papers_own_claims() -> None:
    below: Any = {"value": 0.5, "ci95": [0.25, 0.75]}
    results = {
        "one": made(check("a"), check("b", **below), check("c", 0.5), check("d", paper="")),
        "other": made(check("a"), check("e", paper="", **below), alarms=("too much",)),
    }
    summary: Any = summarise(results, COMMAND)
    seconds = sum(document["seconds"]["total"] for document in results.values())
    assert summary["totals"] == {
        "experiments": 2,
        "agents": 4,
        "claims": 4,
        "supported": 2,
        "contradicted": 1,
        "undecided": 1,
        "ours": 2,
        "seconds": pytest.approx(seconds),
    }
    assert [part["alarms"] for part in summary["experiments"].values()] == [[], ["too much"]]
    assert summary["command"] == COMMAND


def test_it_holds_what_its_type_says() -> None:
    summary: Any = summarise({"one": made(check("a"), alarms=("too much",))}, COMMAND)
    assert check_document(Summary, summary, Path("summary.json")) is summary
    agents = summary["experiments"]["one"]["agents"]
    assert [*agents] == ["epl2rl", "l2rl"]
    assert all(agent.keys() == {"reward", "share_of_ceiling"} for agent in agents.values())
