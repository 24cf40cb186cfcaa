"""The documentation's numbers and tables are the recorded ones."""

import re
from pathlib import Path

import pytest

import recorded
from reinstate.files import read_json
from test_docs import PAGES, fences

ROOT = Path(__file__).parents[1]


def test_recorded_tables_and_numbers_can_be_made() -> None:
    made = [
        recorded.table(kind, names.split())
        for page in PAGES
        for kind in recorded.MADE
        for names, _ in fences(page, f"{{{kind}}}")
    ]
    assert len(made) > 15
    assert "`omniglot-embedder/paper.json`" in recorded.files_table()
    numbers = re.findall(r"\{recorded\}`([^`]+)`", "\n".join(PAGES.values()))
    assert len(numbers) > 5
    for text in numbers:
        assert recorded.number(text)


def test_claims_and_numbers_are_those_of_the_file() -> None:
    results = read_json(ROOT / "results/two-step/results.json")
    _, _, *rows = recorded.table("claims", ["two-step"]).splitlines()
    cells = [row.strip("| ").split(" | ") for row in rows]
    holds = [cell[-1] for cell in cells]
    failed = [f"no; tried: {check['tried']}" for check in results["checks"] if not check["holds"]]
    assert [cell for cell in holds if cell != "yes"] == failed
    assert len(failed) > 2 and len(holds) == len(results["checks"])
    check = next(check for check in results["checks"] if check["paper"] and check["ci95"])
    low, high = check["ci95"]
    assert [
        check["section"],
        check["paper"],
        f"{check['claim']}: {check['bound']}",
        f"{check['value']:.3f} [{low:.3f}, {high:.3f}]",
        "yes",
    ] in cells
    mean = results["agents"]["epl2rl"]["reward"]["mean"]
    assert recorded.number("two-step agents.epl2rl.reward.mean .3f") == f"{mean:.3f}"
    with pytest.raises(KeyError):
        recorded.number("two-step agents.nobody.reward.mean .3f")


def test_claims_of_both_presets_stand_side_by_side() -> None:
    files = ["summary.json", "quick/summary.json"]
    _, _, *rows, totals = recorded.table("both-claims", files).splitlines()
    for column, file in ((-2, files[0]), (-1, files[1])):
        summary = read_json(ROOT / "results" / file)
        checks = [check for part in summary["experiments"].values() for check in part["checks"]]
        cells = [row.strip("| ").split(" | ")[column] for row in rows]
        for cell, check in zip(cells, checks, strict=True):
            assert cell.startswith("yes: " if check["holds"] else "**no**: ")
            assert f": {check['value']:.3f}" in cell
            assert check["holds"] or check["tried"] in cell
        held = sum(check["holds"] for check in checks)
        assert totals.strip("| ").split(" | ")[column] == f"{held} of {len(checks)}"
