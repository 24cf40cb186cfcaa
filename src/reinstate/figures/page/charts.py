"""Charts → figures of the page: matplotlib's SVG, a legend, and a table of the same numbers.

The picture is whole without JavaScript; page.js reads the table to answer pointer and keys.
"""

import re
from collections.abc import Iterable, Sequence
from math import log10
from typing import TYPE_CHECKING
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from reinstate.analysis.memory_map import MemoryMap, Panel
from reinstate.figures.chart import Chart, Series, Trajectories
from reinstate.figures.markup import (
    Markup,
    folded,
    joined,
    number,
    percent,
    row,
    table,
    tag,
    with_bounds,
)
from reinstate.figures.mazes import outcome
from reinstate.figures.numbers import finite
from reinstate.figures.style import DARK, LIGHT, PAGE, label, readable

if TYPE_CHECKING:
    from reinstate.figures.canvas import Figure

SIZE = 4.8, 3.0  # of a chart, in inches
MARGINS = 0.56, 0.1, 0.08, 0.44  # left, right, above and below the axes
SVG = "{http://www.w3.org/2000/svg}"
KEPT = f"{SVG}g", f"{SVG}defs"  # parts of a picture that draw something
GID = "series-"  # before a series' number, in the SVG
DEFINED = re.compile("[a-zA-Z][0-9a-f]{10}|C[0-9a-f_]+")  # ids of markers and clips
# The page has fonts of its own.
FAMILY, FONT = re.compile("font-family: [^;]*;? ?"), re.compile(r"font: (?:\w+ )*?([\d.]+px) [^;]*")
TENTHS = re.compile(r"(\.\d)\d+")
OFF = 0.7  # pixels that lines may be off
COLOUR = re.compile("#[0-9a-f]{6}")
PAGE_COLOURS = {"#000000": "currentColor", "#ffffff": "var(--page)"}
LONGEST, MOST_PAIRS = 200, 6  # moves of a way that can be told apart; contexts
MOST_POINTS, MOST_PANELS = 2000, 12  # of a memory map
WAYS_NOTE = (
    "Early moves are orange, late ones blue. Each column is a context, met twice from the same"
    " start."
)
MAP_NOTE = (
    "Each point is a state that one seed stored at the end of an episode, in the plane in which all"
    " of them differ most; its colour is the {} of its context."
)
SIGNS = {"dot": "●", "square": "■", "triangle": "▲", "ring": "○", "diamond": "◇", "cross": "×"}


def colour_class(colour: str) -> str:
    """Name the class that sets --c to a colour."""
    return f"c{colour.removeprefix('#').lower()}"


def style_of(colours: Iterable[str]) -> str:
    """Make a class for each colour, lighter or darker as the page's scheme needs."""
    names = sorted({colour.lower() for colour in colours})
    light, dark = (
        "".join(f".{colour_class(name)}{{--c:{readable(name, page)}}}" for name in names)
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


def describe(chart: Chart) -> str:
    """Say in words where each series begins and ends."""
    sentences = [f"{chart.y_label} against {chart.x_label}."]
    for s in chart.series:
        known = [(x, y) for x, y in zip(s.x, s.y, strict=True) if y is not None]
        if chart.categories:
            said = [f"{_name(chart, x)} {number(y)}" for x, y in known]
        else:
            said = [f"{number(y)} at {_name(chart, x)}" for x, y in (*known[:1], *known[-1:])]
        if said:
            sentences.append(f"{s.name}: {', '.join(said)}.")
    sentences += [f"Reference line: {label}, {number(y)}." for label, y in chart.lines if label]
    return " ".join(sentences)


def draw(chart: Chart, ident: str) -> Markup:
    """Draw the picture alone. page.js learns from it where the axes lie, and what they are."""
    from reinstate.figures.canvas import Figure, own_style
    from reinstate.figures.mpl import draw_chart, spelled

    (width, height), (left, right, above, below) = SIZE, MARGINS
    room = width - left - right, height - above - below
    with own_style():
        # Names of categories need as many lines as they need; numbers always fit.
        drawn = Figure(figsize=SIZE, layout="constrained" if chart.categories else None)
        axes = drawn.add_subplot()
        if not chart.categories:
            ends = left / width, below / height, 1 - right / width, 1 - above / height
            drawn.subplots_adjust(*ends)
        artists = draw_chart(axes, spelled(chart), *room, PAGE)
    for i, own in enumerate(artists):
        for artist in own:
            artist.set_gid(f"{GID}{i}")
    classes = [colour_class(s.colour) for s in chart.series]
    known = {"data_labels": f"{chart.x_label}|{chart.y_label}"}
    return embedded(drawn, ident, chart.caption, describe(chart), classes, **known)


def ways_figure(drawing: Trajectories, ident: str) -> Markup | None:
    """Draw the ways in some contexts; nothing if there are not two, or none is short enough."""
    from reinstate.figures.mazes import draw_trajectories

    short = [p for p in drawing.pairs if max(len(p["first"]), len(p["second"])) <= LONGEST + 1]
    if len(short) < 2:
        return None
    pairs = short[:MOST_PAIRS]
    said = [
        f"{exposure} exposures: {', '.join(outcome(pair, exposure) for pair in pairs)}"
        for exposure in ("first", "second")
    ]
    title = f"Ways of {drawing.of or 'an agent'} to the first goal"
    drawn = draw_trajectories(drawing._replace(pairs=pairs))
    return _picture(drawn, ident, title, WAYS_NOTE, "; ".join(said))


def map_figure(found: MemoryMap, ident: str) -> Markup | None:
    """Draw a memory map; nothing if there is nothing sound in it."""
    from reinstate.figures import memory_map

    panels = [panel for panel in found["panels"] if _is_sound(panel)][:MOST_PANELS]
    if not panels or len(found["explained"]) < 2:
        return None
    sound: MemoryMap = {**found, "panels": panels}
    title = f"What {label(found['agent'])} stores"
    said = [
        f"{len(panel['x'])} states after {panel['exposure']} exposures, of which"
        f" {percent(panel['readable'])} lie nearest to one of the same {found['labels']}"
        for panel in panels
    ]
    drawn = memory_map.draw(sound)
    return _picture(drawn, ident, title, MAP_NOTE.format(found["labels"]), "; ".join(said))


def _is_sound(panel: Panel) -> bool:
    """Tell whether all lists of a panel are of one length, and its numbers can be drawn."""
    x, y, labels, contexts = (panel[name] for name in ("x", "y", "label", "context"))
    if not 0 < len(x) == len(y) == len(labels) == len(contexts) <= MOST_POINTS:
        return False
    return None not in map(finite, [*x, *y])


def _picture(drawn: "Figure", ident: str, title: str, note: str, said: str) -> Markup:
    """Show a figure that is no chart, over the whole width."""
    caption = tag("figcaption", title, tag("p", note))
    return tag(
        "figure", caption, embedded(drawn, ident, title, said), class_="drawn wide", id=ident
    )


def embedded(
    drawn: "Figure",
    ident: str,
    title: str,
    description: str,
    series: Sequence[str] | None = None,
    **attributes: object,
) -> Markup:
    """Make a figure part of the page, with text and axes in the page's colours.

    What belongs to a series, told by its gid, gets the class that sets --c. A figure without series
    keeps its colours, on white.
    """
    for patch in (drawn.patch, *(axes.patch for axes in drawn.axes)):
        patch.set_visible(series is None)
    whole = ElementTree.fromstring(drawn.written("svg", OFF, metadata={"Date": None}))
    if series is not None:
        attributes |= _axes(drawn)
    parts = [part for part in whole if part.find(f"{SVG}style") is None and part.tag in KEPT]
    for part in parts:
        _adapt(part, ident, series, inside=False)
    return tag(
        "svg",
        tag("title", title, id=f"{ident}-title"),
        tag("desc", description, id=f"{ident}-desc"),
        *(Markup(ElementTree.tostring(part, encoding="unicode")) for part in parts),
        viewBox=whole.attrib["viewBox"],
        role="img",
        aria_labelledby=f"{ident}-title {ident}-desc",
        **attributes,
    )


def _axes(drawn: "Figure") -> dict[str, str]:
    """Say where the axes begin and end in the picture, and at which numbers."""
    (axes,), (width, height) = drawn.axes, 72 * drawn.get_size_inches()
    place = axes.get_position()
    x, y = (place.x0 * width, place.x1 * width), ((1 - place.y0) * height, (1 - place.y1) * height)
    low, high = (
        (log10(x) for x in axes.get_xlim()) if axes.get_xscale() == "log" else axes.get_xlim()
    )
    bottom, top = axes.get_ylim()
    return {
        "data_x": f"{x[0]:.1f} {x[1]:.1f} {low:.9g} {high:.9g}",
        "data_y": f"{y[0]:.1f} {y[1]:.1f} {bottom:.9g} {top:.9g}",
    }


def _adapt(element: Element, ident: str, series: Sequence[str] | None, inside: bool) -> None:
    """Give an element, and all in it, names of this figure alone, and the page's colours."""
    element.tag = element.tag.removeprefix(SVG)
    element.tail = ""
    if element.tag != "text":
        element.text = ""
    found = {name.rpartition("}")[2]: value for name, value in element.attrib.items()}
    own = found.pop("id", "")
    if own.startswith(GID):
        place, inside = int(own.removeprefix(GID)), True
        found |= {"class": f"series {(series or ())[place]}", "data-series": str(place)}
    elif DEFINED.fullmatch(own):
        found["id"] = f"{ident}-{own}"
    if "href" in found:
        found["href"] = f"#{ident}-{found['href'][1:]}"
    if "clip-path" in found:
        found["clip-path"] = found["clip-path"].replace("#", f"#{ident}-")
    if "style" in found:
        style = FAMILY.sub("", FONT.sub(r"font-size: \1", found["style"]))
        if series is not None:
            other = "var(--c)" if inside else "var(--muted)"  # which is what guides are grey for
            style = COLOUR.sub(lambda colour: PAGE_COLOURS.get(colour[0], other), style)
        found["style"] = style.replace(": ", ":").replace("; ", ";")
    if found.get("transform", "").startswith("rotate(-0"):
        del found["transform"]
    element.attrib = {
        name: TENTHS.sub(r"\1", " ".join(value.split())) if name in ("d", "x", "y") else value
        for name, value in found.items()
    }
    for child in element:
        _adapt(child, ident, series, inside)
    _join(element)


def _join(element: Element) -> None:
    """Make one path of neighbours that look alike, and say once what all in a group share."""
    last: Element | None = None
    for child in list(element):
        rest = {name: value for name, value in child.attrib.items() if name != "d"}
        alike = last is not None and child.tag == last.tag == "path"
        if alike and last is not None and rest == {n: v for n, v in last.items() if n != "d"}:
            last.set("d", f"{last.get('d')}{child.get('d')}")
            element.remove(child)
        else:
            last = child
    shared = {child.get("style", "") for child in element if child.tag != "defs"}
    if element.tag == "g" and len(element) > 1 and len(shared) == 1 and all(shared):
        element.set("style", *shared)
        for child in element:
            child.attrib.pop("style", None)
