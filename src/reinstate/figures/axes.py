"""From numbers to places in a picture: ticks, and labels that cover nothing."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from reinstate.figures.chart import Chart, Line
from reinstate.figures.numbers import brief

LEFT_TO_RIGHT = (0.0, 1.0, 0.5)  # where labels may stand, as shares of the room that is left
PIECE = 0.02  # of a line, to see whether a label covers it


class Placed(NamedTuple):
    """A label beside its line."""

    line: Line
    left: float  # where it starts, as a share of the axes' width
    above: bool


class _Box(NamedTuple):
    """Where a label would be, as shares of the axes' width and height."""

    left: float
    bottom: float
    width: float
    height: float

    def holds(self, x: float, y: float, margin: float) -> bool:
        return self.left <= x <= self.left + self.width and self.crossed_at(y, margin)

    def crossed_at(self, y: float, margin: float = 0.15) -> bool:
        margin *= self.height
        return self.bottom + margin < y < self.bottom + self.height - margin

    def meets(self, other: "_Box") -> bool:
        apart = abs(self.left - other.left) >= max(self.width, other.width)
        return not apart and abs(self.bottom - other.bottom) < self.height


def ticks(low: float, high: float, most: int = 6, whole: bool = False) -> list[float]:
    """Return round numbers within the range, at most so many."""
    rough = (high - low) / most
    scale = 10.0 ** math.floor(math.log10(rough))
    step = next(scale * m for m in (1, 2, 5, 10) if scale * m >= rough * (1 - 1e-9))
    step = max(step, 1.0) if whole else step
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def tick_texts(places: list[float]) -> list[str]:
    """Write ticks with as many decimals as their distance needs."""
    step = places[1] - places[0] if len(places) > 1 else 1.0
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [f"{place or 0.0:,.{decimals}f}" for place in places]  # never -0


def place_labels(chart: Chart, letter: float, height: float) -> list[Placed]:
    """Place the labels of horizontal lines where they cover least of what is drawn.

    `letter` and `height` are the size of a letter, as shares of the axes' width and height.
    """
    drawn, (low, high) = list(_drawn(chart)), chart.y_range
    levels = [(line.at - low) / (high - low) for line in chart.lines]
    margin = 0.15 if chart.joined else -0.4  # a curve may hug the label's line, a point is round
    placed: list[Placed] = []
    taken: list[_Box] = []

    def badness(box: _Box) -> int:
        covered = sum(box.holds(x, y, margin) for x, y in drawn)
        crossed = sum(box.crossed_at(level) for level in levels)
        outside = box.bottom < 0 or box.bottom + box.height > 1
        return covered + 50 * crossed + 1000 * outside + 1000 * sum(map(box.meets, taken))

    for line, level in zip(chart.lines, levels, strict=True):
        if line.label:
            width = min(letter * len(label_text(line)), 0.98)
            boxes = [
                _Box(0.01 + share * (0.98 - width), bottom, width, height)
                for share in LEFT_TO_RIGHT
                for bottom in (level, level - height)
            ]
            taken.append(min(boxes, key=badness))
            placed.append(Placed(line, taken[-1].left, taken[-1].bottom == level))
    return placed


def label_text(line: Line) -> str:
    return f"{line.label}, {brief(line.at)}"


def _drawn(chart: Chart) -> Iterator[tuple[float, float]]:
    """Yield points of all series, as shares of the axes' width and height."""
    (left, right), (low, high) = chart.x_range, chart.y_range
    for index, s in enumerate(chart.series):
        x = [(chart.place(each) + chart.aside(index) - left) / (right - left) for each in s.x]
        ends = zip(*(e or (None, None) for e in s.ci95), strict=True)
        for row in (s.y, *ends):
            known = [(a, b) for a, b in zip(x, row, strict=True) if b is not None]
            points = [(a, (b - low) / (high - low)) for a, b in known]
            yield from points
            for (a, b), (c, d) in pairwise(points) if chart.joined else ():
                pieces = 1 + int(max(abs(c - a), abs(d - b)) / PIECE)
                for share in (piece / pieces for piece in range(1, pieces)):
                    yield a + share * (c - a), b + share * (d - b)
