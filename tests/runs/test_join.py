"""Agents that were trained apart, side by side: `reinstate join A B --out DIR`."""

import json
from pathlib import Path
from typing import Any

import pytest

from older import aged_file
from reinstate.analysis.intervals import over_seeds
from reinstate.figures import mpl
from reinstate.files import read_json
from reinstate.runs.experiment import EXPERIMENTS
from reinstate.runs.join import join
from runs.test_compare import write
from spoken import Command, assert_refused
from tiny import contents

RECORDED = json.loads(
    (Path(__file__).parents[2] / "results/barcode-bandits/results.json").read_text()
)
ELSEWHERE = {
    "command": "reinstate reproduce barcode-bandits --agents epl2rl-recognition",
    "version": "9.8.7",
    "commit": "abcdef",
    "jax": "0.99",
    "device": "an abacus",
}
ADDED = "epl2rl-recognition"


def with_seeds(agent: Any, rewards: dict[int, float]) -> Any:
    """An agent with these rewards by seed, and all else its own."""
    return {**agent, "seeds": [*rewards], "reward": over_seeds([*rewards.values()])}


def apart(first: dict[int, float], second: dict[int, float]) -> tuple[Any, Any]:
    """Results of one agent each: the paper's, and one that recognises, from elsewhere."""
    agent = RECORDED["agents"]["epl2rl"]
    one = {**RECORDED, "agents": {"epl2rl": with_seeds(agent, first)}}
    two = {**RECORDED, **ELSEWHERE, "agents": {ADDED: with_seeds(agent, second)}}
    changed = {"seeds": len(second), "first_seed": min(second)}
    return one, {**two, "settings": {**RECORDED["settings"], **changed}}


ONE, TWO = apart({0: 8.0, 1: 8.1, 2: 8.2}, {1: 8.41, 2: 8.5, 3: 5.0})
LEAD = f"{ADDED} earns more than epl2rl (lead in reward per episode)"


def joined(tmp_path: Path, one: Any, two: Any) -> Any:
    return join(write(tmp_path / "one/results.json", one), write(tmp_path / "two.json", two))


def test_agents_are_compared_on_the_seeds_that_they_share(tmp_path: Path) -> None:
    found = joined(tmp_path, ONE, TWO)
    (lead,) = [check for check in found["checks"] if check["claim"] == LEAD]
    assert lead["value"] == pytest.approx((0.31 + 0.3) / 2) and lead["seeds"] == 2
    assert lead["verdict"] == "supported"
    # What is said of one agent alone is of all its seeds.
    others = [check for check in found["checks"] if check["claim"].startswith("epl2rl earns")]
    assert [check["seeds"] for check in others] == [3]


def test_agents_that_share_no_seed_are_not_compared(tmp_path: Path) -> None:
    found = joined(tmp_path, *apart({0: 8.0, 1: 8.1}, {2: 8.4, 3: 8.5}))
    assert found["agents"].keys() == {"epl2rl", ADDED}
    names = [check["claim"] for check in found["checks"]]
    assert LEAD not in names and any(name.startswith("epl2rl earns") for name in names)
    json.dumps(found, allow_nan=False)


def test_joined_results_are_judged_as_one(tmp_path: Path) -> None:
    """Whoever recorded them: what was trained together and taken apart is the same again."""
    agents = RECORDED["agents"]
    l2rl = {"l2rl": agents["l2rl"], "l2rl-context": agents["l2rl-context"]}
    rest = {name: agent for name, agent in agents.items() if name not in l2rl}
    found = joined(tmp_path, RECORDED | {"agents": rest}, RECORDED | {"agents": l2rl})
    assert {c["claim"] for c in found["checks"]} == {c["claim"] for c in RECORDED["checks"]}
    theirs = {check["claim"]: check for check in RECORDED["checks"]}
    for check in found["checks"]:
        assert check["p_holm"] == pytest.approx(theirs[check["claim"]]["p_holm"])
        assert check["verdict"] == theirs[check["claim"]]["verdict"]
    share = agents["l2rl"]["share_of_ceiling"]
    assert found["agents"]["l2rl"]["share_of_ceiling"] == pytest.approx(share)
    assert found["alarms"] == []


def test_every_agent_says_where_it_is_from(tmp_path: Path) -> None:
    found = joined(tmp_path, ONE, TWO)
    assert found["agents"][ADDED]["recorded"] == ELSEWHERE
    assert "recorded" not in found["agents"]["epl2rl"]
    for kept in (*ELSEWHERE, "seconds", "settings"):
        assert found[kept] == ONE[kept]
    assert found["baselines"].keys() == ONE["baselines"].keys()
    # Joined to others, they still do.
    third = RECORDED | {"agents": {"l2rl": RECORDED["agents"]["l2rl"]}}
    again = joined(tmp_path / "again", third, found)
    assert again["agents"][ADDED]["recorded"] == ELSEWHERE
    assert again["agents"]["epl2rl"]["recorded"] == {n: ONE[n] for n in ELSEWHERE}
    again = joined(tmp_path / "the other way", found, third)
    assert again["agents"][ADDED]["recorded"] == ELSEWHERE


def test_settings_that_an_earlier_version_did_not_know_are_no_others(tmp_path: Path) -> None:
    def later(document: Any) -> None:
        del document["settings"]["task"]["trial_input"]

    one, two = write(tmp_path / "a.json", ONE, later), write(tmp_path / "b.json", TWO)
    assert join(one, two)["agents"].keys() == {"epl2rl", ADDED}


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[Path, str]:
    """What would have been drawn, by file."""
    found: dict[Path, str] = {}
    monkeypatch.setattr(mpl, "save", lambda these, stem, title="": found.update({stem: str(these)}))
    return found


def test_the_command(command: Command, tmp_path: Path, drawn: dict[Path, str]) -> None:
    write(tmp_path / "a/results.json", ONE)
    write(tmp_path / "b/results.json", TWO)
    before = contents(tmp_path)
    said = command("join a b/results.json --out both")
    assert said.code == 0 and said.err == ""
    lines = said.out.splitlines()
    assert f"supported: {LEAD}: 0.305" in said.out and "our own claims" in lines
    assert lines[-1] == "next: reinstate report both  # make a page of it"
    assert [path.name for path in drawn] == [*EXPERIMENTS["barcode-bandits"].charts]
    assert "epL2RL+Recognition" in next(iter(drawn.values()))
    written = read_json(tmp_path / "both/results.json")
    assert written["agents"].keys() == {"epl2rl", ADDED}
    after = contents(tmp_path)
    assert {path: after[path] for path in before} == before and len(after) == len(before) + 1
    assert json.loads(command("join a b --out again --json").out) == written
    assert command("report both --out page.html").code == 0


def other_task(document: Any) -> None:
    document["settings"]["task"]["num_arms"] = 11


def other_kind(document: Any) -> None:
    document["experiment"] = "water-maze"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a maze.json", "a holds barcode-bandits and maze.json water-maze: join results of one"
         " experiment"),
        ("a arms.json", "a and arms.json have different settings (task.num_arms: 10 → 11"
         "): train again with the same"),
        ("a/results.json a", "a/results.json and a both hold epl2rl: leave one out"),
        ("a old.json", "old.json was judged by the rules of an earlier version"),
        ("a list.json", "list.json does not hold results of this program"),
        ("a nowhere", "nowhere does not exist"),
        ("a b.json --out a", "a is not empty: choose another --out"),
        ("a b.json --out b.json", "b.json is a file: choose another --out"),
        ("a", "join needs B"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(command: Command, tmp_path: Path, line: str, message: str) -> None:
    write(tmp_path / "a/results.json", ONE)
    write(tmp_path / "b.json", TWO)
    write(tmp_path / "maze.json", TWO, other_kind)
    write(tmp_path / "arms.json", TWO, other_task)
    aged_file(tmp_path / "old.json", RECORDED)
    (tmp_path / "list.json").write_text("[]")
    before = contents(tmp_path)
    assert_refused(command(f"join {line}" if "--out" in line else f"join {line} --out x"), message)
    assert contents(tmp_path) == before and not (tmp_path / "x").exists()
