"""Turns, medians and quartiles, against literal numbers and a clock that the test turns."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reinstate.bench import timing


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def takes(self, *seconds: float) -> Callable[[], None]:
        left = [*seconds]

        def run() -> None:
            self.now += left.pop(0)

        return run


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(time, "perf_counter", lambda: made.now)
    return made


def test_programs_take_turns_and_the_first_round_does_not_count(clock: Clock) -> None:
    order: list[str] = []
    timed = {"a": clock.takes(9, 1, 2), "b": clock.takes(8, 3, 4)}

    def noted(name: str) -> Callable[[], None]:
        def run() -> None:
            order.append(name)
            timed[name]()

        return run

    found = timing.take_turns({name: noted(name) for name in timed}, repeats=2)
    assert found == {"a": [1, 2], "b": [3, 4]}
    assert order == ["a", "b"] * 3


def test_turns_end_when_patience_does_but_not_before_three(clock: Clock) -> None:
    found = timing.take_turns({"a": clock.takes(*range(1, 20))}, repeats=10, patience=16)
    assert found == {"a": [2, 3, 4, 5, 6]}  # 15 s were over before the last of them
    found = timing.take_turns({"a": clock.takes(5, 6, 7, 8)}, repeats=10, patience=1)
    assert found == {"a": [6, 7, 8]}


def test_medians_and_quartiles() -> None:
    assert timing.summary([4, 1, 3, 2, 5]) == {"median": 3, "quartiles": [2, 4], "repeats": 5}
    assert timing.rates(100, [2, 1, 4]) == {"median": 50, "quartiles": [37.5, 75], "repeats": 3}


def test_ratios_are_of_the_same_round() -> None:
    """A busy moment that doubles both times changes no ratio."""
    found = timing.ratio((100, [1, 2, 1]), (10, [1, 2, 2]))
    assert found == {"median": 10, "quartiles": [10, 15], "repeats": 3}


def test_compiling_is_timed_by_stage_and_tells_its_memory() -> None:
    import jax
    import jax.numpy as jnp

    found = timing.compile_timed(jax.jit(lambda x: x + 1), jnp.zeros(1000))
    assert found.trace > 0 and found.xla > 0
    assert found.memory is None or found.memory >= 8000
    assert found.run(jnp.zeros(1000))[0] == 1


def test_memory_is_counted_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert timing.in_bytes(3) == 3072
    monkeypatch.setattr("sys.platform", "darwin")
    assert timing.in_bytes(3) == 3


def test_digits() -> None:
    assert timing.rounded(123456) == 123500 and timing.rounded(0.0123456, 3) == 0.0123


def test_a_processor_has_a_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(timing, "CPUINFO", tmp_path / "cpuinfo")
    assert timing.processor() != ""
    (tmp_path / "cpuinfo").write_text("processor : 0\nmodel name : Fast 9\nmodel name : Slow 1\n")
    assert timing.processor() == "Fast 9"
