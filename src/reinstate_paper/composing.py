"""Panels → one figure of a paper: letters, margins and fonts at the size at which it is printed.

Everything is placed by inches, so that axes line up and their sizes are known when names are put
beside lines.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from reinstate.figures.chart import Chart, Trajectories
from reinstate.figures.labels import names_of
from reinstate.figures.mazes import draw_way, key_handles
from reinstate.figures.mpl import APART, draw_chart, marker_style, name_lines, text_colour
from reinstate.figures.style import LIGHT, PANEL_LETTER, PAPER, own_style, readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from reinstate.figures.canvas import Figure

WIDTHS = {"column": 3.25, "page": 6.75}  # inches, of the paper's own pages
MOST_WAYS = {"column": 3, "page": 6}
ROW = 1.75  # height of a row of charts
LEFT, RIGHT, TOP, BOTTOM = 0.43, 0.06, 0.22, 0.38  # margins around axes
SUBTITLE = 0.12  # that axes with titles of their own need above them
BETWEEN = 0.14  # two charts of one panel, which share their y-axis
MAZES = 0.08  # between mazes
OUTCOME = 0.2  # below a maze
KEY = 0.22  # of a key to all mazes, below them
POINTS = 72  # to the inch
LETTER_ROOM = 0.15  # between a panel's letter and its title


class Panel(NamedTuple):
    """What has one letter: charts side by side, or ways through mazes."""

    title: str
    charts: Sequence[Chart] = ()
    ways: Trajectories | None = None
    exposure: str = ""  # whose ways


class _Box(NamedTuple):
    """A part of the figure, in inches from its upper left corner."""

    left: float
    top: float
    width: float
    height: float


@own_style(**{"xtick.major.size": 2.0, "ytick.major.size": 2.0, "axes.labelpad": 2.0,
              "xtick.major.pad": 2.0, "ytick.major.pad": 2.0})  # fmt: skip
def compose(panels: Sequence[Panel], width: str) -> "Figure":
    """Draw panels at the width of a column or of a page."""
    from reinstate.figures.canvas import Figure

    whole, rows = WIDTHS[width], _rows(panels, width)
    heights = [_height(row[0], whole, MOST_WAYS[width]) for row in rows]
    key = KEY if any(panel.ways for panel in panels) else 0.0
    figure = Figure(figsize=(whole, sum(heights) + key))
    rooms = _rooms(rows)
    letters = iter("abcdefgh")
    for n, (row, height) in enumerate(zip(rows, heights, strict=True)):
        for place, panel in enumerate(row):
            share = whole / len(row)
            box = _Box(place * share, sum(heights[:n]), share, height)
            _write_title(figure, box, next(letters), panel.title)
            if panel.ways:
                _draw_ways(figure, box, panel, MOST_WAYS[width])
            else:
                _draw_charts(figure, box, panel.charts, rooms[len(row), place])
    if key:
        text: Any = {"loc": "lower center", "frameon": False, "fontsize": PAPER.note}
        figure.legend(handles=key_handles(PAPER), ncols=4, **text)
    return figure


def _rows(panels: Sequence[Panel], width: str) -> list[list[Panel]]:
    """Put two charts into a row of a page, one into a column; ways have a row of their own."""
    rows: list[list[Panel]] = []
    for panel in panels:
        joins = width == "page" and rows and len(rows[-1]) == 1 and not rows[-1][0].ways
        if joins and not panel.ways:
            rows[-1].append(panel)
        else:
            rows.append([panel])
    return rows


def _height(panel: Panel, width: float, most: int) -> float:
    if not panel.ways:
        return ROW
    return TOP + _side(width, most) * panel.ways.height / panel.ways.width + OUTCOME


def _side(width: float, mazes: int) -> float:
    return (width - 2 * RIGHT - (mazes - 1) * MAZES) / mazes


def _rooms(rows: Sequence[Sequence[Panel]]) -> dict[tuple[int, int], float]:
    """Return the space for names and the gap before them, the same for panels above each other."""
    from matplotlib.textpath import TextPath

    rooms: dict[tuple[int, int], float] = {}
    for row in rows:
        for place, panel in enumerate(row):
            names = names_of(panel.charts[-1], PAPER.name) if panel.charts else []
            lines = [line for name in names for line in name.text.splitlines()]
            paths = [TextPath((0, 0), line, size=PAPER.note) for line in lines]
            wide = max((path.get_extents().x1 for path in paths), default=-APART * POINTS)
            here = (len(row), place)
            rooms[here] = max(rooms.get(here, 0.0), APART + wide / POINTS + RIGHT)
    return rooms


def _write_title(figure: "Figure", box: _Box, letter: str, title: str) -> None:
    size, above = figure.get_size_inches(), box.top + 0.04
    for text, aside, looks in (
        (letter, 0.02, {"fontsize": PANEL_LETTER, "fontweight": "bold"}),
        (title, 0.02 + LETTER_ROOM, {"fontsize": PAPER.title}),
    ):
        figure.text((box.left + aside) / size[0], 1 - above / size[1], text, va="top", **looks)


def _axes(figure: "Figure", box: _Box) -> "Axes":
    width, height = figure.get_size_inches()
    bottom = height - box.top - box.height
    place = box.left / width, bottom / height, box.width / width, box.height / height
    return figure.add_axes(place)


def _draw_charts(figure: "Figure", box: _Box, charts: Sequence[Chart], room: float) -> None:
    """Draw charts side by side; the first has the y-axis, and names are at the right of the last.

    Charts of categories are as wide as those are many.
    """
    shares = [max(len(chart.categories), 1) for chart in charts]
    above = TOP + SUBTITLE * any(chart.of or chart.paired for chart in charts)
    free = box.width - LEFT - room - BETWEEN * (len(charts) - 1)
    height, left = box.height - above - BOTTOM, box.left + LEFT
    for place, (chart, share) in enumerate(zip(charts, shares, strict=True)):
        width = free * share / sum(shares)
        axes = _axes(figure, _Box(left, box.top + above, width, height))
        draw_chart(axes, chart, width, height, PAPER)
        if place:
            axes.set_ylabel("")
            axes.set_yticklabels([])
        if place == len(charts) - 1:
            _draw_names(axes, chart, (width, height))
        left += width + BETWEEN


def _draw_ways(figure: "Figure", box: _Box, panel: Panel, most: int) -> None:
    """Draw the ways of one exposure, one maze for each context."""
    ways = panel.ways
    assert ways is not None
    side = _side(box.width, most)
    height = side * ways.height / ways.width
    for place, pair in enumerate(ways.pairs[:most]):
        left = box.left + RIGHT + place * (side + MAZES)
        axes = _axes(figure, _Box(left, box.top + TOP, side, height))
        draw_way(axes, ways, pair, panel.exposure, PAPER)


def _draw_names(axes: "Axes", chart: Chart, size: tuple[float, float]) -> None:
    """Name the lines of a chart in axes of this width and height, in inches."""
    if chart.paired:
        _name_slopes(axes, chart)
    elif chart.joined:
        name_lines(axes, chart, size, PAPER)
    else:
        _list_names(axes, chart, size)


def _list_names(axes: "Axes", chart: Chart, size: tuple[float, float]) -> None:
    """Write names of points below each other, beside their markers: no line ends there."""
    width, height = size
    for place, name in enumerate(names_of(chart, PAPER.name)):
        x, y = 1 + APART / width, 1 - (place + 0.5) * 1.2 * PAPER.line / height
        style = marker_style(chart, name.series, PAPER)
        colour = readable(name.series.colour, LIGHT)
        axes.plot([x - 0.5 * APART / width], [y], transform=axes.transAxes, clip_on=False,
                  color=colour, linestyle="none", **style)  # fmt: skip
        text: Any = {"fontsize": PAPER.note, "color": text_colour(name.series), "va": "center"}
        axes.annotate(name.text, (x, y), xycoords="axes fraction", **text)


def _name_slopes(axes: "Axes", chart: Chart) -> None:
    """Write each name above the middle of its slope."""
    for series in chart.series:
        colour = text_colour(series)
        text: Any = {"fontsize": PAPER.note, "color": colour, "ha": "center", "va": "bottom"}
        middle = sum(series.x) / len(series.x)
        axes.annotate(series.name, (middle, 1), xycoords=("data", "axes fraction"), **text)
