"""Charts as HTML: what is drawn lies where the axes say."""

import re

import pytest

from page.reading import Element, read
from reinstate.figures.chart import Chart, Line, Series
from reinstate.figures.svg import describe, draw, figure

POINTS = Series("a", "#0072B2", [0, 1], [1.0, 3.0], [(0.5, 1.5), None], [[0.9, 2.0], [1.1, 4.0]])


def svg_of(chart: Chart) -> Element:
    return read(draw(chart, "chart")).one("svg", role="img")


def places(d: str) -> list[tuple[float, float]]:
    """Where the pen of a path is put down or goes to."""
    return [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", d)]


def values(svg: Element, d: str) -> list[tuple[float, float]]:
    """The same in the units of the axes, as page.js would read them."""
    axes = [[*map(float, svg.attributes[f"data-{name}"].split())] for name in "xy"]

    def value(place: float, axis: list[float]) -> float:
        start, end, low, high = axis
        return low + (place - start) / (end - start) * (high - low)

    return [(value(x, axes[0]), value(y, axes[1])) for x, y in places(d)]


def near(*expected: tuple[float, float]) -> list[object]:
    return [pytest.approx(pair, abs=0.02) for pair in expected]


def test_lines_seeds_and_intervals() -> None:
    svg = svg_of(Chart("t", "x", "y", [POINTS]))
    group = svg.one("g", data_series="0")
    assert values(svg, group.one("path", class_="mean").attributes["d"]) == near((0, 1), (1, 3))
    seeds = values(svg, group.one("path", class_="seed").attributes["d"])
    assert seeds == near((0, 0.9), (1, 2), (0, 1.1), (1, 4))
    assert values(svg, group.one("path", class_="interval").attributes["d"]) == near((0, 0.5))
    assert len(group.all("circle")) == 2


def test_seeds_in_a_category_stand_close_beside_the_mean() -> None:
    svg = svg_of(Chart("t", "x", "y", [POINTS, POINTS], categories=["one", "two"], dodge=0.3))
    group = svg.one("g", data_series="1")
    aside = float(group.attributes["data-aside"])
    assert aside == 0.15 and not group.all("path", class_="mean")  # points are not joined
    seeds = values(svg, group.one("path", class_="seed point").attributes["d"])
    assert [y for _, y in seeds] == pytest.approx([0.9, 2.0, 1.1, 4.0], abs=0.02)
    assert all(0 < abs(x - aside - round(x - aside)) < 0.15 for x, _ in seeds)


def test_one_known_value_of_a_seed_is_a_point() -> None:
    ends = Series("a", "#000000", [1, 2], [1.0, 2.0], per_seed=[[None, 1.8], [None, 2.2]])
    svg = svg_of(Chart("t", "x", "y", [ends]))
    assert values(svg, svg.one("path", class_="seed point").attributes["d"]) == near(
        (2, 1.8), (2, 2.2)
    )


def test_logarithmic_axes_and_points_of_unknown_height() -> None:
    series = Series("failed", "#000000", [0.01, 1.0], [None, None], marker="cross")
    chart = Chart("t", "x", "y", [series], include=[0.0, 1.0], scatter=True, log_x=True)
    page = read(figure(chart, "chart"))
    svg = page.one("svg", role="img")
    crosses = [p.attributes["d"] for p in svg.one("g", data_series="0").all("path")]
    found = [values(svg, d)[0] for d in crosses]
    assert [round(x, 2) for x, _ in found] == [-2, 0] and all(0 < y < 0.1 for _, y in found)
    rows = [tr.attributes["data-x"] for tr in page.all("tr") if "data-x" in tr.attributes]
    assert rows == ["-2", "0"]  # page.js puts its cursor there
    assert "0.01" in [text.text for text in svg.all("text")]


def test_legends_name_what_is_to_be_named() -> None:
    between = Series("between", "#000000", [0], [1.0], in_legend=False)
    page = read(figure(Chart("t", "x", "y", [between, POINTS], of="epL2RL"), "chart"))
    (entry,) = page.all("li")
    assert (entry.text, entry.attributes["data-series"]) == ("a", "1")
    assert [th.text for th in page.one("thead").all("th")] == ["x", "between", "a"]
    assert page.one("figcaption").text == "t: epL2RL"


def test_lines_without_a_label_are_drawn_but_not_told() -> None:
    chart = Chart("t", "x", "y", [POINTS], lines=[Line("", 0.0), Line("chance", 0.5)])
    page = read(figure(chart, "chart"))
    assert len(page.all("path", class_="reference")) == 2
    assert [row[0] for row in page.one("table").rows()][2:] == ["line: chance"]
    assert page.one("desc").text.count("Reference line") == 1


def test_categories_of_any_name_are_drawn() -> None:
    names = ["", "x" * 99, " ".join(["word"] * 50), "short"]
    series = [Series("s", "#000000", [0.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0])]
    chart = Chart("title", "x", "y", series, categories=names)
    assert max(len(text.all("tspan")) for text in svg_of(chart).all("text")) == 3
    assert names[2] in describe(chart)  # the description does not cut it
