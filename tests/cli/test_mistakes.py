"""Bad input: one line on stderr, exit status 2, and nothing written."""

import errno
import gc
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from reinstate.cli.parsing import peek
from spoken import Command, Said, assert_refused
from tiny import OPTIONS, contents, trained_run


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("trian barcode-bandits", "unknown verb 'trian': did you mean train?"),
        ("xyz", "unknown verb 'xyz': known: reproduce, report, figure"),
        ("--verison", "unknown verb '--verison': did you mean --version?"),
        ("rivals", "unknown verb 'rivals': did you mean reinstate reproduce rivals-bandits?"),
        ("tutorial", "unknown verb 'tutorial': did you mean reinstate watch water-maze?"),
        ("train", "train needs an experiment first: reinstate train … (known: barcode-bandits, "),
        ("evaluate", "evaluate needs RUN first (see reinstate evaluate --help)"),
        ("evaluate a b", "Unrecognized options: b (see reinstate evaluate --help)"),
        ("list --jsn", "unknown option --jsn: did you mean --json? (see reinstate list --h"),
        ("train barcode-bandit", "unknown experiment 'barcode-bandit': did you mean barcode-bandi"),
        ("train barcode-bandits --set memory-kind=dn", "unknown memory 'dn': did you mean dnd?"),
        ("train barcode-bandits --track tensorbord", "unknown sink 'tensorbord': did you mean ten"),
        ("train barcode-bandits --agent", "Missing value for argument '--agent'"),
        ("reproduce barcode-bandits --agents l2rl nobody", "unknown agent 'nobody'"),
        ("reproduce barcode-bandits --agents", "--agents needs at least one name"),
        ("train barcode-bandits --memory.k 2", "--memory.k: did you mean --set memory.k?"),
        ("train barcode-bandits --set memory.kk=2", "'memory.kk': did you mean memory.k?"),
        ("train barcode-bandits --epochs 3", "--epochs: did you mean --learner.epochs?"),
        ("train barcode-bandits --agent gru", "unknown agent 'gru': did you mean gru-epoch?"),
        ("optimum", "optimum needs an experiment first: reinstate optimum … (known: barcode-ban"),
        ("watch", "watch needs EXPERIMENT first (see reinstate watch --help)"),
        ("watch barcode-bandits --svg x.svg", "--svg is for water-maze: leave it out"),
        ("watch barcode-bandits water-maze/l2rl", "is a run of water-maze: reinstate watch water-"),
        ("watch water-maze water-maze/lrl", "water-maze/lrl holds no run"),
    ],
)
def test_a_mistake_is_one_line(command: Command, tmp_path: Path, line: str, message: str) -> None:
    assert_refused(command(line), message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", ["train", "reproduce"])
def test_out_that_is_taken(command: Command, tmp_path: Path, verb: str) -> None:
    trained_run(tmp_path / "run")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("years of work")
    before = contents(tmp_path)
    for out, message in (
        ("run", "run already holds a run" if verb == "train" else "run is not empty"),
        ("full", "full is not empty"),
        ("full/thesis.tex", "cannot write full/thesis.tex: File exists"),
        ("full/thesis.tex/x", "cannot write full/thesis.tex/x: Not a directory"),
    ):
        assert_refused(command(f"{verb} barcode-bandits --out {out} {OPTIONS}"), message)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("verb", "number"),
    [("train", errno.ENOSPC), ("reproduce", errno.ENOSPC), ("train", errno.EROFS)],
)
def test_a_disk_that_cannot_be_written(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, number: int
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync" if number == errno.ENOSPC else "mkdir", refuse)
    said = command(f"{verb} barcode-bandits --out x {OPTIONS}")
    assert_refused(said, f": {os.strerror(number)}")
    assert contents(tmp_path) == {}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--seed 0", "evaluation.seed 0 is a training seed"),
        ("--epoch 5", "did you mean --epochs?"),
        ("--checkpoint nowhere", "nowhere does not exist: "),
        ("--record x/config.json", "x/config.json exists: choose another --record"),
    ],
)
def test_mistakes_in_evaluate(command: Command, tmp_path: Path, flags: str, message: str) -> None:
    trained_run(tmp_path / "x")
    before = contents(tmp_path)
    assert_refused(command(f"evaluate x {flags}"), message)
    assert contents(tmp_path) == before


def test_evaluate_an_untrained_run(command: Command, tmp_path: Path) -> None:
    for path in (trained_run(tmp_path / "x").path / "checkpoints").iterdir():
        path.unlink()
    assert_refused(command("evaluate x"), "x has no checkpoint yet: train it first")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("place", ["the garbage collector", "an import", "the work"])
def test_an_interrupt_is_no_traceback(
    command: Command, monkeypatch: pytest.MonkeyPatch, number: int, code: int, place: str
) -> None:
    """Python drops what is raised in a callback of the garbage collector, of which JAX has one."""

    def interrupt(*_: Any) -> None:
        gc.callbacks.clear()
        signal.raise_signal(number)

    def collect(*_: Any) -> None:
        gc.callbacks.append(interrupt)
        gc.collect()
        time.sleep(10)

    def importing(verb: str) -> None:
        interrupt()
        imported.append(verb)

    known = [*gc.callbacks]
    imported: list[str] = []
    if place == "an import":
        monkeypatch.setattr("reinstate.cli._options", importing)
        monkeypatch.setattr("reinstate.cli.parsing.parse_verb", lambda *_: None)
    else:
        do = interrupt if place == "the work" else collect
        monkeypatch.setattr("reinstate.cli.train.start_run", do)
    assert command("train barcode-bandits") == Said(code, "", "reinstate: interrupted\n")
    gc.callbacks[:] = known
    assert bool(imported) == (place == "an import")  # to its end


def test_peek() -> None:
    assert peek([], "--agent", "a") == "a"
    assert peek(["--agent", "b"], "--agent", "a") == "b"
    assert peek(["--x", "--agent=b"], "--agent", "a") == "b"
    assert peek(["--agent", "b", "--agent", "c"], "--agent", "a") == "c"
    assert peek(["--agents", "b"], "--agent", "a") == "a"


@pytest.mark.parametrize(
    ("error", "code"), [(MemoryError("20 TB"), 2), (RecursionError(), None), (ValueError(), None)]
)
def test_only_running_out_of_memory_is_no_traceback(
    command: Command, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int | None
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("reinstate.runs.size.require_room", fail)
    if code is None:  # a mistake of ours must be seen
        with pytest.raises(type(error)):
            command("train barcode-bandits")
    else:
        assert_refused(command("train barcode-bandits"), "out of memory (20 TB): lower --seeds")
