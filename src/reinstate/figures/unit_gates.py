"""The r-gate of every unit as a heat map, drawn with matplotlib."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from reinstate.analysis.gates import UnitGates
from reinstate.figures.writing import save_figure

if TYPE_CHECKING:
    from reinstate.figures.canvas import Figure

DPI = 200
WIDTH, HEIGHT = 1.9, 4.2  # of a panel, in inches
COLOURS = "cividis"  # read alike by colour-blind readers, and in grey


def save(gates: UnitGates, path: Path, title: str = "") -> None:
    """Write a heat map as PNG, SVG or PDF, by the name's suffix."""
    save_figure(draw(gates, title), path, DPI)


def draw(gates: UnitGates, title: str = "") -> "Figure":
    """Draw one panel per group of episodes: above the mean over units, below each of them."""
    from reinstate.figures.canvas import as_text, own_style

    with own_style():
        return _draw(gates, as_text(title))


def _draw(gates: UnitGates, title: str) -> "Figure":
    from matplotlib.ticker import MaxNLocator

    from reinstate.figures.canvas import Figure

    groups, units, steps = gates.gate.shape
    size = max(WIDTH * groups + 1.3, 5.2), HEIGHT
    figure = Figure(figsize=size, layout="constrained")
    shared: Any = {"sharex": True, "sharey": "row", "squeeze": False}
    grid = figure.subplots(2, groups, height_ratios=[1, 4], **shared)
    extent = (0.5, steps + 0.5, units + 0.5, 0.5)
    looks: Any = {"vmin": 0, "vmax": 1, "cmap": COLOURS, "aspect": "auto", "extent": extent}
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
