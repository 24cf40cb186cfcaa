"""The verb memory-map: one picture of a run's memory."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reinstate.analysis.documents import read_document
from reinstate.analysis.memory_map import MemoryMap, Panel, RecordedMap, Stored, stored_states
from reinstate.cli import memory_map as verb
from reinstate.figures.memory_map import draw, save
from reinstate.runs.judge import Evaluator
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from spoken import Command, assert_refused
from tiny import TINY, new_run, trained_run


def test_a_map_of_a_run(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, players = trained_run(tmp_path / "x"), []

    def played(condition: Any, player: Any, *others: Any) -> Stored:
        players.append(player)
        return stored_states(condition, player, *others)

    monkeypatch.setattr(verb, "stored_states", played)
    said = command("memory-map x --seed 1 --epochs 2 --out m.svg --json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert found["exposures"] == [1, 2] and found["states"] == [6, 6]
    assert all(0 <= share <= 1 for share in found["readable"] + found["explained"])
    weights = Evaluator(BARCODE_BANDITS, "epl2rl", TINY).load(run).params.head.weight
    np.testing.assert_array_equal(players[0].head.weight, weights[1])
    assert "after 2 exposures" in (tmp_path / "m.svg").read_text()
    assert_refused(command("memory-map x --out m.svg"), "m.svg exists: choose another --out")
    said = command("memory-map x --gates --epochs 2")
    assert said.code == 0 and "next: open gates.png" in said.out
    assert (tmp_path / "gates.png").read_bytes().startswith(b"\x89PNG")
    said = command("memory-map x --epochs 2 --out m.json")
    assert said.code == 0 and "beside results.json as memory-map.json" in said.out
    kept = read_document(RecordedMap, tmp_path / "m.json")
    assert (kept["experiment"], kept["agent"]) == ("barcode-bandits", "epl2rl")
    for panel in kept["panels"]:
        assert len(panel["x"]) == len(panel["y"]) == len(panel["label"]) == 6
        assert len({*panel["context"]}) == 6  # each is stored once per exposure
    assert_refused(command("memory-map x --gates --out g.json"), "must end in .png, .svg or .pdf")
    assert_refused(command("memory-map x --out m.gif"), "m.gif must end in .png, .svg or .pdf")
    assert_refused(command("memory-map x --seed 7"), "x has the seeds [0, 1], not 7")
    assert_refused(command("memory-map x --epochs 0"), "epochs must be positive, not 0")
    assert_refused(command("memory-map nowhere"), "nowhere holds no run")
    new_run(tmp_path / "y", "l2rl")
    assert_refused(command("memory-map y"), "y is a run of l2rl, which has no memory to draw")


def a_map(labels: int) -> MemoryMap:
    panels = [
        Panel(e, e * np.arange(4.0 * labels).reshape(-1, 2), np.arange(labels).repeat(2), share)
        for e, share in ((1, None), (10, 0.5))
    ]
    return MemoryMap(panels, [0.6, 0.2], "good arm")


@pytest.mark.parametrize("labels", [2, 12, 40])
def test_panels_share_axes_and_many_labels_are_not_listed(labels: int) -> None:
    figure = draw(a_map(labels), "a title")
    one, ten = figure.axes
    assert one.get_xlim() == ten.get_xlim() and one.get_ylim() == ten.get_ylim()
    assert [axes.get_title("left") for axes in figure.axes] == [
        "after 1 exposure",
        "after 10 exposures",
    ]
    written = [text.get_text() for text in ten.texts]
    assert "nearest neighbours agree: 50%" in written and len(one.texts) == len(ten.texts) - 1
    assert len(written) == 1 + (labels if labels < 40 else 0)
    listed = [t.get_text() for legend in figure.legends for t in legend.get_texts()]
    assert listed == ([str(n + 1) for n in range(labels)] if labels < 40 else [])


@pytest.mark.parametrize(
    ("kind", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")]
)
def test_the_same_map_gives_the_same_file(tmp_path: Path, kind: str, start: bytes) -> None:
    contents = set()
    for name in ("a", "b"):
        save(a_map(2), tmp_path / f"{name}.{kind}")
        contents.add((tmp_path / f"{name}.{kind}").read_bytes())
    assert len(contents) == 1 and contents.pop().startswith(start)
