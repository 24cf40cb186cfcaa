"""Charts → HTML figures: an inline SVG, a legend, and a table of the same numbers.

The picture is whole without JavaScript; page.js reads the table to answer pointer and keys.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from textwrap import wrap

from reinstate.figures.axes import (
    label_text,
    log_ticks,
    marks_on_top,
    place_labels,
    tick_texts,
    ticks,
)
from reinstate.figures.chart import Chart, Series, Values
from reinstate.figures.markup import Markup, folded, joined, number, row, table, tag, with_bounds
from reinstate.figures.names import Beside, names_of, place_names
from reinstate.figures.style import DARK, LIGHT, TEXT_CONTRAST, readable

WIDTH, HEIGHT = 480, 300
LEFT, RIGHT, TOP, BOTTOM = 58, 24, 14, 46  # margins: room for ticks and labels, on a phone too
LABEL_ROOM = 13  # that a line of text needs
LETTER = 7  # about as wide as one of it
MOST_LINES = 4  # of a category's name
FILLED = {"square": "m-3.5 -3.5h7v7h-7z", "triangle": "m0 -4.6l4.4 7.8h-8.8z"}
SHAPES = {"diamond": "m0 -6l6 6l-6 6l-6 -6z", "cross": "m-3 -3l6 6m0 -6l-6 6"}
MOST_NAMES = 7  # beside lines; of more, the legend alone tells
MOVED = 3  # a name that is moved further than this is tied to its line
DASH = 1.8  # pixels for each unit of a series' dash


def colour_class(colour: str) -> str:
    return f"c{colour.removeprefix('#').lower()}"


def style_of(colours: Iterable[str]) -> str:
    """Make a class for each colour, lighter or darker as the page's scheme needs.

    It sets --c for what is drawn, and --t for text.
    """
    names = sorted({colour.lower() for colour in colours})
    light, dark = (
        "".join(
            f".{colour_class(name)}{{--c:{readable(name, page)};"
            f"--t:{readable(name, page, TEXT_CONTRAST)}}}"
            for name in names
        )
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
        tag("div", draw(chart, ident), class_="plot named" if _beside(chart) else "plot"),
    ]
    summary = joined(["Show data", tag("span", f" of {chart.caption}", class_="unseen")])
    parts.append(folded(summary, data_table(chart)))
    return tag("figure", *parts, class_="chart", id=ident)


def _entry(chart: Chart, index: int, series: Series) -> Markup:
    drawn = _line("M0 6h22", series) if chart.joined else _marker(series, 11, 6)
    swatch = tag("svg", drawn, width=22, height=12, aria_hidden="true", class_="mark")
    return tag("li", swatch, series.label, class_=colour_class(series.colour), data_series=index)


def _line(d: str, series: Series) -> Markup:
    dash = " ".join(f"{DASH * length:g}" for length in series.dash)
    width = None if series.width == 1.8 else f"stroke-width:{1.2 * series.width:.1f}"
    return tag("path", d=d, class_="mean", stroke_dasharray=dash or None, style=width)


def data_table(chart: Chart) -> Markup:
    """Write all that is drawn but the single seeds; a row is a place on the x-axis."""
    head: list[object] = [chart.x_label]
    found: list[dict[float, str]] = []
    for i, s in enumerate(chart.series):
        head.append(tag("th", s.name, scope="col", data_series=i, class_="number"))
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
    """Draw the picture alone."""
    parts = [tag("title", chart.caption, id=f"{ident}-title")]
    parts += [tag("desc", describe(chart), id=f"{ident}-desc"), _grid(chart)]
    # A picture within the picture cuts off what would leave the axes.
    inside = {"x": LEFT, "y": 0, "width": WIDTH - LEFT - RIGHT, "height": HEIGHT - BOTTOM}
    window = f"{LEFT} 0 {inside['width']} {inside['height']}"
    drawn = [_series(chart, i, s) for i, s in enumerate(chart.series)]
    parts.append(tag("svg", *_guides(chart), *drawn, viewBox=window, **inside))
    parts += [*_labels(chart), *map(_name_beside, repeat(chart), _beside(chart))]
    (x_low, x_high), (y_low, y_high) = chart.x_range, chart.y_range
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {WIDTH} {HEIGHT + _below(chart)}",
        role="img",
        aria_labelledby=f"{ident}-title {ident}-desc",
        data_x=f"{LEFT} {WIDTH - RIGHT} {x_low:.9g} {x_high:.9g}",
        data_y=f"{HEIGHT - BOTTOM} {TOP} {y_low:.9g} {y_high:.9g}",
        data_labels=f"{chart.x_label}|{chart.y_label}",
    )


def _x(chart: Chart, place: float) -> float:
    low, high = chart.x_range
    return LEFT + (place - low) / (high - low) * (WIDTH - LEFT - RIGHT)


def _y(chart: Chart, y: float) -> float:
    low, high = chart.y_range
    return HEIGHT - BOTTOM - (y - low) / (high - low) * (HEIGHT - TOP - BOTTOM)


def _grid(chart: Chart) -> Markup:
    parts = []
    levels = ticks(*chart.y_range)
    for level, text in zip(levels, tick_texts(levels), strict=True):
        y = f"{_y(chart, level):.1f}"
        parts.append(tag("path", d=f"M{LEFT} {y}H{WIDTH - RIGHT}"))
        parts.append(_text(text, LEFT - 6, y, "end", dy=".35em"))
    for place, text in _x_ticks(chart):
        x, (first, *others) = f"{_x(chart, place):.1f}", _wrapped(chart, text)
        spans = [tag("tspan", line, x=x, dy=LABEL_ROOM + 1) for line in others]
        parts.append(_text(joined([first, *spans]), x, HEIGHT - BOTTOM + 17, "middle"))
    middle = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    parts.append(_text(chart.x_label, middle[0], HEIGHT + _below(chart) - 8, "middle"))
    turned = f"translate(13 {middle[1]}) rotate(-90)"
    parts.append(_text(chart.y_label, 0, 0, "middle", transform=turned))
    return tag("g", *parts, class_="grid")


def _x_ticks(chart: Chart) -> Iterable[tuple[float, str]]:
    if chart.categories:
        return enumerate(chart.categories)
    low, high = chart.x_range
    if chart.log_x:
        return [(chart.place(x), f"{x:g}") for x in log_ticks(low, high)]
    whole = all(x % 1 == 0 for s in chart.series for x in s.x)
    places = ticks(low, high, most=6 if high < 10_000 else 5, whole=whole)
    return zip(places, tick_texts(places), strict=True)


def _wrapped(chart: Chart, text: str) -> list[str]:
    """Break names of categories into lines that fit side by side; a number is one line."""
    if not chart.categories:
        return [text]
    width = max(8, (WIDTH - LEFT - RIGHT) // (LETTER * len(chart.categories)))
    lines = wrap(text, width, break_long_words=False, max_lines=MOST_LINES, placeholder=" …")
    return lines or [""]


def _below(chart: Chart) -> int:
    """Return the room for further lines of names, under what all charts have."""
    most = max((len(_wrapped(chart, name)) for name in chart.categories), default=1)
    return (most - 1) * (LABEL_ROOM + 1)


def _text(text: str, x: object, y: object, anchor: str, **attributes: object) -> Markup:
    return tag("text", text, x=x, y=y, text_anchor=anchor, **attributes)


def _guides(chart: Chart) -> Iterator[Markup]:
    paths = [f"M{LEFT} {_y(chart, line.at):.1f}H{WIDTH - RIGHT}" for line in chart.lines]
    places = [_x(chart, chart.place(mark.at)) for mark in chart.marks]
    paths += [f"M{place:.1f} {TOP}V{HEIGHT - BOTTOM}" for place in places]
    paths += [f"M{LEFT} {HEIGHT - BOTTOM}L{WIDTH - RIGHT} {TOP}"] if chart.diagonal else []
    return (tag("path", d=d, class_="reference") for d in paths)


def _labels(chart: Chart) -> Iterator[Markup]:
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    letter = 0.82 * LETTER / width, LABEL_ROOM / height
    for line, left, above in place_labels(chart, *letter):
        y = _y(chart, line.at) + (-4 if above else LABEL_ROOM)
        x = f"{LEFT + 4 + left * (width - 8):.1f}"
        yield _text(label_text(line), x, f"{y:.1f}", "start", class_="label")
    for (label, where), top in zip(chart.marks, marks_on_top(chart, *letter), strict=True):
        x, y = f"{_x(chart, chart.place(where)) + 4:.1f}", TOP + 8 if top else HEIGHT - BOTTOM - 5
        yield _text(label, x, y, "start", class_="label")


def _beside(chart: Chart) -> list[Beside]:
    """Place names right of the lines, outside the picture: the page has room there, a phone not."""
    names = names_of(chart) if chart.joined else []
    lines = sum(1 + name.text.count("\n") for name in names)
    room = HEIGHT - TOP - BOTTOM
    if not 1 < len(names) <= MOST_NAMES or (LABEL_ROOM + 1) * lines > room:
        return []
    return place_names(chart, names, room, LABEL_ROOM + 1)


def _name_beside(chart: Chart, beside: Beside) -> Markup:
    name, wanted, height = beside
    x, y = WIDTH - RIGHT + 6, HEIGHT - BOTTOM - height
    first, *others = name.text.split("\n")
    top = y - LABEL_ROOM * len(others) / 2
    spans = [tag("tspan", line, x=x, dy=LABEL_ROOM) for line in others]
    parts = [_text(joined([first, *spans]), x, f"{top:.1f}", "start", dy=".35em")]
    if abs(wanted - height) > MOVED:
        end = f"M{_x(chart, chart.place(name.x)) + 3:.1f} {HEIGHT - BOTTOM - wanted:.1f}"
        parts.append(tag("path", d=f"{end}L{x - 2} {y:.1f}"))
    kind = f"name {colour_class(name.series.colour)}"
    return tag("g", *parts, class_=kind, data_series=name.place)


def _series(chart: Chart, index: int, series: Series) -> Markup:
    aside, (low, high) = chart.aside(index), chart.y_range
    x = [_x(chart, chart.place(place) + aside) for place in series.x]
    parts = [*_seeds(chart, x, series), *_intervals(chart, x, series)]
    if chart.joined:
        parts.append(_line(_path(chart, x, series.y), series))
    if chart.marked and series.marker and not series.dash:
        bottom = low + 0.02 * (high - low) if chart.scatter else None
        heights = (bottom if b is None else b for b in series.y)
        known = ((a, b) for a, b in zip(x, heights, strict=True) if b is not None)
        parts += [_marker(series, a, _y(chart, b)) for a, b in known]
    kind = f"series {colour_class(series.colour)}"
    return tag("g", *parts, class_=kind, data_series=index, data_aside=f"{aside:.3f}")


def _path(chart: Chart, x: Sequence[float], y: Values) -> str:
    """Draw a line through points; an unknown one interrupts it, and level stretches are short."""
    words, pen = [], "M"
    for place, (a, b) in enumerate(zip(x, y, strict=True)):
        if b is None:
            pen = "M"
        elif not (0 < place < len(y) - 1 and y[place - 1] == b == y[place + 1]):
            words.append(f"{pen}{a:.1f} {_y(chart, b):.1f}")
            pen = "L"
    return "".join(words)


def _marker(series: Series, x: float, y: float) -> Markup:
    if series.marker in SHAPES:
        return tag("path", d=f"M{x:.1f} {y:.1f}{SHAPES[series.marker]}", class_="interval")
    if series.marker in FILLED:
        d = f"M{x:.1f} {y:.1f}{FILLED[series.marker]}"
        return tag("path", d=d, class_="interval", style="fill:var(--c);stroke:none")
    kind = "ring" if series.marker == "ring" else None
    return tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=4, class_=kind)


def _seeds(chart: Chart, x: Sequence[float], series: Series) -> Iterator[Markup]:
    """Draw single seeds: points beside each other in categories, else thin lines."""
    lines, spots = "", ""
    for share, values in zip(chart.spread(series), series.per_seed, strict=True):
        known = [(a, b) for a, b in zip(x, values, strict=True) if b is not None]
        if chart.joined and len(known) > 1:
            lines += _path(chart, x, values)
        else:
            moved = _x(chart, share) - _x(chart, 0.0)
            spots += "".join(f"M{a + moved:.1f} {_y(chart, b):.1f}h0" for a, b in known)
    for kind, path in (("seed", lines), ("seed point", spots)):
        if path:
            yield tag("path", d=path, class_=kind)


def _intervals(chart: Chart, x: Sequence[float], series: Series) -> Iterator[Markup]:
    known = [(a, *ends) for a, ends in zip(x, series.ci95, strict=False) if ends]
    if known and chart.marked:
        bars = (f"M{a:.1f} {_y(chart, low):.1f}V{_y(chart, high):.1f}" for a, low, high in known)
        yield tag("path", d="".join(bars), class_="interval")
    elif known:
        there, back = [(a, high) for a, _, high in known], [(a, low) for a, low, _ in known[::-1]]
        outline = _path(chart, *zip(*there, *back, strict=True))
        yield tag("path", d=f"{outline}Z", class_="band")
