"""Where names and labels of lines stand, so that they cover nothing."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from textwrap import fill
from typing import NamedTuple

from reinstate.figures.chart import Chart, Line, Series
from reinstate.figures.numbers import brief

LEFT_TO_RIGHT = (0.0, 1.0, 0.5)  # where labels may stand, as shares of the room that is left
PIECE = 0.02  # of a line, to see whether a label covers it
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


def place_labels(chart: Chart, letter: float, height: float) -> list[Placed]:
    """Place the labels of horizontal lines where they cover least of what is drawn.

    `letter` and `height` are the size of a letter, as shares of the axes' width and height.
    """
    drawn, levels = list(_drawn(chart)), _levels(chart)
    margin = 0.15 if chart.joined else -0.4  # a curve may hug the label's line, a point is round
    placed: list[Placed] = []
    taken = [box for box, _ in _place_marks(chart, letter, height, drawn)]

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


def marks_on_top(chart: Chart, letter: float, height: float) -> list[bool]:
    """Tell of each vertical line whether its label stands at the top of the axes or at the foot."""
    return [top for _, top in _place_marks(chart, letter, height, list(_drawn(chart)))]


def _place_marks(
    chart: Chart, letter: float, height: float, drawn: Sequence[tuple[float, float]]
) -> list[tuple[_Box, bool]]:
    """Place the labels of vertical lines, right of them, where less is drawn."""
    (left, right), placed = chart.x_range, []
    for label, at in chart.marks:
        start = (chart.place(at) - left) / (right - left)
        top, foot = (_Box(start, y, letter * (len(label) + 1), height) for y in (1 - height, 0.0))
        covers = [
            sum(box.holds(x, y, 0.0) for x, y in drawn)
            + 50 * sum(box.crossed_at(level, 0.0) for level in _levels(chart))
            for box in (top, foot)
        ]
        placed.append((top, True) if covers[0] <= covers[1] else (foot, False))
    return placed


def _levels(chart: Chart) -> list[float]:
    """Return the heights of horizontal lines, as shares of the axes' height."""
    low, high = chart.y_range
    return [(line.at - low) / (high - low) for line in chart.lines]


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
