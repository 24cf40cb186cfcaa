"""Agents that were trained apart are judged together; verdicts are compared claim by claim."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from reinstate.analysis.verdicts import over_seeds
from reinstate.errors import UserError
from reinstate.files import read_json, write_json
from reinstate.runs.conclusions import compare, read_results
from spoken import Command

RESULTS = Path(__file__).parents[2] / "results"
RECORDED: Any = read_json(RESULTS / "barcode-bandits/results.json")
ADDED = "epl2rl-recognition"
LEAD = f"{ADDED} earns more than epl2rl (lead in reward per episode)"


def with_agents(**rewards: dict[int, float]) -> Any:
    """Results of these agents, with these rewards by seed and all else epL2RL's own."""
    agent, seeds = RECORDED["agents"]["epl2rl"], next(iter(rewards.values()))
    agents = {
        name.replace("_", "-"): {
            **agent,
            "seeds": [*by_seed],
            "reward": over_seeds([*by_seed.values()]),
        }
        for name, by_seed in rewards.items()
    }
    changed = {"seeds": len(seeds), "first_seed": min(seeds)}
    return {**RECORDED, "agents": agents, "settings": {**RECORDED["settings"], **changed}}


def read(folder: Path, *documents: Any) -> Any:
    paths = [folder / f"{number}.json" for number, _ in enumerate(documents)]
    for path, document in zip(paths, documents, strict=True):
        write_json(path, document)
    return read_results(*paths)


def test_agents_are_compared_on_the_seeds_that_they_share(tmp_path: Path) -> None:
    one = with_agents(epl2rl={0: 8.0, 1: 8.1, 2: 8.2})
    two = with_agents(epl2rl_recognition={1: 8.41, 2: 8.5, 3: 5.0}) | {"command": "elsewhere"}
    found = read(tmp_path, one, two)
    (lead,) = [check for check in found["checks"] if check["claim"] == LEAD]
    assert lead["value"] == pytest.approx((0.31 + 0.3) / 2) and lead["seeds"] == 2
    assert lead["verdict"] == "supported"
    # What is said of one agent alone is of all its seeds.
    others = [check for check in found["checks"] if check["claim"].startswith("epl2rl earns")]
    assert [check["seeds"] for check in others] == [3]
    assert found["agents"][ADDED]["recorded"]["command"] == "elsewhere"
    apart = read(tmp_path, one, with_agents(epl2rl_recognition={7: 8.4, 8: 8.5}))
    assert LEAD not in [check["claim"] for check in apart["checks"]]


def test_what_was_trained_together_and_taken_apart_is_the_same_again(tmp_path: Path) -> None:
    agents = RECORDED["agents"]
    plain = {name: agents[name] for name in ("l2rl", "l2rl-context")}
    rest = {name: agent for name, agent in agents.items() if name not in plain}
    found = read(tmp_path, RECORDED | {"agents": rest}, RECORDED | {"agents": plain})
    whole = read_results(RESULTS / "barcode-bandits")
    assert {row["claim"]: row["verdict"] for row in found["checks"]} == {
        row["claim"]: row["verdict"] for row in whole["checks"]
    }
    assert (
        found["agents"]["l2rl"]["share_of_ceiling"] == whole["agents"]["l2rl"]["share_of_ceiling"]
    )


def test_a_claim_whose_verdict_depends_on_size_says_so() -> None:
    for name, noted in (("barcode-bandits", True), ("two-step", False)):
        checks = read_results(RESULTS / name)["checks"]
        (check,) = [check for check in checks if check["claim"].startswith("epl2rl-input is at")]
        assert ("256 lanes" in check.get("note", "")) == noted


def test_what_cannot_stand_side_by_side_is_refused(tmp_path: Path) -> None:
    one, two = with_agents(epl2rl={0: 8.0}), with_agents(l2rl={0: 4.0})
    larger = copy.deepcopy(two)
    larger["settings"]["task"]["pulls"] = 11
    for other, problem in (
        (one, "both hold epl2rl"),
        (larger, r"their settings differ \(task.pulls: 10 → 11\)"),
        (two | {"experiment": "water-maze"}, "they are of barcode-bandits and of water-maze"),
    ):
        with pytest.raises(UserError, match=f"cannot stand side by side: {problem}"):
            read(tmp_path, one, other)


def test_a_verdict_flips_only_if_one_supports_what_the_other_contradicts() -> None:
    one: Any = read_results(RESULTS / "barcode-bandits")
    other = copy.deepcopy(one)
    first, second, *_, last = other["checks"]
    ends = [each for each in first["region"] if each is not None]
    first["value"] = ends[0] - 1  # p is as small as it was, on the other side
    second["p"] = 1.0
    other["checks"].remove(last)
    marks = {each.claim: each.mark for each in compare([one], [other])}
    assert marks.pop(first["claim"]) == "FLIPS" and marks.pop(second["claim"]) == "differs"
    assert last["claim"] not in marks and {*marks.values()} == {""}


def test_the_command_joins_and_compares(command: Command, tmp_path: Path) -> None:
    for name, agents in {
        "a": {"epl2rl": {0: 8.0, 1: 8.1, 2: 8.2}},
        "b": {"epl2rl_recognition": {0: 8.4, 1: 8.41, 2: 8.5}},
        "again": {"epl2rl": {5: 2.0, 6: 2.1, 7: 2.2}},
    }.items():
        (tmp_path / name).mkdir()
        write_json(tmp_path / name / "results.json", with_agents(**agents))
    said = command("report a b --against again")
    assert said.code == 0, said.err
    page = (tmp_path / "report.html").read_text()
    assert page.count('<section id="barcode-bandits') == 1 and "epL2RL+Recognition" in page
    assert "FLIPS" in said.out and " verdicts are the same, 1 flip\n" in said.out
    rows = json.loads(command("report a b --against again --json").out)["compared"]
    assert {row["experiment"] for row in rows} == {"barcode-bandits"}
    assert [row["mark"] for row in rows].count("FLIPS") == 1
