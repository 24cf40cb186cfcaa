"""Numbers → matplotlib. Figures take what results.json holds, so they can be redrawn from it."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reinstate.agent import INPUT_SIZES
from reinstate.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABELS = {
    "epl2rl": "epL2RL",
    "l2rl": "L2RL",
    "l2rl-context": "L2RL+Context",
    "epl2rl-input": "epL2RL, memory as input",
    **{f"epl2rl-input-{size}": f"epL2RL, memory as {size} inputs" for size in INPUT_SIZES},
}
# Okabe and Ito's palette, and Tol's: distinct to colour-blind readers too.
COLOURS = {
    "epl2rl": "#0072B2",
    "l2rl": "#D55E00",
    "l2rl-context": "#009E73",
    "epl2rl-input": "#CC79A7",
    "epl2rl-input-2": "#332288",
    "epl2rl-input-4": "#88CCEE",
    "epl2rl-input-8": "#999933",
    "epl2rl-input-16": "#882255",
}

SEED: dict[str, Any] = {"linewidth": 0.5, "alpha": 0.4, "label": "_"}  # a curve of a single seed
SEED_POINT: dict[str, Any] = {
    "linestyle": "none",
    "marker": "o",
    "markersize": 2.6,
    "markeredgewidth": 0,
    "alpha": 0.4,
    "label": "_",
    "zorder": 2.5,
}


def subject(results: dict[str, Any]) -> dict[str, Any]:
    """The agent that figures of a single one are about: epL2RL, or whichever was run first."""
    agents = results["agents"]
    return agents.get("epl2rl") or next(iter(agents.values()))


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
        axes.plot(curve["episodes"], seed, color=colour, **SEED)
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
    """Fig. 3c and d: cumulative regret by pull, a line an exposure, beside the algorithms.

    Lines are means over seeds; the points at their ends are single seeds.
    """
    from matplotlib.figure import Figure

    agents = [name for name in ("epl2rl", "l2rl") if name in results["agents"]]
    agents = agents or list(results["agents"])
    figure = Figure(figsize=(3.4 * len(agents) + 0.4, 3.7), layout="constrained")
    panels = figure.subplots(1, len(agents), sharey=True, squeeze=False)[0]
    for axes, name in zip(panels, agents, strict=True):
        _regret_panel(axes, results["agents"][name]["by_exposure"], results["baselines"])
        axes.set_title(LABELS.get(name, name), loc="left", fontsize=10)
    panels[0].set_ylabel("cumulative regret")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="outside lower center", fontsize=8, ncols=4)
    return figure


def _regret_panel(axes: "Axes", scores: dict[str, Any], rivals: dict[str, Any]) -> None:
    from matplotlib import colormaps

    curves = scores["regret_by_step"]
    seeds = np.array(scores.get("regret", {}).get("per_seed", []), float)  # (seeds, exposures)
    pulls = np.arange(1, len(curves[0]) + 1)
    for exposure, curve in enumerate(curves, 1):
        ends = exposure in (1, 2, len(curves))  # enough to read the others between them
        label = f"exposure {exposure}" if ends else "_"
        shade = colormaps["viridis"](0.9 * (exposure - 1) / max(len(curves) - 1, 1))
        axes.plot(pulls, curve, color=shade, linewidth=1.6 if ends else 0.9, label=label)
        if len(seeds):
            end = pulls[-1] + 0.012 * len(pulls) * (2 + apart(len(seeds)))
            axes.plot(end, seeds[:, exposure - 1], color=shade, clip_on=False, **SEED_POINT)
    for name, (label, dashes) in RIVALS.items():
        if name in rivals:
            curve = np.mean(rivals[name]["by_exposure"]["regret_by_step"], axis=0)
            axes.plot(pulls, curve, color="0.35", linewidth=1.2, linestyle=dashes, label=label)
    axes.set_xlabel("pull")
    axes.set_xlim(1, len(pulls))
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)


def apart(points: int) -> np.ndarray:
    """Side by side from -1 to 1, so that no seed hides another."""
    return np.linspace(-1, 1, points) if points > 1 else np.zeros(points)


STAGE_COLOURS = ("#0072B2", "#E69F00", "#009E73")


def gates_over_epoch(gates: dict[str, Any]) -> "Figure":
    """Fig. 6c: the mean r-gate at each stage, episode by episode through the epoch.

    Thin lines are single seeds, of which the mean over each block is recorded.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 3.2), layout="constrained")
    axes = figure.subplots()
    episodes = np.arange(1, len(gates["over_epoch"][0]) + 1)
    for stage, curve, colour in zip(
        gates["stages"], gates["over_epoch"], STAGE_COLOURS, strict=True
    ):
        axes.plot(episodes, curve, color=colour, linewidth=1.4, label=stage)
    _gates_of_seeds(axes, gates, len(episodes))
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


def _gates_of_seeds(axes: "Axes", gates: dict[str, Any], last: int) -> None:
    first_cued = gates.get("first_cued", last)
    blocks = {"uncued": (1, first_cued), "cued": (first_cued + 1, last)}
    for name, ends in blocks.items():
        for seed in gates.get(name, {}).get("per_seed", []):
            for value, colour in zip(seed, STAGE_COLOURS, strict=True):
                axes.plot(ends, [value, value], color=colour, **SEED)


def save(figure: "Figure", stem: Path) -> None:
    """As PNG and as SVG; the same numbers give the same bytes."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "reinstate", "svg.fonttype": "none"}):
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, dpi=200, metadata=metadata)
            write_atomically(stem.with_suffix(f".{kind}"), buffer.getvalue())
