"""Charts → figures of matplotlib, as PNG and SVG files.

matplotlib is imported when something is drawn: the command starts without it.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from reinstate.figures.axes import label_text, place_labels
from reinstate.figures.chart import Chart, Drawing, Line, Series, Trajectories
from reinstate.figures.mazes import LEGEND, draw_trajectories
from reinstate.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from reinstate.figures.canvas import Figure

ALONE = (5.8, 3.7)  # width and height of a chart, in inches
PANEL = (3.0, 3.0)  # of one beside others
LETTER, LINE = 0.055, 0.13  # size of a letter of the labels, in inches
GUIDE: dict[str, Any] = {"color": "0.45", "linewidth": 0.8, "linestyle": (0, (4, 3)), "zorder": 0}
SPOTS: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 2.6, "zorder": 2.5}
SPOTS["markeredgewidth"] = 0
THIN: dict[str, Any] = {"linewidth": 0.5}
MARKERS = {"dot": "o", "ring": "o", "diamond": "D", "cross": "x"}
SIZES = {"dot": 4.5, "ring": 6.5, "diamond": 7.5, "cross": 4.0}


def save(drawings: Sequence[Drawing], stem: Path, title: str = "") -> None:
    """Draw charts side by side and write them as PNG and as SVG; nothing if there are none.

    The same numbers give the same bytes.
    """
    if not drawings:
        return
    figure = draw(drawings, title)
    for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
        content = figure.written(kind, dpi=200, metadata=metadata)
        write_atomically(stem.with_suffix(f".{kind}"), content)


def draw(drawings: Sequence[Drawing], title: str = "") -> "Figure":
    """Make a figure of charts side by side, with one legend below them."""
    from reinstate.figures.canvas import as_text, own_style

    shown = [_as_text(each) if isinstance(each, Chart) else each for each in drawings]
    with own_style():
        return _draw(shown, as_text(title))


def _as_text(chart: Chart) -> Chart:
    """Spell names that matplotlib would take for more than text: agents may have any."""
    from reinstate.figures.canvas import as_text

    def lines(found: Sequence[Line]) -> list[Line]:
        return [Line(as_text(label), at) for label, at in found]

    series = [replace(s, name=as_text(s.name), detail=as_text(s.detail)) for s in chart.series]
    texts: Any = {n: as_text(getattr(chart, n)) for n in ("title", "x_label", "y_label", "of")}
    categories = [as_text(name) for name in chart.categories]
    guides: Any = {"lines": lines(chart.lines), "marks": lines(chart.marks)}
    return replace(chart, series=series, categories=categories, **texts, **guides)


def _draw(drawings: Sequence[Drawing], title: str) -> "Figure":
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
    ratios = [max(len(chart.categories), 1) for chart in charts] if rows == 1 else None
    grid = figure.subplots(rows, columns, sharey=shared, squeeze=False, width_ratios=ratios)
    for place, axes in enumerate(grid.flat):
        if place >= len(charts):
            axes.set_visible(False)
            continue
        share = 1 if ratios is None else columns * ratios[place] / sum(ratios)
        _draw_chart(axes, charts[place], width * share - 0.7, height - 0.8)
        if shared and place % columns:
            axes.set_ylabel("")
    if len(charts) == 1:
        text = ", ".join(filter(None, [title, charts[0].of]))
        grid[0, 0].set_title(text, loc="left", fontsize=10)
    elif title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    _legend(figure, size[0])
    return figure


def _draw_chart(axes: "Axes", chart: Chart, width: float, height: float) -> None:
    """Draw a chart into axes of about this size, in inches."""
    from matplotlib.ticker import MaxNLocator

    if chart.of:
        axes.set_title(chart.of, loc="left", fontsize=9)
    _draw_guides(axes, chart, LETTER / width, LINE / height)
    for index, series in enumerate(chart.series):
        _draw_series(axes, chart, index, series)
    axes.set_xlabel(chart.x_label, fontsize=9)
    axes.set_ylabel(chart.y_label, fontsize=9)
    axes.set_ylim(chart.y_range)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    low, high = chart.x_range
    if chart.log_x:
        axes.set_xscale("log")
        low, high = 10**low, 10**high
    elif not chart.categories and all(x % 1 == 0 for s in chart.series for x in s.x):
        axes.xaxis.set_major_locator(MaxNLocator(10 if high < 100 else 6, integer=True))
    axes.set_xlim(low, high)
    if chart.categories:
        letters = max(7, int(width / LETTER / len(chart.categories)))
        names = [fill(name, letters, break_long_words=False) for name in chart.categories]
        axes.set_xticks(range(len(names)), names)


def _draw_guides(axes: "Axes", chart: Chart, letter: float, line: float) -> None:
    """Draw lines for reference, labelled where nothing is covered."""
    text: Any = {"fontsize": 7, "color": "0.35", "textcoords": "offset points"}
    text["bbox"] = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5}
    for each in chart.lines:
        axes.axhline(each.at, **GUIDE)
    for guide, left, above in place_labels(chart, letter, line):
        place: Any = {"xycoords": ("axes fraction", "data"), "xytext": (0, 2 if above else -2)}
        place["va"] = "bottom" if above else "top"
        axes.annotate(label_text(guide), (left, guide.at), **place, **text)
    for each in chart.marks:
        axes.axvline(each.at, **GUIDE)
        place = {"xycoords": ("data", "axes fraction"), "xytext": (3, 0), "va": "top"}
        axes.annotate(each.label, (each.at, 1), **place, **text)
    if chart.diagonal:
        axes.axline((0, 0), slope=1, **GUIDE)


def _draw_series(axes: "Axes", chart: Chart, index: int, series: Series) -> None:
    x = np.array(series.x, float) + chart.aside(index)
    y = np.array(series.y, float)  # None, where it is not known, becomes NaN
    _draw_seeds(axes, chart, x, series)
    known = [(a, *ends) for a, ends in zip(x, series.ci95, strict=False) if ends]
    if known:
        places, low, high = np.array(known).T
        if chart.marked:
            axes.vlines(places, low, high, color=series.colour, linewidth=0.8 * series.width)
        else:
            axes.fill_between(places, low, high, color=series.colour, alpha=0.15, linewidth=0)
    hollow = series.marker in ("ring", "diamond")
    look: dict[str, Any] = {"color": series.colour, "linewidth": series.width}
    look["linestyle"] = (0, tuple(series.dash)) if series.dash else "-"
    look["label"] = series.label if series.in_legend else "_"
    look["zorder"] = 2.6 if hollow else 2.4
    if not chart.joined:
        look["linestyle"] = "none"
        bottom, top = chart.y_range
        y = np.where(np.isnan(y), bottom + 0.02 * (top - bottom), y) if chart.scatter else y
    if chart.marked and series.marker and not series.dash:
        small = chart.scatter and series.marker == "dot"
        look["marker"] = MARKERS[series.marker]
        look["markersize"] = 3.5 if small else SIZES[series.marker]
        look["markeredgewidth"] = 1.0 if hollow or series.marker == "cross" else 0
        if hollow:
            look["markerfacecolor"] = "none" if chart.scatter else "white"
    axes.plot(x, y, **look)


def _draw_seeds(axes: "Axes", chart: Chart, x: np.ndarray, series: Series) -> None:
    """Draw single seeds: points beside each other in categories, else thin lines."""
    look: dict[str, Any] = {"color": series.colour, "alpha": 0.4, "label": "_", "clip_on": False}
    for row, aside in zip(series.per_seed, chart.spread(series), strict=True):
        y = np.array(row, float)
        lone = np.isfinite(y).sum() == 1 and len(y) > 1
        axes.plot(x + aside, y, **look, **(SPOTS if lone or not chart.joined else THIN))


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
