"""Numbers of a file → series of a chart: the one place that knows how files may be misshapen.

A document has been checked against its type, but lists in it may still be of any length and depth.
What does not fit is left out, so that no builder has to ask.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reinstate.analysis.results import Results
from reinstate.figures.chart import Interval, Line, Series

MOST_POINTS = 200  # of a curve
LARGEST = 1e100
MOST_SEEDS = 30  # drawn one by one


def at(scores: object, *path: str) -> Any:
    """Follow names into nested objects; None where there is nothing."""
    for name in path:
        scores = scores.get(name) if isinstance(scores, Mapping) else None
    return scores


def finite(value: object) -> float | None:
    """Return a number; None for null, NaN, what is all but infinite, or what is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -LARGEST < value < LARGEST else None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def numbers(value: object) -> list[float | None]:
    return [finite(each) for each in _list(value)]


def rows(value: object) -> list[list[float | None]]:
    return [numbers(row) for row in _list(value)]


def matrix(value: object) -> list[list[float | None]]:
    """Return rows of equal length; nothing if their lengths differ."""
    found = rows(value)
    return found if found and found[0] and len({len(row) for row in found}) == 1 else []


def interval(value: object) -> Interval | None:
    low, high = ends if len(ends := numbers(value)) == 2 else (None, None)
    return None if low is None or high is None else (low, high)


def band_of(bands: object, place: int, length: int) -> list[Interval | None]:
    """Return one line's intervals, of those of all lines; nothing if they are not as many."""
    lines = _list(bands)
    ends = [interval(each) for each in _list(lines[place])] if place < len(lines) else []
    return ends if len(ends) == length else []


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
    pairs = results["reference_lines"].items()
    return [Line(label, y) for label, value in pairs if (y := finite(value)) is not None]


def curve(name: str, colour: str, summary: object, x: object = None, **looks: Any) -> list[Series]:
    """Make a series of an array over seeds, thinned if it is long; none if nothing is known.

    It is drawn over 1, 2, 3, … unless places are given.
    """
    mean = numbers(at(summary, "mean"))
    places = count(mean) if x is None else numbers(x)
    if not is_known(mean) or len(places) != len(mean) or None in places:
        return []
    keep = slice(None, None, 1 + (len(mean) - 1) // MOST_POINTS)
    ends = [interval(each) for each in _list(at(summary, "ci95"))]
    seeds = [numbers(row) for row in _list(at(summary, "per_seed"))[:MOST_SEEDS]]
    ci95 = ends[keep] if len(ends) == len(mean) else ()
    rows = [row[keep] for row in seeds if len(row) == len(mean)]
    at_places = [place for place in places[keep] if place is not None]
    return [Series(name, colour, at_places, mean[keep], ci95, rows, **looks)]


def points(name: str, colour: str, summaries: Mapping[float, object], **looks: Any) -> list[Series]:
    """Make a series of scalars over seeds, by where each stands; none if nothing is known."""
    found = {x: s for x, s in summaries.items() if isinstance(s, Mapping)}
    mean = [finite(s.get("mean")) for s in found.values()]
    if not is_known(mean):
        return []
    rows = [numbers(s.get("per_seed"))[:MOST_SEEDS] for s in found.values()]
    seeds = list(zip(*rows, strict=True)) if len({len(row) for row in rows}) == 1 else []
    ends = [interval(s.get("ci95")) for s in found.values()]
    return [Series(name, colour, list(found), mean, ends, seeds, **looks)]


def written(p: float) -> str:
    """Write a p as papers do: `p = .012`, `p < .001`."""
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".").rstrip("0").rstrip(".")
