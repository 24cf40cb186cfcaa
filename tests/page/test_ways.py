"""Recorded ways through a maze, side by side."""

from itertools import pairwise
from pathlib import Path

from page.reading import Element, read
from page.recorded import EVIL, page_from
from page.test_replay import PAIRS, maze

SIDE = 96 / 4  # of a cell of a maze of four columns


def ways(page: str) -> list[Element]:
    return read(page).all("figure", class_="ways")


def test_every_context_has_its_first_way_above_its_second(tmp_path: Path) -> None:
    (figure,) = ways(page_from(maze()))
    panels = figure.all("g")
    assert [panel.all("text")[-1].text for panel in panels] == [
        "2 steps", "6 steps", "not found", "2 steps", "4 steps", "not found",
    ]  # fmt: skip
    tops = [float(p.attributes["transform"].rstrip(")").split()[-1]) for p in panels]
    assert len({*tops[:3]}) == len({*tops[3:]}) == 1 and tops[0] < tops[3]
    assert "first exposures: 2 steps, 6 steps, not found" in figure.one("title").text


def test_a_way_runs_from_its_start_to_its_goal_along_rows_and_columns(tmp_path: Path) -> None:
    (figure,) = ways(page_from(maze()))
    panel = figure.all("g")[1]  # from cell 0 to cell 10
    moves = [path.attributes for path in panel.all("path") if "stroke" in path.attributes]
    points = [[*map(float, d["d"][1:].replace("L", " ").split())] for d in moves]
    assert points[0][:2] == [SIDE / 2, SIDE / 2] and points[-1][2:] == [2.5 * SIDE, 2.5 * SIDE]
    assert all(x == to_x or y == to_y for x, y, to_x, to_y in points)
    assert all(one[2:] == other[:2] for one, other in pairwise(points))
    colours = [move["stroke"] for move in moves]
    assert len({*colours}) > 3 and colours[0] != colours[-1]


def test_one_context_alone_is_left_to_the_replay(tmp_path: Path) -> None:
    assert ways(page_from(maze(PAIRS[:1]))) == []
    long = {"goal": 5, "first": [0, 1] * 150, "second": [0, 4, 5]}
    assert ways(page_from(maze([PAIRS[0], long]))) == []


def test_names_stay_text(tmp_path: Path) -> None:
    page = page_from(maze(agent=EVIL))
    assert EVIL not in page and ways(page)[0].one("figcaption").text.startswith(f"Ways of {EVIL}")
