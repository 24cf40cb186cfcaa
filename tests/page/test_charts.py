"""Figures of the page: what is drawn lies where the axes say, in the page's colours."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from page.reading import Element, read
from page.recorded import EVIL, RESULTS, page_from, short, small
from reinstate.errors import UserError
from reinstate.figures.chart import Chart, Line, Series
from reinstate.figures.page import load, page_of
from reinstate.figures.page.charts import draw, figure
from reinstate.runs.conclusions import read_results

POINTS = Series("a", "#0072B2", [0, 1], [1.0, 3.0], [(0.5, 1.5), None], [[0.9, 2.0], [1.1, 4.0]])


def svg_of(chart: Chart) -> Element:
    return read(draw(chart, "chart")).one("svg", role="img")


def values(svg: Element, d: str) -> list[tuple[float, float]]:
    """Where a path leads, in the units of the axes, as page.js would read them."""
    axes = [[*map(float, svg.attributes[f"data-{name}"].split())] for name in "xy"]

    def value(place: str, axis: list[float]) -> float:
        start, end, low, high = axis
        return low + (float(place) - start) / (end - start) * (high - low)

    places = re.findall(r"[ML]\s*([\d.]+) ([\d.]+)", d)
    return [(value(x, axes[0]), value(y, axes[1])) for x, y in places]


def near(*expected: tuple[float, float]) -> list[object]:
    return [pytest.approx(pair, abs=0.02) for pair in expected]


def test_lines_seeds_and_intervals() -> None:
    svg = svg_of(Chart("t", "x", "y", [POINTS]))
    groups = svg.all("g", data_series="0")
    assert {group.attributes["class"] for group in groups} == {"series c0072b2"}
    drawn = [values(svg, path.attributes["d"]) for g in groups for path in g.all("path")]
    expected = [near((0, 0.9), (1, 2)), near((0, 1.1), (1, 4)), near((0, 0.5), (0, 1.5))]
    expected.append(near((0, 1), (1, 3)))  # the mean, and its markers
    assert all(each in drawn for each in expected)
    assert len([use for group in groups for use in group.all("use")]) == 2


def test_colours_are_the_pages_and_names_are_this_figures() -> None:
    drawn = draw(Chart("t", "x", "y", [POINTS, POINTS], lines=[Line("chance", 0.5)]), "chart")
    styles = " ".join(element.attributes.get("style", "") for element in read(drawn).walk())
    assert "#" not in styles and {*re.findall(r"--(\w+)", styles)} == {"c", "muted", "page"}
    assert "currentColor" in styles and "font-family" not in styles
    ids = {*re.findall(r' id="([^"]*)"', drawn)}
    assert all(each.startswith("chart-") for each in ids)
    assert {*re.findall(r'(?:href="|url\()#([\w-]+)', drawn)} <= ids


def test_logarithmic_axes_and_points_of_unknown_height() -> None:
    series = Series("failed", "#000000", [0.01, 1.0], [None, None], marker="cross")
    chart = Chart("t", "x", "y", [series], include=[0.0, 1.0], scatter=True, log_x=True)
    page = read(figure(chart, "chart"))
    svg = page.one("svg", role="img")
    crosses = [use for g in svg.all("g", data_series="0") for use in g.all("use")]
    assert len(crosses) == 2
    rows = [tr.attributes["data-x"] for tr in page.all("tr") if "data-x" in tr.attributes]
    assert rows == ["-2", "0"]  # page.js puts its cursor there
    low, high = map(float, svg.attributes["data-x"].split()[2:])
    assert -2.2 < low < -2 and 0 < high < 0.2
    assert "0.01" in [text.text for text in svg.all("text")]


def test_legends_name_what_is_to_be_named() -> None:
    between = Series("between", "#000000", [0], [1.0], in_legend=False)
    page = read(figure(Chart("t", "x", "y", [between, POINTS], of="epL2RL"), "chart"))
    (entry,) = page.all("li")
    assert (entry.text, entry.attributes["data-series"]) == ("━●a", "1")
    assert [th.text for th in page.one("thead").all("th")] == ["x", "between", "a"]
    assert page.one("figcaption").text == "t: epL2RL"


def test_categories_of_any_name_are_drawn() -> None:
    names = ["", "x" * 99, " ".join(["word"] * 50), "$\\odd$", EVIL]
    series = [Series("s", "#000000", [0.0, 1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0, 5.0])]
    chart = Chart("title", "x", "y", series, categories=names)
    assert EVIL not in draw(chart, "chart")
    ElementTree.fromstring(draw(chart, "chart"))


LOST = {"goal": 9, "first": [0, 1, 2, 3]}


def drawn(page: str) -> list[Element]:
    return read(page).all("figure", class_="drawn wide")


def test_every_context_has_its_first_way_and_its_second() -> None:
    """Whatever an agent is called: names stay text."""
    pairs = [{"goal": 5, "first": [0, 1, 5], "second": [0, 5]}, {**LOST, "second": [0, 4]}]
    results: dict[str, Any] = short(read_results(RESULTS / "water-maze"))
    scores = results["agents"]["epl2rl"]
    scores["maze"]["trajectories"] = pairs
    page = page_from(results | {"agents": {EVIL: scores}})
    assert EVIL not in page
    (ways,) = drawn(page)
    said = [text.text for text in ways.all("text")]
    assert [said.count(each) for each in ("2 steps", "1 step", "not found")] == [1, 1, 2]
    assert ways.one("figcaption").text.startswith(f"Ways of {EVIL}")


MAP: dict[str, Any] = {
    "experiment": "barcode-bandits",
    "agent": EVIL,
    "labels": "$good arm$",
    "explained": [0.5, 0.25],
}
PANEL = {"x": [0.0, 1, 2], "y": [0.0, 4, 1], "label": [3, 0, 3], "context": [0, 1, 2]}


def page_with(folder: Path, **changes: Any) -> str:
    """Make a page with a memory map of two panels, of which one is changed."""
    (folder / "results.json").write_text(json.dumps(small()))
    panels = [
        {"exposure": e, "readable": 0.5, **PANEL, **own} for e, own in ((1, changes), (2, {}))
    ]
    (folder / "memory-map.json").write_text(json.dumps(MAP | {"panels": panels}))
    return page_of(load([folder]))


def test_a_recorded_memory_map_is_drawn(tmp_path: Path) -> None:
    page = page_with(tmp_path)
    (found,) = drawn(page)
    assert EVIL not in page and found.one("figcaption").text.startswith(f"What {EVIL} stores")
    texts = [text.text for text in found.all("text")]
    assert {"after 1 exposure", "after 2 exposures", "$good arm$"} <= {*texts}


def test_what_is_no_map_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Expected int"):
        page_with(tmp_path, context=["<b>"])
    (tmp_path / "memory-map.json").write_text("[]")
    with pytest.raises(UserError, match=r"memory-map.json does not hold a memory map"):
        load([tmp_path])
