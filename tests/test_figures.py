"""Figures are drawn from what results.json holds, and from nothing else."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reinstate.analysis.intervals import over_seeds
from reinstate.figures import save, training_curves
from tiny import ENVIRONMENT


def an_agent(reward: list[list[float]]) -> dict[str, Any]:
    curve = {"episodes": [6, 12, 18], "steps": [72, 144, 216], "reward": over_seeds(reward)}
    return {"curve": curve, "reward": {"mean": 1.25, "ci95": None, "per_seed": [1.25]}}


@pytest.fixture
def results() -> dict[str, Any]:
    document = {
        "agents": {
            "epl2rl": an_agent([[0.5, 1, 2], [0.7, 1, 2.4]]),
            "l2rl": an_agent([[0.5, 0.6, 0.9]]),
            "my-own": an_agent([[0.4, 0.4, 0.4]]),
        },
        "reference_lines": {"best with memory": 2.5, "chance": 1.1},
    }
    return json.loads(json.dumps(document))


def test_curves_are_the_means_and_the_seeds(results: dict[str, Any]) -> None:
    (axes,) = training_curves(results, "a title").axes
    drawn = [np.round(np.array(line.get_xydata()), 6).tolist() for line in axes.lines]
    assert drawn[:3] == [  # epl2rl: its seeds, then their mean
        [[6, 0.5], [12, 1], [18, 2]],
        [[6, 0.7], [12, 1], [18, 2.4]],
        [[6, 0.6], [12, 1], [18, 2.2]],
    ]
    assert len(drawn) == 3 + 2 + 2 + 2  # the other agents have one seed; two reference lines
    assert axes.get_title(loc="left") == "a title"
    legend = axes.get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["epL2RL (1.25 frozen)", "L2RL (1.25 frozen)", "my-own (1.25 frozen)"]


def test_the_lowest_line_has_its_label_below(results: dict[str, Any]) -> None:
    (axes,) = training_curves(results, "").axes
    place = {text.get_text(): text.get_verticalalignment() for text in axes.texts}
    assert place == {"best with memory, 2.50": "bottom", "chance, 1.10": "top"}


def test_png_and_svg(tmp_path: Path, results: dict[str, Any]) -> None:
    for name in ("one", "two"):
        save(training_curves(results, "Experiment 0: a test"), tmp_path / name)
    for kind in ("png", "svg"):
        one, two = ((tmp_path / f"{name}.{kind}").read_bytes() for name in ("one", "two"))
        assert one == two  # a redrawn figure is no change in a repository
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "one.svg").read_text()
    for label in (
        "Experiment 0: a test",
        "episodes, in each lane",
        "reward an episode",
        "epL2RL (1.25 frozen)",
        "chance, 1.10",
    ):
        assert f">{label}<" in svg
    assert {path.name for path in tmp_path.iterdir()} == {
        "one.png",
        "one.svg",
        "two.png",
        "two.svg",
    }


def test_the_command_starts_without_matplotlib() -> None:
    code = "import sys, reinstate.cli; print(sorted({m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert "'jax'" in done.stdout and "'matplotlib'" not in done.stdout
