"""The page of recorded results: whole, accessible, and true to the numbers."""

import base64
import copy
import hashlib
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from page.reading import Element, read
from page.recorded import BARCODES, RESULTS, page_from, short, small
from page.test_claims import check
from reinstate.analysis.verdicts import with_interval
from reinstate.figures.markup import with_bounds
from reinstate.figures.page import load, page_of
from reinstate.figures.style import CONTRAST, DARK, LIGHT, TEXT_CONTRAST, contrast, label, readable
from reinstate.runs.conclusions import read_results
from reinstate.runs.experiment import EXPERIMENTS

RECORDED = sorted(RESULTS.glob("*/results.json"))


@pytest.fixture(scope="module")
def text() -> str:
    return page_of(load([path.parent for path in RECORDED]))


@pytest.fixture(scope="module")
def page(text: str) -> Element:
    return read(text)


# Structure


def test_ids_are_unique_and_all_that_is_pointed_at_exists(page: Element) -> None:
    ids = [e.attributes["id"] for e in page.walk() if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    links = [a.attributes["href"] for a in page.all("a")]
    assert links and all(link.removeprefix("#") in ids for link in links)
    labels = [
        e.attributes["aria-labelledby"] for e in page.walk() if "aria-labelledby" in e.attributes
    ]
    assert all(name in ids for label in labels for name in label.split())


def test_headings_and_landmarks(page: Element) -> None:
    levels = [int(e.name[1]) for e in page.walk() if re.fullmatch("h[1-6]", e.name)]
    assert levels.count(1) == 1 and levels[0] == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    for landmark in ("header", "nav", "main", "footer"):
        page.one(landmark)
    assert page.one("html").attributes["lang"] == "en"
    first = next(e for e in page.one("body").walk() if e.name == "a")
    assert first.attributes == {"class": "skip", "href": "#main"}


def test_every_chart_has_a_title_and_a_table_of_its_data(page: Element) -> None:
    charts = page.all("figure", class_="chart")
    assert len(charts) >= 2 * len(RECORDED)
    for chart in charts:
        svg = chart.one("svg", role="img")
        assert svg.one("title").text
        table = chart.one("details").one("table")
        series = {e.attributes["data-series"] for e in svg.walk() if "data-series" in e.attributes}
        head = [th for th in table.all("th") if "data-series" in th.attributes]
        assert len(series) == len(head) >= len(chart.all("li")) > 0
        rows = [tr for tr in table.all("tr") if "data-x" in tr.attributes]
        assert rows and all(len(tr.all("td")) == len(series) for tr in rows)
        assert not [e for e in svg.walk() if "nan" in " ".join(e.attributes.values()).lower()]


def test_every_table_scrolls_in_a_box_that_has_a_name(page: Element) -> None:
    boxes = page.all("div", class_="scroll", role="group", tabindex="0")
    assert len(boxes) == len(page.all("table"))
    assert all(box.attributes["aria-label"] == box.one("caption").text for box in boxes)


def test_it_needs_nothing_but_itself(text: str, page: Element) -> None:
    assert len(text.encode()) < 3_000_000
    assert not page.all("link") and "@import" not in text and not re.search(r"url\([^#]", text)
    sources = [e.attributes["src"] for e in page.walk() if "src" in e.attributes]
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert "://" not in text.replace("http://www.w3.org/2000/svg", "")


def test_only_its_own_script_may_run(page: Element) -> None:
    script = page.one("script").text
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = [m.attributes["content"] for m in page.all("meta") if "http-equiv" in m.attributes]
    assert f"script-src 'sha256-{digest}'" in policy and "default-src 'none'" in policy


def test_same_results_same_bytes(text: str) -> None:
    assert page_of(load([path.parent for path in RECORDED])) == text


def test_every_colour_stands_out_in_both_schemes(text: str) -> None:
    rule = r"\.c[0-9a-f]{6}\{--c:#[0-9a-f]{6}\}"
    light, dark = re.findall(rf"((?:{rule})+)", text)
    for rules, background in ((light, LIGHT), (dark, DARK)):
        shades = re.findall(r"--c:(#\w+)", rules)
        assert len(shades) > 5 and all(contrast(c, background) >= CONTRAST for c in shades)
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert readable("#0072B2", LIGHT) == "#0072b2"  # dark enough as it is


def test_text_stands_out_in_both_schemes(text: str) -> None:
    schemes = re.findall(r":root \{([^}]+)\}", text)
    for scheme, background in zip(schemes, (LIGHT, DARK), strict=True):
        colours = dict(re.findall(r"--(\w+): (#\w{6})", scheme))
        assert colours["page"] == background
        for name in ("ink", "muted", "link", "good", "bad", "open"):
            for behind in ("page", "soft"):
                ratio = contrast(colours[name], colours[behind])
                assert ratio >= TEXT_CONTRAST, f"{name} on {behind}: {ratio:.2f}"


# Numbers


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.parent.name)
def test_scores_are_those_of_the_results(page: Element, path: Path) -> None:
    results = read_results(path)
    experiment = EXPERIMENTS[results["experiment"]]
    table = page.one("section", id=experiment.name).one("table", class_="scores")
    rows = {row[0]: row[1:] for row in table.rows()}
    assert len(rows) == len(results["agents"]) + len(results["baselines"])
    for name, agent in results["agents"].items():
        reward, share, *scores = rows[label(name)]
        assert reward == with_interval(agent["reward"], experiment.number)
        assert share == f"{agent['share_of_ceiling']:.1%}"
        expected = [f"{x:{experiment.number}}" for x in experiment.columns(agent).values()]
        assert scores[: len(expected)] == expected


def test_curves_and_exposures_are_those_of_the_results(page: Element) -> None:
    curves, exposures = page.one("section", id="barcode-bandits").all("figure", class_="chart")[:2]
    agents = list(BARCODES["agents"].values())
    steps, seeds = agents[0]["curve"]["steps"], len(agents[0]["seeds"])
    millions = [f"{step / seeds / 1e6:g}" for step in steps]
    for chart, of, x in (
        (curves, lambda agent: agent["curve"]["reward"], millions),
        (exposures, lambda agent: agent["by_exposure"]["regret"], range(1, 11)),
    ):
        rows = [tr for tr in chart.all("tr") if "data-x" in tr.attributes]
        assert [tr.one("th").text for tr in rows] == [str(place) for place in x]
        for i, tr in enumerate(rows):
            cells = [td.text for td in tr.all("td")][: len(agents)]
            summaries = [of(agent) for agent in agents]
            assert cells == [with_bounds(s["mean"][i], s["ci95"][i]) for s in summaries]


def test_settings_and_provenance(page: Element) -> None:
    section = page.one("section", id="barcode-bandits")
    facts = section.facts()
    for name in ("preset", "command", "version", "commit", "jax", "device"):
        assert facts[name] == BARCODES[name]
    assert facts["seconds"].startswith(f"{BARCODES['seconds']['total']:.1f} total, ")
    settings = {row[0]: row[1] for table in section.all("table") for row in table.rows()}
    assert settings["learner.lanes"] == str(BARCODES["settings"]["learner"]["lanes"])


def test_larger_mazes_get_sections_of_their_own() -> None:
    """Their optima are only bounded, and there are several results of one experiment."""
    paths = [RESULTS / "water-maze", *sorted((RESULTS / "water-maze/larger").glob("*.json"))]
    page = read(page_of(load(paths)))
    headings = [h.text.partition("(")[2] for h in page.one("main").all("h2")]
    assert headings == ["", "", "", "6x6)", "8x8)"]
    steps = page.one("figure", id="water-maze-2-chart-2")
    first, second = [tr.all("td")[-1].text for tr in steps.all("tr") if "data-x" in tr.attributes][
        :2
    ]
    assert first == "–" and float(second) > 2
    shown = [tr.one("th").text for tr in page.one("figure", id="overview-chart").all("tr")[1:4]]
    maze = "contextual water maze"
    assert shown == [maze, f"{maze} (6x6)", f"{maze} (8x8)"]


# The first screen: cards, and all experiments on one scale

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
