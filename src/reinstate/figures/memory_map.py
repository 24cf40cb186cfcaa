"""A memory map, drawn with matplotlib: stored states after each of some exposures."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reinstate.analysis.memory_map import MemoryMap, Panel
from reinstate.figures.mazes import LEGEND
from reinstate.figures.style import shades
from reinstate.figures.writing import save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from reinstate.figures.canvas import Figure

# Tol's muted palette, distinct to colour-blind readers too.
COLOURS = ("#332288", "#CC6677", "#117733", "#DDCC77", "#88CCEE", "#882255", "#44AA99", "#999933",
           "#AA4499", "#777777")  # fmt: skip
DPI = 200
SIDE = 2.3  # of a panel, in inches
NAMED: dict[str, Any] = {"fontsize": 8, "fontweight": "bold", "ha": "center", "va": "center"}
MOST_NAMED = 20  # labels that are written into a panel and listed below


def save(drawing: MemoryMap, path: Path, title: str = "") -> None:
    """Write a map as PNG, SVG or PDF, by the name's suffix; the same map gives the same bytes."""
    save_figure(draw(drawing, title), path, DPI)


def draw(drawing: MemoryMap, title: str = "") -> "Figure":
    """Draw panels side by side on the same axes; a number stands amid the states of each label."""
    from reinstate.figures.canvas import as_text, own_style

    with own_style():
        return _draw(drawing, as_text(title))


def _draw(drawing: MemoryMap, title: str) -> "Figure":
    from matplotlib.lines import Line2D

    from reinstate.figures.canvas import Figure

    panels, names = drawing.panels, _names(drawing)
    figure = Figure(figsize=(SIDE * len(panels) + 0.5, SIDE + 1.2), layout="constrained")
    grid = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    for axes, panel in zip(grid, panels, strict=True):
        _draw_panel(axes, panel, names)
        axes.set_xlabel(f"PC 1 ({100 * drawing.explained[0]:.0f}% of the variance)", fontsize=8)
    grid[0].set_ylabel(f"PC 2 ({100 * drawing.explained[1]:.0f}%)", fontsize=8)
    figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    look: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 5}
    handles = [
        Line2D([], [], color=colour, label=str(name + 1), **look) for name, colour in names.items()
    ]
    if len(names) <= MOST_NAMED:
        columns = min(len(names), 10)
        figure.legend(
            handles=handles, ncols=columns, title=drawing.labels, title_fontsize=8, **LEGEND
        )
    return figure


def _names(drawing: MemoryMap) -> dict[int, str]:
    """Choose a colour for each label; what is counted from 0 is shown from 1."""
    found = sorted({int(label) for panel in drawing.panels for label in panel.label})
    colours = COLOURS if len(found) <= len(COLOURS) else shades(len(found))
    return dict(zip(found, colours, strict=False))


def _draw_panel(axes: "Axes", panel: Panel, names: dict[int, str]) -> None:
    from matplotlib.patheffects import withStroke

    look: dict[str, Any] = {"s": 14, "linewidths": 0.3, "edgecolors": "white", "alpha": 0.85}
    x, y = panel.places.T
    axes.scatter(x, y, c=[names[int(label)] for label in panel.label], **look)
    for label, colour in names.items():
        here = panel.places[panel.label == label]
        if len(here) > 1 and len(names) <= MOST_NAMED:
            outlined = [withStroke(linewidth=2.2, foreground="white")]
            axes.annotate(str(label + 1), np.median(here, axis=0), color=colour,
                          path_effects=outlined, **NAMED)  # fmt: skip
    times = "1 exposure" if panel.exposure == 1 else f"{panel.exposure} exposures"
    axes.set_title(f"after {times}", loc="left", fontsize=9, pad=14)
    if panel.readable is not None:
        agree = f"nearest neighbours agree: {100 * panel.readable:.0f}%"
        above: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
        axes.annotate(agree, (0, 1), (0, 4), fontsize=7, color="0.35", **above)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
