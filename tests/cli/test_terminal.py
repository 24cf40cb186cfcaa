"""What is printed in a terminal, and in a pipe."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from reinstate.cli.tables import print_alarms, print_checks
from reinstate.files import write_document
from spoken import Command
from tiny import OPTIONS, reproduced


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_a_terminal_wraps_between_words(
    command: Command, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    plain = command("list").out
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes this for a terminal
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = command("list").out
    rows = shown.splitlines()
    assert max(map(len, rows)) <= columns
    assert shown.split() == plain.split()
    assert any(row.startswith(" " * 25) for row in rows)  # a hanging indent


def made_check(verdict: str, claim: str = "it is more", **changes: Any) -> Any:
    row = {
        "claim": claim,
        "value": 1.5,
        "ci95": [1.25, 1.75],
        "region": [1.0, None],
        "bound": "at least 1.000",
        "seeds": 10,
        "p": 0.0123,
        "p_holm": 0.0246,
        "verdict": verdict,
        "section": "4.1",
        "paper": "they say so",
        "tried": "",
    }
    return row | changes


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eighty columns, in colour."""
    for name, value in (("FORCE_COLOR", "1"), ("COLUMNS", "80"), ("TERM", "xterm")):
        monkeypatch.setenv(name, value)


def without_colours(text: str) -> list[str]:
    return re.sub("\033.*?m", "", text).splitlines()


def test_claims_in_a_pipe_are_one_line_each(capfd: pytest.CaptureFixture[str]) -> None:
    """The paper's under its sections, then ours; of one seed there is no interval."""
    print_checks(
        [
            made_check("supported"),
            made_check("undecided", "ours", paper="", p_holm=None),
            made_check("contradicted", "it is less", p=1e-9, p_holm=2e-9),
            made_check("undecided", "alone", ci95=None, p=1.0, p_holm=1.0, section="4.2"),
        ]
    )
    value = "1.500 [1.250, 1.750], claimed at least 1.000"
    assert capfd.readouterr().out.splitlines() == [
        "the paper, section 4.1",
        f"supported: it is more: {value}; p = .012, after Holm p = .025",
        f"contradicted: it is less: {value}; p < .001, after Holm p < .001",
        "the paper, section 4.2",
        "undecided: alone: 1.500 (one seed cannot tell), claimed at least 1.000; p = 1,"
        " after Holm p = 1",
        "our own claims",
        f"undecided: ours: {value}; p = .012",
    ]
    print_checks([])
    assert capfd.readouterr().out == ""


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    ("verdict", "colour"), [("supported", "32"), ("contradicted", "1;31"), ("undecided", "33")]
)
def test_verdicts_are_coloured_and_whole(
    capfd: pytest.CaptureFixture[str], verdict: str, colour: str
) -> None:
    print_checks([made_check(verdict, "c" * 70)])
    heading, *rows = (shown := capfd.readouterr().out).splitlines()
    assert heading == "the paper, section 4.1"
    assert rows[0].startswith(f"\033[{colour}m{verdict}\033[0m:")
    assert shown.count("\033[") == 2  # nothing else is coloured
    assert shown.count("1.500 [1.250, 1.750]") == 1  # never broken
    assert max(map(len, without_colours(shown))) <= 80
    assert all(row.startswith(" " * 7) for row in rows[1:])
    print_checks([made_check(verdict, "c" * 120)])
    assert "c" * 120 in capfd.readouterr().out  # nor is a word that is too long


@pytest.mark.usefixtures("terminal")
def test_a_verdict_within_a_claim_is_not_coloured(capfd: pytest.CaptureFixture[str]) -> None:
    print_checks([made_check("undecided", "what is supported: nothing")])
    assert "\033[32m" not in capfd.readouterr().out


@pytest.mark.usefixtures("terminal")
def test_without_colours(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    print_checks([made_check("contradicted")])
    assert "\033[3" not in capfd.readouterr().out


@pytest.mark.usefixtures("terminal")
def test_alarms_stand_out(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    alarm = "l2rl earns 7.4, 19.1 standard errors above the best that is possible: " * 2
    print_alarms([alarm, "another"])
    shown = capfd.readouterr().out
    assert shown.count("\033[1;31mALARM\033[0m: ") == 2
    first, *hanging, second = without_colours(shown)
    assert first.startswith("ALARM: l2rl earns 7.4") and second == "ALARM: another"
    assert hanging and all(row.startswith(" " * 7) and len(row) <= 80 for row in hanging)
    for name in ("FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name)
    print_alarms([alarm])
    assert capfd.readouterr().out == f"ALARM: {alarm}\n"
    print_alarms([])
    assert capfd.readouterr().out == ""


def test_reproduce_ends_with_verdicts_alarms_and_counts(command: Command, tmp_path: Path) -> None:
    """Of results that are there already: nothing is trained."""
    path = reproduced(tmp_path / "x") / "results.json"
    checks = [made_check("supported"), made_check("undecided"), made_check("supported", paper="")]
    write_document(path, json.loads(path.read_text()) | {"checks": checks, "alarms": ["!"]})
    said = command(f"reproduce barcode-bandits --agents epl2rl l2rl --resume --out x {OPTIONS}")
    assert said.code == 0, said.err
    *_, third, alarm, counts, where, after = said.out.splitlines()
    assert third.startswith("supported: it is more: ") and alarm == "ALARM: !"
    assert counts == "1 of 2 claims of the paper supported, 1 undecided"
    assert where.endswith(" s; results.json and training-curves.png are in x")
    assert after == "next: open x/report.html in a browser"
    assert "Alarm: !." in (tmp_path / "x" / "report.html").read_text()
