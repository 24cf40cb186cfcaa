"""README: its examples run, and its tables say what happened."""

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reinstate
from readme_tables import results_table, trained_before
from reinstate import cli
from reinstate.files import read_json

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize(("train", "words"), [(29.5, "40 s in all"), (20.0, "10 s of training be")])
def test_a_table_says_that_it_was_interrupted(train: float, words: str) -> None:
    results = read_json(ROOT / "results/barcode-bandits/results.json")
    agents = results["agents"]
    agents["epl2rl"] |= {"train_steps": 1e9, "steps_per_second": 1e8}  # 10 s, and 20 for the rest
    for name in agents.keys() - {"epl2rl"}:
        agents[name] |= {"train_steps": 2e9, "steps_per_second": 3e8}
    results["seconds"] = {"total": 40.0, "train": train}
    assert trained_before(results) == pytest.approx(30 - train)
    assert words in results_table(results)


def blocks(kind: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return [body for its_kind, body in found if its_kind == kind]


def test_the_front_door_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = blocks("python")[0]
    smaller = code.replace("num_arms=5", "num_arms=3, num_contexts=3, repeats=2, pulls=4")
    smaller = smaller.replace("epochs=60", "epochs=4, lanes=4")
    assert smaller.count("=4") == 3
    names: dict[str, Any] = {}
    exec(smaller, names)
    assert reinstate.load("runs/mine").settings == names["trained"].settings


def test_the_cell_recalls() -> None:
    names: dict[str, np.ndarray] = {}
    exec(blocks("python")[1], names)
    first, again = np.asarray(names["first"]), np.asarray(names["again"])
    assert first.shape == (10, 32)
    assert np.abs(first - again).max() > 1e-3  # same inputs: only the recalled state differs
    assert 0 < np.asarray(names["r_gate"]).mean() < 1


def test_every_verb_is_shown_and_every_command_understood() -> None:
    lines = [line for block in blocks("") for line in block.splitlines()]
    commands = [re.split(r" {2,}|#", line)[0] for line in lines if line.startswith("reinstate ")]
    for command in commands:
        cli.parse(shlex.split(command)[1:])
    assert {command.split()[1] for command in commands} == {*cli.VERBS}


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", README)
    assert len(links) > 20
    for link in links:
        assert link.startswith("https://") or (ROOT / link).exists(), link


def test_the_tree_shows_what_there_is() -> None:
    (tree,) = [block for block in blocks("") if block.startswith("src/reinstate/")]
    shown = {name for name in re.findall(r"[\w.]+/?", tree) if name.endswith((".py", "/"))}
    package = ROOT / "src" / "reinstate"
    there = {p.name + "/" for p in package.iterdir() if (p / "__init__.py").exists()}
    there |= {p.name for p in package.glob("*.py") if not p.name.startswith("__")}
    assert shown >= there
