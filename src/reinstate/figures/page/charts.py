"""Charts → figures of the page: matplotlib's SVG, a legend, and a table of the same numbers.

The picture is whole without JavaScript; page.js reads the table to answer pointer and keys.
"""

import re
from collections.abc import Iterable, Sequence
from math import log10
from typing import TYPE_CHECKING, Any

from reinstate.analysis.memory_map import MemoryMap
from reinstate.figures.chart import Chart, Line, Series, Trajectories, at, points
from reinstate.figures.markup import Markup, folded, joined, number, row, table, tag, with_bounds
from reinstate.figures.page.documents import Document
from reinstate.figures.style import (
    DARK,
    LIGHT,
    PAGE,
    ShownAgent,
    label,
    own_style,
    readable,
    shown_agents,
)

if TYPE_CHECKING:
    from reinstate.figures.canvas import Figure

SIZE = 4.8, 3.0  # of a chart, in inches
MARGINS = 0.56, 0.1, 0.08, 0.44  # left, right, above and below the axes
GID = "series-"  # before a series' number, in the SVG
TAG = re.compile("<[^<>]+>")
OF_SERIES = re.compile(f'id="{GID}(\\d+)"')
NAMED = re.compile('( id="|href="#|url\\(#)')  # what comes after is a name
UNUSED = re.compile(' id="[A-Za-z.]+(?:2d)?_[0-9]+"')  # names that nothing refers to
# The page has fonts of its own.
FAMILY, FONT = (
    re.compile('font-family: [^;"]*;? ?'),
    re.compile(r"font: (?:\w+ )*?([\d.]+px) [^;\"]*"),
)
COLOUR = re.compile("#[0-9a-f]{6}")
PAGE_COLOURS = {"#000000": "currentColor", "#ffffff": "var(--page)"}
OTHER = "var(--c, var(--muted))"  # a series' own; guides are grey
MOST_PAIRS = 6  # contexts whose ways are drawn
WAYS_NOTE = (
    "Early moves are orange, late ones blue. Each column is a context, met twice from the same"
    " start."
)
MAP_NOTE = (
    "Each point is a state that one seed stored at the end of an episode, in the plane in which all"
    " of them differ most; its colour is the {} of its context."
)
WORTH: dict[str, Any] = {
    "title": "How much of what a memory is worth agents earn",
    "x_label": "experiment",
    "y_label": "share of what a memory is worth",
    "lines": (Line("best without memory", 0.0), Line("best with memory", 1.0)),
    "note": "Reward with frozen weights on fresh tasks, on a scale from the best that is possible"
    " without an episodic memory (0) to the best with one (1), with 95% intervals.",
}
DODGE = 0.6  # of a category, shared by its agents
SIGNS = {"dot": "●", "square": "■", "triangle": "▲", "ring": "○", "diamond": "◇", "cross": "×"}


def colour_class(colour: str) -> str:
    """Name the class that sets --c to a colour."""
    return f"c{colour.removeprefix('#').lower()}"


def style_of(colours: Iterable[str]) -> str:
    """Make a class for each colour, six hex digits, lighter or darker as the scheme needs."""
    names = sorted({*colours})
    light, dark = (
        "".join(f".c{name}{{--c:{readable(f'#{name}', page)}}}" for name in names)
        for page in (LIGHT, DARK)
    )
    return f"{light}\n@media screen and (prefers-color-scheme:dark){{{dark}}}\n"


def figure(chart: Chart, ident: str) -> Markup:
    """Make a chart's figure, with ids that start with `ident`."""
    note = [tag("p", chart.note)] if chart.note else []
    entries = [_entry(chart, i, s) for i, s in enumerate(chart.series) if s.in_legend]
    parts = [
        tag("figcaption", chart.caption, *note),
        tag("ul", *entries, class_="legend"),
        tag("div", draw(chart, ident), class_="plot"),
    ]
    summary = joined(["Show data", tag("span", f" of {chart.caption}", class_="unseen")])
    parts.append(folded(summary, data_table(chart)))
    return tag("figure", *parts, class_="chart", id=ident)


def _entry(chart: Chart, index: int, series: Series) -> Markup:
    line = "" if not chart.joined else "╍" if series.dash else "━"
    marker = SIGNS.get(series.marker, "") if chart.marked and not series.dash else ""
    mark = tag("span", line + marker, aria_hidden="true", class_="mark")
    return tag("li", mark, series.label, class_=colour_class(series.colour), data_series=index)


def data_table(chart: Chart) -> Markup:
    """Write all that is drawn but the single seeds; a row is a place on the x-axis."""
    head: list[object] = [chart.x_label]
    found: list[dict[float, str]] = []
    for i, s in enumerate(chart.series):
        known = {"data_colour": colour_class(s.colour), "data_aside": f"{chart.aside(i):.3f}"}
        head.append(tag("th", s.name, scope="col", class_="number", data_series=i, **known))
        cells = map(with_bounds, s.y, s.ci95 or [None] * len(s.y))
        found.append(dict(zip(s.x, cells, strict=True)))
    rows = [
        row(_name(chart, x), *(each.get(x, "") for each in found), data_x=f"{chart.place(x):g}")
        for x in sorted({x for s in chart.series for x in s.x})
    ]
    rows += [row(f"line: {label}", number(y)) for label, y in chart.lines if label]
    return table(f"{chart.y_label}: {chart.caption}", head, rows, class_="numbers")


def _name(chart: Chart, x: float) -> str:
    return chart.categories[round(x)] if chart.categories else f"{x:g}" if x % 1 else f"{x:.0f}"


@own_style()
def draw(chart: Chart, ident: str) -> Markup:
    """Draw the picture alone. page.js learns from it where the axes lie, and what they are."""
    from reinstate.figures.canvas import Figure
    from reinstate.figures.mpl import draw_chart

    (width, height), (left, right, above, below) = SIZE, MARGINS
    room = width - left - right, height - above - below
    # Names of categories need as many lines as they need; numbers always fit.
    drawn = Figure(figsize=SIZE, layout="constrained" if chart.categories else None)
    axes = drawn.add_subplot()
    if not chart.categories:
        ends = left / width, below / height, 1 - right / width, 1 - above / height
        drawn.subplots_adjust(*ends)
    artists = draw_chart(axes, chart, *room, PAGE)
    for i, own in enumerate(artists):
        for artist in own:
            artist.set_gid(f"{GID}{i}")
    classes = [colour_class(s.colour) for s in chart.series]
    known = {"data_labels": f"{chart.x_label}|{chart.y_label}"}
    return embedded(drawn, ident, chart.caption, classes, **known)


def ways_figure(drawing: Trajectories, ident: str) -> Markup:
    """Draw the ways in some contexts."""
    from reinstate.figures.mazes import draw_trajectories

    drawn = draw_trajectories(drawing._replace(pairs=drawing.pairs[:MOST_PAIRS]))
    return _picture(drawn, ident, f"Ways of {drawing.of} to the first goal", WAYS_NOTE)


def map_figure(found: MemoryMap, ident: str) -> Markup:
    """Draw a memory map."""
    from reinstate.figures import memory_map

    title, note = f"What {label(found['agent'])} stores", MAP_NOTE.format(found["labels"])
    return _picture(memory_map.draw(found), ident, title, note)


def _picture(drawn: "Figure", ident: str, title: str, note: str) -> Markup:
    """Show a figure that is no chart, over the whole width."""
    caption = tag("figcaption", title, tag("p", note))
    return tag("figure", caption, embedded(drawn, ident, title), class_="drawn wide", id=ident)


def embedded(
    drawn: "Figure",
    ident: str,
    title: str,
    series: Sequence[str] | None = None,
    **attributes: object,
) -> Markup:
    """Make a figure part of the page, with text and axes in the page's colours.

    What belongs to a series, told by its gid, gets the class that sets --c. A figure without series
    keeps its colours, on white.
    """
    for patch in (drawn.patch, *(axes.patch for axes in drawn.axes)):
        patch.set_visible(series is None)
    svg = drawn.written("svg", metadata={"Date": None}).decode()
    if series is not None:
        attributes |= _axes(drawn)
    inside = svg[svg.index("</defs>") + len("</defs>") : svg.rindex("</svg>")]
    inside = "".join(line.strip() for line in inside.splitlines())
    width, height = 72 * drawn.get_size_inches()
    return tag(
        "svg",
        tag("title", title),
        Markup(TAG.sub(lambda found: _adapted(found[0], ident, series), inside)),
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        **attributes,
    )


def _axes(drawn: "Figure") -> dict[str, str]:
    """Say where the axes begin and end in the picture, and at which numbers."""
    (axes,), (width, height) = drawn.axes, 72 * drawn.get_size_inches()
    place = axes.get_position()
    x, y = (place.x0 * width, place.x1 * width), ((1 - place.y0) * height, (1 - place.y1) * height)
    low, high = axes.get_xlim()
    if axes.get_xscale() == "log":
        low, high = log10(low), log10(high)
    bottom, top = axes.get_ylim()
    return {
        "data_x": f"{x[0]:.1f} {x[1]:.1f} {low:.9g} {high:.9g}",
        "data_y": f"{y[0]:.1f} {y[1]:.1f} {bottom:.9g} {top:.9g}",
    }


def _adapted(tag: str, ident: str, series: Sequence[str] | None) -> str:
    """Give a tag of a picture a name of this figure alone, and the page's fonts and colours."""
    tag = FONT.sub(r"font-size: \1", FAMILY.sub("", UNUSED.sub("", tag)))
    tag = tag.replace("xlink:", "")
    if series is None:
        return NAMED.sub(rf"\1{ident}-", tag)
    tag = OF_SERIES.sub(
        lambda found: f'class="series {series[int(found[1])]}" data-series="{found[1]}"', tag
    )
    tag = COLOUR.sub(lambda found: PAGE_COLOURS.get(found[0], OTHER), tag)
    return NAMED.sub(rf"\1{ident}-", tag)


def worth(documents: Sequence[Document], headings: Sequence[str]) -> Chart | None:
    """Show all experiments on one scale; nothing if there are not two whose ceilings are known."""
    scales = [
        (document, heading, low, top)
        for document, heading in zip(documents, headings, strict=True)
        for low, top in [document.ceilings]
        if low is not None and top is not None and low < top
    ]
    if len(scales) < 2:
        return None
    found: dict[str, tuple[ShownAgent, dict[float, Any]]] = {}
    for place, (document, _, low, top) in enumerate(scales):
        for agent in shown_agents(document.results):
            _, places = found.setdefault(agent.label, (agent, {}))
            places[float(place)] = _scaled(at(agent.scores, "reward"), low, top)
    series = [
        s
        for a, places in found.values()
        for s in points(a.label, a.colour, places, marker=a.marker)
    ]
    titles = [heading.partition(": ") for _, heading, *_ in scales]
    categories = [after or before for before, _, after in titles]
    return Chart(series=series, categories=categories, dodge=DODGE / max(len(series), 1), **WORTH)


def _scaled(reward: Any, low: float, top: float) -> dict[str, Any] | None:
    """Put a mean and its interval on the scale from one ceiling to the other."""
    if not reward:
        return None
    mean, *ends = ((y - low) / (top - low) for y in (reward["mean"], *(reward["ci95"] or ())))
    return {"mean": mean, "ci95": ends}
