"""A bar in a terminal, plain lines in a pipe; both know which part of the whole this is."""

import io
import re

import pytest
from rich.console import Console

from reinstate.runs.progress import Reporter, duration


def in_a_terminal(width: int) -> tuple[Reporter, io.StringIO]:
    reporter, shown = Reporter(), io.StringIO()
    reporter.console = Console(file=shown, force_terminal=True, width=width, highlight=False)
    return reporter, shown


def plain(shown: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)


def test_a_terminal_shows_a_bar() -> None:
    reporter, shown = in_a_terminal(120)
    with reporter.working("judging"):
        pass
    with reporter.track("epl2rl", total=4, done=1) as bar:
        bar.compiled()
        bar.update(2, "reward 1.23  56,789 steps/s")
    for text in ("judging", "epl2rl: compiling", "epl2rl: reward 1.23  56,789 steps/s"):
        assert text in shown.getvalue()
    assert re.search(r"2/4\S* epochs  0 s left", plain(shown.getvalue()))


def test_a_pipe_gets_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = Reporter(every=3600)
    with reporter.track("epl2rl", total=4) as bar:
        bar.compiled()
        for done in (1, 2, 3, 4):
            bar.update(done, f"reward {done / 2:.2f}")
    reporter.note("long " * 100)
    first, *lines, last = capsys.readouterr().err.splitlines()
    assert first == "epl2rl: compiling"
    assert lines == [
        "epl2rl: epoch 1/4  reward 0.50  0 s left",
        "epl2rl: epoch 4/4  reward 2.00  0 s left",
    ]
    assert last == "long " * 100


def test_a_single_part_is_not_counted(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = Reporter()
    for number, total in ((2, 2), (1, 1)):
        reporter.part(number, total)
        with reporter.track("a", total=1):
            pass
    assert capsys.readouterr().err.splitlines() == ["agent 2 of 2, a: compiling", "a: compiling"]


def test_spans_of_time() -> None:
    spans = {0.4: "0 s", 119: "119 s", 121: "2 min", 7140: "119 min", 7201: "2 h 0 min"}
    assert {seconds: duration(seconds) for seconds in spans} == spans
