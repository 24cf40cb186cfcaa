"""Figures of mazes, from what results.json holds: steps to the goal, and ways there."""

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from reinstate.figures.common import COLOURS, LABELS, SEED_POINT, apart, subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OPTIMUM = "optimum"  # how its label in a legend starts
PIECES = 8  # of each move in a trajectory, each in a colour of its own
START: dict[str, Any] = {
    "linestyle": "none",
    "marker": "o",
    "markersize": 5.5,
    "markerfacecolor": "white",
    "markeredgecolor": "black",
    "zorder": 4,
}
GOAL: dict[str, Any] = {
    "linestyle": "none",
    "marker": "*",
    "markersize": 11,
    "markerfacecolor": "#F0E442",
    "markeredgecolor": "black",
    "markeredgewidth": 0.8,
    "zorder": 3,
}


def maze_steps(results: dict[str, Any]) -> "Figure":
    """Fig. 5b: moves to the first goal by exposure, with 95% intervals, optima as lines.

    Small points are single seeds. A goal never found counts as the whole episode, as in the optima.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 3.4), layout="constrained")
    axes = figure.subplots()
    agents = results["agents"]
    last = 1
    for index, (name, agent) in enumerate(agents.items()):
        aside = 0.12 * (index - (len(agents) - 1) / 2)  # so that intervals do not cover each other
        last = max(last, _steps(axes, name, agent["maze"]["steps_or_end"], aside))
    _maze_optima(axes, results.get("optimum") or {}, last)
    axes.set_xlabel("exposure to the context")
    axes.set_ylabel("steps to the first goal")
    axes.set_xlim(0.4, last + 0.6)
    axes.set_ylim(bottom=0)
    axes.set_xticks(range(1, last + 1, 1 + last // 16))
    axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    optimum_last = sorted(range(len(labels)), key=lambda i: labels[i].startswith(OPTIMUM))
    figure.legend(
        [handles[i] for i in optimum_last],
        [labels[i] for i in optimum_last],
        frameon=False,
        loc="outside upper left",
        fontsize=8,
        ncols=4,
        columnspacing=1.2,
    )
    return figure


def _steps(axes: "Axes", name: str, steps: dict[str, Any], aside: float) -> int:
    """Draw one agent's seeds, means and intervals; how many exposures it has."""
    mean = np.array(steps["mean"], float)  # None, where no episode reached the goal, becomes NaN
    exposure = np.arange(1, len(mean) + 1)
    low, high = np.array(steps["ci95"], float).T if steps["ci95"] else (mean, mean)
    seeds = np.array(steps.get("per_seed", []), float)  # (seeds, exposures)
    for seed, beside in zip(seeds, apart(len(seeds)), strict=True):
        axes.plot(exposure + aside + 0.045 * beside, seed, color=COLOURS.get(name), **SEED_POINT)
    axes.errorbar(
        exposure + aside,
        mean,
        yerr=[mean - low, high - mean] if steps["ci95"] else None,
        color=COLOURS.get(name),
        label=LABELS.get(name, name),
        linewidth=1.2,
        elinewidth=1.2,
        marker="o",
        markersize=3.5,
    )
    return len(mean)


def _maze_optima(axes: "Axes", optimum: dict[str, Any], last: int) -> None:
    spans = {"steps_first_exposure": (0.6, 1.4), "steps_goal_known": (1.6, last + 0.4)}
    known = {n: optimum[n] for n, (left, right) in spans.items() if n in optimum and left < right}
    label = f"{OPTIMUM} ({', '.join(f'{steps:.2f}' for steps in known.values())})"
    for name, steps in known.items():
        style: Any = {"color": "0.25", "linewidth": 1.2, "linestyle": (0, (2, 1.2)), "zorder": 3}
        axes.plot(spans[name], [steps, steps], label=label, **style)
        label = "_"  # one entry in the legend for both


def maze_trajectories(results: dict[str, Any]) -> "Figure":
    """Fig. 5c and d: ways to the first goal, early steps red, late steps green.

    Each column is a context; above its first exposure, below its second, from the same start.
    """
    from matplotlib.figure import Figure

    task = results["settings"]["task"]
    height, width = task["height"], task["width"]
    pairs = subject(results)["maze"]["trajectories"]
    columns = max(len(pairs), 1)
    size = max(1.25 * columns + 0.5, 4.2), 2.5 * min(max(height / width, 0.8), 2) + 0.9
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(2, columns, squeeze=False)
    for row, exposure in zip(panels, ("first", "second"), strict=True):
        row[0].set_ylabel(f"{exposure} exposure", fontsize=8)
        for axes in row:
            _grid(axes, height, width)
        for axes, pair in zip(row, pairs, strict=False):  # an empty grid if there is no pair
            _trajectory(axes, pair[exposure], pair["goal"], width)
    if not pairs:
        figure.suptitle("no context started twice in the same place", fontsize=9)
    _trajectory_key(figure)
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
    """Where to draw each cell of a path, (cells, 2): a cell met again is drawn a little aside.

    So a path without detours runs straight through the centres, and no segment of another hides
    one drawn before.
    """
    points, visits = [], Counter[int]()
    for cell in cells:
        n = visits[cell]
        visits[cell] += 1
        ring = (n + 3) // 4  # 0 for the first visit, then four corners further and further out
        corner = np.array([(-1, 1), (1, 1), (-1, -1), (1, -1)][n % 4])
        points.append(np.array([cell % width, cell // width]) + corner * 0.3 * ring / (ring + 1))
    return np.array(points, float)


def _red_to_green(num: int) -> list[tuple[float, float, float, float]]:
    from matplotlib.colors import LinearSegmentedColormap

    scale = LinearSegmentedColormap.from_list("red to green", ["#D7191C", "#E8A800", "#1A9641"])
    return [scale(share) for share in np.linspace(0, 1, num)]


def _trajectory_key(figure: "Figure") -> None:
    from matplotlib.lines import Line2D

    early, late = _red_to_green(2)
    handles = [
        Line2D([], [], **START, label="start"),
        Line2D([], [], **GOAL, label="goal"),
        Line2D([], [], color=early, linewidth=2, label="early steps"),
        Line2D([], [], color=late, linewidth=2, label="late steps"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
