"""What is compiled ahead is what would have been compiled; only what is needed is."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from reinstate.devices import SPREAD
from reinstate.runs import reproduce
from reinstate.runs.evaluator import Evaluator
from reinstate.runs.reproduce import compile_ahead
from reinstate.runs.run import Run
from reinstate.runs.training import compile_epoch, train
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from tiny import SILENT, TINY, new_run


def test_a_program_compiled_ahead_computes_the_same(tmp_path: Path) -> None:
    program = compile_epoch("epl2rl", TINY)
    told: list[int] = []

    def given(compile_here: Any) -> Any:
        told.append(1)
        return program

    plain = train("epl2rl", TINY, None, SILENT).state
    state = train("epl2rl", TINY, None, SILENT, program=given).state
    assert told == [1]
    prepared, lazy = (Evaluator(BARCODE_BANDITS, "epl2rl", TINY) for _ in range(2))
    prepared.prepare()
    params = jax.tree.map(np.asarray, (state.params, plain.params))
    found = prepared.record(state), lazy.record(plain)
    again = prepared.record(state._replace(params=params[0]))  # wherever weights lie
    for pair in (params, found, (found[0], again)):
        jax.tree.map(np.testing.assert_array_equal, *pair)


class _Evaluator:
    """In place of an evaluator."""

    def __init__(self, started: list[str], name: str, gate: threading.Event) -> None:
        self.started, self.name, self.gate = started, name, gate
        self.entered = threading.Event()

    def prepare(self) -> None:
        self.entered.set()
        self.gate.wait(10)
        self.started.append(f"evaluate {self.name}")


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, Run]:
    """Three runs, of which the first was trained to its end."""
    found = {name: new_run(tmp_path / name, name) for name in ("epl2rl", "l2rl", "l2rl-context")}
    found["epl2rl"].save_checkpoint({"w": np.zeros(1)}, TINY.learner.epochs)
    return found


def test_programs_come_in_the_order_in_which_they_are_needed(
    runs: dict[str, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    gate = threading.Event()
    gate.set()

    def compiled(name: str, *_: Any) -> str:
        started.append(name)
        return name

    monkeypatch.setattr(reproduce, "compile_epoch", compiled)
    evaluators: Any = {name: _Evaluator(started, name, gate) for name in runs}
    every = dict.fromkeys(runs, TINY)
    with ThreadPoolExecutor(1) as pool:
        programs, prepared = compile_ahead(pool, runs, evaluators, every, SPREAD)
    # One agent is trained already, and the next is trained at once: `train` compiles that.
    assert {name: program.result() for name, program in programs.items()} == {
        "l2rl-context": "l2rl-context"
    }
    assert prepared.keys() == runs.keys()
    assert started == ["evaluate epl2rl", "evaluate l2rl", "l2rl-context", "evaluate l2rl-context"]


def test_who_stops_does_not_wait(runs: dict[str, Run]) -> None:
    started: list[str] = []
    gate = threading.Event()
    evaluators: Any = {name: _Evaluator(started, name, gate) for name in runs}
    every = dict.fromkeys(runs, TINY)
    with pytest.raises(KeyboardInterrupt), reproduce._in_background() as (pool, begin):
        _, prepared = compile_ahead(pool, runs, evaluators, every, SPREAD)
        begin.set()
        assert evaluators["epl2rl"].entered.wait(10)
        raise KeyboardInterrupt
    assert not started
    gate.set()
    prepared["epl2rl"].result()
    assert started == ["evaluate epl2rl"]  # the others were cancelled


def test_nothing_is_compiled_beside_the_first_program() -> None:
    """It would delay the first agent's training, and so the first line that a user sees."""
    done: list[str] = []

    def compile_here() -> str:
        time.sleep(0.05)
        done.append("first")
        return "program"

    with reproduce._in_background() as (pool, begin):
        later = pool.submit(done.append, "later")
        assert reproduce._program_of(None, begin, compile_here) == "program"
        later.result()
        ready = pool.submit(str, "ready")
        assert reproduce._program_of(ready, begin, compile_here) == "ready"
    assert done == ["first", "later"]
