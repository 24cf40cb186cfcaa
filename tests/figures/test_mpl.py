"""Charts as files: what matplotlib draws of a description."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reinstate_paper
from reinstate.figures import mpl
from reinstate.figures.chart import Chart, Line, Series, Trajectories
from reinstate.figures.labels import names_of, place_labels, place_names, spread
from reinstate.runs.conclusions import read_results
from reinstate.runs.experiment import EXPERIMENTS
from tiny import ENVIRONMENT

RESULTS = Path(__file__).parents[2] / "results"
FOLDERS = (".", "recognition")
CURVE = Series(
    "epL2RL",
    "#0072B2",
    [1, 2],
    [1.0, 2.0],
    [(0.5, 1.5), None],
    [[0.5, 1.5], [None, 2.5]],
    "8 frozen",
)
CHART = Chart("Reward", "exposure", "reward per episode", [CURVE], lines=[Line("chance", 1.1)])


def axes_of(chart: Chart) -> Any:
    (axes,) = mpl.draw([chart]).axes
    return axes


def test_png_and_svg_with_the_same_bytes_for_the_same_numbers(tmp_path: Path) -> None:
    for name in ("one", "two"):
        mpl.save([CHART], tmp_path / name, "Experiment 0: a test")
    for kind in ("png", "svg"):
        one, two = ((tmp_path / f"{name}.{kind}").read_bytes() for name in ("one", "two"))
        assert one == two  # a redrawn figure is no change in a repository
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "one.svg").read_text()
    words = ("Experiment 0: a test", "exposure", "reward per episode", "chance, 1.10")
    assert all(f">{label}<" in svg for label in (*words, "epL2RL (8 frozen)"))
    assert len(list(tmp_path.iterdir())) == 4


def test_means_seeds_and_intervals() -> None:
    axes = axes_of(CHART)
    drawn = [np.asarray(line.get_xydata()).tolist() for line in axes.lines]
    assert [[1, 1], [2, 2]] in drawn and [[1, 0.5], [2, 1.5]] in drawn  # the mean, and a seed
    faint = [line for line in axes.lines if line.get_alpha() == 0.4]
    assert len(faint) == 2 and faint[1].get_marker() == "o"  # a single value is a point
    (bars,) = axes.collections
    assert [s.tolist() for s in bars.get_segments()] == [[[1, 0.5], [1, 1.5]]]
    assert axes.get_ylim() == CHART.y_range


def test_panels_share_their_height_and_one_legend() -> None:
    charts = [Chart("t", "x", "y", [CURVE], of=of) for of in ("one", "two", "three")]
    figure = mpl.draw(charts, "a title")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["one", "two", "three"]
    assert [axes.get_ylabel() for axes in figure.axes] == ["y", "", ""]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["epL2RL (8 frozen)"]
    assert figure.get_suptitle() == "a title"


def test_names_of_categories_are_wrapped_and_their_points_not_joined() -> None:
    chart = Chart("t", "x", "y", [CURVE], categories=["memory " * 6, "b", "c"], dodge=0.5)
    axes = axes_of(chart)
    assert "\n" in axes.get_xticklabels()[0].get_text()
    assert all(line.get_linestyle() == "None" for line in axes.lines if len(line.get_xdata()) == 2)


@pytest.mark.parametrize("name", sorted(reinstate_paper.PAPER_EXPERIMENTS))
def test_every_figure_of_every_experiment(name: str) -> None:
    """From recorded results, the paper's or ours beyond it, whatever parts they have."""
    paper, beyond = (read_results(RESULTS / each / name) for each in FOLDERS)
    for file, charts_of in EXPERIMENTS[name].charts.items():
        drawings = charts_of(paper) or charts_of(beyond)
        assert drawings or file == "memory-as-input"  # whose agents are recorded apart
        assert not drawings or mpl.draw(drawings).axes


PAIRS = [
    {"goal": 4, "first": [0, 1, 0, 0, 3, 4], "second": [0, 1, 4]},
    {"goal": 5, "first": [2, 1, 2], "second": [2, 5]},
]


def panels(pairs: list[Any]) -> list[Any]:
    return list(mpl.draw([Trajectories(2, 3, pairs)]).axes)


def test_trajectories_run_from_orange_at_the_start_to_blue_at_the_goal() -> None:
    axes = panels(PAIRS)  # the first exposures, then the second ones
    assert [a.get_xlabel() for a in axes] == ["5 steps", "not found", "2 steps", "1 step"]
    assert [a.get_ylabel() for a in axes] == ["first exposure", "", "second exposure", ""]
    for a in axes:
        (path,) = a.collections
        red, green, blue, _ = np.array(path.get_colors()).T
        assert red[0] > 0.7 > 3 * blue[0] and red[-1] < 0.2 < blue[-1]
        light = 0.2 * red + 0.7 * green + 0.1 * blue
        assert (np.diff(light) <= 0).all() and light[-1] < light[0] / 2  # in grey too
        assert (a.get_xlim(), a.get_ylim()) == ((-0.5, 2.5), (1.5, -0.5))  # row 0 on top
    goal, start = (line.get_xydata().tolist() for line in axes[0].lines[-2:])
    assert (start, goal) == ([[0, 0]], [[1, 1]])


def pieces_of(pairs: list[Any]) -> np.ndarray:
    """The pieces of the first way, (pieces, 2 ends, 2)."""
    (path,) = panels(pairs)[0].collections
    return np.array(path.get_segments())


def test_no_stretch_of_a_path_hides_another_or_runs_across_cells() -> None:
    """0 → 1 → 0 → 0 → 3 → 4: back along an edge, a move that led nowhere, a turn."""
    pieces = pieces_of(PAIRS)
    moves = pieces[:, 1] - pieces[:, 0]
    assert (np.abs(moves).min(axis=1) < 1e-9).all()  # along a row or a column
    there, back = (pieces[np.sign(moves[:, 0]) == way][:, 0, 1] for way in (1, -1))
    assert there[0] == 0 and 0.1 < abs(back[0]) < 0.3  # beside the way there, in the same cell
    waits = [line for line in panels(PAIRS)[0].lines if line.get_marker() == "s"]
    assert len(waits) == 1


def test_a_path_along_one_edge_stays_in_its_cells_however_often() -> None:
    pieces = pieces_of([{"goal": 5, "first": [0, 1] * 20, "second": [0, 1]}])
    assert np.abs(pieces[..., 1]).max() < 0.5
    rows = {round(float(y), 6) for y in pieces[..., 1].ravel()}
    assert len(rows) == 39  # one for each of its moves


def test_the_command_starts_without_matplotlib() -> None:
    code = (
        "import sys, reinstate.cli, reinstate.runs.experiment, reinstate.figures.page;"
        " print(sorted({m.split('.')[0] for m in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert "'jax'" in done.stdout and "'matplotlib'" not in done.stdout


# Names beside lines, and labels of lines for reference


def test_heights_are_moved_as_little_as_needed() -> None:
    assert spread([], 1, 0, 10) == []
    assert spread([2, 5, 9], 1, 0, 10) == [2, 5, 9]
    assert spread([5, 5], 1, 0, 10) == [4.5, 5.5]
    assert spread([5.2, 1, 5], 1, 0, 10) == pytest.approx([5.6, 1, 4.6])  # in the order given
    assert spread([5, 5, 5.5, 6], 1, 0, 10) == pytest.approx([3.875, 4.875, 5.875, 6.875])


def test_heights_stay_between_the_ends() -> None:
    assert spread([0, 0], 1, 0, 10) == [0, 1]
    assert spread([10, 10, 9.9], 1, 0, 10) == [9, 10, 8]
    crowded = spread([1, 1, 1, 1], 1, 0, 2)  # more than fit
    assert sorted(crowded) == pytest.approx([-1, 0, 1, 2])


def test_names_stand_where_lines_end() -> None:
    line = Series("a rather long name of a line", "#E69F00", [1, 2, 3], [1.0, 2.0, None])
    unnamed = Series("no", "#000000", [1], [1.0], in_legend=False)
    (name,) = names_of(Chart("", "", "", [line, unnamed]), 18)
    assert (name.x, name.y, name.text) == (2, 2, "a rather long name\nof a line")
    assert name.series == line
    paired = Chart("", "", "", [line], categories=["uncued", "cued"], paired=True)
    assert names_of(paired, 18) == []  # above its slope


def test_names_of_lines_that_meet_are_moved_apart() -> None:
    ends = {"a": 5.0, "b": 5.0, "c": 0.0}
    chart = Chart("", "", "", [Series(n, "#000000", [1, 2], [1.0, y]) for n, y in ends.items()])
    a, b, c = place_names(chart, names_of(chart, 18), height=100, line=10)
    assert a[0] == b[0] and abs(a[1] - b[1]) == pytest.approx(10)
    assert c == (0, 0)
    (long,) = names_of(Chart("", "", "", [Series("word " * 40, "#000000", [1], [1.0])]), 18)
    assert long.text.count("\n") == 2 and long.text.endswith("…")


def test_labels_of_lines_avoid_curves_each_other_and_the_border() -> None:
    rising = Series("a", "#000000", [0, 1, 2, 3], [0, 10, 10, 10])
    chart = Chart("", "", "", [rising], lines=[Line("best", 10.2), Line("chance", 0.1)])
    best, chance = place_labels(chart, letter=0.02, height=0.05)
    assert best.above and chance.above  # there is no room below
    assert chance.left > 0.4  # the curve starts at the left
    falling = replace(rising, y=[10, 0, 0, 0])
    crowded = Chart("", "", "", [falling], lines=[Line("one", 5.0), Line("two", 5.1)])
    one, two = place_labels(crowded, letter=0.02, height=0.05)
    assert (one.left, one.above) != (two.left, two.above)
    assert one.above is False or two.above is True  # not across the other line
