"""The page in a browser that nobody watches: it opens, logs no error, and its charts answer."""

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from page import axe
from page.chromium import Browser, Page
from page.recorded import RESULTS
from reinstate.figures.markup import with_bounds
from reinstate.figures.page import load, page_of, write_page
from reinstate.figures.style import DARK, LIGHT, label
from reinstate.files import read_json

SCHEMES = {"dark": DARK, "light": LIGHT}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("page") / "report.html"
    write_page([RESULTS], out)
    return out.as_uri()


@pytest.fixture(scope="module")
def shown(browser: Browser, address: str) -> Page:
    """The page as a reader opens it; tests may change its window, but not what is in it."""
    page = Page(browser)
    page.open(address)
    return page


TRY = """[...document.querySelectorAll("figure.chart")].map((figure) => {
  const [plot, entry] = [figure.querySelector(".plot"), figure.querySelector(".legend button")];
  const tip = plot.querySelector(".tip");
  const press = (key) => {
    plot.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    return [...tip.children].map((line) => line.textContent);
  };
  const box = plot.getBoundingClientRect();
  const middle = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
  plot.dispatchEvent(new PointerEvent("pointermove", { ...middle, bubbles: true }));
  const hovered = tip.textContent;
  const [first, last] = [press("Home"), press("End")];
  const marks = plot.querySelectorAll(".cursor").length === last.length - 2;
  const left = press("Escape").length === 0;
  const shown = () => getComputedStyle(figure.querySelector('[data-series="0"].series')).display;
  const displays = [shown(), (entry.click(), shown()), (entry.click(), shown())];
  return { id: figure.id, hovered, first, last, marks, left, displays };
})"""


def test_charts_answer_to_pointer_keys_and_buttons(shown: Page) -> None:
    assert shown.log == []
    told: list[dict[str, Any]] = shown.value(TRY)
    assert len(told) > 8
    for each in told:
        assert each["hovered"] and each["first"] and each["marks"] and each["left"], each["id"]
        assert each["displays"][0] == each["displays"][2] != each["displays"][1] == "none"
    # One tip for all series: where, what, then a line for each, in the order of height.
    results = read_json(RESULTS / "barcode-bandits/results.json")
    found = {each["id"]: each for each in told}
    where, what, *lines = found["barcode-bandits-chart-2"]["first"]
    assert (where, what) == ("exposure to the context: 1", "regret per episode")
    for name, agent in results["agents"].items():
        regret = agent["by_exposure"]["regret"]
        assert f"{label(name)}: {with_bounds(regret['mean'][0], regret['ci95'][0])}" in lines
    assert len(lines) == len(results["agents"]) + 3  # and three algorithms


def test_an_error_would_be_noticed(browser: Browser, tmp_path: Path) -> None:
    """The log is the witness of the tests above: it has to tell."""
    broken = tmp_path / "broken.html"
    broken.write_text("<!doctype html><script>nothing.there</script>")
    page = Page(browser)
    page.open(broken.as_uri())
    (said,) = page.log
    assert "nothing is not defined" in said


def test_a_smuggled_script_does_not_run(browser: Browser, tmp_path: Path) -> None:
    """Even if escaping failed: the page's policy allows its own script alone."""
    written = page_of(load([RESULTS / "two-step"]))
    smuggled = tmp_path / "smuggled.html"
    smuggled.write_text(
        written.replace("<footer>", "<script>document.title = 'taken'</script><footer>")
    )
    page = Page(browser)
    page.open(smuggled.as_uri())
    assert page.value("document.title") != "taken"
    assert any("Content Security Policy" in said for said in page.log)


WIDTHS = {390: 844, 768: 1024, 1280: 800}  # of screens, with their heights
MEASURE = """(() => {
  const box = (name) => document.querySelector(name).getBoundingClientRect();
  const folded = [...document.querySelectorAll("#claims details, .printed")];
  for (const each of folded) each.open = true;
  const cells = document.querySelectorAll(".claims td:nth-child(n + 3), .scores td:nth-child(2)");
  const found = {
    wide: document.documentElement.scrollWidth, room: document.documentElement.clientWidth,
    top: box(".chart .plot").top, bottom: box(".chart .plot").bottom,
    card: box(".card .verdicts").bottom,
    right: Math.max(...[...cells].map((cell) => cell.getBoundingClientRect().right)),
  };
  for (const each of folded) each.open = false;
  return found;
})()"""


def test_a_screen_shows_the_first_chart_and_nothing_is_wider(shown: Page) -> None:
    sizes = {}
    for width, height in WIDTHS.items():
        shown.resize(width, height)
        sizes[width] = box = shown.value(MEASURE)
        assert box["wide"] <= box["room"] <= width
        assert box["card"] < height, width  # verdicts, at once
    assert sizes[1280]["bottom"] <= WIDTHS[1280]  # all of it
    assert sizes[390]["bottom"] <= 2 * WIDTHS[390]
    # Of the folded tables, verdicts and numbers are seen without scrolling.
    assert sizes[390]["right"] <= 390 and sizes[768]["right"] <= 768


def test_it_is_light_or_dark_as_the_reader_wishes(shown: Page, tmp_path: Path) -> None:
    """Its pictures are kept in the folder that REINSTATE_SHOTS names, to be looked at."""
    folder = Path(os.environ.get("REINSTATE_SHOTS", tmp_path))
    for scheme, background in SCHEMES.items():
        shown.prefer(scheme)
        for width, height in WIDTHS.items():
            shown.resize(width, height)
            shot = folder / f"report-{scheme}-{width}.png"
            shown.shot(shot)
            with Image.open(shot) as picture:
                pixels = np.asarray(picture.convert("RGB"))  # (height, width, 3)
            assert pixels.shape == (height, width, 3)
            assert "#" + bytes(pixels[3, 3]).hex() == background, (width, scheme)
            assert pixels.std() > 10  # not blank


def test_five_experiments_print_on_a_dozen_pages(shown: Page, tmp_path: Path) -> None:
    printed = Path(os.environ.get("REINSTATE_SHOTS", tmp_path)) / "report.pdf"
    printed.write_bytes(shown.printed())
    pages = re.findall(rb"/Type\s*/Page\b", printed.read_bytes())
    assert 3 < len(pages) <= 12


@axe.needed
def test_axe_finds_no_violation(browser: Browser, tmp_path: Path) -> None:
    out = tmp_path / "axe.html"
    write_page([RESULTS / "water-maze"], out)
    page = Page(browser)
    page.open(out.as_uri())
    axe.load(page)
    for scheme in SCHEMES:
        page.prefer(scheme)
        assert axe.violations(page) == [], scheme
