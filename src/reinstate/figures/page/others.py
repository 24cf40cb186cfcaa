"""Sections of the page that are of no single experiment: memory as an input, the embedder."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

from reinstate.figures.chart import Chart
from reinstate.figures.markup import Markup, tag
from reinstate.figures.page.finding import Part
from reinstate.figures.page.scores import origins
from reinstate.figures.page.sources import Origin
from reinstate.figures.svg import figure
from reinstate_paper import embedder_page as embedder
from reinstate_paper import inputs_page as inputs

FACTS = ("command", "version", "commit", "jax")


class Other(NamedTuple):
    """A section, how the page refers to it, and the colours that it needs."""

    ident: str
    heading: str
    markup: Markup
    colours: set[str]


def other_sections(parts: Sequence[Part]) -> Iterator[Other]:
    """Make a section for each document of inputs, then one of all embedders together."""
    gathered = [part for part in parts if isinstance(part, inputs.Inputs)]
    for number, part in enumerate(gathered, 1):
        name = "" if len(gathered) == 1 else f" ({part.path.stem})"
        facts = {fact: part.gathered.get(fact) for fact in FACTS}
        charts, source = inputs.charts_of_inputs(part), Origin("", {}, facts)
        ident = "inputs" if number == 1 else f"inputs-{number}"
        yield _section(ident, f"{inputs.HEADING}{name}", [*inputs.told(part)], charts, [source])
    if cards := [part for part in parts if isinstance(part, embedder.Embedder)]:
        chart, plain = embedder.accuracy_chart(cards), embedder.pixels(cards)
        said = [tag("p", embedder.SAID), *([plain] if plain else [])]
        named = zip(cards, embedder.names_of(cards), strict=True)
        sources = [embedder.origin_of(*each) for each in named]
        yield _section("embedder", embedder.HEADING, said, [chart] if chart else [], sources)


def _section(
    ident: str,
    heading: str,
    said: Sequence[Markup],
    charts: Sequence[Chart],
    sources: Sequence[Origin],
) -> Other:
    numbers = count(1)
    drawn = [figure(chart, f"{ident}-chart-{next(numbers)}") for chart in charts]
    markup = tag(
        "section",
        tag("h2", heading, id=f"{ident}-heading"),
        *said,
        *([tag("div", *drawn, class_="charts")] if drawn else []),
        tag("h3", "Where these numbers come from"),
        *origins(sources),
        id=ident,
        aria_labelledby=f"{ident}-heading",
    )
    return Other(ident, heading, markup, {s.colour for chart in charts for s in chart.series})
