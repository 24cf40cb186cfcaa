"""Figures are drawn from what results.json holds, and from nothing else."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from reinstate.analysis.intervals import over_seeds
from reinstate.figures import maze_steps, maze_trajectories, save, training_curves
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


@pytest.fixture
def maze() -> dict[str, Any]:
    """Results of a maze with 2 rows and 3 columns; L2RL's one seed once reached no goal at all."""
    pairs = [
        {"goal": 4, "first": [0, 1, 0, 0, 3, 4], "second": [0, 1, 4]},
        {"goal": 5, "first": [2, 1, 2], "second": [2, 5]},
    ]
    steps = over_seeds([[8, 3, 2], [6, 2, 2]])
    document = {
        "agents": {
            "epl2rl": {"maze": {"steps_or_end": steps, "trajectories": pairs}},
            "l2rl": {"maze": {"steps_or_end": {"mean": [8, 8, None], "ci95": None}}},
        },
        "optimum": {"steps_first_exposure": 5.5, "steps_goal_known": 1.75, "goal_known": 9},
        "settings": {"task": {"height": 2, "width": 3}},
    }
    return json.loads(json.dumps(document))


def panels(figure: Figure) -> list[Any]:
    return list(figure.axes)


def test_steps_by_exposure_with_their_intervals(maze: dict[str, Any]) -> None:
    figure = maze_steps(maze)
    agents = panels(figure)[0].containers
    assert [c.get_label() for c in agents] == ["epL2RL", "L2RL"]
    memory, plain = (np.array(c.lines[0].get_xydata()) for c in agents)
    np.testing.assert_allclose(memory, [[0.94, 7], [1.94, 2.5], [2.94, 2]])
    np.testing.assert_allclose(plain, [[1.06, 8], [2.06, 8], [3.06, np.nan]])
    (bars,) = agents[0].lines[2]
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    np.testing.assert_allclose(ends, maze["agents"]["epl2rl"]["maze"]["steps_or_end"]["ci95"])
    assert agents[1].lines[2] == ()  # no interval from a single seed
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["epL2RL", "L2RL", "optimum (5.50, 1.75)"]


def test_the_optimum_of_a_search_is_marked_at_the_first_exposure_only(maze: dict[str, Any]) -> None:
    def lines() -> list[Any]:
        (axes,) = panels(maze_steps(maze))
        return [line.get_xydata().tolist() for line in axes.lines if line.get_linestyle() == "--"]

    search, known = [[0.6, 5.5], [1.4, 5.5]], [[1.6, 1.75], [3.4, 1.75]]
    assert lines() == [search, known]
    del maze["optimum"]["steps_first_exposure"]  # as in a maze too large to solve
    assert lines() == [known]
    del maze["optimum"]
    assert lines() == []


def test_trajectories_run_from_red_at_the_start_to_green_at_the_goal(maze: dict[str, Any]) -> None:
    axes = panels(maze_trajectories(maze))  # the first exposures, then the second ones
    assert [a.get_xlabel() for a in axes] == ["5 steps", "not found", "2 steps", "1 step"]
    assert [a.get_ylabel() for a in axes] == ["first exposure", "", "second exposure", ""]
    for a in axes:
        (path,) = a.collections
        red, green, *_ = np.array(path.get_colors()).T
        assert red[0] > 0.8 and green[0] < 0.2 and red[-1] < 0.2 and green[-1] > 0.5
        assert (a.get_xlim(), a.get_ylim()) == ((-0.5, 2.5), (1.5, -0.5))  # row 0 on top
    goal, start = (line.get_xydata().tolist() for line in axes[0].lines)
    assert (start, goal) == ([[0, 0]], [[1, 1]])
    (straight,) = axes[2].collections
    corners = [straight.get_segments()[i].tolist() for i in (0, -1)]
    assert (corners[0][0], corners[1][1]) == ([0, 0], [1, 1])


def test_no_stretch_of_a_path_hides_another(maze: dict[str, Any]) -> None:
    """0 → 1 → 0 → 0 → 3 → 4: three visits to the first cell, and each is drawn apart."""
    (path,) = panels(maze_trajectories(maze))[0].collections
    pieces = path.get_segments()
    corners = np.array([pieces[i][0] for i in range(0, len(pieces), len(pieces) // 5)])
    assert len({tuple(corner) for corner in corners}) == 5
    aside = corners - np.array([[0, 0], [1, 0], [0, 0], [0, 0], [0, 1]])
    assert (aside != 0).any(axis=1).tolist() == [False, False, True, True, False]
    assert abs(aside).max() < 0.3  # and still in its cell


def test_a_maze_without_pairs_says_so(maze: dict[str, Any]) -> None:
    maze["agents"]["epl2rl"]["maze"]["trajectories"] = []
    figure = maze_trajectories(maze)
    assert figure.get_suptitle() == "no context started twice in the same place"
    assert len(figure.axes) == 2 and not any(a.collections for a in figure.axes)


def test_mazes_as_files(tmp_path: Path, maze: dict[str, Any]) -> None:
    for draw in (maze_steps, maze_trajectories):
        for name in ("one", "two"):
            save(draw(maze), tmp_path / name)
        for kind in ("png", "svg"):
            assert len({(tmp_path / f"{n}.{kind}").read_bytes() for n in ("one", "two")}) == 1
    assert ">early steps<" in (tmp_path / "one.svg").read_text()


def test_the_command_starts_without_matplotlib() -> None:
    code = "import sys, reinstate.cli; print(sorted({m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert "'jax'" in done.stdout and "'matplotlib'" not in done.stdout
