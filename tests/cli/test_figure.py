"""The verb figure: a figure of the paper of given results, and what a run's memory holds."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reinstate.analysis.memory_map import MemoryMap, Stored, stored_states
from reinstate.files import read_document, read_json, write_json
from reinstate.runs.evaluator import Evaluator
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from spoken import Command, assert_refused
from tiny import TINY, new_run, trained_run

RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder as `reproduce all` leaves it, of one experiment."""
    folder = tmp_path / "mine"
    (folder / "compositional-bandits").mkdir(parents=True)
    found = read_json(RESULTS / "compositional-bandits/results.json")
    write_json(folder / "compositional-bandits/results.json", {**found, "preset": "quick"})
    return folder


def test_a_figure_of_a_folder(command: Command, results: Path, tmp_path: Path) -> None:
    said = command("figure 4 --results mine --json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert found["file"] == "figure-4.pdf" and found["inches"] == 3.25
    first = (tmp_path / "figure-4.pdf").read_bytes()
    assert first.startswith(b"%PDF") and len(first) == found["bytes"]
    said = command("figure 4 --results mine")  # its own file is replaced
    assert said.code == 0 and (tmp_path / "figure-4.pdf").read_bytes() == first
    said = command("figure 4 --results mine/compositional-bandits --width page --out wide.svg")
    assert said.code == 0 and "next: open wide.svg" in said.out
    assert 'width="486pt"' in (tmp_path / "wide.svg").read_text()


def test_mistakes_are_one_line_and_nothing_is_written(
    command: Command, results: Path, tmp_path: Path
) -> None:
    (tmp_path / "notes.svg").write_text("mine")
    for line, message in {
        "figure 7": "unknown figure '7'",
        "figure memory-map": "memory-map needs a run first: reinstate figure memory-map RUN",
        "figure 4 --out figure.gif": "figure.gif must end in .png, .svg or .pdf",
        "figure 4 --results mine --out notes.svg": "notes.svg exists and is not of reinstate",
        "figure 3": "results holds no results of barcode-bandits: reinstate reproduce all",
        "figure 6 --results mine/compositional-bandits": "holds results of compositional-bandits,",
    }.items():
        assert_refused(command(line), message)
    assert (tmp_path / "notes.svg").read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"mine", "notes.svg"}


def test_results_that_lack_a_part(command: Command, results: Path) -> None:
    file = results / "compositional-bandits/results.json"
    found = read_json(file)
    del found["agents"]["epl2rl"]
    write_json(file, found)
    message = "the results of compositional-bandits hold no regret of epL2RL to draw"
    assert_refused(command("figure 4 --results mine"), message)


def test_what_a_run_stores_and_its_gates(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, players = trained_run(tmp_path / "x"), []

    def played(condition: Any, player: Any, *others: Any) -> Stored:
        players.append(player)
        return stored_states(condition, player, *others)

    monkeypatch.setattr("reinstate.analysis.memory_map.stored_states", played)
    said = command("figure memory-map x --seed 1 --epochs 2 --out m.svg --json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert [*found["readable"]] == ["1", "2"] and found["labels"] == "good arm"
    weights = Evaluator(BARCODE_BANDITS, "epl2rl", TINY).load(run).params.head.weight
    np.testing.assert_array_equal(players[0].head.weight, weights[1])
    assert "after 2 exposures" in (tmp_path / "m.svg").read_text()
    said = command("figure gates x --epochs 2 --out gates.png")
    assert said.code == 0 and "next: open gates.png" in said.out
    assert (tmp_path / "gates.png").read_bytes().startswith(b"\x89PNG")
    assert command("figure memory-map x --epochs 2 --out m.json").code == 0
    kept = read_document(MemoryMap, tmp_path / "m.json")
    assert (kept["experiment"], kept["agent"]) == ("barcode-bandits", "epl2rl")
    for panel in kept["panels"]:
        assert len(panel["x"]) == len(panel["y"]) == len(panel["label"]) == 6
        assert len({*panel["context"]}) == 6  # each is stored once per exposure
    assert_refused(command("figure gates x --out g.json"), "must end in .png, .svg or .pdf")
    assert_refused(command("figure memory-map x --seed 7"), "x has the seeds [0, 1], not 7")
    assert_refused(command("figure memory-map x --epochs 0"), "epochs must be positive, not 0")
    assert_refused(command("figure memory-map nowhere"), "nowhere holds no run")
    new_run(tmp_path / "y", "l2rl")
    assert_refused(command("figure gates y"), "y is a run of l2rl, which has no memory to draw")
