"""Two recorded results, claim by claim: `reinstate verdicts A B`."""

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reinstate.analysis.results import Verdict
from reinstate.analysis.verdicts import VERDICTS
from reinstate.files import read_json
from reinstate.runs.compare import compare
from reinstate_paper.whole_paper import summarise
from spoken import Command, assert_refused
from tiny import contents

RESULTS = Path(__file__).parents[2] / "results"
RECORDED = read_json(RESULTS / "barcode-bandits/results.json")
CLAIMS = [check["claim"] for check in RECORDED["checks"]]
VALUES = [check["value"] for check in RECORDED["checks"]]

Change = Callable[[Any], None]


def write(path: Path, document: Any, change: Change | None = None) -> Path:
    """Write a document, changed; the one given stays as it is."""
    document = copy.deepcopy(document)
    if change:
        change(document)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def with_verdicts(*verdicts: Verdict) -> Change:
    """Change the first verdicts, and every value a little."""

    def change(results: Any) -> None:
        for check in results["checks"]:
            check["value"] += 0.25
        for check, verdict in zip(results["checks"], verdicts, strict=False):
            check["verdict"] = verdict

    return change


def summary_of(*documents: Any) -> Any:
    return summarise({each["experiment"]: each for each in documents}, "reinstate reproduce all")


def test_same_differs_flips(tmp_path: Path) -> None:
    first = write(tmp_path / "a.json", RECORDED, with_verdicts("supported", "undecided"))
    second = write(tmp_path / "b.json", RECORDED, with_verdicts("contradicted", "supported"))
    found = compare(first, second)
    assert [(each.experiment, each.claim) for each in found.claims] == [
        ("barcode-bandits", claim) for claim in CLAIMS
    ]
    assert found.claims[0].verdicts == ("supported", "contradicted")
    assert [each.flips for each in found.claims] == [True, False, False, False, False, False]
    assert [each.same for each in found.claims] == [False, False, True, True, True, True]
    papers = [bool(check["paper"]) for check in RECORDED["checks"]]
    assert [each.paper for each in found.claims] == papers and len({*papers}) == 2
    assert found.only_first == found.only_second == []


@pytest.mark.parametrize("one", VERDICTS)
@pytest.mark.parametrize("other", VERDICTS)
def test_only_support_against_contradiction_is_a_flip(
    tmp_path: Path, one: Verdict, other: Verdict
) -> None:
    paths = [
        write(tmp_path / f"{n}.json", RECORDED, with_verdicts(verdict))
        for n, verdict in enumerate((one, other))
    ]
    first = compare(*paths).claims[0]
    assert first.same is (one == other)
    assert first.flips is ("undecided" not in (one, other) and one != other)


def test_a_file_a_folder_and_a_summary_are_all_results(tmp_path: Path) -> None:
    write(tmp_path / "x/results.json", RECORDED)
    write(tmp_path / "all/summary.json", summary_of(RECORDED))
    write(tmp_path / "by another name.json", summary_of(RECORDED))
    names = ("x", "x/results.json", "all", "all/summary.json", "by another name.json")
    for path in (tmp_path / name for name in names):
        found = compare(path, tmp_path / "x")
        assert [each.claim for each in found.claims] == CLAIMS
        assert [each.values for each in found.claims] == [(value, value) for value in VALUES]
        assert all(each.same for each in found.claims)


def test_claims_are_those_of_one_experiment(tmp_path: Path) -> None:
    """Experiments have claims of the same words: they are not each other's."""
    two = copy.deepcopy(RECORDED) | {"experiment": "omniglot-bandits"}
    with_verdicts("contradicted")(two)
    both = write(tmp_path / "summary.json", summary_of(RECORDED, two))
    found = compare(both, write(tmp_path / "x/results.json", two))
    assert [each.experiment for each in found.claims] == ["omniglot-bandits"] * len(CLAIMS)
    assert found.only_first == [f"barcode-bandits: {claim}" for claim in CLAIMS]
    # In a summary the paper's claims are judged together: what is recorded there counts.
    assert found.claims[0].verdicts == ("supported", "contradicted")


def test_the_command(command: Command, tmp_path: Path) -> None:
    def fewer(results: Any) -> None:
        with_verdicts("contradicted", "undecided")(results)
        del results["checks"][-1]

    write(tmp_path / "a/results.json", RECORDED)
    write(tmp_path / "b/results.json", RECORDED, fewer)
    before = contents(tmp_path)
    said = command("verdicts a b")
    assert said.code == 0 and said.err == ""
    rows = [
        [cell.strip() for cell in row.strip("│\n").split("│")]
        for row in said.out.splitlines()
        if row.startswith("│")
    ]
    assert rows[:3] == [
        [
            "barcode-bandits",
            CLAIMS[n],
            f"{RECORDED['checks'][n]['verdict']} {VALUES[n]:.3f}",
            f"{verdict} {VALUES[n] + 0.25:.3f}",
            mark,
        ]
        for n, (verdict, mark) in enumerate(
            [("contradicted", "FLIPS"), ("undecided", "differs"), ("contradicted", "")]
        )
    ]
    assert len(rows) == 5
    assert re.search(r"┃ experiment +┃ claim +┃ a +┃ b +┃", said.out)
    *_, alone, last = said.out.splitlines()
    assert alone == f"only in a: barcode-bandits: {CLAIMS[-1]}"
    assert last == "3 of 5 verdicts are the same, 1 flip"

    found = json.loads(command("verdicts a b --json").out)
    assert (found["same"], found["flips"]) == (3, 1)
    assert found["only_first"] == [f"barcode-bandits: {CLAIMS[-1]}"] and not found["only_second"]
    assert found["claims"][0] == {
        "experiment": "barcode-bandits",
        "claim": CLAIMS[0],
        "paper": True,
        "verdicts": ["supported", "contradicted"],
        "values": [VALUES[0], VALUES[0] + 0.25],
        "same": False,
        "flips": True,
    }
    assert contents(tmp_path) == before


def test_experiments_stand_apart(command: Command, tmp_path: Path) -> None:
    two = copy.deepcopy(RECORDED) | {"experiment": "omniglot-bandits"}
    write(tmp_path / "summary.json", summary_of(RECORDED, two))
    lines = command("verdicts summary.json .").out.splitlines()
    (line,) = [n for n, text in enumerate(lines) if text.startswith("├")]
    assert "barcode-bandits" in lines[line - 1] and "omniglot-bandits" in lines[line + 1]
    assert lines[-1] == "12 of 12 verdicts are the same, 0 flip"


def older(results: Any) -> None:
    """As a version left it that knew only whether a claim holds."""
    results["checks"] = [{"claim": "a claim", "value": 1.0, "bound": "> 0", "holds": True}]


def older_summary(summary: Any) -> None:
    summary["totals"] = {"checks": 64, "hold": 58, "seconds": 1.0}


def unjudged(results: Any) -> None:
    del results["checks"][0]["verdict"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a.json maze.json", "a.json and maze.json share no claim: name results of one experiment"),
        ("a.json none.json", "a.json and none.json share no claim"),
        ("a.json old.json", "old.json was judged by the rules of an earlier version: judge it"
         " again with reinstate rejudge old.json"),
        ("oldies a.json", "oldies/summary.json sums up verdicts of an earlier version: make it"
         " again with reinstate reproduce all"),
        ("a.json unjudged.json", "unjudged.json has claims without a verdict: reinstate rejudge"),
        ("a.json list.json", "list.json does not hold results of this program"),
        ("odd.json a.json", "odd.json does not hold results of this program"),
        ("a.json nowhere", "nowhere does not exist"),
        ("a.json .", "results.json does not exist"),
        ("a.json", "verdicts needs B first"),
        ("", "verdicts needs A"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(command: Command, tmp_path: Path, line: str, message: str) -> None:
    write(tmp_path / "a.json", RECORDED)
    write(tmp_path / "maze.json", read_json(RESULTS / "water-maze/results.json"))
    write(tmp_path / "none.json", RECORDED | {"checks": []})
    write(tmp_path / "old.json", RECORDED, older)
    write(tmp_path / "oldies/summary.json", summary_of(RECORDED), older_summary)
    write(tmp_path / "unjudged.json", RECORDED, unjudged)
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "odd.json").write_text('{"totals": 3}')
    before = contents(tmp_path)
    assert_refused(command(f"verdicts {line}"), message)
    assert contents(tmp_path) == before


def test_help(command: Command) -> None:
    said = command("verdicts --help")
    text = " ".join(re.sub("[│╭╰╮╯─]", " ", said.out).split())
    assert said.code == 0 and text.startswith("usage: reinstate verdicts A B [--json]")
    for words in (
        "do verdicts survive other seeds?",
        "A verdict flips if one result supports what the other contradicts",
        "A Recorded results.",
        "B Others of the same experiments, such as of other seeds.",
    ):
        assert words in text
