"""Files may be anybody's: their text stays text, and what is wrong in them is one line."""

import json
import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from page.reading import read
from page.recorded import (
    COMPOSITIONAL,
    EVIL,
    RESULTS,
    broken_pages,
    page_from,
    places,
    short,
    small,
)
from reinstate.errors import UserError
from reinstate.figures.page import load, page_of, write_page
from reinstate.figures.page.documents import load_results
from reinstate.files import read_json


def test_text_of_files_stays_text(tmp_path: Path) -> None:
    results = small()
    results["agents"][EVIL] = results["agents"].pop("l2rl")
    results["baselines"][EVIL] = results["baselines"].pop("gittins with memory")
    results["reference_lines"][EVIL] = 3.0
    results["settings"][EVIL] = {EVIL: EVIL}
    results["optimum"]["unavailable"] = EVIL
    for name in ("command", "device", "commit", "jax", "version", "preset"):
        results[name] = EVIL
    fields = ("claim", "bound", "section", "paper", "tried")
    results["checks"][0] |= dict.fromkeys(fields, EVIL)
    written = page_from(results)
    page = read(written)
    assert len(page.all("script")) == 1 and "alert" not in page.one("script").text
    assert EVIL not in written
    (section,), claim, *_ = page.one("section", id="claims").one("table").rows()
    assert section.startswith(f"Section {EVIL}: ")
    assert claim[:2] == [EVIL, EVIL]
    assert claim[-1].startswith(f"✓ supported claimed: {EVIL}; p < .001")
    assert EVIL in [row[0] for row in page.one("table", class_="scores").rows()]
    assert EVIL in [dd.text for dd in page.all("dd")]
    names = [th.text for th in page.all("figure", class_="chart")[0].all("th")]
    assert EVIL in names and f"line: {EVIL}" in names


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read"),
        ("[1, 2]", "does not hold results of this program"),
        ('{"name": "left-pad", "version": "1.0"}', "does not hold results of this program"),
        ('{"experiment": "barcode-bandits", "agents": 3}', "does not hold results"),
        ("[" * 100_000, "cannot be read"),
        (
            '{"experiment": "barcode-bandits", "preset": ' + "[" * 60 + "]" * 60 + "}",
            "does not hold results",
        ),
    ],
)
def test_foreign_files_are_refused_in_one_line(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(content)
    with pytest.raises(UserError, match=re.escape(message)) as caught:
        write_page([path], tmp_path / "report.html")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "report.html").exists()


def test_whatever_is_wrong_in_a_file_is_a_page_or_one_line(tmp_path: Path) -> None:
    two_step = short(read_json(RESULTS / "two-step/results.json"))
    two_step["agents"] = {"epl2rl": two_step["agents"]["epl2rl"]}
    two_step["agents"]["epl2rl"]["choices"]["fits"] = []
    stimuli = short(COMPOSITIONAL)
    del stimuli["agents"]["l2rl-context"]
    odd: list[Any] = [None, "x", [], {}, True, float("nan"), 1e400, 10**400, [[]]]
    outcomes = Counter[str]()
    for document, tries in ((small(), 24), (two_step, 12), (stimuli, 12)):
        paths = random.Random(0).sample([path for path in places(document) if path], tries)
        outcomes.update(broken_pages(tmp_path, document, paths, odd))
    assert min(outcomes.values()) > 5, outcomes


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            ("agents", "l2rl", "reward", "mean"),
            "high",
            "].reward.mean: Expected float, got str",
        ),
        (("agents", "l2rl", "curve"), [], "agents[...].curve: Expected object, got array"),
        (("agents",), {}, "holds results of no agent"),
        (("settings",), None, "settings: Expected object, got null"),
    ],
)
def test_what_is_wrong_is_named(
    tmp_path: Path, path: tuple[str, ...], value: Any, message: str
) -> None:
    results = here = small()
    for name in path[:-1]:
        here = here[name]
    here[path[-1]] = value
    (tmp_path / "results.json").write_text(json.dumps(results))
    with pytest.raises(UserError, match=re.escape(message)) as caught:
        load([tmp_path])
    assert "\n" not in str(caught.value)


def test_a_mistake_of_our_own_is_not_blamed_on_the_file(tmp_path: Path) -> None:
    def mistaken(results: Any) -> Any:
        return results["agents"]["nobody"]

    (tmp_path / "results.json").write_text(json.dumps(small()))
    document = load_results(tmp_path)
    experiment = replace(document.experiment, charts={"training-curves": mistaken})
    with pytest.raises(KeyError, match="nobody"):
        page_of([document._replace(experiment=experiment)])


def test_a_file_that_is_no_report_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    out.write_text("my thesis")
    with pytest.raises(UserError, match="choose another --out"):
        write_page([RESULTS / "barcode-bandits"], out)
    assert out.read_text() == "my thesis"
    out.unlink()
    assert (
        write_page([RESULTS / "barcode-bandits"], out)
        == write_page([RESULTS / "barcode-bandits"], out)
        == out.stat().st_size
    )
