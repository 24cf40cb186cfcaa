"""A recorded memory map on the page: points where the file says, and anybody's text as text."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from page.reading import Element, read
from page.recorded import EVIL, small
from reinstate.errors import UserError
from reinstate.figures.page import load, page_of

MAP: dict[str, Any] = {
    "experiment": "barcode-bandits",
    "agent": "epl2rl",
    "labels": "good arm",
    "explained": [0.5, 0.25],
    "panels": [
        {
            "exposure": 1,
            "readable": None,
            "x": [0.0, 1.0, 2.0],
            "y": [0.0, 4.0, 1.0],
            "label": [3, 0, 3],
            "context": [0, 1, 2],
        },
        {
            "exposure": 10,
            "readable": 0.5,
            "x": [0.5, 1.5],
            "y": [1.0, 2.0],
            "label": [0, 3],
            "context": [1, 0],
        },
    ],
}


def page_with(folder: Path, found: Any) -> str:
    (folder / "results.json").write_text(json.dumps(small()))
    (folder / "memory-map.json").write_text(json.dumps(found))
    return page_of(load([folder]))


def map_of(page: str) -> Element:
    return read(page).one("figure", id="barcode-bandits-map")


def changed(place: int = 0, **changes: Any) -> dict[str, Any]:
    """The map with one panel changed."""
    found = copy.deepcopy(MAP)
    found["panels"][place] |= changes
    return found


def test_points_lie_where_the_file_says(tmp_path: Path) -> None:
    figure = map_of(page_with(tmp_path, MAP))
    assert "The axes hold 50% and 25% of the variance." in figure.one("figcaption").text
    one, ten = figure.all("div", class_="pane")
    assert [pane.one("strong").text for pane in (one, ten)] == [
        "after 1 exposure",
        "after 10 exposures",
    ]
    assert "nearest" not in one.text and "50% lie nearest to one of the same good arm" in ten.text
    dots = {dot.attributes["data-context"]: dot.attributes for dot in one.all("circle")}
    # All panels have the axes of all points; up is up.
    assert {c: (dot["cx"], dot["cy"]) for c, dot in dots.items()} == {
        "1": ("10.0", "210.0"),
        "2": ("110.0", "10.0"),
        "3": ("210.0", "160.0"),
    }
    groups = {g.attributes["data-label"]: g for g in one.all("g")}
    assert {name: len(g.all("circle")) for name, g in groups.items()} == {"1": 1, "4": 2}
    legend = figure.one("ul").all("li")
    assert [entry.text for entry in legend] == ["good arm 1", "good arm 4"]
    colours = {entry.attributes["class"] for entry in legend}
    assert {g.attributes["class"].removeprefix("dots ") for g in groups.values()} == colours


def test_a_page_without_a_map(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(json.dumps(small()))
    assert not read(page_of(load([tmp_path]))).all("figure", id="barcode-bandits-map")


@pytest.mark.parametrize(
    "changes",
    [
        {"x": [1.0]},
        {"label": []},
        {"x": [], "y": [], "label": [], "context": []},
        {"y": [1e200] * 3},
    ],
    ids=["fewer x", "no labels", "empty", "vast"],
)
def test_panels_that_cannot_be_drawn_are_left_out(tmp_path: Path, changes: Any) -> None:
    figure = map_of(page_with(tmp_path, changed(**changes)))
    assert [pane.attributes["data-exposure"] for pane in figure.all("div", class_="pane")] == ["10"]
    alone = changed(**changes) | {"panels": changed(**changes)["panels"][:1]}
    assert 'class="map' not in page_with(tmp_path, alone)


def test_one_point_and_many_labels(tmp_path: Path) -> None:
    one = changed(x=[1.0], y=[1.0], label=[0], context=[0])
    assert map_of(page_with(tmp_path, one | {"panels": one["panels"][:1]})).one("circle")
    labels = list(range(40))
    many = changed(x=labels, y=labels, label=labels, context=labels)
    legend = map_of(page_with(tmp_path, many)).one("ul").all("li")
    assert [entry.text for entry in legend] == ["good arm 1", "good arm 40"]


def test_text_of_the_file_stays_text(tmp_path: Path) -> None:
    page = page_with(tmp_path, MAP | {"agent": EVIL, "labels": EVIL})
    assert EVIL not in page and map_of(page).one("figcaption").text.startswith(
        f"What {EVIL} stores"
    )


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([], "memory-map.json does not hold a memory map"),
        (MAP | {"panels": 3}, "panels: Expected array"),
        (changed(context=["<b>"]), "Expected int"),
        (MAP | {"experiment": "water-maze"}, "memory-map.json is of water-maze: remove it"),
    ],
)
def test_what_is_no_map_is_refused_in_one_line(tmp_path: Path, found: Any, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        page_with(tmp_path, found)
    assert "\n" not in str(caught.value)
