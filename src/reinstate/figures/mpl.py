"""Charts → figures of matplotlib, and those → files of a kind that their name says.

matplotlib is imported when something is drawn: the command starts without it.
"""

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from reinstate.errors import UserError
from reinstate.figures.chart import Chart, Drawing, Series, Trajectories
from reinstate.figures.labels import label_text, names_of, place_labels, place_names
from reinstate.figures.mazes import LEGEND, draw_trajectories
from reinstate.figures.style import LIGHT, PAGE, SCREEN, TEXT_CONTRAST, Look, own_style, readable
from reinstate.files import read_bytes, write_atomically

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from reinstate.figures.canvas import Figure


ALONE = (5.8, 3.7)  # width and height of a chart, in inches
PANEL = (3.0, 3.0)  # of one beside others
GUIDE: dict[str, Any] = {"color": "0.45", "linestyle": (0, (4, 3)), "zorder": 0}
SPOTS: dict[str, Any] = {"linestyle": "none", "marker": "o", "zorder": 2.3, "markeredgewidth": 0}
SPOT, THIN = 2.6, 0.5  # single seeds: diameter of a point, width of a line
APART = 0.07  # between a line's end and its name, in inches
MOVED = 0.03  # a name that is moved further than this, in inches, is tied to its line
MANY = 6  # lines that a legend names; of more, each is named at its end
MOST_LINES = 4  # of a category's name
MARKERS = {"dot": "o", "square": "s", "triangle": "^", "ring": "o", "diamond": "D", "cross": "x"}
HOLLOW = ("ring", "diamond")
SIZES = {"dot": 4.5, "square": 4.0, "triangle": 4.8, "ring": 6.5, "diamond": 7.5, "cross": 4.0}


def save(drawings: Sequence[Drawing], stem: Path, title: str = "") -> None:
    """Draw charts side by side and write them as PNG and as SVG; nothing if there are none.

    The same numbers give the same bytes.
    """
    if drawings:
        figure = draw(drawings, title)
        for kind in (".png", ".svg"):
            save_figure(figure, stem.with_suffix(kind), 200)


@own_style()
def draw(drawings: Sequence[Drawing], title: str = "") -> "Figure":
    """Make a figure of charts side by side, with one legend below them."""
    from reinstate.figures.canvas import Figure

    charts = [each for each in drawings if isinstance(each, Chart)]
    if not charts:
        (trajectories,) = (each for each in drawings if isinstance(each, Trajectories))
        return draw_trajectories(trajectories, title)
    columns = len(charts) if len(charts) <= 3 else 2 if len(charts) == 4 else 3
    rows = math.ceil(len(charts) / columns)
    width, height = ALONE if len(charts) == 1 else PANEL
    size = columns * width + 0.4 * (len(charts) > 1), rows * height + 0.5 * (len(charts) > 1)
    figure = Figure(figsize=size, layout="constrained")
    shared = len({(chart.y_label, chart.y_range) for chart in charts}) == 1
    grid = figure.subplots(rows, columns, sharey=shared, squeeze=False)
    for place, axes in enumerate(grid.flat):
        if place >= len(charts):
            axes.set_visible(False)
            continue
        draw_chart(axes, charts[place], width - 0.7, height - 0.8)
        if shared and place % columns:
            axes.set_ylabel("")
    if len(charts) == 1:
        text = ", ".join(filter(None, [title, charts[0].of]))
        grid[0, 0].set_title(text, loc="left", fontsize=10)
    elif title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    last = charts[-1]
    if rows == 1 and last.joined and sum(s.in_legend for s in last.series) > MANY:
        name_lines(grid[0, -1], last, (width - 1.6, height - 0.8))
    else:
        _legend(figure, size[0])
    return figure


def draw_chart(
    axes: "Axes", chart: Chart, width: float, height: float, look: Look = SCREEN
) -> list[list["Artist"]]:
    """Draw a chart into axes of about this size, in inches; return what draws each series."""
    if chart.of and look is not PAGE:  # the page has captions
        title = fill(chart.of, max(int(width / look.letter / 1.2), 8))
        axes.set_title(title, loc="left", fontsize=look.title)
    _draw_guides(axes, chart, (look.letter / width, look.line / height), look)
    drawn = [_draw_series(axes, chart, i, series, look) for i, series in enumerate(chart.series)]
    axes.set_xlabel(chart.x_label, fontsize=look.label)
    axes.set_ylabel(chart.y_label, fontsize=look.label)
    axes.set_ylim(chart.y_range)
    axes.tick_params(labelsize=look.tick, width=look.frame)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[:].set_linewidth(look.frame)
    _mark_x(axes, chart, int(width / look.letter))
    return drawn


def _mark_x(axes: "Axes", chart: Chart, letters: int) -> None:
    """Set the limits and ticks of the x-axis, which has room for so many letters."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    low, high = chart.x_range
    if chart.log_x:
        axes.set_xscale("log")
        digits = (1, 2, 5) if high - low < 2 else (1, 3) if high - low < 3.5 else (1,)
        ends = 10**low, 10**high
        every = LogLocator(subs=digits).tick_values(*ends)
        places = [place for place in every if ends[0] <= place <= ends[1]]
        axes.set_xticks(places, [f"{place:g}" for place in places])
        axes.minorticks_off()
        low, high = ends
    elif not chart.categories and all(x % 1 == 0 for s in chart.series for x in s.x):
        axes.xaxis.set_major_locator(MaxNLocator(10 if high < 100 else 6, integer=True))
    axes.set_xlim(low, high)
    if chart.categories:
        each = max(7, letters // len(chart.categories))
        lines: Any = {"break_long_words": False, "max_lines": MOST_LINES, "placeholder": " …"}
        names = [fill(name, each, **lines) for name in chart.categories]
        axes.set_xticks(range(len(names)), names)


def _draw_guides(axes: "Axes", chart: Chart, letter: tuple[float, float], look: Look) -> None:
    """Draw lines for reference, labelled where nothing is covered."""
    text: Any = {"fontsize": look.note, "color": "0.35", "textcoords": "offset points"}
    text["bbox"] = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5}
    guide_line: Any = {**GUIDE, "linewidth": look.frame}
    for each in chart.lines:
        axes.axhline(each.at, **guide_line)
    for guide, left, above in place_labels(chart, *letter):
        place: Any = {"xycoords": ("axes fraction", "data"), "xytext": (0, 2 if above else -2)}
        place["va"] = "bottom" if above else "top"
        axes.annotate(label_text(guide), (left, guide.at), **place, **text)
    for each in chart.marks:
        axes.axvline(each.at, **guide_line)
        place = {"xycoords": ("data", "axes fraction"), "xytext": (3, -2), "va": "top"}
        axes.annotate(each.label, (each.at, 1), **place, **text)
    if chart.diagonal:
        axes.axline((0, 0), slope=1, **guide_line)


def _draw_series(
    axes: "Axes", chart: Chart, index: int, series: Series, look: Look
) -> list["Artist"]:
    colour = readable(series.colour, LIGHT)
    x = np.array(series.x, float) + chart.aside(index)
    y = np.array(series.y, float)  # None, where it is not known, becomes NaN
    drawn: list[Artist] = [*_draw_seeds(axes, chart, x, series, look)]
    known = [(a, *ends) for a, ends in zip(x, series.ci95, strict=False) if ends]
    width = look.stroke * series.width
    if known:
        places, low, high = np.array(known).T
        if chart.marked:
            drawn.append(axes.vlines(places, low, high, color=colour, linewidth=0.8 * width))
        else:
            drawn.append(axes.fill_between(places, low, high, color=colour, alpha=0.2, linewidth=0))
    style: dict[str, Any] = {"color": colour, "linewidth": width}
    style["linestyle"] = (0, tuple(series.dash)) if series.dash else "-"
    style["label"] = series.label if series.in_legend else "_"
    style["zorder"] = 2.6 if series.marker in HOLLOW else 2.4
    if not chart.joined:
        style["linestyle"] = "none"
        bottom, top = chart.y_range
        y = np.where(np.isnan(y), bottom + 0.02 * (top - bottom), y) if chart.scatter else y
    if chart.marked and series.marker and not series.dash:
        style |= marker_style(chart, series, look)
    return [*drawn, *axes.plot(x, y, **style)]


def name_lines(axes: "Axes", chart: Chart, size: tuple[float, float], look: Look = SCREEN) -> None:
    """Write names beside the ends of lines, in axes of this width and height, in inches."""
    (width, height), names = size, names_of(chart, look.name)
    for name, (wanted, place) in zip(
        names, place_names(chart, names, height, look.line), strict=True
    ):
        colour = text_colour(name.series)
        text: Any = {"fontsize": look.note, "color": colour, "va": "center"}
        text["xytext"] = 1 + APART / width, place / height
        if abs(wanted - place) > MOVED:
            line = {"arrowstyle": "-", "linewidth": look.frame, "color": colour}
            text["arrowprops"] = {**line, "shrinkA": 0, "shrinkB": 1, "relpos": (0, 0.5)}
        axes.annotate(name.text, (name.x, name.y), textcoords="axes fraction", **text)


def text_colour(series: Series) -> str:
    return readable(series.colour, LIGHT, TEXT_CONTRAST)


def marker_style(chart: Chart, series: Series, look: Look) -> dict[str, Any]:
    """Return what matplotlib has to know of a series' markers."""
    hollow = series.marker in HOLLOW
    small = chart.scatter and series.marker == "dot"
    style: dict[str, Any] = {"marker": MARKERS[series.marker]}
    style["markersize"] = look.marker * (3.5 if small else SIZES[series.marker])
    style["markeredgewidth"] = look.stroke if hollow or series.marker == "cross" else 0
    if hollow:
        style["markerfacecolor"] = "none" if chart.scatter else "white"
    return style


def _draw_seeds(
    axes: "Axes", chart: Chart, x: np.ndarray, series: Series, look: Look
) -> Iterator["Artist"]:
    """Draw single seeds: points beside each other in categories, else thin lines."""
    style: dict[str, Any] = {"color": readable(series.colour, LIGHT), "alpha": 0.4, "label": "_"}
    for row, aside in zip(series.per_seed, chart.spread(series), strict=True):
        y = np.array(row, float)
        lone = np.isfinite(y).sum() == 1 and len(y) > 1
        spots = {**SPOTS, "markersize": look.marker * SPOT}
        kind = spots if lone or not chart.joined else {"linewidth": look.stroke * THIN}
        yield from axes.plot(x + aside, y, clip_on=False, **style, **kind)


def _legend(figure: "Figure", width: float) -> None:
    """Name every series once, below all charts: there is no free corner in every one of them."""
    panels = [axes.get_legend_handles_labels() for axes in figure.axes]
    panels.sort(key=lambda panel: -len(panel[1]))  # the fullest one's order
    found = {label: handle for panel in panels for handle, label in zip(*panel, strict=True)}
    if found:
        room = 0.062 * max(map(len, found)) + 0.6
        columns = max(1, min(len(found), int(width / room)))
        even = math.ceil(len(found) / math.ceil(len(found) / columns))
        figure.legend(found.values(), found.keys(), ncols=even, columnspacing=1.2, **LEGEND)


KINDS: dict[str, dict[str, Any]] = {  # of files, with what would else change from day to day
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
SIGNED = {".png": "Software", ".svg": "Creator", ".pdf": "Creator"}  # where a file names its maker
LARGEST = 20_000_000  # bytes of a figure of ours


def require_kind(path: Path) -> None:
    """Refuse a file that is to be none of the kinds that can be written."""
    if path.suffix not in KINDS:
        raise UserError(f"{path} must end in .png, .svg or .pdf")


def require_own(path: Path, maker: str, sign: str = "{}") -> None:
    """Refuse to overwrite anything but a figure or a page by the same maker, who signed it."""
    if not os.path.lexists(path):
        return
    try:
        ours = sign.format(maker).encode() in read_bytes(path, LARGEST)
    except UserError:
        ours = False
    if not ours:
        raise UserError(f"{path} exists and is not of {maker}: choose another --out")


def save_figure(figure: "Figure", path: Path, dpi: int, maker: str = "") -> int:
    """Write a figure as PNG, SVG or PDF, by the name's suffix; return how many bytes it has."""
    require_kind(path)
    kind = path.suffix
    signed = {SIGNED[kind]: maker} if maker else {}
    content = figure.written(kind[1:], dpi=dpi, metadata={**KINDS[kind], **signed})
    write_atomically(path, content)
    return len(content)
