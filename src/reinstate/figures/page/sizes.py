"""Mazes of different sizes on one page → how far an agent goes in each, before and after."""

from collections.abc import Mapping, Sequence
from typing import Any

from reinstate.figures.chart import Chart, Interval, Series
from reinstate.figures.numbers import at, finite, interval, numbers
from reinstate.figures.page.sources import Document
from reinstate.figures.style import COLOURS, GREY, LABELS

AGENT = "epl2rl"
LOOKS: dict[str, Any] = {
    "title": f"Steps of {LABELS[AGENT]} to the first goal, by the size of the maze",
    "x_label": "cells of the maze",
    "y_label": "steps to the first goal",
    "note": "A goal never found counts as the whole episode.",
}

Steps = tuple[float, Interval | None]  # mean and interval


def by_size(documents: Sequence[Document]) -> Chart | None:
    """Make a chart of these mazes; nothing unless there are two sizes."""
    known = {cells: d for d in documents if (cells := _cells(d)) and _steps(d, 0)}
    mazes = dict(sorted(known.items()))
    if len(mazes) < 2:
        return None
    met = {"first exposure": ("#D55E00", 0), "second exposure": (COLOURS[AGENT], 1)}
    series: list[Series] = []
    for name, (colour, place) in met.items():
        steps = {cells: _steps(document, place) for cells, document in mazes.items()}
        series += _series(name, colour, steps)
    least = {cells: _least(document) for cells, document in mazes.items()}
    series += _series("least possible, goal known", GREY, least, dash=(4, 2), width=1.4)
    return Chart(series=series, include=[0.0], **LOOKS)


def _series(
    name: str, colour: str, steps: Mapping[float, Steps | None], **looks: Any
) -> list[Series]:
    known = {cells: found for cells, found in steps.items() if found is not None}
    if not known:
        return []
    means, ends = (list(each) for each in zip(*known.values(), strict=True))
    return [Series(name, colour, list(known), means, ends, **looks)]


def _cells(document: Document) -> float | None:
    task = at(document.results["settings"], "task")
    height, width = finite(at(task, "height")), finite(at(task, "width"))
    return None if height is None or width is None else height * width


def _steps(document: Document, place: int) -> Steps | None:
    """Return the steps at an exposure, counted from 0."""
    found = at(document.results["agents"].get(AGENT), "maze", "steps_or_end")
    means, ends = numbers(at(found, "mean")), at(found, "ci95")
    if place >= len(means) or (mean := means[place]) is None:
        return None
    known = ends[place] if isinstance(ends, list) and len(ends) == len(means) else None
    return mean, interval(known)


def _least(document: Document) -> Steps | None:
    steps = finite(at(document.results["optimum"], "steps_goal_known"))
    return None if steps is None else (steps, None)
