"""A chart: numbers → a figure with an inline SVG, a legend and a table of the same numbers.

The picture is whole without JavaScript; page.js reads the table to answer pointer and keys.
"""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import NamedTuple

from reinstate.report.axes import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axes,
    tick_text,
    ticks,
    y_range,
)
from reinstate.report.colours import colour_class
from reinstate.report.markup import Markup, folded, joined, number, row, table, tag, with_bounds

Values = Sequence[float | None]
Interval = Sequence[float] | None
Line = tuple[str, float]  # its label, and where it is

MARKED = 24  # points that a line may have to get markers and error bars; others get a band
LABEL_ROOM = 13  # that a line of text needs
LETTER = 7  # about as wide as one of it
MOST_LINES = 4  # of a category's name


class Series(NamedTuple):
    name: str
    colour: str
    x: Sequence[float]
    y: Values
    ci95: Sequence[Interval] | None = None
    per_seed: Sequence[Values] = ()
    dash: str = ""
    width: float | None = None  # of its line, where series may lie on each other


class Chart(NamedTuple):
    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    lines: Sequence[Line] = ()  # horizontal, for reference
    marks: Sequence[Line] = ()  # vertical
    categories: Sequence[str] = ()  # names of x = 0, 1, …; points are then not joined
    include: Sequence[float] = ()  # what the y-axis has to hold too: panels that share one
    note: str = ""  # how to read it

    @property
    def marked(self) -> bool:
        return all(len(s.x) <= MARKED for s in self.series)


def figure(chart: Chart, ident: str) -> Markup:
    note = [tag("p", chart.note)] if chart.note else []
    legend = tag("ul", *map(_entry, range(len(chart.series)), chart.series), class_="legend")
    return tag(
        "figure",
        tag("figcaption", chart.title, *note),
        legend,
        tag("div", draw(chart, ident), class_="plot"),
        folded(
            joined(["Show data", tag("span", f" of {chart.title}", class_="unseen")]),
            data_table(chart),
        ),
        class_="chart",
        id=ident,
    )


def _entry(index: int, series: Series) -> Markup:
    line = _line("M0 6h22", series)
    swatch = tag("svg", line, width=22, height=12, aria_hidden="true")
    return tag("li", swatch, series.name, class_=colour_class(series.colour), data_series=index)


def _line(d: str, series: Series) -> Markup:
    width = f"stroke-width:{series.width:.1f}" if series.width else None
    return tag("path", d=d, class_="mean", stroke_dasharray=series.dash or None, style=width)


def data_table(chart: Chart) -> Markup:
    """All that is drawn but the single seeds; a row is a place on the x-axis."""
    head = [tag("th", chart.x_label, scope="col")]
    head += [
        tag("th", s.name, scope="col", data_series=i, class_="number")
        for i, s in enumerate(chart.series)
    ]
    found = [dict(zip(s.x, _cells(s), strict=True)) for s in chart.series]
    places = sorted({x for s in chart.series for x in s.x})
    rows = [
        row(_name(chart, x), *(tag("td", cells.get(x, "")) for cells in found), data_x=f"{x:g}")
        for x in places
    ]
    rows += [row(f"line: {label}", number(y)) for label, y in chart.lines]
    return table(f"{chart.y_label}: {chart.title}", head, rows, class_="numbers")


def _cells(series: Series) -> list[str]:
    bounds = series.ci95 or [None] * len(series.y)
    return [with_bounds(y, ci95) for y, ci95 in zip(series.y, bounds, strict=True)]


def _name(chart: Chart, x: float) -> str:
    return chart.categories[int(x)] if chart.categories else f"{x:g}" if x % 1 else f"{x:.0f}"


def draw(chart: Chart, ident: str) -> Markup:
    axes = _axes(chart)
    parts = [tag("title", chart.title, id=f"{ident}-title")]
    parts += [tag("desc", describe(chart), id=f"{ident}-desc"), _grid(chart, axes)]
    # A picture within the picture cuts off what would leave the axes.
    inside = {"x": LEFT, "y": 0, "width": WIDTH - LEFT - RIGHT, "height": HEIGHT - BOTTOM}
    window = f"{LEFT} 0 {inside['width']} {inside['height']}"
    drawn = [_series(chart, axes, i, s) for i, s in enumerate(chart.series)]
    parts.append(tag("svg", *_marks(chart, axes), *drawn, viewBox=window, **inside))
    parts += _line_labels(chart, axes)
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {WIDTH} {HEIGHT + _below(chart)}",
        role="img",
        aria_labelledby=f"{ident}-title {ident}-desc",
        data_x=f"{LEFT} {WIDTH - RIGHT} {axes.x[0]:.9g} {axes.x[1]:.9g}",
        data_y=f"{HEIGHT - BOTTOM} {TOP} {axes.y[0]:.9g} {axes.y[1]:.9g}",
        data_labels=f"{chart.x_label}|{chart.y_label}",
    )


def describe(chart: Chart) -> str:
    """The picture in words: where each series begins and ends."""
    sentences = [f"{chart.y_label} against {chart.x_label}."]
    for s in chart.series:
        known = [(x, y) for x, y in zip(s.x, s.y, strict=True) if y is not None]
        if known and not chart.categories:
            (start, first), (end, last) = known[0], known[-1]
            words = f"{number(first)} at {_name(chart, start)}, {number(last)} at"
            sentences.append(f"{s.name}: {words} {_name(chart, end)}.")
        elif known:
            words = ", ".join(f"{_name(chart, x)} {number(y)}" for x, y in known)
            sentences.append(f"{s.name}: {words}.")
    sentences += [f"Reference line: {label}, {number(y)}." for label, y in chart.lines]
    return " ".join(sentences)


def heights(chart: Chart) -> list[float]:
    """What the y-axis has to hold."""
    values = [*chart.include, *(y for _, y in chart.lines)]
    for s in chart.series:
        values += [y for ys in (s.y, *s.per_seed) for y in ys if y is not None]
        if chart.marked:  # the bands of long curves may leave the picture, error bars may not
            values += [end for ends in s.ci95 or () if ends for end in ends]
    return values


def _axes(chart: Chart) -> Axes:
    places = [x for s in chart.series for x in s.x] or [0.0, 1.0]
    if chart.categories:
        low, high = -0.5, len(chart.categories) - 0.5
    elif chart.marked:
        aside = 0.04 * (max(places) - min(places)) or 0.5
        low, high = min(places) - aside, max(places) + aside
    else:
        low, high = min(0.0, *places), max(places)
    return Axes((low, high), y_range(heights(chart)))


def _grid(chart: Chart, axes: Axes) -> Markup:
    parts = []
    levels = ticks(*axes.y)
    for y in levels:
        at = f"{axes.place_y(y):.1f}"
        parts.append(tag("path", d=f"M{LEFT} {at}H{WIDTH - RIGHT}"))
        parts.append(_text(tick_text(y, _step(levels)), LEFT - 6, at, "end", dy=".35em"))
    for x, text in _x_ticks(chart, axes):
        parts.append(_tick(_wrapped(chart, text), f"{axes.place_x(x):.1f}"))
    middle = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    parts.append(_text(chart.x_label, middle[0], HEIGHT + _below(chart) - 8, "middle"))
    turned = f"translate(13 {middle[1]}) rotate(-90)"
    parts.append(_text(chart.y_label, 0, 0, "middle", transform=turned))
    return tag("g", *parts, class_="grid")


def _x_ticks(chart: Chart, axes: Axes) -> list[tuple[float, str]]:
    if chart.categories:
        return [(float(i), name) for i, name in enumerate(chart.categories)]
    whole = all(x % 1 == 0 for s in chart.series for x in s.x)
    places = ticks(*axes.x, most=6 if axes.x[1] < 10_000 else 5, whole=whole)
    return [(x, tick_text(x, _step(places))) for x in places]


def _wrapped(chart: Chart, text: str) -> list[str]:
    """Names of categories in lines that fit side by side; a tick of numbers is one line."""
    if not chart.categories:
        return [text]
    width = max(8, (WIDTH - LEFT - RIGHT) // (LETTER * len(chart.categories)))
    lines = wrap(text, width, break_long_words=False, max_lines=MOST_LINES, placeholder=" …")
    return lines or [""]


def _tick(lines: Sequence[str], x: str) -> Markup:
    first, *others = lines
    spans = [tag("tspan", line, x=x, dy=LABEL_ROOM + 1) for line in others]
    return _text(joined([first, *spans]), x, HEIGHT - BOTTOM + 17, "middle")


def _below(chart: Chart) -> int:
    """Room for the further lines of names, under what all charts have."""
    most = max((len(_wrapped(chart, name)) for name in chart.categories), default=1)
    return (most - 1) * (LABEL_ROOM + 1)


def _step(places: Sequence[float]) -> float:
    return places[1] - places[0] if len(places) > 1 else 1.0


def _text(text: str, x: object, y: object, anchor: str, **attributes: object) -> Markup:
    return tag("text", text, x=x, y=y, text_anchor=anchor, **attributes)


def _marks(chart: Chart, axes: Axes) -> Iterator[Markup]:
    for _, y in chart.lines:
        yield tag("path", d=f"M{LEFT} {axes.place_y(y):.1f}H{WIDTH - RIGHT}", class_="reference")
    for _, x in chart.marks:
        yield tag("path", d=f"M{axes.place_x(x):.1f} {TOP}V{HEIGHT - BOTTOM}", class_="reference")


def _line_labels(chart: Chart, axes: Axes) -> Iterator[Markup]:
    """Above their lines, the lowest one's below, out of the way of what is drawn.

    At the left beside curves, which matter most where they end; at the right beside categories,
    whose first is what the others are compared with.
    """
    x, anchor = (WIDTH - RIGHT - 4, "end") if chart.categories else (LEFT + 4, "start")
    for label, y in chart.lines:
        lowest = len(chart.lines) > 1 and y == min(y for _, y in chart.lines)
        at = axes.place_y(y) + (LABEL_ROOM if lowest else -4)
        yield _text(f"{label}, {number(y)}", x, f"{at:.1f}", anchor, class_="label")
    for label, where in chart.marks:
        yield _text(label, f"{axes.place_x(where) + 4:.1f}", TOP + 8, "start", class_="label")


def _series(chart: Chart, axes: Axes, index: int, series: Series) -> Markup:
    aside = _aside(chart, index)
    x = [place + aside for place in series.x]
    parts = [*_seeds(chart, axes, x, series), *_intervals(chart, axes, x, series)]
    if not chart.categories:
        parts.append(_line(axes.path(zip(x, series.y, strict=True)), series))
    if chart.marked and not series.dash:
        radius = 4 if series.width is None else f"{series.width / 2 + 1.8:.1f}"
        parts += [
            tag("circle", cx=f"{axes.place_x(a):.1f}", cy=f"{axes.place_y(b):.1f}", r=radius)
            for a, b in zip(x, series.y, strict=True)
            if b is not None
        ]
    kind = f"series {colour_class(series.colour)}"
    return tag("g", *parts, class_=kind, data_series=index, data_aside=f"{aside:.3f}")


def _aside(chart: Chart, index: int) -> float:
    """Side by side in a category, so that no agent hides another."""
    return 0.6 * ((index + 0.5) / len(chart.series) - 0.5) if chart.categories else 0.0


def _seeds(chart: Chart, axes: Axes, x: Sequence[float], series: Series) -> Iterator[Markup]:
    if chart.categories:  # a dash for each seed beside the mean
        for values in series.per_seed:
            points = [(a, b) for a, b in zip(x, values, strict=True) if b is not None]
            d = "".join(f"M{axes.place_x(a) - 7:.1f} {axes.place_y(b):.1f}h4" for a, b in points)
            yield tag("path", d=d, class_="seed")
    elif series.per_seed:
        paths = (axes.path(zip(x, values, strict=True)) for values in series.per_seed)
        yield tag("path", d="".join(paths), class_="seed")


def _intervals(chart: Chart, axes: Axes, x: Sequence[float], series: Series) -> Iterator[Markup]:
    known = [(a, ends) for a, ends in zip(x, series.ci95 or (), strict=False) if ends]
    if not known:
        return
    if chart.marked:
        places = ((axes.place_x(a), *map(axes.place_y, ends)) for a, ends in known)
        d = "".join(f"M{a:.1f} {low:.1f}V{high:.1f}" for a, low, high in places)
        yield tag("path", d=d, class_="interval")
    else:
        there = [(a, ends[1]) for a, ends in known]
        back = [(a, ends[0]) for a, ends in reversed(known)]
        yield tag("path", d=f"{axes.path([*there, *back])}Z", class_="band")
