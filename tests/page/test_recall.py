"""Experiment 3 on the page: what the memory does, and exposure of the stimulus asked for."""

import copy
import re
from itertools import pairwise
from typing import Any

import pytest

from page.reading import Element, read
from page.recorded import COMPOSITIONAL, page_from
from reinstate.figures.markup import number, with_bounds

EPL2RL = COMPOSITIONAL["agents"]["epl2rl"]
BEST = "best with memory (a bound)"
NEW = ("probes", "r_by_trial", "first_pull", "by_queried")


def stimuli() -> dict[str, Any]:
    """Results of one agent that remembers, and of one that does not."""
    results: dict[str, Any] = copy.deepcopy(COMPOSITIONAL)
    results["agents"] = {name: results["agents"][name] for name in ("epl2rl", "l2rl-context")}
    return results


def charts_under(page: Element) -> dict[str, list[Element]]:
    """Heading → charts of the page's only section of results."""
    section = page.one("section", id="compositional-bandits")
    groups = [group for group in section.all("div") if group.attributes.get("class") == "group"]
    return {g.one("h3").text: g.all("figure", class_="chart") for g in groups}


def rows_of(chart: Element) -> dict[str, list[str]]:
    rows = [tr for tr in chart.all("tr") if "data-x" in tr.attributes]
    return {tr.one("th").text: [td.text for td in tr.all("td")] for tr in rows}


@pytest.fixture(scope="module")
def charts() -> dict[str, list[Element]]:
    return charts_under(read(page_from(stimuli())))


def test_reward_as_trained_and_under_each_probe(charts: dict[str, list[Element]]) -> None:
    chart = charts["What the memory does"][0]
    rewards = {"as trained": EPL2RL["reward"], **EPL2RL["probes"]}
    assert len(rewards) == 5
    assert rows_of(chart) == {
        name: [with_bounds(reward["mean"], reward["ci95"])] for name, reward in rewards.items()
    }
    assert [li.text for li in chart.all("li")] == ["●epL2RL"]
    lines = [row for row in chart.one("table").rows() if row[0].startswith("line: ")]
    known = COMPOSITIONAL["reference_lines"]
    names = (BEST, "best without episodic memory")  # chance is far below
    assert lines == [[f"line: {name}", number(known[name])] for name in names]
    words = chart.one("desc").text
    assert f"memory misfiled {number(rewards['memory misfiled']['mean'])}" in words
    assert f"{BEST}, {number(known[BEST])}" in words
    assert "stored under another stimulus" in chart.one("figcaption").text


def test_the_gate_is_a_line_an_exposure(charts: dict[str, list[Element]]) -> None:
    gates = charts["What the memory does"][1:]
    assert len(gates) == 1  # L2RL+Context has none, though zeros are recorded
    curves = EPL2RL["r_by_trial"]
    assert [li.text for li in gates[0].all("li")] == [f"━exposure {e}" for e in range(1, 6)]
    assert rows_of(gates[0]) == {
        str(trial): [number(value) for value in column]
        for trial, column in enumerate(zip(*curves, strict=True), 1)
    }
    groups = [gates[0].one("g", data_series=str(n)) for n in range(5)]
    styles = " ".join(e.attributes.get("style", "") for group in groups for e in group.walk())
    widths = [float(width) for width in re.findall(r"stroke-width:([\d.]+)", styles)]
    assert len(widths) == 5 and widths[-1] > 1
    assert all(b < a for a, b in pairwise(widths))  # equal lines would hide each other
    assert "epL2RL" in gates[0].one("figcaption").text


def test_regret_by_the_better_known_and_by_the_queried(charts: dict[str, list[Element]]) -> None:
    known, queried = charts["Learning, and what came of it"]
    agents = list(stimuli()["agents"].values())
    for chart, name in ((known, "by_exposure"), (queried, "by_queried")):
        summaries = [agent[name]["regret"] for agent in agents]
        assert rows_of(chart) == {
            str(e + 1): [with_bounds(s["mean"][e], s["ci95"][e]) for s in summaries]
            for e in range(5)
        }
    heights = [c.one("svg", role="img").attributes["data-y"] for c in (known, queried)]
    assert heights[0] == heights[1]
    captions = [c.one("figcaption").text for c in (known, queried)]
    assert "better known stimulus" in captions[0] and "queried stimulus" in captions[1]
