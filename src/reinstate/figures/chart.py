"""What a figure shows, whoever draws it: numbers, names and colours, but no pixels.

Builders (`learning`, `exposures`, `choices`, `search`) make charts of recorded numbers; `mpl` draws
them. What was not recorded is left out.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from reinstate.analysis.results import Results

Values = Sequence[float | None]
Interval = tuple[float, float]
Marker = Literal["dot", "square", "triangle", "ring", "diamond", "cross", ""]

MARKED = 24  # most points of a line that gets markers and error bars; longer ones get a band


class Line(NamedTuple):
    """A straight line for reference, and what is written beside it."""

    label: str
    at: float


@dataclass(frozen=True)
class Series:
    """One line, or one set of points."""

    name: str
    colour: str  # as #rrggbb
    x: Sequence[float]
    y: Values  # None where it is not known
    ci95: Sequence[Interval | None] = ()
    per_seed: Sequence[Values] = ()  # rows as long as x; a row with one known value is a point
    detail: str = ""  # beside the name in a legend
    dash: Sequence[float] = ()  # lengths that are drawn and left out
    width: float = 1.8
    marker: Marker = "dot"
    in_legend: bool = True

    @property
    def label(self) -> str:
        return f"{self.name} ({self.detail})" if self.detail else self.name


@dataclass(frozen=True)
class Chart:
    """A pair of axes with all that is drawn in them."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    of: str = ""  # what sets it apart from the charts beside it
    lines: Sequence[Line] = ()  # horizontal
    marks: Sequence[Line] = ()  # vertical
    categories: Sequence[str] = ()  # names of x = 0, 1, …; points are then not joined
    paired: bool = False  # but points in categories are: each seed is a slope from one to the next
    include: Sequence[float] = ()  # what the y-axis has to hold too
    scatter: bool = False  # points are not joined; one of unknown height stands at the bottom
    diagonal: bool = False  # both axes have the same range, and the diagonal is drawn
    log_x: bool = False
    dodge: float = 0.0  # distance between series at one place, so that none hides another
    note: str = ""  # how to read it

    @property
    def caption(self) -> str:
        return f"{self.title}: {self.of}" if self.of else self.title

    @property
    def joined(self) -> bool:
        return not self.scatter and (self.paired or not self.categories)

    @cached_property
    def marked(self) -> bool:
        """Whether there are few enough points for markers and error bars."""
        return not self.joined or all(len(s.x) <= MARKED for s in self.series)

    def place(self, x: float) -> float:
        """Where a number lies along the x-axis, in the unit of `x_range`."""
        return math.log10(x) if self.log_x else x

    def aside(self, index: int) -> float:
        """How far a series is moved along the x-axis; dashed ones, without markers, are not."""
        solid = [i for i, s in enumerate(self.series) if not s.dash]
        return self.dodge * (solid.index(index) - (len(solid) - 1) / 2) if index in solid else 0.0

    def spread(self, series: Series) -> list[float]:
        """How far each seed's points stand aside of the mean; on joined lines they do not."""
        width = 0.0 if self.joined else min(0.35 * self.dodge, 0.12)
        last = len(series.per_seed) - 1
        return [width * (2 * place / last - 1 if last else 0) for place in range(last + 1)]

    @cached_property
    def heights(self) -> list[float]:
        """What the y-axis has to hold."""
        values = [*self.include, *(line.at for line in self.lines)]
        for s in self.series:
            values += [y for ys in (s.y, *s.per_seed) for y in ys if y is not None]
            if self.marked:  # the bands of long curves may leave the picture, error bars may not
                values += [end for ends in s.ci95 if ends for end in ends]
        return values

    @cached_property
    def y_range(self) -> tuple[float, float]:
        """From zero, unless all that there is to see would then be squeezed into the upper half."""
        values = [*self.heights, *(self._places if self.diagonal else ())]
        low, high = min(values, default=0.0), max(values, default=1.0)
        if self.diagonal or low < 0:
            low -= 0.06 * (high - low)
        else:
            low = low - 0.15 * (high - low) if low > high / 2 else 0.0
        high += 0.06 * (high - low)
        return (low, high) if high > low else (low, low + 1)

    @cached_property
    def x_range(self) -> tuple[float, float]:
        """Limits of the x-axis; logarithms of them if it is logarithmic."""
        if self.categories:
            return -0.5, len(self.categories) - 0.5
        if self.diagonal:
            return self.y_range
        low, high = min(self._places, default=0.0), max(self._places, default=1.0)
        if not self.marked:
            low = low if self.log_x else min(0.0, low)
            return low, high if high > low else low + 1
        aside = 0.04 * (high - low) + abs(self.aside(0)) or 0.5
        return low - aside, high + aside

    @cached_property
    def _places(self) -> list[float]:
        return [self.place(x) for s in self.series for x in s.x]


class Trajectories(NamedTuple):
    """Ways to the first goal in some contexts, at their first and second exposure."""

    height: int
    width: int
    pairs: Sequence[Mapping[str, Any]]  # of each context: goal, first, second; cells are numbers
    of: str = ""  # whose they are


Drawing = Chart | Trajectories


def with_series(charts: Iterable[Chart]) -> list[Chart]:
    """Leave out charts in which there is nothing to see."""
    return [chart for chart in charts if chart.series]


def sharing_y(charts: Iterable[Chart]) -> list[Chart]:
    """Give charts with series axes of the same height, to be compared side by side."""
    shown = with_series(charts)
    every = [y for chart in shown for y in chart.heights]
    return [replace(chart, include=every) for chart in shown]


def at(scores: object, *path: str) -> Any:
    """Follow names into nested objects; None where there is nothing."""
    for name in path:
        scores = scores.get(name) if isinstance(scores, Mapping) else None
    return scores


def interval(ends: Sequence[float | None] | None) -> Interval | None:
    """Return both ends, where both are known."""
    low, high = ends or (None, None)
    return None if low is None or high is None else (low, high)


def count(values: Sequence[object]) -> list[float]:
    """Return 1, 2, 3, …, one for each value."""
    return [float(place) for place in range(1, len(values) + 1)]


def is_known(values: Iterable[float | None]) -> bool:
    return any(value is not None for value in values)


def brief(value: float) -> str:
    """Write three digits or so, for labels."""
    return f"{value:{'.2f' if abs(value) >= 1 else '.3f'}}"


def reference_lines(results: Results) -> list[Line]:
    """Return the labelled lines of a results document that are known."""
    return [Line(label, y) for label, y in results["reference_lines"].items() if y is not None]


def curve(
    name: str, colour: str, summary: Any, x: Sequence[float] = (), **looks: Any
) -> list[Series]:
    """Make a series of an array over seeds; none if nothing is known.

    It is drawn over 1, 2, 3, … unless places are given.
    """
    if not summary or not is_known(mean := summary["mean"] or ()):
        return []
    ci95 = [*map(interval, summary.get("ci95") or ())]
    seeds = summary.get("per_seed") or ()
    return [Series(name, colour, x or count(mean), mean, ci95, seeds, **looks)]


def points(name: str, colour: str, summaries: Mapping[float, Any], **looks: Any) -> list[Series]:
    """Make a series of scalars over seeds, by where each stands; none if nothing is known."""
    found = {x: summary for x, summary in summaries.items() if summary}
    mean = [summary["mean"] for summary in found.values()]
    if not is_known(mean):
        return []
    rows = [summary.get("per_seed") or () for summary in found.values()]
    # Agents may have been trained with as many seeds as there was time for.
    seeds = list(zip(*rows, strict=True)) if len({len(row) for row in rows}) == 1 else []
    ends = [interval(summary["ci95"]) for summary in found.values()]
    return [Series(name, colour, list(found), mean, ends, seeds, **looks)]


def part_of(summary: Any, place: int) -> dict[str, Any] | None:
    """Return one entry of an array over seeds; nothing if there is none."""
    if not summary:
        return None
    ends = summary["ci95"]
    return {
        "mean": summary["mean"][place],
        "ci95": ends and ends[place],
        "per_seed": [seed[place] for seed in summary["per_seed"]],
    }


def written(p: float) -> str:
    """Write a p as papers do: `p = .012`, `p < .001`."""
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".").rstrip("0").rstrip(".")
