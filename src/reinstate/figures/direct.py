"""Names beside lines instead of a legend, drawn with matplotlib."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reinstate.figures.chart import Chart
from reinstate.figures.names import Name, names_of, place_names
from reinstate.figures.style import LIGHT, TEXT_CONTRAST, Look, readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

APART = 0.07  # between a line's end and its name, in inches
MOVED = 0.03  # a name that is moved further than this, in inches, is tied to its line
POINTS = 72  # to the inch


def room_for(names: Sequence[Name], look: Look) -> float:
    """Return the width of the longest name and its distance from the axes, in inches."""
    from matplotlib.textpath import TextPath

    lines = [line for name in names for line in name.text.splitlines()]
    widths = [TextPath((0, 0), line, size=look.note).get_extents().x1 for line in lines]
    return APART + max(widths) / POINTS if lines else 0.0


def draw_names(axes: "Axes", chart: Chart, size: tuple[float, float], look: Look) -> None:
    """Name the lines of a chart in axes of this width and height, in inches."""
    if chart.paired:
        _name_slopes(axes, chart, look)
    elif chart.joined:
        _name_lines(axes, chart, size, look)
    else:
        _list_names(axes, chart, size, look)


def _name_lines(axes: "Axes", chart: Chart, size: tuple[float, float], look: Look) -> None:
    width, height = size
    for name, wanted, place in place_names(chart, names_of(chart), height, look.line):
        colour = _colour(name)
        text: Any = {"fontsize": look.note, "color": colour, "va": "center"}
        text["xytext"] = 1 + APART / width, place / height
        if abs(wanted - place) > MOVED:
            line = {"arrowstyle": "-", "linewidth": look.frame, "color": colour}
            text["arrowprops"] = {**line, "shrinkA": 0, "shrinkB": 1, "relpos": (0, 0.5)}
        axes.annotate(name.text, (name.x, name.y), textcoords="axes fraction", **text)


def _colour(name: Name) -> str:
    return readable(name.series.colour, LIGHT, TEXT_CONTRAST)


def _list_names(axes: "Axes", chart: Chart, size: tuple[float, float], look: Look) -> None:
    """Write names of points below each other, beside their markers: no line ends there."""
    from reinstate.figures.mpl import marker_style

    width, height = size
    for place, name in enumerate(names_of(chart)):
        x, y = 1 + APART / width, 1 - (place + 0.5) * 1.2 * look.line / height
        style = marker_style(chart, name.series, look)
        colour = readable(name.series.colour, LIGHT)
        axes.plot([x - 0.5 * APART / width], [y], transform=axes.transAxes, clip_on=False,
                  color=colour, linestyle="none", **style)  # fmt: skip
        text: Any = {"fontsize": look.note, "color": _colour(name), "va": "center"}
        axes.annotate(name.text, (x, y), xycoords="axes fraction", **text)


def _name_slopes(axes: "Axes", chart: Chart, look: Look) -> None:
    """Write each name above the middle of its slope."""
    for series in chart.series:
        colour = readable(series.colour, LIGHT, TEXT_CONTRAST)
        text: Any = {"fontsize": look.note, "color": colour, "ha": "center", "va": "bottom"}
        middle = sum(series.x) / len(series.x)
        axes.annotate(series.name, (middle, 1), xycoords=("data", "axes fraction"), **text)
