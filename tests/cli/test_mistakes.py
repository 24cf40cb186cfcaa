"""Bad input: one line on stderr, exit status 2, and nothing written."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from reinstate.cli.parsing import peek
from reinstate.files import write_document
from reinstate.runs.run import Run
from reinstate.settings import to_dict
from spoken import Command, Said, assert_refused
from tiny import OPTIONS, TINY, contents, trained_run


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("trian barcode-bandits", "unknown verb 'trian': did you mean train?"),
        ("xyz", "unknown verb 'xyz': known: reproduce, report, figure"),
        ("--jsn", "unknown verb '--jsn'"),
        ("--version extra", "unknown verb '--version'"),
        ("--tyro-print-completion ksh", "SHELL, with one of bash, zsh, fish, tcsh"),
        ("train", "train needs an experiment first: reinstate train … (known: barcode-bandits, "),
        ("reproduce --seeds 2", "reproduce needs an experiment first"),
        ("evaluate", "evaluate needs RUN first (see reinstate evaluate --help)"),
        ("evaluate a b", "Unrecognized options: b (see reinstate evaluate --help)"),
        ("evaluate nowhere", "nowhere holds no run: it has no config.json"),
        ("list --jsn", "unknown option --jsn: did you mean --json? (see reinstate list --h"),
        ("train barcode-bandit", "unknown experiment 'barcode-bandit': did you mean barcode-bandi"),
        ("train barcode-bandits --set memory-kind=dn", "unknown memory 'dn': did you mean dnd?"),
        ("train barcode-bandits --track tensorbord", "unknown sink 'tensorbord': did you mean ten"),
        ("train barcode-bandits --agent epl2r", "unknown agent 'epl2r': did you mean epl2rl?"),
        ("train barcode-bandits --agent", "Missing value for argument '--agent'"),
        ("train barcode-bandits --preset quikc", "unknown preset 'quikc': did you mean quick?"),
        ("reproduce barcode-bandits --agents l2rl nobody", "unknown agent 'nobody'"),
        ("reproduce barcode-bandits --agents", "--agents needs at least one name"),
        ("train barcode-bandits --memory.k 2", "--memory.k: did you mean --set memory.k?"),
        ("train barcode-bandits --set memory.kk=2", "'memory.kk': did you mean memory.k?"),
        ("train barcode-bandits --set memory.k=2,3", "settings.memory.k: Expected int, got array"),
        ("train barcode-bandits --set memory.k", "--set takes each name once, as in learner."),
        ("train barcode-bandits --epochs 3", "--epochs: did you mean --learner.epochs?"),
        ("train barcode-bandits --agent gru", "unknown agent 'gru': did you mean gru-epoch?"),
        ("train barcode-bandits --task.num-arms 2.5", "--task.num-arms"),
        ("train barcode-bandits --task.process bog", "Expected one of ('bag', 'urn')"),
        ("optimum", "optimum needs an experiment first: reinstate optimum … (known: barcode-ban"),
        ("watch", "watch needs EXPERIMENT first (see reinstate watch --help)"),
        ("watch barcode-bandits --svg x.svg", "--svg is for water-maze: leave it out"),
        ("watch barcode-bandits water-maze/l2rl", "is a run of water-maze: reinstate watch water-"),
        (
            "watch water-maze water-maze/lrl",
            "unknown run 'water-maze/lrl': did you mean water-maze",
        ),
        ("watch water-maze nowhere --speed 0", "speed must be positive, not 0"),
        # Settings that cannot work
        ("train barcode-bandits --task.barcode-length 3", "raise barcode_length to 4 or more"),
        ("train barcode-bandits --set memory.k=101", "k = 101 neighbours need as many slots"),
        ("train barcode-bandits --set evaluation.seed=1", "evaluation.seed 1 is a training seed"),
        ("train barcode-bandits --checkpoint-every 0", "checkpoint_every must be positive, not 0"),
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


def test_resume_with_other_settings(command: Command, tmp_path: Path) -> None:
    trained_run(tmp_path / "x")
    before = contents(tmp_path)
    line = f"train barcode-bandits --out x --resume {OPTIONS}"
    said = command(f"{line} --learner.epochs 9 --agent l2rl")
    assert_refused(said, "(agent: epl2rl → l2rl; settings.learner.epochs: 4 → 9)")
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


def test_a_spoilt_checkpoint(command: Command, tmp_path: Path) -> None:
    path = trained_run(tmp_path / "x").path / "checkpoints" / "epoch-00004.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    before = contents(tmp_path)
    message = "x/checkpoints/epoch-00004.safetensors cannot be read"
    assert_refused(command("evaluate x"), message)
    assert contents(tmp_path) == before
    said = command(f"train barcode-bandits --out x --resume {OPTIONS}")
    assert said.code == 0 and message in said.err and "epoch 3/4" in said.err
    assert command("evaluate x").code == 0


def rewrite_config(run: Run, **changes: Any) -> None:
    path = run.path / "config.json"
    saved = json.loads(path.read_text())
    saved["config"].update(changes)
    write_document(path, saved)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"agent": "l2rl"}, "is of another agent or other settings"),
        ({"agent": "l2r"}, "unknown agent 'l2r': did you mean l2rl?"),
        ({"settings": {**to_dict(TINY), "seeds": "2"}}, "settings.seeds: Expected int, got str"),
    ],
)
def test_evaluate_a_run_of_something_else(
    command: Command, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    rewrite_config(trained_run(tmp_path / "x"), **changes)
    before = contents(tmp_path)
    assert_refused(command("evaluate x"), message)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--seed 0", "evaluation.seed 0 is a training seed"),
        ("--epoch 5", "did you mean --epochs?"),
        ("--checkpoint nowhere", "nowhere is no file: name a checkpoint of the run"),
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


def test_an_interrupt_is_no_traceback(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("reinstate.cli.train.start_run", interrupt)
    assert command("train barcode-bandits") == Said(130, "", "reinstate: interrupted\n")


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
