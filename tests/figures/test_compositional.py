"""Figures of compositional bandits from a small results document."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reinstate.analysis.intervals import over_seeds
from reinstate.experiments.compositional_bandits import COMPOSITIONAL_BANDITS
from reinstate.figures.common import save
from reinstate.figures.compositional import gates_by_trial, probes, regret_by_exposure

PROBES = ("memory cleared", "memory misfiled", "asked for the better stimulus")


def regret(*ends: float) -> dict[str, Any]:
    """Two trials, two seeds; regret by exposure."""
    return {
        "regret": over_seeds([[end - 0.1 for end in ends], [end + 0.1 for end in ends]]),
        "regret_by_step": [[end / 2, end] for end in ends],
    }


def an_agent(by_exposure: list[float], by_queried: list[float], memory: bool) -> dict[str, Any]:
    return {
        "reward": over_seeds([1.5, 1.7]),
        "by_exposure": regret(*by_exposure),
        "by_queried": regret(*by_queried),
        "r_by_trial": [[0.3 * memory, 0.2 * memory]] * len(by_queried),
        "retrieval": over_seeds([0.9, 1.0]) if memory else None,
    }


@pytest.fixture
def results() -> dict[str, Any]:
    episodic = an_agent([0.6, 0.3, 0.2], [0.5, 0.4, 0.3], memory=True)
    episodic["r_by_trial"] = [[0.1, 0.2], [0.3, 0.2], [0.4, 0.1]]
    episodic["probes"] = {name: over_seeds([1 + n / 10, 1.2]) for n, name in enumerate(PROBES)}
    document = {
        "agents": {
            "epl2rl": episodic,
            "l2rl-context": an_agent([0.6, 0.6, 0.6], [0.6, 0.6, 0.6], memory=False),
        },
        "optimum": {"both_novel": 1.4, "either_known": 1.8, "mean_over_epoch": 1.75, "chance": 1},
        "reference_lines": {"best with memory": 1.75, "best without episodic memory": 1.4,
                            "chance": 1},
    }  # fmt: skip
    return json.loads(json.dumps(document))


def lines_of(axes: Any) -> dict[str, list[list[float]]]:
    """Label → points, of all lines that a legend names."""
    named = [line for line in axes.lines if not line.get_label().startswith("_")]
    return {line.get_label(): np.round(line.get_xydata(), 6).tolist() for line in named}


def faint(axes: Any) -> list[list[float]]:
    """Heights of what is drawn for single seeds."""
    lines = [line for line in axes.lines if line.get_alpha() == 0.4]
    return [np.round(line.get_ydata(), 6).tolist() for line in lines]


def titles(results: dict[str, Any]) -> list[str]:
    return [axes.get_title(loc="left") for axes in regret_by_exposure(results).axes]


def test_regret_with_a_panel_for_either_way_to_count(results: dict[str, Any]) -> None:
    figure = regret_by_exposure(results)
    known, queried, plain = figure.axes
    assert titles(results) == [
        "epL2RL, by the better known",
        "epL2RL, by the queried",
        "L2RL+Context, by the better known",
    ]
    assert lines_of(known) == {
        "exposure 1": [[1, 0.3], [2, 0.6]],
        "exposure 2": [[1, 0.15], [2, 0.3]],
        "exposure 3": [[1, 0.1], [2, 0.2]],
        "least without memory": [[0, 0.4], [1, 0.4]],  # 1.8 − 1.4, across the axes
    }
    assert lines_of(queried)["exposure 3"] == [[1, 0.15], [2, 0.3]]
    assert lines_of(plain)["exposure 3"] == [[1, 0.3], [2, 0.6]]
    assert faint(known) == [[0.5, 0.7], [0.2, 0.4], [0.1, 0.3]]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["exposure 1", "exposure 2", "exposure 3", "least without memory"]
    assert known.get_ylim()[0] == 0 and known.get_ylabel() == "cumulative regret"


def test_regret_of_whichever_agents_and_without_an_optimum(results: dict[str, Any]) -> None:
    results["optimum"] = {"unavailable": "too large"}
    del results["agents"]["epl2rl"]
    (axes,) = regret_by_exposure(results).axes
    assert titles(results) == ["L2RL+Context, by the better known"]
    assert list(lines_of(axes)) == ["exposure 1", "exposure 2", "exposure 3"]


def places(axes: Any, **style: Any) -> list[list[float]]:
    """Where lines of a style stand along the first axis."""
    found = [
        line
        for line in axes.lines
        if all(getattr(line, f"get_{k}")() == v for k, v in style.items())
    ]
    return [np.round(line.get_xdata(), 6).tolist() for line in found]


def test_probes_stand_below_the_agent_as_trained(results: dict[str, Any]) -> None:
    (axes,) = probes(results).axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["as trained", *PROBES]
    assert axes.yaxis_inverted()
    assert places(axes, markersize=6, marker="o") == [[1.6], [1.1], [1.15], [1.2]]  # means
    assert places(axes, alpha=0.4) == [[1.5, 1.7], [1.0, 1.2], [1.1, 1.2], [1.2, 1.2]]  # seeds
    intervals = [[1.5, 1.7], [1.0, 1.2], [1.1, 1.2], [1.2, 1.2]]
    assert places(axes, linewidth=1.2) == intervals
    # Chance would squeeze all else.
    assert places(axes, linestyle="--") == [[1.75, 1.75], [1.4, 1.4]]
    marks = [text.get_text() for text in axes.texts]
    assert marks == ["best with memory", "best\nwithout episodic memory"]
    assert axes.get_xlabel() == "reward an episode, epL2RL"


def test_probes_of_one_seed_have_no_interval(results: dict[str, Any]) -> None:
    agent = results["agents"]["epl2rl"]
    agent["reward"], agent["probes"] = over_seeds([1.5]), {PROBES[0]: over_seeds([1.1])}
    (axes,) = probes(results).axes
    assert places(axes, linewidth=1.2) == [[1.5, 1.5], [1.1, 1.1]]


def test_gates_by_trial(results: dict[str, Any]) -> None:
    (axes,) = gates_by_trial(results).axes
    assert lines_of(axes) == {
        "exposure 1": [[1, 0.1], [2, 0.2]],
        "exposure 2": [[1, 0.3], [2, 0.2]],
        "exposure 3": [[1, 0.4], [2, 0.1]],
    }
    assert axes.get_ylabel() == "r-gate, mean over units (epL2RL)"


def test_an_agent_without_memory_alone_is_drawn_too(results: dict[str, Any]) -> None:
    del results["agents"]["epl2rl"]
    (axes,) = probes(results).axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["as trained"]
    assert axes.get_xlabel() == "reward an episode, L2RL+Context"
    (axes,) = gates_by_trial(results).axes
    assert lines_of(axes)["exposure 2"] == [[1, 0], [2, 0]]


def test_the_experiment_s_figures_as_files(tmp_path: Path, results: dict[str, Any]) -> None:
    assert list(COMPOSITIONAL_BANDITS.figures) == ["regret", "probes", "gates"]
    for name, draw in COMPOSITIONAL_BANDITS.figures.items():
        save(draw(results), tmp_path / name)
    assert len(list(tmp_path.iterdir())) == 6
    assert ">memory misfiled<" in (tmp_path / "probes.svg").read_text()
