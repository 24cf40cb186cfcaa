"""What is printed in a terminal and in a pipe; names are text, whatever Rich makes of them."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from reinstate.cli.tables import print_agents, print_alarms, print_checks, print_table, say
from reinstate.errors import LONGEST, printable
from reinstate.runs.progress import Reporter
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from spoken import Command, assert_refused

HOSTILE = (
    *("a[/b]c", "[red]a[/red]", "[link=https://example.org]a[/link]", "a:smile:b", "日本 γ é"),
    *("a\x1b[31mb", "\x1b]0;owned\x07", "a\nreinstate: b", "harmless\rharmful"),
    *("a\u202egpj.exe", "a\udcffb", "a\u200b\u2028b"),
)


def made_check(verdict: str, claim: str = "it is more", **changes: Any) -> Any:
    row = {"claim": claim, "verdict": verdict, "value": 1.5, "ci95": [1.25, 1.75]}
    row |= {"bound": "at least 1.000", "p": 0.0123, "p_holm": 0.0246}
    return row | {"section": "4.1", "paper": "they say so"} | changes


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eighty columns, in colour."""
    for name, value in (("FORCE_COLOR", "1"), ("COLUMNS", "80"), ("TERM", "xterm")):
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("terminal")
def test_a_terminal_wraps_between_words(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = command("list").out
    assert max(map(len, shown.splitlines())) <= 80
    monkeypatch.delenv("FORCE_COLOR")
    assert shown.split() == command("list").out.split()


@pytest.mark.usefixtures("terminal")
def test_claims_in_a_terminal_are_folded(capfd: pytest.CaptureFixture[str]) -> None:
    print_checks([made_check("undecided", "it is far more " * 5, note="it depends on size")])
    shown = re.sub(r"\x1b\[[\d;]*m", "", capfd.readouterr().out).splitlines()
    assert [line.strip() for line in shown] == [
        "the paper, section 4.1",
        "undecided: it is far more it is far more it is far more it is far more it is far",
        "more :",
        "1.500 [1.250, 1.750], claimed at least 1.000; p = .012, after Holm p = .025",
        "note: it depends on size",
    ]
    assert all(line.startswith("    ") for line in shown[2:])


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
    print_alarms(["l2rl earns too much"])
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
        "ALARM: l2rl earns too much",
    ]


@pytest.mark.usefixtures("terminal")
def test_verdicts_and_alarms_alone_are_coloured(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    colours = {"supported": "32", "contradicted": "1;31", "undecided": "33"}
    for verdict, colour in colours.items():
        print_checks([made_check(verdict, "what is supported: nothing")])
        shown = capfd.readouterr().out
        assert f"\033[{colour}m{verdict}\033[0m: what" in shown and shown.count("\033[") == 2
    print_alarms(["!"])
    assert capfd.readouterr().out == "\033[1;31mALARM\033[0m: !\n"
    monkeypatch.setenv("NO_COLOR", "1")
    print_checks([made_check("contradicted")])
    assert "\033[3" not in capfd.readouterr().out


def agents(name: str) -> None:
    reward: Any = {"mean": 1.0, "ci95": [0.0, 2.0], "per_seed": [1.0]}
    experiment = replace(BARCODE_BANDITS, columns=lambda agent: {name: 1.0})
    print_agents(experiment, {name: {"reward": reward}})


@pytest.mark.parametrize(
    "act",
    [
        *(say, agents, Reporter().note, lambda name: print_alarms([name])),
        lambda name: print_table(name, [name], [name], [[name, name]]),
        lambda name: print_checks([made_check("undecided", name, section=name)]),
    ],
)
def test_a_name_is_text(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    act: Callable[[str], None],
) -> None:
    for values in ({}, {"FORCE_COLOR": "1", "COLUMNS": "200", "TERM": "xterm"}):
        for variable, value in values.items():
            monkeypatch.setenv(variable, value)
        for name in HOSTILE:
            act(name)
            said = capfd.readouterr()
            shown = re.sub(r"\x1b\[[\d;]*m", "", said.out + said.err)  # our own colours
            assert bare(printable(name)) in bare(shown)
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200b\u202e]", shown)


def bare(text: str) -> str:
    """A text without spaces: lines are wrapped, and names in tables padded."""
    return re.sub(r"\s+", "", text)


def test_what_is_typed_comes_back_as_bounded_text(command: Command) -> None:
    for word in ("x" * 100_000, *HOSTILE[:3], "\x1b[2J", "\udcff", "\u202e"):
        for line in (word, f"train {word}", f"train barcode-bandits --agent {word}"):
            said = command(line)
            assert_refused(said, "unknown ")
            assert len(said.err) < LONGEST + 100
            assert said.err.removesuffix("\n").isprintable()


def test_a_terminal_that_lacks_our_symbols_gets_others() -> None:
    words = [sys.executable, "-m", "reinstate", "train", "barcode-bandits", "--help"]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    said = subprocess.run(words, capture_output=True, env=env)
    assert said.returncode == 0 and b"--task.num-arms INT" in said.stdout, said.stderr
