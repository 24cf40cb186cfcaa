"""Files may be anybody's: their text stays text, and what is wrong in them is one line."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from page.reading import Element, read
from page.recorded import RESULTS, page_from, places, short, small
from reinstate.analysis.results import Summary
from reinstate.errors import UserError
from reinstate.figures.page import load, page_of, require_document, write_page
from reinstate.files import read_json, write_document
from reinstate.runs.conclusions import read_results

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
ALL = " ".join(HOSTILE)
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


@pytest.mark.parametrize("name", ["barcode-bandits", "compositional-bandits", "two-step"])
def test_text_stays_text_in_the_page(name: str) -> None:
    """A page of hostile text has no element or address that one of plain text does not have."""
    document = recorded(name)
    safe = read(page_from(everywhere(document, PLAIN)))
    for text in (ALL, ADDRESS):
        found = read(page_from(everywhere(document, text)))
        assert parts(found) <= parts(safe) and text in found.text
        for kind in ("script", "style"):
            assert [e.text for e in found.all(kind)] == [e.text for e in safe.all(kind)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read"),
        ("[1, 2]", "does not hold results of this program"),
        ("[" * 100_000, "cannot be read"),
        (json.dumps({**small(), "agents": {}}), "holds results of no agent"),
        (json.dumps({**small(), "settings": None}), "settings: Expected object, got null"),
        (json.dumps({**small(), "optimum": {"with_memory": "x"}}), "lacks numbers that its claims"),
    ],
)
def test_foreign_files_are_refused_in_one_line(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "results.json").write_text(content)
    with pytest.raises(UserError, match=re.escape(message)) as caught:
        write_page([tmp_path], tmp_path / "report.html")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "report.html").exists()


def test_whatever_is_wrong_in_a_file_is_a_page_or_one_line(tmp_path: Path) -> None:
    odd: list[Any] = [None, "x", [], {}, True, float("nan"), 1e400, 10**400, [[]]]
    draw, outcomes = random.Random(0), {"page": 0, "refused": 0}
    for path in draw.sample([path for path in places(small()) if path], 48):
        broken = here = small()
        for name in path[:-1]:
            here = here[name]
        here[path[-1]] = draw.choice(odd)
        (tmp_path / "results.json").write_text(json.dumps(broken))
        try:
            read(page_of(load([tmp_path])))
            outcomes["page"] += 1
        except UserError as error:
            assert "\n" not in str(error)
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 5, outcomes


def test_only_our_own_files_are_replaced(tmp_path: Path) -> None:
    page, file = tmp_path / "report.html", tmp_path / "summary.json"
    summary = read_json(RESULTS / "summary.json")
    for _ in range(2):
        write_page([RESULTS / "barcode-bandits"], page)
        require_document(file, Summary)
        write_document(file, summary)
    for theirs in ("my thesis", json.dumps({**summary, "notes": "my own"})):
        page.write_text(theirs)
        file.write_text(theirs)
        with pytest.raises(UserError, match="is not of reinstate report: choose another --out"):
            write_page([RESULTS / "barcode-bandits"], page)
        with pytest.raises(UserError, match="is not of this command: move it"):
            require_document(file, Summary)
        assert page.read_text() == file.read_text() == theirs
