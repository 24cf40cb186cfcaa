"""Numbers → matplotlib. Figures take what results.json holds, so they can be redrawn from it."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


def training_curves(results: dict[str, Any], title: str) -> "Figure":
    """Reward an episode while learning: mean over seeds, each seed thin, optima as lines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.2, 3.8), layout="constrained")
    axes = figure.subplots()
    for name, agent in results["agents"].items():
        _curve(axes, name, agent)
    _reference_lines(axes, results["reference_lines"])
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlabel("episodes, in each lane")
    axes.set_ylabel("reward an episode")
    top = max(axes.get_ylim()[1], *results["reference_lines"].values(), 0.0)
    axes.set_ylim(0, 1.06 * top)
    axes.set_xlim(left=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right", fontsize=8, ncols=2)
    return figure


def _curve(axes: "Axes", name: str, agent: dict[str, Any]) -> None:
    curve, colour = agent["curve"], COLOURS.get(name)
    for seed in curve["reward"]["per_seed"]:
        axes.plot(curve["episodes"], seed, color=colour, linewidth=0.5, alpha=0.4)
    axes.plot(
        curve["episodes"],
        curve["reward"]["mean"],
        color=colour,
        linewidth=1.8,
        label=f"{LABELS.get(name, name)} ({agent['reward']['mean']:.2f} frozen)",
    )


def _reference_lines(axes: "Axes", lines: dict[str, float]) -> None:
    for label, reward in lines.items():
        lowest = reward == min(lines.values())  # its label goes below, out of the curves' way
        axes.axhline(reward, color="0.45", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
        axes.annotate(
            f"{label}, {reward:.2f}",
            (0.005, reward),
            xycoords=("axes fraction", "data"),
            xytext=(0, -2 if lowest else 2),
            textcoords="offset points",
            verticalalignment="top" if lowest else "bottom",
            fontsize=7,
            color="0.35",
        )


def save(figure: "Figure", stem: Path) -> None:
    """As PNG and as SVG; the same numbers give the same bytes."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "reinstate", "svg.fonttype": "none"}):
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, dpi=200, metadata=metadata)
            write_atomically(stem.with_suffix(f".{kind}"), buffer.getvalue())
