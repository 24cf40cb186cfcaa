"""Where names and labels of lines stand, so that they cover nothing."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from textwrap import fill
from typing import NamedTuple

import numpy as np

from reinstate.figures.chart import Chart, Line, Series, brief

LEFT_TO_RIGHT = (0.0, 1.0, 0.5)  # where labels may stand, as shares of the room that is left
AROUND, HUGGED = -0.4, 0.15  # margins outside and inside of a label, as shares of its height
PIECE = 0.02  # of a line, to see whether a label covers it
MOST_LINES = 3  # of a name


class Name(NamedTuple):
    """A name, and the end of the line that it belongs to."""

    text: str
    series: Series
    x: float
    y: float


def names_of(chart: Chart, longest: int) -> list[Name]:
    """Return the names that go to the right of a chart; a slope's goes above it."""
    if chart.paired:
        return []
    found = []
    for index, s in enumerate(chart.series):
        known = [(x, y) for x, y in zip(s.x, s.y, strict=True) if y is not None]
        if known and s.in_legend:
            text = fill(s.name, longest, max_lines=MOST_LINES, placeholder=" …")
            found.append(Name(text, s, known[-1][0] + chart.aside(index), known[-1][1]))
    return found


def place_names(
    chart: Chart, names: Sequence[Name], height: float, line: float
) -> list[tuple[float, float]]:
    """Return, of each name, the height of its line's end and that of the name, which covers none.

    `height` is that of the axes, `line` that of a line of text; they count from the axes' foot.
    """
    low, high = chart.y_range
    wanted = [height * (name.y - low) / (high - low) for name in names]
    tall = line * max((1 + name.text.count("\n") for name in names), default=1)
    return list(zip(wanted, spread(wanted, tall, 0.0, height), strict=True))


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move heights as little as needed to be `gap` apart, between `low` and `high` if they fit."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    blocks: list[tuple[float, int]] = []  # of neighbours that touch: the lowest's height, how many
    for i in order:
        blocks.append((wanted[i], 1))
        while len(blocks) > 1 and blocks[-1][0] - blocks[-2][0] < gap * blocks[-2][1]:
            (below, count), (above, more) = blocks[-2:]
            lowest = (below * count + (above - gap * count) * more) / (count + more)
            blocks[-2:] = [(lowest, count + more)]
    placed = [lowest + gap * n for lowest, count in blocks for n in range(count)]
    floors = [low + gap * n for n in range(len(placed))]
    placed = [max(y, floor) for y, floor in zip(placed, floors, strict=True)]
    ceilings = [high - gap * n for n in reversed(range(len(placed)))]
    placed = [min(y, top) for y, top in zip(placed, ceilings, strict=True)]
    found = dict(zip(order, placed, strict=True))
    return [found[i] for i in range(len(wanted))]


class Placed(NamedTuple):
    """A label beside its line."""

    line: Line
    left: float  # where it starts, as a share of the axes' width
    above: bool


def place_labels(chart: Chart, letter: float, height: float) -> list[Placed]:
    """Place the labels of horizontal lines where they cover least of what is drawn.

    `letter` and `height` are the size of a letter, as shares of the axes' width and height.
    """
    low, high = chart.y_range
    x, y = np.array([*_drawn(chart)]).reshape(-1, 2).T
    levels = np.array([(line.at - low) / (high - low) for line in chart.lines])
    margin = HUGGED if chart.joined else AROUND  # a curve may hug a label's line, a point is round
    placed: list[Placed] = []

    def badness(left: float, bottom: float, width: float) -> float:
        def crossed(y: np.ndarray, margin: float) -> np.ndarray:
            return (bottom + margin * height < y) & (y < bottom + height - margin * height)

        beside = (left <= x) & (x <= left + width)
        covered = (beside & crossed(y, margin)).sum() + 0.5 * (beside & crossed(y, AROUND)).any()
        outside = bottom < 0 or bottom + height > 1
        return float(covered + 50 * crossed(levels, HUGGED).sum() + 1000 * outside)

    for line, level in zip(chart.lines, levels, strict=True):
        if line.label:
            width = min(letter * len(label_text(line)), 0.98)
            boxes = [
                (0.01 + share * (0.98 - width), bottom, width)
                for share in LEFT_TO_RIGHT
                for bottom in (level, level - height)
            ]
            left, bottom, _ = min(boxes, key=lambda box: badness(*box))
            placed.append(Placed(line, left, bool(bottom == level)))
    return placed


def label_text(line: Line) -> str:
    return f"{line.label}, {brief(line.at)}"


def _drawn(chart: Chart) -> Iterator[tuple[float, float]]:
    """Yield points of all series, as shares of the axes' width and height."""
    (left, right), (low, high) = chart.x_range, chart.y_range
    for index, s in enumerate(chart.series):
        x = [(chart.place(each) + chart.aside(index) - left) / (right - left) for each in s.x]
        ends = zip(*(e or (None, None) for e in s.ci95), strict=True)
        for row in (s.y, *ends, *(s.per_seed if chart.joined else ())):
            known = [(a, b) for a, b in zip(x, row, strict=True) if b is not None]
            points = [(a, (b - low) / (high - low)) for a, b in known]
            yield from points
            for (a, b), (c, d) in pairwise(points) if chart.joined else ():
                pieces = 1 + int(max(abs(c - a), abs(d - b)) / PIECE)
                for share in (piece / pieces for piece in range(1, pieces)):
                    yield a + share * (c - a), b + share * (d - b)
