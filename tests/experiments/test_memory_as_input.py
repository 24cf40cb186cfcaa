"""What agents earn whose memory is an input, gathered from results of several files."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from claim_tables import inputs
from reinstate.errors import UserError
from reinstate.files import read_json, write_json
from reinstate.runs.gather import gather_inputs
from reinstate.runs.provenance import provenance
from reinstate.runs.run import start_run
from reinstate.settings import to_dict
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from reinstate_paper.memory_as_input import best_without, gain
from reinstate_paper.omniglot_bandits import OMNIGLOT_BANDITS
from spoken import Command, assert_refused
from tiny import contents


def scored(mean: float) -> dict[str, Any]:
    seeds = [mean - 0.1, mean, mean + 0.1]
    return {"reward": {"mean": mean, "ci95": [seeds[0], seeds[-1]], "per_seed": seeds}}


def results(folder: Path, agents: dict[str, float], **changes: Any) -> Path:
    """What `reproduce` left, as far as it matters here."""
    document = {
        "experiment": "barcode-bandits",
        "preset": "quick",
        "command": f"reinstate {folder.name}",
        "version": "1",
        "commit": "c0ffee",
        "jax": "1",
        "device": "cpu × 2",
        "seconds": {},
        "baselines": {},
        "reference_lines": {},
        "checks": [],
        "settings": {"network": {"hidden_size": 4}, "seeds": 3},
        "optimum": {"chance": 1.8},
        "agents": {name: scored(mean) for name, mean in agents.items()},
    }
    folder.mkdir()
    (folder / "results.json").write_text(json.dumps({**document, **changes}))
    return folder


def test_files_of_an_experiment_complement_each_other(tmp_path: Path, command: Command) -> None:
    first = results(tmp_path / "a", {"epl2rl-input": 2.0, "epl2rl-input-2": 3.0})
    second = results(tmp_path / "b", {"epl2rl-input-2": 4.0, "epl2rl-input-16": 5.0})
    third = results(tmp_path / "c", {"l2rl": 4.2, "l2rl-context": 4.4, "epl2rl": 8.0})
    results(tmp_path / "e", {"l2rl": 5.0, "epl2rl": 9.0, "someone": 7.0})  # came too late
    results(tmp_path / "d", {"epl2rl": 1.0}, experiment="two-step")  # has none of these agents
    said = command("memory-as-input a b/results.json c d e")
    assert said.code == 0
    assert "inputs.json holds the rewards of barcode-bandits\n" in said.out
    document = read_json(tmp_path / "inputs.json")
    named = document.pop("command")
    assert named == "reinstate memory-as-input a b/results.json c d e"
    again = gather_inputs([first, second, third], "")
    assert document == json.loads(json.dumps({k: v for k, v in again.items() if k != "command"}))
    row = document["experiments"]["barcode-bandits"]["quick"]
    assert row["chance"] == 1.8
    commands = {name: agent["command"] for name, agent in row["agents"].items()}
    assert commands == {
        "epl2rl-input": "reinstate a",
        "epl2rl-input-2": "reinstate a",
        "epl2rl-input-16": "reinstate b",
    }
    assert row["epl2rl"]["reward"]["mean"] == 8.0
    best = best_without(row)
    assert best and best["reward"]["mean"] == 4.4  # the better of the two
    assert command("memory-as-input a --json").code == 0  # its own file is replaced


def test_presets_are_rows_of_their_own(tmp_path: Path) -> None:
    small = results(tmp_path / "small", {"epl2rl-input": 2.0})
    large = results(
        tmp_path / "large", {"epl2rl-input": 3.0}, preset="paper", settings={"seeds": 9}
    )
    rows = gather_inputs([small, large], "")["experiments"]["barcode-bandits"]
    means = {name: row["agents"]["epl2rl-input"]["reward"]["mean"] for name, row in rows.items()}
    assert means == {"quick": 2.0, "paper": 3.0}


def test_runs_complement_results(tmp_path: Path) -> None:
    preset = BARCODE_BANDITS.preset("quick")
    whole = results(tmp_path / "a", {"epl2rl": 8.0, "l2rl": 4.0}, settings=to_dict(preset))
    for name, settings in (("run", preset), ("other", replace(preset, seeds=1))):
        run = start_run(BARCODE_BANDITS, "epl2rl-input-2", settings, tmp_path / name, False)
        write_json(run.evaluation_path, scored(6.0))
    rows = gather_inputs([whole, tmp_path / "run", tmp_path / "other"], "")["experiments"]
    row = rows["barcode-bandits"]["quick"]
    found = row["agents"]["epl2rl-input-2"]
    assert gain(row, "epl2rl-input-2") == 0.5
    assert found["commit"] == provenance()["commit"] and found["device"] is None
    assert rows["barcode-bandits"]["own"]["epl2rl"] is None  # settings of no preset
    more = {"settings": to_dict(preset), "device": "A"}
    paths = [results(tmp_path / "b", {"epl2rl-input": 2.0}, **more), tmp_path / "run"]
    table = inputs(gather_inputs(paths, ""))
    assert table.endswith("frozen weights; quick preset on A and an unrecorded one.")


def claims(*paths: Path) -> dict[str, tuple[float, str]]:
    """The value of each claim, to three digits, and its verdict."""
    checks = gather_inputs(paths, "")["checks"]
    assert all(check["section"] == "4.1" and not check["paper"] for check in checks)  # ours
    assert all(check["p_holm"] is None for check in checks)
    return {
        check["claim"].partition(" (")[0]: (round(check["value"], 3), check["verdict"])
        for check in checks
    }


def test_which_inputs_do_as_well_as_the_r_gate(tmp_path: Path) -> None:
    """Rewards as shares of what epL2RL's 8 are above the 4 without memory; a tenth may lack."""
    rivals = {"l2rl": 4.0, "l2rl-context": 3.9, "epl2rl": 8.0}
    inputs = {"epl2rl-input": 1.8, "epl2rl-input-2": 7.9, "epl2rl-input-4": 7.7}
    a = results(tmp_path / "a", {**inputs, "epl2rl-input-8": 8.4, **rivals})
    b = results(tmp_path / "b", {"epl2rl-input-4": 6.0, **rivals}, experiment="water-maze")
    as_well = "does as well as the r-gate"
    assert claims(a, b) == {
        f"barcode-bandits, quick preset: epl2rl-input {as_well}": (1.55, "contradicted"),
        f"barcode-bandits, quick preset: epl2rl-input-2 {as_well}": (0.025, "supported"),
        f"barcode-bandits, quick preset: epl2rl-input-4 {as_well}": (0.075, "undecided"),
        f"barcode-bandits, quick preset: epl2rl-input-8 {as_well}": (-0.1, "supported"),
        f"water-maze, quick preset: epl2rl-input-4 {as_well}": (0.5, "contradicted"),
    }


def test_without_the_r_gate_there_is_nothing_to_do_as_well_as(tmp_path: Path) -> None:
    alone = results(tmp_path / "a", {"epl2rl-input": 2.0, "l2rl": 4.0})
    useless = results(tmp_path / "b", {"epl2rl-input": 2.0, "l2rl": 4.0, "epl2rl": 3.9})
    assert claims(alone) == claims(useless) == {}


@pytest.mark.parametrize(
    ("reward", "epl2rl", "expected"),
    [
        (4.0, 8.0, 0.0),
        (7.0, 8.0, 0.75),
        (9.0, 8.0, 1.25),
        (5.0, 4.0, None),
        (5.0, 3.0, None),
        (5.0, None, None),
    ],
)
def test_gain(reward: float, epl2rl: float | None, expected: float | None) -> None:
    row: Any = {
        "without": {"l2rl": scored(4.0)},
        "epl2rl": None if epl2rl is None else scored(epl2rl),
        "agents": {"epl2rl-input": scored(reward)},
    }
    assert gain(row, "epl2rl-input") == expected
    assert gain(row, "epl2rl-input-2") is None


def test_table(tmp_path: Path) -> None:
    sizes = enumerate(("", "-2", "-4", "-16"), 1)
    agents = {f"epl2rl-input{tail}": float(n) for n, tail in sizes}
    full = results(tmp_path / "a", {**agents, "epl2rl": 8.0, "l2rl": 4.4})
    bare = results(tmp_path / "b", {"epl2rl-input-8": 0.5}, experiment="two-step", optimum={})
    assert inputs(gather_inputs([full, bare], "")).splitlines() == [
        "| experiment | chance | no memory | 2 | 4 | 8 | 16 | all 50 | epL2RL |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        "| barcode-bandits, quick | 1.80 | 4.40 [4.30, 4.50] | 2.00 [1.90, 2.10] |"
        " 3.00 [2.90, 3.10] |  | 4.00 [3.90, 4.10] | 1.00 [0.90, 1.10] | 8.00 [7.90, 8.10] |",
        "| two-step, quick |  |  |  |  | 0.500 [0.400, 0.600] |  |  |  |",
        "",
        "Reward per episode, frozen weights; quick preset on cpu × 2.",
    ]


def test_a_setting_that_an_older_record_lacks_has_its_default(tmp_path: Path) -> None:
    settings = to_dict(OMNIGLOT_BANDITS.preset("quick"))
    new = {"experiment": "omniglot-bandits", "settings": settings}
    old = json.loads(json.dumps(new))
    del old["settings"]["task"]["scale"]
    first = results(tmp_path / "old", {"epl2rl-input": 2.0}, **old)
    second = results(tmp_path / "new", {"epl2rl": 8.0}, **new)
    assert gather_inputs([first, second], "")["experiments"]["omniglot-bandits"]["quick"]["epl2rl"]
    settings["task"]["scale"] = 11.3
    odd = results(tmp_path / "odd", {"epl2rl": 2.0}, **new)
    with pytest.raises(UserError, match=r"other settings \(task.scale: 1.0 → 11.3\)"):
        gather_inputs([first, odd], "")


def test_commands_are_kept_without_their_folders(tmp_path: Path) -> None:
    command = "reinstate reproduce two-step --out /a/b --agents epl2rl-input --resume"
    found = gather_inputs([results(tmp_path / "a", {"epl2rl-input": 2.0}, command=command)], "")
    agent = found["experiments"]["barcode-bandits"]["quick"]["agents"]["epl2rl-input"]
    assert agent["command"] == "reinstate reproduce two-step --agents epl2rl-input"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("memory-as-input c", "none of these results has an agent whose memory"),
        ("memory-as-input nowhere", "nowhere does not exist"),
        ("memory-as-input list.json", "list.json does not hold results of this program"),
        ("memory-as-input c --out list.json", "list.json exists and is not of this"),
        ("memory-as-input", "memory-as-input needs results first"),
    ],
)
def test_mistakes(command: Command, tmp_path: Path, line: str, message: str) -> None:
    results(tmp_path / "c", {"epl2rl": 8.0})
    (tmp_path / "list.json").write_text("[]")
    before = contents(tmp_path)
    assert_refused(command(line), message)
    assert contents(tmp_path) == before
