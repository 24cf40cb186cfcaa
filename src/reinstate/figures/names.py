"""Names beside lines instead of a legend alone: which there are, and how high each stands."""

from collections.abc import Sequence
from textwrap import fill
from typing import NamedTuple

from reinstate.figures.axes import spread
from reinstate.figures.chart import Chart, Series

LONGEST = 18  # letters of a line of a name
MOST_LINES = 3  # of a name


class Name(NamedTuple):
    """A name, and the end of the line that it belongs to."""

    text: str
    place: int  # of the series
    series: Series
    x: float
    y: float


class Beside(NamedTuple):
    """A name where it stands: heights are counted from the foot of the axes."""

    name: Name
    wanted: float  # the end of its line
    height: float  # the middle of the name


def names_of(chart: Chart) -> list[Name]:
    """Return the names that go to the right of a chart; a slope's goes above it."""
    if chart.paired:
        return []
    ends = [(i, s, _end(chart, i, s)) for i, s in enumerate(chart.series) if s.in_legend]
    return [Name(_wrapped(s.name), i, s, *end) for i, s, end in ends if end is not None]


def _wrapped(name: str) -> str:
    return fill(name, LONGEST, max_lines=MOST_LINES, placeholder=" …")


def _end(chart: Chart, index: int, series: Series) -> tuple[float, float] | None:
    known = [(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None]
    return (known[-1][0] + chart.aside(index), known[-1][1]) if known else None


def place_names(chart: Chart, names: Sequence[Name], height: float, line: float) -> list[Beside]:
    """Place names beside the ends of their lines, so that none covers another.

    `height` is that of the axes, `line` that of a line of text.
    """
    low, high = chart.y_range
    wanted = [height * (name.y - low) / (high - low) for name in names]
    tall = line * max((1 + name.text.count("\n") for name in names), default=1)
    placed = spread(wanted, tall, 0.0, height)
    return [Beside(*each) for each in zip(names, wanted, placed, strict=True)]
