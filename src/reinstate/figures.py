"""Numbers → matplotlib. Figures take what results.json holds, so they can be redrawn from it."""

import io
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reinstate.runs import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABELS = {
    "epl2rl": "epL2RL",
    "l2rl": "L2RL",
    "l2rl-context": "L2RL+Context",
    "epl2rl-input": "epL2RL, memory as input",
}
# Okabe and Ito's palette: distinct to colour-blind readers too.
COLOURS = {
    "epl2rl": "#0072B2",
    "l2rl": "#D55E00",
    "l2rl-context": "#009E73",
    "epl2rl-input": "#CC79A7",
}

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


def training_curves(results: dict[str, Any], title: str) -> "Figure":
    """Reward an episode while learning: mean over seeds, each seed thin, optima as lines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.2, 4.1), layout="constrained")
    axes = figure.subplots()
    for name, agent in results["agents"].items():
        _curve(axes, name, agent)
    _reference_lines(axes, results["reference_lines"])
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlabel("episodes, in each lane")
    axes.set_ylabel("reward an episode")
    top = max(axes.get_ylim()[1], *results["reference_lines"].values(), 0.0)
    floor = min([axes.get_ylim()[0], *results["reference_lines"].values()])
    # From zero, unless all that there is to see would then be squeezed into the upper half.
    floor = floor - 0.15 * (top - floor) if floor > top / 2 else 0.0
    axes.set_ylim(floor, top + 0.06 * (top - floor))
    axes.set_xlim(left=0)
    axes.spines[["top", "right"]].set_visible(False)
    # Below the axes: curves and reference lines leave no corner free in every experiment.
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14), fontsize=8, ncols=2)
    return figure


def _short(reward: float) -> str:
    return f"{reward:.2f}" if reward >= 1 else f"{reward:.3f}"


def _curve(axes: "Axes", name: str, agent: dict[str, Any]) -> None:
    curve, colour = agent["curve"], COLOURS.get(name)
    for seed in curve["reward"]["per_seed"]:
        axes.plot(curve["episodes"], seed, color=colour, linewidth=0.5, alpha=0.4)
    axes.plot(
        curve["episodes"],
        curve["reward"]["mean"],
        color=colour,
        linewidth=1.8,
        label=f"{LABELS.get(name, name)} ({_short(agent['reward']['mean'])} frozen)",
    )


def _reference_lines(axes: "Axes", lines: dict[str, float]) -> None:
    for label, reward in lines.items():
        lowest = reward == min(lines.values())  # its label goes below, out of the curves' way
        axes.axhline(reward, color="0.45", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
        axes.annotate(
            f"{label}, {_short(reward)}",
            (0.005, reward),
            xycoords=("axes fraction", "data"),
            xytext=(0, -2 if lowest else 2),
            textcoords="offset points",
            verticalalignment="top" if lowest else "bottom",
            fontsize=7,
            color="0.35",
        )


RIVALS = {
    "gittins": ("Gittins", (0, (5, 2))),
    "ucb1": ("UCB", (0, (1, 1.2))),
    "thompson": ("Thompson sampling", (0, (4, 1.5, 1, 1.5))),
}


def regret_curves(results: dict[str, Any]) -> "Figure":
    """Fig. 3c and d: cumulative regret by pull, a line an exposure, beside the algorithms."""
    from matplotlib.figure import Figure

    agents = [name for name in ("epl2rl", "l2rl") if name in results["agents"]]
    agents = agents or list(results["agents"])
    figure = Figure(figsize=(3.4 * len(agents) + 0.4, 3.7), layout="constrained")
    panels = figure.subplots(1, len(agents), sharey=True, squeeze=False)[0]
    for axes, name in zip(panels, agents, strict=True):
        curves = results["agents"][name]["by_exposure"]["regret_by_step"]
        _regret_panel(axes, curves, results["baselines"])
        axes.set_title(LABELS.get(name, name), loc="left", fontsize=10)
    panels[0].set_ylabel("cumulative regret")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="outside lower center", fontsize=8, ncols=4)
    return figure


def _regret_panel(axes: "Axes", curves: list[list[float]], rivals: dict[str, Any]) -> None:
    from matplotlib import colormaps

    pulls = np.arange(1, len(curves[0]) + 1)
    for exposure, curve in enumerate(curves, 1):
        ends = exposure in (1, 2, len(curves))  # enough to read the others between them
        label = f"exposure {exposure}" if ends else "_"
        shade = colormaps["viridis"](0.9 * (exposure - 1) / max(len(curves) - 1, 1))
        axes.plot(pulls, curve, color=shade, linewidth=1.6 if ends else 0.9, label=label)
    for name, (label, dashes) in RIVALS.items():
        if name in rivals:
            curve = np.mean(rivals[name]["by_exposure"]["regret_by_step"], axis=0)
            axes.plot(pulls, curve, color="0.35", linewidth=1.2, linestyle=dashes, label=label)
    axes.set_xlabel("pull")
    axes.set_xlim(1, len(pulls))
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)


def maze_steps(results: dict[str, Any]) -> "Figure":
    """Fig. 5b: moves to the first goal by exposure, with 95% intervals, optima as lines.

    A goal never found counts as the whole episode, as it does in the optima.
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
    """Draw one agent's means and intervals; how many exposures it has."""
    mean = np.array(steps["mean"], float)  # None, where no episode reached the goal, becomes NaN
    exposure = np.arange(1, len(mean) + 1)
    low, high = np.array(steps["ci95"], float).T if steps["ci95"] else (mean, mean)
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


def maze_trajectories(results: dict[str, Any], agent: str = "epl2rl") -> "Figure":
    """Fig. 5c and d: ways to the first goal, early steps red, late steps green.

    Each column is a context; above its first exposure, below its second, from the same start.
    """
    from matplotlib.figure import Figure

    task = results["settings"]["task"]
    height, width = task["height"], task["width"]
    pairs = results["agents"][agent]["maze"]["trajectories"]
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


STAGE_COLOURS = ("#0072B2", "#E69F00", "#009E73")


def gates_over_epoch(gates: dict[str, Any]) -> "Figure":
    """Fig. 6c: the mean r-gate at each stage, episode by episode through the epoch."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 3.2), layout="constrained")
    axes = figure.subplots()
    episodes = np.arange(1, len(gates["over_epoch"][0]) + 1)
    for stage, curve, colour in zip(
        gates["stages"], gates["over_epoch"], STAGE_COLOURS, strict=True
    ):
        axes.plot(episodes, curve, color=colour, linewidth=1.4, label=stage)
    if "first_cued" in gates:
        axes.axvline(gates["first_cued"] + 0.5, color="0.45", linewidth=0.8, linestyle=(0, (4, 3)))
        axes.annotate(
            "cued from here on",
            (gates["first_cued"] + 1, 1),
            xycoords=("data", "axes fraction"),
            verticalalignment="top",
            fontsize=7,
            color="0.35",
        )
    axes.set_xlabel("episode of the epoch")
    axes.set_ylabel("mean r-gate")
    axes.set_xlim(1, len(episodes))
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, loc="outside upper left", fontsize=8, ncols=3)
    return figure


def save(figure: "Figure", stem: Path) -> None:
    """As PNG and as SVG; the same numbers give the same bytes."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "reinstate", "svg.fonttype": "none"}):
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, dpi=200, metadata=metadata)
            write_atomically(stem.with_suffix(f".{kind}"), buffer.getvalue())
