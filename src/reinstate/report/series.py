"""Numbers of a file → series of a chart."""

from collections.abc import Sequence
from typing import Any

from reinstate.report.charts import Interval, Line, Series, Values
from reinstate.report.markup import finite
from reinstate.report.sources import Document, Player

MOST_POINTS = 200  # of a curve
MOST_SEEDS = 20  # drawn as lines of their own
EXPOSURE_COLOURS = ("#440154", "#31688E", "#35A06A", "#8A9A2B")  # early to late, along viridis
LAST = "#C58A00"  # exposure, if it is none of the first three


def at(scores: Any, path: Sequence[str]) -> Any:
    for name in path:
        scores = scores.get(name) if isinstance(scores, dict) else None
    return scores


def places(x: Sequence[Any]) -> list[float]:
    return [float(place) for place in x]


def count(values: Sequence[Any]) -> list[int]:
    return list(range(1, len(values) + 1))


def numbers(values: Sequence[Any]) -> Values:
    return [finite(value) for value in values]


def reference_lines(document: Document) -> list[Line]:
    found = document.results.get("reference_lines", {})
    lines = [(label, finite(y)) for label, y in found.items()]
    return [(label, y) for label, y in lines if y is not None]


def _interval(ends: Any) -> Interval:
    if ends is None:
        return None
    low, high = (finite(end) for end in ends)
    return None if low is None or high is None else (low, high)


def summary_series(player: Player, x: Sequence[Any], summary: Any) -> Series:
    """Mean, interval and seeds of an `over_seeds`; a long curve is thinned."""
    keep = slice(None, None, 1 + (len(x) - 1) // MOST_POINTS)
    mean = [finite(y) for y in summary["mean"]][keep]
    bounds = summary["ci95"]
    ci95 = None if bounds is None else [_interval(ends) for ends in bounds][keep]
    seeds = [[finite(y) for y in row][keep] for row in summary["per_seed"][:MOST_SEEDS]]
    return Series(player.label, player.colour, places(x)[keep], mean, ci95, seeds)


def stacked(
    label: str, colour: str, x: Sequence[Any], names: Sequence[Any], weights: Any
) -> Series:
    """One series of scalars' summaries."""
    found = [weights[name] for name in names]
    seeds = zip(*(w["per_seed"][:MOST_SEEDS] for w in found), strict=True)
    return Series(
        label,
        colour,
        places(x),
        [finite(w["mean"]) for w in found],
        [_interval(w["ci95"]) for w in found],
        [numbers(row) for row in seeds],
    )


def exposure_lines(rows: Sequence[Sequence[Any]], first: int = 3) -> list[Series]:
    """The first exposures and the last: the others lie between them."""
    last = len(rows) - 1
    colours = dict(enumerate(EXPOSURE_COLOURS[:first])) | ({last: LAST} if last > 2 else {})
    return [
        Series(f"exposure {e + 1}", colour, places(count(rows[e])), numbers(rows[e]))
        for e, colour in sorted(colours.items())
        if e <= last
    ]
