"""A recorded memory map → a figure of the page: stored states after each of some exposures."""

from collections.abc import Iterator
from math import inf

from reinstate.analysis.memory_map import RecordedMap, RecordedPanel
from reinstate.figures.markup import Markup, tag
from reinstate.figures.memory_map import COLOURS
from reinstate.figures.numbers import finite
from reinstate.figures.style import label, shades
from reinstate.figures.svg import colour_class

SIDE, EDGE, DOT = 220, 10, 3.4  # of a panel, its margin, a point
MOST_POINTS = 2000  # of a panel
MOST_PANELS = 12
NOTE = (
    "Each point is a state that one seed stored at the end of an episode, in the plane in which all"
    " of them differ most; its colour is the {} of its context. Point at one to find the same"
    " context after other exposures."
)

Range = tuple[float, float]


def map_figure(found: RecordedMap, ident: str) -> Markup | None:
    """Draw the map; nothing if there is nothing sound in it."""
    panels = [panel for panel in found["panels"] if _is_sound(panel)][:MOST_PANELS]
    if not panels:
        return None
    colours, told = colours_of(found), found["labels"]
    across = _range(value for panel in panels for value in panel["x"])
    up = _range(value for panel in panels for value in panel["y"])
    drawn = [_panel(panel, colours, told, (across, up)) for panel in panels]
    title = f"What {label(found['agent'])} stores"
    shares = [f"{100 * each:.0f}%" for each in map(finite, found["explained"]) if each is not None]
    said = f" The axes hold {' and '.join(shares[:2])} of the variance." if len(shares) > 1 else ""
    caption = tag("figcaption", title, tag("p", f"{NOTE.format(told)}{said}"))
    panes = tag("div", *drawn, class_="panes")
    return tag("figure", caption, _legend(colours, told), panes, class_="map wide", id=ident)


def colours_of(found: RecordedMap) -> dict[int, str]:
    """Choose a colour for each label."""
    labels = sorted({each for panel in found["panels"] for each in panel["label"]})[:MOST_POINTS]
    colours = COLOURS if len(labels) <= len(COLOURS) else shades(len(labels))
    return dict(zip(labels, colours, strict=False))


def _is_sound(panel: RecordedPanel) -> bool:
    """Tell whether all lists of a panel are of one length, and its numbers can be drawn."""
    x, y, labels, contexts = (panel[name] for name in ("x", "y", "label", "context"))
    if not 0 < len(x) == len(y) == len(labels) == len(contexts) <= MOST_POINTS:
        return False
    return None not in map(finite, [*x, *y])


def _range(values: Iterator[float]) -> Range:
    low, high = inf, -inf
    for value in values:
        low, high = min(low, value), max(high, value)
    return (low, high) if high > low else (low - 1, low + 1)


def _panel(
    panel: RecordedPanel, colours: dict[int, str], told: str, ranges: tuple[Range, Range]
) -> Markup:
    times = f"{panel['exposure']} exposure{'s' * (panel['exposure'] != 1)}"
    share = finite(panel["readable"])
    agree = "" if share is None else f"{100 * share:.0f}% lie nearest to one of the same {told}."
    groups: dict[int, list[Markup]] = {}
    for x, y, own, context in zip(*(panel[n] for n in ("x", "y", "label", "context")), strict=True):
        place = {"cx": _place(x, ranges[0]), "cy": _place(-y, (-ranges[1][1], -ranges[1][0]))}
        groups.setdefault(own, []).append(tag("circle", r=DOT, data_context=context + 1, **place))
    dots = [
        tag("g", *groups[own], class_=f"dots {colour_class(colours[own])}", data_label=own + 1)
        for own in sorted(groups)
    ]
    title = tag("title", f"{len(panel['x'])} states after {times}. {agree}".strip())
    picture = tag("svg", title, *dots, viewBox=f"0 0 {SIDE} {SIDE}", role="img")
    said = [tag("span", agree, class_="muted")] if agree else []
    return tag(
        "div",
        tag("div", tag("strong", f"after {times}"), *said, class_="said"),
        tag("div", picture, class_="pane-plot"),
        class_="pane",
        data_exposure=panel["exposure"],
        data_told=told,
    )


def _place(value: float, ends: Range) -> str:
    low, high = ends
    return f"{EDGE + (value - low) / (high - low) * (SIDE - 2 * EDGE):.1f}"


def _legend(colours: dict[int, str], told: str) -> Markup:
    """Name colours one by one; of many, the first and the last, between which the others lie."""
    ends = list(colours.items())
    shown = ends if len(ends) <= len(COLOURS) else [ends[0], ends[-1]]
    entries = [
        tag("li", tag("span", class_="swatch", aria_hidden="true"), f"{told} {own + 1}",
            class_=colour_class(colour))
        for own, colour in shown
    ]  # fmt: skip
    return tag("ul", *entries, class_="legend plain")
