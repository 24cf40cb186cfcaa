"""The games on their page: one file, playable by key, touch and ear; what comes back is shown."""

import base64
import hashlib
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from page.chromium import Browser, Page
from page.reading import read
from page.recorded import RESULTS
from reinstate.errors import UserError
from reinstate.figures.page import write_page
from reinstate.figures.page.play import GAMES, agent_of, best_of, play_page, write_play
from reinstate.files import read_json
from reinstate.runs.run import SHIPPED
from spoken import Command, assert_refused


def test_the_best_possible_is_what_was_recorded() -> None:
    recorded = {name: read_json(RESULTS / name / "results.json")["optimum"] for name in GAMES}
    for name, optimum in recorded.items():
        assert best_of(name)[0] == pytest.approx(optimum["without_memory"])
    known = recorded["water-maze"]["goal_known"]
    assert best_of("water-maze")[1:] == pytest.approx([known] * 9)
    by_exposure = recorded["barcode-bandits"]["own_memory_by_exposure"]
    assert best_of("barcode-bandits") == pytest.approx(by_exposure)


def test_one_file_with_one_script_that_its_policy_allows() -> None:
    page = read(play_page())
    (policy,) = (m.attributes["content"] for m in page.all("meta") if "http-equiv" in m.attributes)
    script = [each for each in page.all("script") if not each.attributes]
    digest = base64.b64encode(hashlib.sha256(script[0].text.encode()).digest()).decode()
    assert len(script) == 1 and policy.endswith(f"script-src 'sha256-{digest}'")
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; ")
    assert not [e for e in page.walk() if {"src", "href"} & e.attributes.keys()]
    assert len(page.all("article")) == len(GAMES) and len(page.all("h1")) == 1
    assert len(play_page().encode()) < 150_000


def test_the_agent_is_the_package_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of the same name, which `reinstate watch` would prefer, is not looked at."""
    shutil.copytree(SHIPPED / "water-maze/l2rl", tmp_path / "water-maze/epl2rl")
    expected = agent_of("water-maze")
    monkeypatch.chdir(tmp_path)
    assert agent_of("water-maze") == expected


def test_the_command_writes_a_page_and_replaces_only_its_own(command: Command) -> None:
    said = command("play")
    assert said.code == 0 and "next: open play.html" in said.out
    assert Path("play.html").read_text() == play_page()
    assert command("play").code == 0
    Path("notes.html").write_text("mine")
    assert_refused(command("play --out notes.html"), "is not of reinstate play")
    with pytest.raises(UserError, match="is not of reinstate report"):
        write_page([RESULTS / "water-maze"], Path("play.html"))
    assert Path("notes.html").read_text() == "mine"


# ---- In a browser ----

HELPERS = """
const texts = (elements) => [...elements].map((each) => each.textContent);
const pressing = (key) => new KeyboardEvent("keydown", { key, bubbles: true });
const game = (name) => {
  const root = document.querySelector(`[data-game="${name}"]`);
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  return {
    root, part, heard: () => part("live").textContent,
    press: (key) => part("board").dispatchEvent(pressing(key)),
    click: (selector) => root.querySelector(selector).click(),
    scores: () => [...part("scores").rows].map(({ cells }) => texts(cells)),
    lit: () => texts(root.querySelectorAll(".entries .lit, .entries .off")),
  };
};
"""
FITS = "[document.documentElement.scrollWidth, performance.getEntriesByType('resource').length]"


def driven(
    browser: Browser, tmp_path: Path, program: str, motion: str = "no-preference"
) -> dict[str, Any]:
    """What a program sees of the page, in a window as wide as a phone."""
    write_play(tmp_path / "play.html")
    seen = Page(browser, 390, 900)
    seen.prefer(motion, "prefers-reduced-motion")
    seen.open((tmp_path / "play.html").as_uri())
    found: dict[str, Any] = seen.value(f"(() => {{{HELPERS}{program}}})()")
    assert seen.log == []
    wide, loaded = seen.value(FITS)
    assert wide <= 390 and loaded == 0
    return found


MAZE = """
const { root, part, press, click, heard, scores, lit } = game("water-maze");
const began = heard();
press("ArrowRight");
const moved = heard();
press("ArrowUp"); press("x");
const twice = heard();
click('[data-move="2"]');
const touched = heard();
for (let step = 3; step < 20; step++) press("ArrowDown");
const over = heard();
press("ArrowLeft");
const unmoved = heard();
press("Enter");
const next = heard();
const yours = scores()[0];
for (let episode = 1; episode < 6; episode++) {
  for (let step = 0; step < 20; step++) press("ArrowLeft");
  if (episode < 5) press("Enter");
}
const finished = heard();
click(".keys .first");
const [turn, first, gates] = [root.dataset.turn, heard(), part("gates-said").textContent];
const running = root.querySelector('[data-do="run"]').textContent;
click('[data-do="run"]');
const entries = [];
for (let episode = 0; episode < 5; episode++) {
  click('[data-do="on"]');
  entries.push({ met: part("where").textContent, lit: lit(), heard: heard() });
}
click('[data-part="recall"]');
const dashed = root.querySelectorAll(".entries .off").length;
const off = { dashed, lit: lit(), said: part("gates-said").textContent };
for (let step = 0; step < 20; step++) click('[data-do="step"]');
return {
  began, moved, twice, touched, over, unmoved, next, yours, finished,
  agent: { turn, first, gates, running }, entries, off, end: heard(), scores: scores(),
};
"""


def test_the_maze_is_played_by_keys_and_told_in_words(browser: Browser, tmp_path: Path) -> None:
    seen = driven(browser, tmp_path, MAZE)
    assert seen["began"] == "Maze A is new to you. 20 steps."
    assert seen["moved"].startswith("Right") and seen["moved"].endswith("so far, 19 steps left.")
    assert seen["twice"].startswith("Up") and "18 steps left" in seen["twice"]
    assert seen["touched"].startswith("Up") and "17 steps left" in seen["touched"]
    assert seen["over"].startswith("Maze A is over: ") and seen["unmoved"] == seen["over"]
    assert re.fullmatch(
        r"Maze (A again: you were here 1 time before|B is new to you)\. 20 steps\.", seen["next"]
    )
    assert re.fullmatch(r"\d+\.\d\d", seen["yours"][1]) and seen["yours"][2] == "–"
    assert "Now watch the agent." in seen["finished"]


def test_the_agent_shows_what_comes_back(browser: Browser, tmp_path: Path) -> None:
    seen = driven(browser, tmp_path, MAZE)
    assert seen["agent"]["turn"] == "agent" and seen["agent"]["running"] == "Pause"
    assert "Its memory is empty." in seen["agent"]["first"]
    assert "There is nothing to let in yet." in seen["agent"]["gates"]
    for entry in seen["entries"]:
        (lit,) = entry["lit"]
        name = entry["met"][:6]
        assert ("exposure 2" in entry["met"]) == lit.startswith(name), entry
        assert "comes back" in lit and "What comes back is episode" in entry["heard"]
    assert any("exposure 2" in entry["met"] for entry in seen["entries"])
    (off,) = seen["off"]["lit"]
    assert seen["off"]["dashed"] == 1 and "recall is off" in off
    assert "nothing comes through" in seen["off"]["said"]
    assert "In all it has" in seen["end"] and "and you have" in seen["end"]
    names = [row[0] for row in seen["scores"]]
    assert names == ["you", "agent", "agent, recall off", "best possible, on average"]
    assert all(re.fullmatch(r"\d+\.\d\d", cell) for row in seen["scores"] for cell in row[1:])


ARMS = """
const { root, part, press, click, heard, scores } = game("barcode-bandits");
press("3");
const pulled = heard();
click(".arms button:last-child");
const label = root.querySelector(".arms button:last-child").getAttribute("aria-label");
const last = { heard: heard(), label };
for (let pull = 2; pull < 10; pull++) press("0");
const over = heard();
press("Enter");
click('button[data-turn="agent"]');
const still = root.querySelector('[data-do="run"]').textContent;
const filled = [];
for (let episode = 0; episode < 6; episode++) {
  filled.push(part("entries").querySelectorAll(".state").length);
  click('[data-do="on"]');
}
return { pulled, last, over, still, filled, where: part("where").textContent };
"""


def test_the_arms_answer_to_digits_and_the_memory_fills(browser: Browser, tmp_path: Path) -> None:
    seen = driven(browser, tmp_path, ARMS, motion="reduce")
    assert re.match(
        r"Arm 3: (nothing\.|a reward!) \d rewards? so far, 9 pulls left", seen["pulled"]
    )
    assert seen["last"]["heard"].startswith("Arm 10: ")
    assert re.match("Arm 10, pulled 1 times, [01] rewards", seen["last"]["label"])
    assert seen["over"].startswith("Bandit A is over: ")
    assert seen["still"] == "Play"  # where motion is unwelcome nothing moves by itself
    assert (
        seen["filled"][0] == 0
        and seen["filled"][1] == 1
        and seen["filled"] == sorted(seen["filled"])
    )
    assert seen["filled"][-1] <= 3  # a context that comes back takes the place of its own


def test_arrow_keys_play_from_the_start_and_do_not_scroll(browser: Browser, tmp_path: Path) -> None:
    write_play(tmp_path / "play.html")
    page = Page(browser)
    page.open((tmp_path / "play.html").as_uri())
    page.ask("Page.bringToFront")
    began = page.value("document.querySelector('[data-part=live]').textContent")
    for kind in ("rawKeyDown", "keyUp"):
        page.ask("Input.dispatchKeyEvent", type=kind, key="ArrowDown", windowsVirtualKeyCode=40)
    moved = page.value("document.querySelector('[data-part=live]').textContent")
    assert began != moved and "19 steps left" in moved
    assert page.value("scrollY") == 0
