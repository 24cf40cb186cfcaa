"""The host loop: what is called around an epoch, in which order, and when it stops."""

import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from reinstate.errors import Stopped, UserError
from reinstate.runs.loop import Work, run_epochs, signals
from tiny import SILENT, interrupt


class Counting(Work[int, str]):
    """Work whose state counts epochs, and which notes what is asked of it."""

    label, epochs, advice = "counting", 3, "call it again"

    def __init__(self, breaks: int = 0, do: dict[str, Callable[[], None]] | None = None) -> None:
        self.calls: list[Any] = []
        self.breaks, self.do = breaks, do or {}

    def _note(self, name: str, epoch: int, *rest: Any) -> None:
        self.calls.append((name, epoch, *rest))
        self.do.get(f"{name} {epoch}", lambda: None)()

    def compile(self, state: int) -> Callable[[int], tuple[int, str]]:
        self.calls.append(("compile", state))
        return lambda state: (state + 1, f"metrics of {state + 1}")

    def check(self, epoch: int, metrics: str, new: int, before: int) -> None:
        self._note("check", epoch, before)
        if epoch == self.breaks:
            raise UserError("not finite")

    def record(self, epoch: int, metrics: str, seconds: float) -> str:
        assert metrics == f"metrics of {epoch}" and seconds > 0
        self._note("record", epoch)
        return "fine"

    def save(self, epoch: int, state: int, stopping: bool) -> None:
        assert state == epoch
        self._note("save", epoch, stopping)


def epoch(number: int, stopping: bool = False) -> list[Any]:
    return [("check", number, number - 1), ("record", number), ("save", number, stopping)]


def test_each_epoch_is_checked_recorded_and_saved() -> None:
    work = Counting()
    assert run_epochs(work, 1, 1, SILENT, []) == 3
    assert work.compile_seconds >= 0
    assert work.calls == [("compile", 1), *epoch(2), *epoch(3)]


def test_a_broken_epoch_is_neither_recorded_nor_saved() -> None:
    work = Counting(breaks=2)
    with pytest.raises(UserError):
        run_epochs(work, 0, 0, SILENT, [])
    assert work.calls == [("compile", 0), *epoch(1), ("check", 2, 1)]


def test_a_signal_stops_after_the_epoch() -> None:
    work = Counting(do={"record 1": lambda: interrupt(signal.SIGINT)})
    with (
        signals(SILENT) as stop,
        pytest.raises(Stopped, match=r"^counting stopped after epoch 1 of 3: call it again$"),
    ):
        run_epochs(work, 0, 0, SILENT, stop)
    assert work.calls == [("compile", 0), *epoch(1, stopping=True)]


def test_a_signal_while_saving_waits_for_the_next_save() -> None:
    """Or the loop would stop with a state that was not saved."""
    work = Counting(do={"save 1": lambda: interrupt(signal.SIGTERM)})
    with signals(SILENT) as stop, pytest.raises(Stopped, match="after epoch 2 of 3") as said:
        run_epochs(work, 0, 0, SILENT, stop)
    assert said.value.number == signal.SIGTERM
    assert work.calls == [("compile", 0), *epoch(1), *epoch(2, stopping=True)]


def test_a_signal_in_the_last_epoch_is_left_to_the_caller() -> None:
    work = Counting(do={"check 3": lambda: interrupt(signal.SIGINT)})
    with signals(SILENT) as stop:
        state = run_epochs(work, 2, 2, SILENT, stop)
        assert stop == [signal.SIGINT]
    assert state == 3 and work.calls[-1] == ("save", 3, True)


def test_signals_belong_to_the_main_thread() -> None:
    """Elsewhere Python cannot catch them; work goes on without."""
    states: list[int] = []

    def work() -> None:
        with signals(SILENT) as stop:
            states.append(run_epochs(Counting(), 0, 0, SILENT, stop))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert states == [3]
