"""What a memory holds and how far its gate opens, drawn: a memory map, and the r-gate of units."""

from typing import TYPE_CHECKING, Any

import numpy as np

from reinstate.analysis.gates import UnitGates
from reinstate.analysis.memory_map import MemoryMap, Panel
from reinstate.figures.mazes import LEGEND
from reinstate.figures.style import own_style, shades

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from reinstate.figures.canvas import Figure

# Tol's muted palette, distinct to colour-blind readers too.
COLOURS = ("#332288", "#CC6677", "#117733", "#DDCC77", "#88CCEE", "#882255", "#44AA99", "#999933",
           "#AA4499", "#777777")  # fmt: skip
SIDE = 2.3  # of a panel, in inches
NAMED: dict[str, Any] = {"fontsize": 8, "fontweight": "bold", "ha": "center", "va": "center"}
GATES = 1.9, 4.2  # of a panel of gates
GATE_COLOURS = "cividis"  # read alike by colour-blind readers, and in grey
MOST_NAMED = 20  # labels that are written into a panel and listed below


@own_style()
def draw(drawing: MemoryMap, title: str = "") -> "Figure":
    """Draw panels side by side on the same axes; a number stands amid the states of each label."""
    from matplotlib.lines import Line2D

    from reinstate.figures.canvas import Figure

    panels, names = drawing["panels"], _names(drawing)
    figure = Figure(figsize=(SIDE * len(panels) + 0.5, SIDE + 1.2), layout="constrained")
    grid = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    for axes, panel in zip(grid, panels, strict=True):
        _draw_panel(axes, panel, names)
        axes.set_xlabel(f"PC 1 ({100 * drawing['explained'][0]:.0f}% of the variance)", fontsize=8)
    grid[0].set_ylabel(f"PC 2 ({100 * drawing['explained'][1]:.0f}%)", fontsize=8)
    figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    look: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 5}
    handles = [
        Line2D([], [], color=colour, label=str(name + 1), **look) for name, colour in names.items()
    ]
    if len(names) <= MOST_NAMED:
        titled: Any = {"title": drawing["labels"], "title_fontsize": 8}
        figure.legend(handles=handles, ncols=min(len(names), 10), **titled, **LEGEND)
    return figure


def _names(drawing: MemoryMap) -> dict[int, str]:
    """Choose a colour for each label; what is counted from 0 is shown from 1."""
    found = sorted({label for panel in drawing["panels"] for label in panel["label"]})
    colours = COLOURS if len(found) <= len(COLOURS) else shades(len(found))
    return dict(zip(found, colours, strict=False))


def _draw_panel(axes: "Axes", panel: Panel, names: dict[int, str]) -> None:
    from matplotlib.patheffects import withStroke

    look: dict[str, Any] = {"s": 14, "linewidths": 0, "alpha": 0.85}
    places = np.stack([panel["x"], panel["y"]], axis=-1)
    for label, colour in names.items():
        here = places[np.array(panel["label"]) == label]
        axes.scatter(*here.T, color=colour, **look)
        if len(here) > 1 and len(names) <= MOST_NAMED:
            outlined = [withStroke(linewidth=2.2, foreground="white")]
            axes.annotate(str(label + 1), np.median(here, axis=0), color=colour,
                          path_effects=outlined, **NAMED)  # fmt: skip
    times = "1 exposure" if panel["exposure"] == 1 else f"{panel['exposure']} exposures"
    axes.set_title(f"after {times}", loc="left", fontsize=9, pad=14)
    if panel["readable"] is not None:
        agree = f"nearest neighbours agree: {100 * panel['readable']:.0f}%"
        above: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
        axes.annotate(agree, (0, 1), (0, 4), fontsize=7, color="0.35", **above)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)


@own_style()
def draw_gates(gates: UnitGates, title: str = "") -> "Figure":
    """Draw one panel per group of episodes: above the mean over units, below each of them."""
    from matplotlib.ticker import MaxNLocator

    from reinstate.figures.canvas import Figure

    groups, units, steps = gates.gate.shape
    size = max(GATES[0] * groups + 1.3, 5.2), GATES[1]
    figure = Figure(figsize=size, layout="constrained")
    shared: Any = {"sharex": True, "sharey": "row", "squeeze": False}
    grid = figure.subplots(2, groups, height_ratios=[1, 4], **shared)
    extent = (0.5, steps + 0.5, units + 0.5, 0.5)
    looks: Any = {"vmin": 0, "vmax": 1, "cmap": GATE_COLOURS, "aspect": "auto", "extent": extent}
    for (above, below), name, gate in zip(grid.T, gates.groups, gates.gate, strict=True):
        above.plot(range(1, steps + 1), gate.mean(axis=0), color="black", marker=".")
        above.set(ylim=(0, 1))
        above.set_title(name, loc="left", fontsize=9)
        above.spines[["top", "right"]].set_visible(False)
        picture = below.imshow(gate, interpolation="nearest", **looks)
        below.set_xlabel("step", fontsize=8)
        below.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    for axes in grid.flat:
        axes.tick_params(labelsize=7)
    grid[0, 0].set_ylabel("mean", fontsize=8)
    grid[1, 0].set_ylabel("units, widest open first", fontsize=8)
    bar = figure.colorbar(picture, ax=list(grid[1]), pad=0.02)
    bar.set_label("r-gate", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    said = f"half of the gate is in {gates.half} of {units} units"
    figure.suptitle("\n".join(filter(None, [title, said])), x=0.01, ha="left", fontsize=10)
    return figure
