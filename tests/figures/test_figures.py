"""Figures are drawn from what results.json holds, and from nothing else."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from reinstate.agent import AGENTS
from reinstate.analysis.intervals import over_seeds
from reinstate.figures.choices import stay_panels, weights_in_training
from reinstate.figures.common import (
    COLOURS,
    LABELS,
    gates_over_epoch,
    regret_curves,
    save,
    training_curves,
)
from reinstate.figures.mazes import maze_steps, maze_trajectories
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


def test_every_agent_has_a_label_and_a_colour_of_its_own() -> None:
    for names in (LABELS, COLOURS):
        assert names.keys() == AGENTS.keys() and len(set(names.values())) == len(AGENTS)
    assert LABELS["epl2rl-input-4"] == "epL2RL, memory as 4 inputs"


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
    (axes,) = panels(figure)
    assert faint(axes) == [[8, 3, 2], [6, 2, 2]]  # L2RL's are not recorded here
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


def test_trajectories_are_of_epl2rl_or_else_of_the_first_agent(maze: dict[str, Any]) -> None:
    other = {"maze": {"trajectories": [{"goal": 2, "first": [0, 1, 2], "second": [0, 1, 2]}]}}
    maze["agents"] = {"epl2rl-input": other, **maze["agents"]}
    assert panels(maze_trajectories(maze))[0].get_xlabel() == "5 steps"
    del maze["agents"]["epl2rl"]
    assert [a.get_xlabel() for a in panels(maze_trajectories(maze))] == ["2 steps", "2 steps"]


def test_mazes_as_files(tmp_path: Path, maze: dict[str, Any]) -> None:
    for draw in (maze_steps, maze_trajectories):
        for name in ("one", "two"):
            save(draw(maze), tmp_path / name)
        for kind in ("png", "svg"):
            assert len({(tmp_path / f"{n}.{kind}").read_bytes() for n in ("one", "two")}) == 1
    assert ">early steps<" in (tmp_path / "one.svg").read_text()


def lines_of(axes: Any) -> dict[str, list[list[float]]]:
    """Label → points, of all lines that a legend names."""
    named = [line for line in axes.lines if not line.get_label().startswith("_")]
    return {line.get_label(): np.round(line.get_xydata(), 6).tolist() for line in named}


def by_exposure(*curves: list[float]) -> dict[str, Any]:
    return {"by_exposure": {"regret_by_step": list(curves)}}


def faint(axes: Any) -> list[list[float]]:
    """Heights of what is drawn for single seeds."""
    return [
        np.round(line.get_ydata(), 6).tolist() for line in axes.lines if line.get_alpha() == 0.4
    ]


def test_regret_of_each_seed_stands_at_the_end_of_its_line() -> None:
    agent = by_exposure([0.8, 1.5], [0.2, 0.3])
    agent["by_exposure"]["regret"] = over_seeds([[1.4, 0.2], [1.6, 0.4]])
    (axes,) = panels(regret_curves({"agents": {"epl2rl": agent}, "baselines": {}}))
    assert faint(axes) == [[1.4, 1.6], [0.2, 0.4]]
    assert all(line.get_xdata().min() > 2 for line in axes.lines if line.get_alpha() == 0.4)


def test_regret_by_pull_with_a_line_an_exposure_beside_the_algorithms() -> None:
    agents = {
        "l2rl-context": by_exposure([9, 9], [9, 9]),
        "l2rl": by_exposure([0.8, 1.5], [0.7, 1.4]),
        "epl2rl": by_exposure([0.8, 1.6], [0.2, 0.3], [0.15, 0.2], [0.1, 0.1]),
    }
    rivals = {"ucb1": by_exposure([0.8, 1.6], [0.8, 1.4]), "random": by_exposure([0.9, 1.8])}
    memory, plain = panels(regret_curves({"agents": agents, "baselines": rivals}))
    assert [a.get_title(loc="left") for a in (memory, plain)] == ["epL2RL", "L2RL"]
    assert lines_of(memory) == {
        "exposure 1": [[1, 0.8], [2, 1.6]],
        "exposure 2": [[1, 0.2], [2, 0.3]],
        "exposure 4": [[1, 0.1], [2, 0.1]],
        "UCB": [[1, 0.8], [2, 1.5]],  # the mean over exposures: it does not remember
    }
    assert len(memory.lines) == 5  # the third exposure has no label
    assert list(lines_of(plain)) == ["exposure 1", "exposure 2", "UCB"]
    assert memory.get_ylim()[0] == 0 and memory.get_ylabel() == "cumulative regret"


def test_regret_of_whichever_agents_and_without_algorithms() -> None:
    results = {
        "agents": {"l2rl-context": by_exposure([0.5, 0.9])},
        "baselines": {"unavailable": "too large"},
    }
    figure = regret_curves(results)
    (axes,) = panels(figure)
    assert axes.get_title(loc="left") == "L2RL+Context"
    assert lines_of(axes) == {"exposure 1": [[1, 0.5], [2, 0.9]]}
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["exposure 1"]


def test_gates_through_the_epoch() -> None:
    gates = {
        "stages": ["cue", "second stage", "outcome"],
        "over_epoch": [[0.1, 0.1, 0.3], [0.2, 0.2, 0.4], [0.3, 0.3, 0.5]],
        "first_cued": 2,
    }
    (axes,) = panels(gates_over_epoch(gates))
    assert lines_of(axes) == {
        "cue": [[1, 0.1], [2, 0.1], [3, 0.3]],
        "second stage": [[1, 0.2], [2, 0.2], [3, 0.4]],
        "outcome": [[1, 0.3], [2, 0.3], [3, 0.5]],
    }
    mark = axes.lines[-1].get_xdata()
    assert list(mark) == [2.5, 2.5]  # between the second episode and the third
    assert [text.get_text() for text in axes.texts] == ["cued from here on"]
    gates |= {"uncued": over_seeds([[0.1, 0.2, 0.4], [0.1, 0.2, 0.2]])}
    gates |= {"cued": over_seeds([[0.2, 0.4, 0.5], [0.4, 0.4, 0.5]])}
    (axes,) = panels(gates_over_epoch(gates))
    uncued, cued = [0.1, 0.2, 0.4, 0.1, 0.2, 0.2], [0.2, 0.4, 0.5, 0.4, 0.4, 0.5]
    assert faint(axes) == [[height] * 2 for height in uncued + cued]
    ends = [line.get_xdata().tolist() for line in axes.lines if line.get_alpha() == 0.4]
    assert ends == [[1, 2]] * 6 + [[3, 3]] * 6  # of each block
    del gates["first_cued"], gates["cued"], gates["uncued"]  # the classic task
    (axes,) = panels(gates_over_epoch(gates))
    assert len(axes.lines) == 3 and not axes.texts


def test_stay_probabilities_with_a_point_a_participant() -> None:
    people = [[0.9, 0.2, None, 0.8], [0.7, 0.4, 0.3, 0.6]]  # the first never met the third
    panel = {"mean": [0.8, 0.3, 0.3, 0.7], "ci95": [[0.7, 0.9], [0.2, 0.4], None, [0.6, 0.8]]}
    panel |= {"per_participant": people, "episodes": [9, 9, 9, 9]}
    empty = {"episodes": [0] * 4}
    stay = {"incremental_uncued": panel, "incremental_cued": empty, "episodic": empty}
    (axes,) = panels(stay_panels({"stay": stay}, companion=False))
    np.testing.assert_array_equal(faint(axes), np.array(people, float))
    bars = [line for line in axes.lines if line.get_color() == "black" and not line.get_alpha()]
    assert [line.get_ydata().tolist() for line in bars] == [[0.7, 0.9], [0.2, 0.4], [0.6, 0.8]]


def a_stone(epoch: int, weight: float, seeds: int = 2) -> dict[str, Any]:
    names = ("IMF", "IMB", "EMF", "EMB")
    spread = np.linspace(-0.1, 0.1, seeds) if seeds > 1 else np.zeros(1)
    cued = {name: over_seeds(n * weight + spread) for n, name in enumerate(names)}
    return {"epoch": epoch, "weights": {"cued": cued}}


def test_weights_while_an_agent_learns() -> None:
    figure = weights_in_training({"milestones": [a_stone(5, 0.1), a_stone(100, 0.5)]})
    (axes,) = panels(figure)
    assert lines_of(axes) == {
        "IMF": [[5, 0], [100, 0]],
        "IMB": [[5, 0.1], [100, 0.5]],
        "EMF": [[5, 0.2], [100, 1.0]],
        "EMB": [[5, 0.3], [100, 1.5]],
    }
    assert len(axes.collections) == 4  # their intervals
    edges = axes.collections[3].get_paths()[0].vertices
    assert edges[:, 1].max() == pytest.approx(1.6)
    assert faint(axes)[-2:] == [[0.2, 1.4], [0.4, 1.6]]  # the seeds of EMB
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["IMF", "IMB", "EMF", "EMB"]


def test_weights_of_one_seed_and_of_none() -> None:
    (axes,) = panels(weights_in_training({"milestones": [a_stone(5, 0.1, seeds=1)]}))
    assert lines_of(axes)["EMB"] == [[5, 0.3]] and not axes.collections
    for agent in ({}, {"milestones": [{"epoch": 5, "weights": {}}]}):  # the classic task
        (axes,) = panels(weights_in_training(agent))
        assert lines_of(axes)["EMB"] == []


def test_small_rewards_have_a_digit_more(results: dict[str, Any]) -> None:
    results["agents"]["l2rl"]["reward"]["mean"] = 0.63149
    results["reference_lines"] = {"chance": 0.5, "best": 0.68797}
    (axes,) = training_curves(results, "").axes
    assert {text.get_text() for text in axes.texts} == {"chance, 0.500", "best, 0.688"}
    legend = axes.get_legend()
    assert legend is not None and legend.get_texts()[1].get_text() == "L2RL (0.631 frozen)"


def test_the_command_starts_without_matplotlib() -> None:
    code = "import sys, reinstate.cli; print(sorted({m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert "'jax'" in done.stdout and "'matplotlib'" not in done.stdout
