"""Ways through a maze, drawn with matplotlib."""

from typing import TYPE_CHECKING, Any

import numpy as np

from reinstate.analysis.results import Results
from reinstate.figures.chart import Trajectories
from reinstate.figures.numbers import at
from reinstate.figures.style import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from reinstate.figures.canvas import Figure

LONGEST = 1000  # steps of a way, and cells of a maze's side, that are drawn
MOST_PAIRS = 24
PIECES = 8  # of each move in a trajectory, each with its colour
START: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 5.5, "zorder": 4}
START |= {"markerfacecolor": "white", "markeredgecolor": "black"}
GOAL: dict[str, Any] = {"linestyle": "none", "marker": "*", "markersize": 11, "zorder": 3}
GOAL |= {"markerfacecolor": "#F0E442", "markeredgecolor": "black", "markeredgewidth": 0.8}
LEGEND: dict[str, Any] = {"loc": "outside lower center", "frameon": False, "fontsize": 8}


def trajectories(results: Results) -> list[Trajectories]:
    """Take the recorded ways of epL2RL, or of whichever agent was run first.

    Files may hold anything: ways that leave the maze, or that nobody could look at, are left out.
    """
    agents = results["agents"]
    name = "epl2rl" if "epl2rl" in agents else next(iter(agents), "")
    task = at(results["settings"], "task")
    height, width = at(task, "height"), at(task, "width")
    recorded = at(agents.get(name), "maze", "trajectories")
    if not isinstance(recorded, list) or not (_is_side(height) and _is_side(width)):
        return []
    sound = [pair for pair in recorded if _is_within(pair, height * width)]
    return [Trajectories(height, width, sound[:MOST_PAIRS], label(name))]


def _is_side(value: object) -> bool:
    return type(value) is int and 0 < value <= LONGEST


def _is_within(pair: Any, cells: int) -> bool:
    """Tell whether both ways of a pair run through cells of the maze, and how far they may go."""
    ways = at(pair, "first"), at(pair, "second")
    if not all(isinstance(way, list) and 0 < len(way) <= LONGEST for way in ways):
        return False
    return all(type(n) is int and 0 <= n < cells for n in (at(pair, "goal"), *ways[0], *ways[1]))


def draw_trajectories(drawing: Trajectories, title: str = "") -> "Figure":
    """Draw Fig. 5c and d: early steps red, late steps green.

    Each column is a context; above its first exposure, below its second, from the same start.
    """
    from matplotlib.lines import Line2D

    from reinstate.figures.canvas import Figure

    height, width, pairs, _ = drawing
    columns = max(len(pairs), 1)
    size = max(1.25 * columns + 0.5, 4.2), 2.5 * min(max(height / width, 0.8), 2) + 1.1
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(2, columns, squeeze=False)
    for row, exposure in zip(panels, ("first", "second"), strict=True):
        row[0].set_ylabel(f"{exposure} exposure", fontsize=8)
        for axes in row:
            _grid(axes, height, width)
        for axes, pair in zip(row, pairs, strict=False):  # an empty grid if there is no pair
            _trajectory(axes, pair[exposure], pair["goal"], width)
    words = [title, "" if pairs else "no context started twice in the same place"]
    figure.suptitle(", ".join(filter(None, words)), x=0.01, ha="left", fontsize=10)
    early, late = _red_to_green(2)
    handles = [
        Line2D([], [], **START, label="start"),
        Line2D([], [], **GOAL, label="goal"),
        Line2D([], [], color=early, linewidth=2, label="early steps"),
        Line2D([], [], color=late, linewidth=2, label="late steps"),
    ]
    figure.legend(handles=handles, ncols=4, **LEGEND)
    return figure


def _grid(axes: "Axes", height: int, width: int) -> None:
    axes.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5), aspect="equal")
    axes.set_xticks(np.arange(width + 1) - 0.5, [])
    axes.set_yticks(np.arange(height + 1) - 0.5, [])
    axes.grid(color="0.88", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    axes.spines[:].set_color("0.6")


def _trajectory(axes: "Axes", cells: list[int], goal: int, width: int) -> None:
    from matplotlib.collections import LineCollection

    points = _path_points(cells, width)
    moves = len(cells) - 1
    # Each move in short pieces, so that the colour runs through even a path of a single one.
    along = np.linspace(0, moves, PIECES * moves + 1)
    fine = np.stack([np.interp(along, np.arange(len(cells)), xy) for xy in points.T], axis=-1)
    pieces = list(np.stack([fine[:-1], fine[1:]], axis=1))
    colours = _red_to_green(len(pieces))
    axes.add_collection(LineCollection(pieces, colors=colours, linewidths=2, capstyle="round"))
    axes.plot(goal % width, goal // width, **GOAL)
    axes.plot(*points[0], **START)
    steps = "1 step" if moves == 1 else f"{moves} steps"
    axes.set_xlabel(steps if cells[-1] == goal else "not found", fontsize=8, labelpad=3)


def _path_points(cells: list[int], width: int) -> np.ndarray:
    """Return where to draw each cell of a path, (cells, 2); one met again is a little aside.

    So a path without detours runs straight through the centres, and no segment of another hides
    one drawn before.
    """
    points = []
    for place, cell in enumerate(cells):
        visits = cells[:place].count(cell)
        ring = (visits + 3) // 4  # 0 for the first visit, then four corners further and further out
        corner = np.array([(-1, 1), (1, 1), (-1, -1), (1, -1)][visits % 4])
        points.append(np.array([cell % width, cell // width]) + corner * 0.3 * ring / (ring + 1))
    return np.array(points, float)


def _red_to_green(num: int) -> list[tuple[float, float, float, float]]:
    from matplotlib.colors import LinearSegmentedColormap

    scale = LinearSegmentedColormap.from_list("red to green", ["#D7191C", "#E8A800", "#1A9641"])
    return [scale(share) for share in np.linspace(0, 1, num)]
