"""Several processes train as one, stop as one, and end as one; here on one machine, by Gloo."""

import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from bits import leftovers
from ranked import Ended, start, until, wait
from reinstate.errors import Stopped
from reinstate.files import read_json
from reinstate.runs.progress import Bar
from reinstate.runs.run import Run
from reinstate.runs.training import train
from spoken import Command
from tiny import SILENT, TINY, interrupt, new_run

EPOCHS = 100_000  # more than anybody waits for
LONG = replace(TINY, learner=replace(TINY.learner, epochs=EPOCHS))
WORDS = ("--learner.epochs", str(EPOCHS), "--keep-checkpoints", "0")


@pytest.fixture
def one_more(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let training in this process stop as soon as it has written a checkpoint."""
    update = Bar.update

    def stop(self: Bar, done: int, news: str) -> None:
        update(self, done, news)
        if done % 2 == 0:
            interrupt(signal.SIGTERM)

    monkeypatch.setattr(Bar, "update", stop)
    yield


def go_on_alone(run: Run) -> int:
    """Continue in this process until it is stopped; return the last epoch."""
    with pytest.raises(Stopped):
        train("epl2rl", LONG, run, SILENT, 2, keep_checkpoints=0)
    return [*run.checkpoints()][-1]


def last_line(ended: Ended) -> str:
    return ended.err.splitlines()[-1].removeprefix("reinstate: ") if ended.err else ""


def test_processes_stop_and_end_together_and_compute_what_one_does(
    tmp_path: Path, one_more: None
) -> None:
    processes = start(tmp_path, 2, [*WORDS, "--shard", "auto"])
    run = Run(tmp_path / "0" / "run")
    until(run, 2)
    processes[1].send_signal(signal.SIGTERM)
    first, second = wait(processes)
    done = [*run.checkpoints()][-1]
    assert (first.status, second.status) == (130, 143), first  # the second was told
    assert last_line(first) == f"epl2rl stopped after epoch {done} of {EPOCHS}: --resume continues"
    assert first.out == second.out == ""  # where Gloo would write
    assert len(run.read_metrics()) == done
    assert read_json(run.path / "config.json")["device"] == "cpu × 4, lanes over 2, 2 processes"

    alone = new_run(tmp_path / "alone", settings=LONG)
    assert go_on_alone(alone) == 2  # twelve updates
    ours, theirs = (load_file(each.checkpoints()[2]) for each in (run, alone))
    for name in ours:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=0, atol=1e-5, err_msg=name)

    # Three processes go on, which share the lanes of both seeds, and one of them is killed; then
    # this one goes on alone.
    processes = start(tmp_path, 3, [*WORDS, "--shard", "auto", "--resume"])
    until(run, done + 3)
    processes[2].kill()
    ended = wait(processes)
    assert all(each.status not in (0, 130) for each in ended), ended
    assert "start all processes again with --resume" in ended[0].err  # Gloo notices, before JAX
    assert not any((tmp_path / str(number) / "run").exists() for number in (1, 2))
    assert leftovers(tmp_path) == []
    before = [*run.checkpoints()][-1]
    assert before > done
    assert go_on_alone(run) > before


def test_processes_that_differ_end_with_one_line(tmp_path: Path) -> None:
    ended = wait(start(tmp_path, 2, own={1: ["--learner.discount", "0.5"]}))
    assert [each.status for each in ended] == [2, 2]
    assert "reinstate: processes differ: give all the same" in ended[0].err  # Gloo speaks after it
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("where", ["a:1", ":1,0,2", "a:x,0,2", "a:1,2,2", "a:1,-1,2"])
def test_an_address_that_cannot_be(where: str, command: Command) -> None:
    found = command(f"train barcode-bandits --distributed {where}")
    assert found.code == 2 and "--distributed takes `auto`, or HOST:PORT" in found.err
