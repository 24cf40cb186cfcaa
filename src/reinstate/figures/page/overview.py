"""The page's first screen: a card for each experiment, and one chart."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from reinstate.analysis.results import CheckRow
from reinstate.analysis.verdicts import VERDICTS, count_verdicts
from reinstate.figures.chart import Chart, Interval, Line, Series
from reinstate.figures.markup import Markup, tag
from reinstate.figures.numbers import at, finite, interval, numbers
from reinstate.figures.page.charts import colour_class
from reinstate.figures.page.documents import Document
from reinstate.figures.page.tables import SIGNS
from reinstate.figures.style import GREY, ShownAgent, colour, label, shown_agents

WITH, WITHOUT = "epl2rl", "l2rl"  # whose rewards a card shows, if they are there
WORTH: dict[str, Any] = {
    "title": "How much of what a memory is worth agents earn",
    "x_label": "experiment",
    "y_label": "share of what a memory is worth",
    "lines": (Line("best without memory", 0.0), Line("best with memory", 1.0)),
    "note": "Reward with frozen weights on fresh tasks, on a scale from the best that is possible"
    " without an episodic memory (0) to the best with one (1), with 95% intervals.",
}
DODGE = 0.6  # of a category, shared by its agents


class Ceilings(NamedTuple):
    """The best that is possible in a task."""

    without: float | None
    memory: float | None


def cards(
    documents: Sequence[Document],
    names: Sequence[tuple[str, str]],
    judged: Sequence[Sequence[CheckRow]],
) -> Markup:
    """Make a card for each document; `names` are its identifier on the page and its heading."""
    made = [_card(*each) for each in zip(documents, names, judged, strict=True)]
    return tag("ul", *made, class_="cards")


def _card(document: Document, name: tuple[str, str], checks: Sequence[CheckRow]) -> Markup:
    ident, heading = name
    best = ceilings(document)
    shown = [
        ("with memory", agent_with(document, memory=True)),
        ("without", agent_with(document, memory=False)),
    ]
    rewards = [(words, agent, _mean(agent)) for words, agent in shown if agent is not None]
    figures = [_figure(document, words, mean, agent) for words, agent, mean in rewards]
    if (top := best.memory if best.memory is not None else best.without) is not None:
        figures.append(_figure(document, "ceiling", top))
    counts = count_verdicts(checks)
    verdicts = [
        tag("li", f"{SIGNS[each]} {counts[each]} {each}", class_=each)
        for each in VERDICTS
        if counts[each]
    ]
    return tag(
        "li",
        tag("h3", tag("a", heading, href=f"#{ident}")),
        tag("dl", *figures, class_="figures"),
        *([tag("ul", *verdicts, class_="verdicts")] if counts["claims"] else []),
        *([tag("div", when, class_="when")] if (when := _when(document)) else []),
        class_="card",
    )


def _when(document: Document) -> str:
    """Say when and with which preset results were recorded, as far as the document does."""
    preset, date = document.results["preset"], document.results.get("date")
    words = [f"{preset} preset" if preset else "", f"recorded {date}" if date else ""]
    return ", ".join(filter(None, words))


def _figure(
    document: Document, words: str, value: float | None, agent: ShownAgent | None = None
) -> Markup:
    text = "not evaluated" if value is None else f"{value:{document.experiment.number}}"
    colour = f" {colour_class(agent.colour)}" if agent else ""
    who = [tag("span", agent.label, class_="who")] if agent else []
    return tag("div", tag("dt", words), tag("dd", text, *who), class_=f"figure{colour}")


def ceilings(document: Document) -> Ceilings:
    """Return what the optimum says of an experiment, or its bounds; None where nothing is known."""
    experiment, optimum = document.experiment, document.results["optimum"]
    keys = experiment.ceiling_without_memory, experiment.ceiling
    return Ceilings(*(finite(at(optimum, key)) for key in keys))


def agent_with(document: Document, memory: bool) -> ShownAgent | None:
    """Return the paper's agent with or without a memory, or the first of that kind."""
    kind = [a for a in shown_agents(document.results) if a.scores.get("remembers") is memory]
    usual = [agent for agent in kind if agent.name == (WITH if memory else WITHOUT)]
    return next(iter(usual or kind), None)


def _mean(agent: ShownAgent) -> float | None:
    return finite(at(agent.scores, "reward", "mean"))


def worth(documents: Sequence[Document], headings: Sequence[str]) -> Chart | None:
    """Show all experiments on one scale; nothing if there are not two whose ceilings are known."""
    known = [(d, h, *ceilings(d)) for d, h in zip(documents, headings, strict=True)]
    scales = [
        (document, heading, low, top)
        for document, heading, low, top in known
        if low is not None and top is not None and low < top
    ]
    if len(scales) < 2:
        return None
    found: dict[str, tuple[ShownAgent, dict[int, Any]]] = {}
    for place, (document, _, low, top) in enumerate(scales):
        for agent in shown_agents(document.results):
            if _mean(agent) is not None:
                _, places = found.setdefault(agent.label, (agent, {}))
                places[place] = _scaled(at(agent.scores, "reward"), low, top)
    series = [_series(agent, places) for agent, places in found.values()]
    titles = [heading.partition(": ") for _, heading, *_ in scales]
    categories = [after or before for before, _, after in titles]
    return Chart(series=series, categories=categories, dodge=DODGE / max(len(series), 1), **WORTH)


def _scaled(reward: object, low: float, top: float) -> tuple[float | None, Interval | None]:
    """Put a mean and its interval on the scale from one ceiling to the other."""

    def share(value: float) -> float:
        return (value - low) / (top - low)

    mean, ends = finite(at(reward, "mean")), interval(at(reward, "ci95"))
    return None if mean is None else share(mean), ends and (share(ends[0]), share(ends[1]))


def _series(agent: ShownAgent, places: Mapping[int, Any]) -> Series:
    means, ends = zip(*places.values(), strict=True)
    x = [float(place) for place in places]
    return Series(agent.label, agent.colour, x, means, ends, marker=agent.marker)


BY_SIZE: dict[str, Any] = {
    "title": f"Steps of {label(WITH)} to the first goal, by the size of the maze",
    "x_label": "cells of the maze",
    "y_label": "steps to the first goal",
    "note": "A goal never found counts as the whole episode.",
}

Steps = tuple[float, Interval | None]  # mean and interval


def by_size(documents: Sequence[Document]) -> Chart | None:
    """Make a chart of these mazes; nothing unless there are two sizes."""
    known = {cells: d for d in documents if (cells := cells_of(d)) and _steps_at(d, 0)}
    mazes = dict(sorted(known.items()))
    if len(mazes) < 2:
        return None
    met = {"first exposure": ("#D55E00", 0), "second exposure": (colour(WITH) or GREY, 1)}
    series: list[Series] = []
    for name, (own, place) in met.items():
        steps = {cells: _steps_at(document, place) for cells, document in mazes.items()}
        series += _by_size(name, own, steps)
    least = {cells: _least(document) for cells, document in mazes.items()}
    series += _by_size("least possible, goal known", GREY, least, dash=(4, 2), width=1.4)
    return Chart(series=series, include=[0.0], **BY_SIZE)


def _by_size(
    name: str, colour: str, steps: Mapping[float, Steps | None], **looks: Any
) -> list[Series]:
    known = {cells: found for cells, found in steps.items() if found is not None}
    if not known:
        return []
    means, ends = (list(each) for each in zip(*known.values(), strict=True))
    return [Series(name, colour, list(known), means, ends, **looks)]


def cells_of(document: Document) -> float | None:
    """Return the size of a maze; of no other world."""
    task = at(document.results["settings"], "task")
    height, width = finite(at(task, "height")), finite(at(task, "width"))
    return None if height is None or width is None else height * width


def _steps_at(document: Document, place: int) -> Steps | None:
    """Return the steps at an exposure, counted from 0."""
    found = at(document.results["agents"].get(WITH), "maze", "steps_or_end")
    means, ends = numbers(at(found, "mean")), at(found, "ci95")
    if place >= len(means) or (mean := means[place]) is None:
        return None
    known = ends[place] if isinstance(ends, list) and len(ends) == len(means) else None
    return mean, interval(known)


def _least(document: Document) -> Steps | None:
    steps = finite(at(document.results["optimum"], "steps_goal_known"))
    return None if steps is None else (steps, None)
