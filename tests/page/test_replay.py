"""The page draws ways through a maze itself, of numbers; what lies beside them is not read."""

import copy
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from page.reading import Element, read
from page.recorded import EVIL, RESULTS, page_from, short
from reinstate.figures.page import load, page_of
from reinstate.figures.page.documents import load_results
from reinstate.runs.conclusions import read_results

RECORDED = read_results(RESULTS / "water-maze")
PAIRS = [
    {"goal": 5, "first": [0, 1, 5], "second": [0, 4, 5]},
    {"goal": 10, "first": [0, 1, 2, 3, 7, 6, 10], "second": [0, 1, 2, 6, 10]},
    {"goal": 9, "first": [0, 1, 2, 3, 7, 6, 5, 4, 8], "second": [0, 4]},  # never found
]


def maze(pairs: Any = PAIRS, agent: str = "epl2rl") -> dict[str, Any]:
    """The beginning of recorded results, with these ways."""
    results: dict[str, Any] = short(RECORDED)
    scores = results["agents"]["epl2rl"]
    scores["maze"]["trajectories"] = copy.deepcopy(pairs)
    return results | {"agents": {agent: scores}}


def replays(page: str) -> list[Element]:
    return read(page).all("figure", class_="replay")


def test_the_way_that_memory_shortened_most_is_animated(tmp_path: Path) -> None:
    (replay,) = replays(page_from(maze()))
    caption = replay.one("figcaption").text
    assert caption.startswith("epL2RL meets a context twice, from the same start")
    assert "First exposure: 6 steps to the goal. Second exposure: 4 steps to the goal." in caption
    assert "Of 3 such contexts" in caption
    assert len(replay.all("path", class_="moving trail")) == 6 + 4
    assert len(replay.all("circle", class_="moving agent")) == 2
    style = replay.one("style").text
    assert "prefers-reduced-motion:no-preference" in style
    moving = re.findall(r"animation-name:([\w-]+)", "".join(map(str, replay.walk())))
    assert sorted({*moving}) == sorted(re.findall(r"@keyframes ([\w-]+)\{", style))


def test_recorded_results_have_their_replay() -> None:
    (replay,) = replays(page_of(load([RESULTS / "water-maze"])))
    assert "16 steps to the goal. Second exposure: 2 steps to" in replay.one("figcaption").text


def test_a_goal_that_is_not_found_is_not_called_found(tmp_path: Path) -> None:
    (replay,) = replays(page_from(maze(PAIRS[2:])))
    said = "First exposure: the goal is not found. Second exposure: the goal is not found."
    assert said in replay.one("figcaption").text and "Of 1" not in replay.text


@pytest.mark.parametrize(
    "pair",
    [
        {"goal": 16, "first": [0, 1, 5], "second": [0, 4, 5]},
        {"goal": 5, "first": [0, 1, -5], "second": [0, 4, 5]},
        {"goal": 5, "first": [0, 1, 10**18], "second": [0, 4, 5]},
        {"goal": 5, "first": [], "second": [0, 4, 5]},
        {"goal": 5, "first": [5], "second": [5]},
        {"goal": 5, "first": [0, 1] * 5000, "second": [0, 4, 5]},
    ],
)
def test_what_is_no_way_through_the_maze_is_left_out(tmp_path: Path, pair: Any) -> None:
    assert replays(page_from(maze([pair]))) == []
    assert len(replays(page_from(maze([pair, PAIRS[0]])))) == 1


@pytest.mark.parametrize("side", [10**12, 0, -4, True, 2.5, "4", None])
def test_a_maze_of_no_size_is_left_out(tmp_path: Path, side: Any) -> None:
    results = maze()
    results["settings"]["task"]["height"] = side
    assert replays(page_from(results)) == []


def test_names_stay_text() -> None:
    page = page_from(maze(agent=EVIL))
    assert EVIL not in page
    assert replays(page)[0].one("figcaption").text.startswith(f"{EVIL} meets a context twice")
    document = load_results(RESULTS / "water-maze")
    odd = replace(document.experiment, name='x"}</style><script>alert(1)</script>')
    page = page_of([document._replace(experiment=odd)])
    assert len(read(page).all("script")) == 1
    assert replays(page)[0].attributes["id"] == "replay-x-style-script-alert-1-script--1"
