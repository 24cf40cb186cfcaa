"""The verb figure: a figure of the paper, of whatever results it is given."""

import json
from pathlib import Path

import pytest

from reinstate.files import read_json, write_json
from spoken import Command, assert_refused

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
    assert found["file"] == "figure-4.pdf" and found["inches"] == 3.25 and found["panels"] == 2
    first = (tmp_path / "figure-4.pdf").read_bytes()
    assert first.startswith(b"%PDF") and len(first) == found["bytes"]
    said = command("figure 4 --results mine --preset quick")  # its own file is replaced
    assert said.code == 0 and (tmp_path / "figure-4.pdf").read_bytes() == first
    said = command("figure 4 --results mine/compositional-bandits --width page --out wide.svg")
    assert said.code == 0 and "wide.svg is 6.75 inches wide" in said.out
    assert 'width="486pt"' in (tmp_path / "wide.svg").read_text()


def test_mistakes_are_one_line_and_nothing_is_written(
    command: Command, results: Path, tmp_path: Path
) -> None:
    (tmp_path / "notes.svg").write_text("mine")
    for line, message in {
        "figure 7": "there is no figure 7 of results: choose one of 3, 4, 5, 6",
        "figure 4 --out figure.gif": "figure.gif must end in .png, .svg or .pdf",
        "figure 4 --results mine --out notes.svg": "notes.svg exists and is not of reinstate",
        "figure 3": "results holds no results of barcode-bandits: reinstate reproduce all",
        "figure 6 --results mine/compositional-bandits": "holds results of compositional-bandits,",
        "figure 4 --results mine --preset paper": "results of the preset quick, not paper",
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
