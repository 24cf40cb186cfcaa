"""The first screen: cards that say what the results say, and all experiments on one scale."""

import copy
from pathlib import Path
from typing import Any

import pytest

from page.reading import Element, read
from page.recorded import BARCODES, RESULTS, page_from, short, small
from page.test_claims import check
from reinstate.runs.conclusions import read_results

MAZE: dict[str, Any] = short(read_results(RESULTS / "water-maze"))


def page_with(*documents: Any) -> Element:
    return read(page_from(*documents))


def cards_of(page: Element) -> list[Element]:
    return page.one("section", id="overview").all("li", class_="card")


def figures_of(card: Element) -> dict[str, str]:
    names = [dt.text for dt in card.all("dt")]
    return dict(zip(names, (str(dd.children[0]) for dd in card.all("dd")), strict=True))


def test_a_card_says_what_the_results_say(tmp_path: Path) -> None:
    below: Any = {"value": 0.5, "ci95": [0.25, 0.75]}
    checks = [check("a"), check("b", **below), check("c", 0.5), check("ours", paper="")]
    results = small() | {"checks": checks, "preset": "paper", "date": "2018-07-10"}
    (card,) = cards_of(page_with(results))
    agents = BARCODES["agents"]
    assert figures_of(card) == {
        "with memory": f"{agents['epl2rl']['reward']['mean']:.2f}",
        "without": f"{agents['l2rl']['reward']['mean']:.2f}",
        "ceiling": f"{BARCODES['optimum']['with_memory']:.2f}",
    }
    assert card.one("a").attributes["href"] == "#barcode-bandits"
    said = [li.text for li in card.one("ul", class_="verdicts").all("li")]
    assert said == ["✓ 1 supported", "✗ 1 contradicted", "? 1 undecided"]
    assert card.one("div", class_="when").text == "paper preset, recorded 2018-07-10"


def test_a_card_says_only_what_is_known(tmp_path: Path) -> None:
    results = small() | {"checks": [], "optimum": {"unavailable": "too large"}, "preset": ""}
    del results["agents"]["l2rl"]
    (card,) = cards_of(page_with(results))
    assert (
        [*figures_of(card)] == ["with memory"] and not card.all("ul") and "preset" not in card.text
    )


def test_all_experiments_are_on_one_scale(tmp_path: Path) -> None:
    """0 is the best without an episodic memory, 1 the best with one."""
    one, other = small(), copy.deepcopy(MAZE)
    one["optimum"] |= {"without_memory": 2.0, "with_memory": 10.0}
    one["agents"]["epl2rl"]["reward"] = {"mean": 8.0, "ci95": [6.0, 9.0], "per_seed": [8.0]}
    other["optimum"] |= {"without_memory": 4.0, "with_memory": 6.0}
    other["agents"] = {"epl2rl": other["agents"]["epl2rl"]}
    other["agents"]["epl2rl"]["reward"] = {"mean": 3.0, "ci95": None, "per_seed": [3.0]}
    chart = page_with(one, other).one("figure", id="overview-chart")
    rows = [tr for tr in chart.all("tr") if "data-x" in tr.attributes]
    assert [tr.one("th").text for tr in rows] == ["barcode bandits", "contextual water maze"]
    assert [tr.all("td")[0].text for tr in rows] == ["0.750 [0.500, 0.875]", "-0.500"]
    heads = [th.text for th in chart.one("thead").all("th")]
    assert heads == ["experiment", "epL2RL", "L2RL"]


@pytest.mark.parametrize("ends", [(3.0, 2.0), (None, 2.0)])
def test_without_a_scale_cards_stand_alone(ends: Any) -> None:
    one = small()
    one["optimum"] |= dict(zip(("without_memory", "with_memory"), ends, strict=True))
    assert not page_with(one, MAZE).one("section", id="overview").all("figure")
