"""Ways through a maze, drawn with matplotlib."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from reinstate.analysis.results import Results
from reinstate.figures.chart import Trajectories, at
from reinstate.figures.style import EARLY, LATE, SCREEN, Look, label, mixed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from reinstate.figures.canvas import Figure

PIECES = 8  # of a move, each with its colour
LANE = 0.15  # between two moves along the same edge, as a share of a cell's side
START: dict[str, Any] = {"linestyle": "none", "marker": "o", "zorder": 4}
START |= {"markerfacecolor": "white", "markeredgecolor": "black"}
GOAL: dict[str, Any] = {"linestyle": "none", "marker": "*", "zorder": 3}
GOAL |= {"markerfacecolor": "#F0E442", "markeredgecolor": "black"}
LEGEND: dict[str, Any] = {"loc": "outside lower center", "frameon": False, "fontsize": 8}


def trajectories(results: Results) -> list[Trajectories]:
    """Take the recorded ways of epL2RL, or of whichever agent was run first."""
    agents = results["agents"]
    name = "epl2rl" if "epl2rl" in agents else next(iter(agents), "")
    if not (recorded := at(agents.get(name), "maze", "trajectories")):
        return []
    task = results["settings"]["task"]
    return [Trajectories(task["height"], task["width"], recorded, label(name))]


def draw_trajectories(drawing: Trajectories, title: str = "") -> "Figure":
    """Draw Fig. 5c and d, early steps orange and late steps blue (the paper's are red and green).

    Each column is a context; above its first exposure, below its second, from the same start.
    """
    from reinstate.figures.canvas import Figure

    height, width, pairs, _ = drawing
    columns = max(len(pairs), 1)
    size = max(1.25 * columns + 0.5, 4.2), 2.5 * min(max(height / width, 0.8), 2) + 1.1
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(2, columns, squeeze=False)
    for row, exposure in zip(panels, ("first", "second"), strict=True):
        row[0].set_ylabel(f"{exposure} exposure", fontsize=8)
        for axes, pair in zip(row, [*pairs, *[None] * columns], strict=False):
            draw_way(axes, drawing, pair, exposure)  # an empty grid if there is no pair
    words = [title, "" if pairs else "no context started twice in the same place"]
    figure.suptitle(", ".join(filter(None, words)), x=0.01, ha="left", fontsize=10)
    figure.legend(handles=key_handles(), ncols=4, **LEGEND)
    return figure


def key_handles(look: Look = SCREEN) -> list[Any]:
    """Return what a legend of ways explains."""
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], **START, **_sizes(look, 5.5), label="start"),
        Line2D([], [], **GOAL, **_sizes(look, 11), label="goal"),
        Line2D([], [], color=EARLY, linewidth=look.way, label="early steps"),
        Line2D([], [], color=LATE, linewidth=look.way, label="late steps"),
    ]


def _sizes(look: Look, points: float) -> dict[str, Any]:
    return {"markersize": look.marker * points, "markeredgewidth": look.frame}


def draw_way(
    axes: "Axes", drawing: Trajectories, pair: Any, exposure: str, look: Look = SCREEN
) -> None:
    """Draw the maze, and the way of one exposure if there is a pair."""
    from matplotlib.collections import LineCollection

    height, width = drawing.height, drawing.width
    _grid(axes, height, width, look)
    if pair is None:
        return
    cells, goal = pair[exposure], pair["goal"]
    pieces, colours = _pieces(cells, width)
    axes.add_collection(
        LineCollection(list(pieces), colors=colours, linewidths=look.way, capstyle="round")
    )
    for n in (n for n, (here, there) in enumerate(pairwise(cells)) if here == there):  # a wall
        axes.plot(*pieces[PIECES * n, 0], "s", color=colours[PIECES * n], markersize=2.2 * look.way)
    axes.plot(goal % width, goal // width, **GOAL, **_sizes(look, 11))
    axes.plot(cells[0] % width, cells[0] // width, **START, **_sizes(look, 5.5))
    axes.set_xlabel(outcome(pair, exposure), fontsize=min(look.label, 8), labelpad=3)


def outcome(pair: Mapping[str, Any], exposure: str) -> str:
    """Say how many steps a way took to the goal."""
    moves = len(pair[exposure]) - 1
    if pair[exposure][-1] != pair["goal"]:
        return "not found"
    return "1 step" if moves == 1 else f"{moves} steps"


def _grid(axes: "Axes", height: int, width: int, look: Look) -> None:
    axes.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5), aspect="equal")
    axes.set_xticks(np.arange(width + 1) - 0.5, [])
    axes.set_yticks(np.arange(height + 1) - 0.5, [])
    axes.grid(color="0.88", linewidth=look.frame)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    axes.spines[:].set(color="0.6", linewidth=look.frame)


def _pieces(cells: Sequence[int], width: int) -> tuple[np.ndarray, list[str]]:
    """Cut every move into short pieces of its time's colour.

    A move along an edge between two cells that was taken before runs beside it.
    """
    edges = [frozenset(pair) for pair in pairwise(cells)]
    lane = min(LANE, 0.8 / max(Counter(edges).values(), default=1))
    pieces, times = [], []
    for n, (here, there) in enumerate(pairwise(cells)):
        before = edges[:n].count(edges[n])
        aside = lane * (-1) ** before * ((before + 1) // 2)
        start, end = ((cell % width, cell // width) for cell in (here, there))
        x, y = np.linspace(start, end, PIECES + 1).T
        points = np.stack([x + aside, y] if x[0] == x[-1] else [x, y + aside], axis=-1)
        pieces.append(np.stack([points[:-1], points[1:]], axis=1))
        times += [(n + (piece + 0.5) / PIECES) / len(edges) for piece in range(PIECES)]
    return np.concatenate(pieces or [np.zeros((0, 2, 2))]), [mixed(EARLY, LATE, t) for t in times]
