"""Whatever text a file holds stays text: in the page, and in every SVG that is drawn.

A page of hostile text has no element, attribute or address that a page of plain text does not have.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from page.reading import Element, read
from page.recorded import RESULTS, page_from, short, small
from reinstate.figures import mpl
from reinstate.figures.film import Move, Walk, film
from reinstate.figures.page import load, page_of
from reinstate.files import read_json, write_json
from reinstate.runs.conclusions import read_results
from reinstate.runs.experiment import find_experiment
from tiny import trained_run

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</style></title></svg></p><img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    '" onload="alert(1)" x="',
    "' onmouseover='alert(1)",
    "<svg onload=alert(1)><animate onbegin=alert(1)></svg>",
    "]]><script>alert(1)</script>",
    "--!><script>alert(1)</script><!--",
    "${script} $script {{main}} &lt;script&gt;",
)
ACTING = ("script", "foreignObject", "image", "a", "set")  # elements that do or load something
ALL = " ".join(HOSTILE)
BACK = " ".join(reversed(HOSTILE))  # whatever one of them may hide in the other order
ADDRESS = HOSTILE[3]  # leads somewhere only where it stands first
PLAIN = "plain words, enough of them for names of two lines"
# What has a meaning to the program, so that a file with anything else there is refused.
KEPT = {"experiment", "verdict"}


def hostile(value: Any, text: str, name: str = "") -> Any:
    """Replace every text in a document by another, and names where names are free."""
    if isinstance(value, dict):
        new = {each: hostile(inner, text, each) for each, inner in value.items()}
        return {**new, f"{text}{name}": text} if name == "settings" else new
    if isinstance(value, list):
        return [hostile(each, text, name) for each in value]
    return text if isinstance(value, str) and name not in KEPT else value


def everywhere(document: Any, text: str) -> Any:
    """Put a text wherever a file may have one."""
    new = hostile(document, text)
    new["alarms"] = [text]
    for part in ("agents", "baselines"):
        new[part] = {f"{n}{text}" if n != "epl2rl" else n: e for n, e in new[part].items()}
        for scores in new[part].values():
            scores["recorded"] = dict.fromkeys(("command", "version", "device"), text)
    new["reference_lines"] = {f"{n}{text}": e for n, e in new["reference_lines"].items()}
    new["seconds"] = {**new["seconds"], text: 1.0}
    return new


def recorded(name: str) -> Any:
    document = short(read_results(RESULTS / name))
    document["agents"] = dict([*document["agents"].items()][:2])
    return document


def parts(page: Element) -> set[tuple[str, str]]:
    """Return every element with every attribute that it has, and where addresses lead."""
    found = set()
    for element in page.walk():
        found.add((element.name, ""))
        for name, value in element.attributes.items():
            address = name in ("href", "src", "action", "style", "data", "xlink:href")
            found.add((element.name, f"{name}={_kind(value)}" if address else name))
    return found


def _kind(value: str) -> str:
    return re.sub(r"[^#:].*", "", value) if value[:1] == "#" else value[:11]


@cache
def plain_page(name: str) -> Element:
    return read(page_from(everywhere(recorded(name), PLAIN)))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("barcode-bandits", text) for text in (ALL, BACK, ADDRESS)),
        *((name, ALL) for name in ("compositional-bandits", "two-step", "water-maze")),
    ],
)
def test_text_stays_text_in_the_page(tmp_path: Path, name: str, text: str) -> None:
    safe, found = plain_page(name), read(page_from(everywhere(recorded(name), text)))
    assert parts(found) <= parts(safe)
    for kind in ("script", "style"):
        assert [e.text for e in found.all(kind)] == [e.text for e in safe.all(kind)]
    assert text in found.text


def test_text_stays_text_in_the_page_of_a_run(tmp_path: Path) -> None:
    """So do the names of folders, which tell runs of one agent apart."""
    text = " ".join(HOSTILE[2:7:2])  # a name can be so long
    runs = [trained_run(tmp_path / name) for name in ("plain", text.replace("/", "∕"))]
    for run, said in zip(runs, ("plain", text), strict=True):
        saved = read_json(run.path / "config.json")
        saved |= dict.fromkeys(("version", "commit", "jax", "device"), said)
        write_json(run.path / "config.json", saved)
    safe, found = (read(page_of(load([run.path, run.path]))) for run in runs)
    assert parts(found) <= parts(safe)
    assert [e.text for e in found.all("script")] == [e.text for e in safe.all("script")]
    assert text in found.text and text.replace("/", "∕") in found.text


def elements(svg: str) -> Iterator[ElementTree.Element]:
    yield from ElementTree.fromstring(svg).iter()


def assert_harmless(svg: str) -> None:
    """Assert that nothing in an SVG acts, or leads anywhere but to itself."""
    for element in elements(svg):
        assert element.tag.rpartition("}")[2] not in (
            "script",
            "foreignObject",
            "image",
            "a",
            "set",
        )
        for name, value in element.attrib.items():
            plain = name.rpartition("}")[2]
            assert not plain.startswith("on"), (element.tag, name)
            assert plain != "href" or value.startswith("#"), value


@pytest.mark.parametrize("text", [*HOSTILE[7:], "$x_{$"])  # the last is no formula
def test_text_stays_text_in_figures_on_disk(tmp_path: Path, text: str) -> None:
    results = everywhere(small(), text)
    charts = find_experiment("barcode-bandits").charts["by-exposure"](results)
    mpl.save(charts[:1], tmp_path / "figure", text)
    drawn = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert_harmless(drawn)
    assert "<script" not in drawn and "--!>" not in drawn


def test_text_stays_text_in_an_animation() -> None:
    drawn = film(4, 4, [Walk(1, 5, [Move(0, 1, False), Move(1, 5, True)], [ALL])], ALL)
    assert_harmless(drawn)
    assert ALL in "".join(ElementTree.fromstring(drawn).itertext())


def test_a_harmful_svg_would_be_noticed() -> None:
    start = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:x="http://www.w3.org/1999/xlink">'
    for bad in (HOSTILE[0], '<g onload="alert(1)"/>', '<use x:href="javascript:alert(1)"/>'):
        with pytest.raises(AssertionError):
            assert_harmless(f"{start}{bad}</svg>")


def test_pictures_that_lie_in_a_folder_are_not_shown(tmp_path: Path) -> None:
    """Not those that a command of ours would have drawn there, and none by a link."""
    (tmp_path / "results.json").write_bytes((RESULTS / "water-maze/results.json").read_bytes())
    plain = page_of(load([tmp_path]))
    secret = tmp_path / "elsewhere"
    secret.write_text("<svg><script>alert('secret')</script></svg>")
    for name in ("replay", "trajectories", "training-curves", "steps-to-goal", "report"):
        (tmp_path / f"{name}.svg").write_text(secret.read_text())
        (tmp_path / f"{name}.png").symlink_to(secret)
        (tmp_path / f"{name}-2.svg").symlink_to(secret)
    assert page_of(load([tmp_path])) == plain
    assert "secret" not in plain
