"""Names beside lines instead of a legend, drawn with matplotlib."""

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

from reinstate.figures.axes import spread
from reinstate.figures.chart import Chart, Series
from reinstate.figures.look import Look
from reinstate.figures.style import LIGHT, TEXT_CONTRAST, readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST = 18  # letters of a line of a name
APART = 0.07  # between a line's end and its name, in inches
MOVED = 0.03  # a name that is moved further than this, in inches, is tied to its line
POINTS = 72  # to the inch


class Name(NamedTuple):
    """A name, and the end of the line that it belongs to."""

    text: str
    colour: str
    series: Series
    x: float
    y: float


def names_of(chart: Chart) -> list[Name]:
    """Return the names that go to the right of a chart; a slope's goes above it."""
    if chart.paired:
        return []
    ends = [(s, _end(chart, index, s)) for index, s in enumerate(chart.series) if s.in_legend]
    return [
        Name(fill(s.name, LONGEST), readable(s.colour, LIGHT, TEXT_CONTRAST), s, *end)
        for s, end in ends
        if end is not None
    ]


def _end(chart: Chart, index: int, series: Series) -> tuple[float, float] | None:
    known = [(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None]
    return (known[-1][0] + chart.aside(index), known[-1][1]) if known else None


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
    names, (width, height), (low, high) = names_of(chart), size, chart.y_range
    wanted = [height * (name.y - low) / (high - low) for name in names]
    tall = look.line * max((1 + name.text.count("\n") for name in names), default=1)
    placed = spread(wanted, tall, 0.0, height)
    for name, want, place in zip(names, wanted, placed, strict=True):
        text: Any = {"fontsize": look.note, "color": name.colour, "va": "center"}
        text["xytext"] = 1 + APART / width, place / height
        if abs(want - place) > MOVED:
            line = {"arrowstyle": "-", "linewidth": look.frame, "color": name.colour}
            text["arrowprops"] = {**line, "shrinkA": 0, "shrinkB": 1, "relpos": (0, 0.5)}
        axes.annotate(name.text, (name.x, name.y), textcoords="axes fraction", **text)


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
        text: Any = {"fontsize": look.note, "color": name.colour, "va": "center"}
        axes.annotate(name.text, (x, y), xycoords="axes fraction", **text)


def _name_slopes(axes: "Axes", chart: Chart, look: Look) -> None:
    """Write each name above the middle of its slope."""
    for series in chart.series:
        colour = readable(series.colour, LIGHT, TEXT_CONTRAST)
        text: Any = {"fontsize": look.note, "color": colour, "ha": "center", "va": "bottom"}
        middle = sum(series.x) / len(series.x)
        axes.annotate(series.name, (middle, 1), xycoords=("data", "axes fraction"), **text)
