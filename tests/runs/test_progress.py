"""A bar in a terminal, plain lines in a pipe; both know which part of the whole this is."""

import io
import re

import pytest
from rich.console import Console

from reinstate.runs import progress
from reinstate.runs.progress import Reporter, duration


class Clock:
    """Stands in for time, which passes when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


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


@pytest.mark.parametrize("width", [60, 80])
def test_narrow_terminals_break_no_word(width: int) -> None:
    reporter, shown = in_a_terminal(width)
    label, news = "l2rl-context, round 1: 16 settings × 2 seeds", "best reward 1.23  56,789 steps/s"
    reporter.part(1, 2)
    with reporter.track(label, total=200) as bar:
        bar.update(100, news)
    text = "the last good state is kept in runs/barcode-bandits/checkpoints/epoch-00100.safetensors"
    before = len(shown.getvalue())
    reporter.note(text)
    assert all(len(line) <= width for line in shown.getvalue()[before:].splitlines())
    whole = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", " ", shown.getvalue()).split()
    for word in f"agent 1 of 2, {label}: {news} 100/200 epochs left, {text}".split():
        assert word in whole


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_time_left_is_whole_on_one_line(width: int, clock: Clock) -> None:
    """It used to be cut, or wrapped into a narrow column, where a terminal has 60 columns."""
    reporter, shown = in_a_terminal(width)
    reporter.part(1, 3)
    with reporter.track("l2rl-context", total=1000) as bar:
        clock.now += 36_000
        bar.update(400, "reward 8.23  1,256,789 steps/s")
    lines = [line.rstrip() for line in plain(shown.getvalue()).splitlines()]
    assert lines[-2] == "agent 1 of 3, l2rl-context: reward 8.23  1,256,789 steps/s"
    assert lines[-1].endswith(" 400/1000 epochs  15 h 0 min left, 65 h 0 min in all")
    assert len(lines[-1]) <= width and "━" in lines[-1]


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


def test_the_time_left_is_that_of_all_parts(
    capsys: pytest.CaptureFixture[str], clock: Clock
) -> None:
    """Three agents of 10 epochs; each compiles for 5 s and is judged for 20 s.

    The second is resumed after its 8th epoch. An epoch takes 1 s, of the third agent 2 s.
    """
    reporter = Reporter(every=0)
    for number, (agent, done, pace) in enumerate([("a", 0, 1), ("b", 8, 1), ("c", 0, 2)], 1):
        reporter.part(number, 3)
        with reporter.track(agent, total=10, done=done) as bar:
            clock.now += 5
            bar.compiled()
            for epoch in (done + 1, done + 2):
                clock.now += pace
                bar.update(epoch, "fine")
        clock.now += (8 - done) * pace + 20
    assert capsys.readouterr().err.splitlines() == [
        "agent 1 of 3, a: compiling",
        "agent 1 of 3, a: epoch 1/10  fine  9 s left, 39 s in all",  # 9 + 2 × (5 + 10)
        "agent 1 of 3, a: epoch 2/10  fine  8 s left, 38 s in all",
        "agent 2 of 3, b: compiling",
        "agent 2 of 3, b: epoch 9/10  fine  1 s left, 44 s in all",  # 1 + (5 + 18 + 20)
        "agent 2 of 3, b: epoch 10/10  fine  0 s left, 43 s in all",
        "agent 3 of 3, c: compiling",
        "agent 3 of 3, c: epoch 1/10  fine  18 s left",
        "agent 3 of 3, c: epoch 2/10  fine  16 s left",
    ]


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
