"""The host's loop: a stop, a resume or a failure never changes what training computes."""

import os
import re
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reinstate.errors import Stopped, UserError
from reinstate.files import checksum_of, read_arrays
from reinstate.runs.evaluator import Evaluator
from reinstate.runs.progress import Bar, Reporter
from reinstate.runs.run import Run, open_run, start_run
from reinstate.runs.training import Trained, seconds_of, train
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from tiny import SILENT, TINY, contents, interrupt, new_run, trained_run


def go(run: Run, checkpoint_every: int = 2) -> Trained:
    return train("epl2rl", TINY, run, SILENT, checkpoint_every)


def numbers(run: Run) -> list[dict[str, Any]]:
    """The metrics, without what time things took, which no two runs share."""
    times = {"seconds", "compile"}
    return [{n: v for n, v in row.items() if n not in times} for row in run.read_metrics()]


def checkpoints(run: Run) -> dict[str, str]:
    """Hashes of what checkpoints carry."""
    return {path.name: checksum_of(read_arrays(path, "")[0]) for path in run.checkpoints().values()}


def after_epoch(monkeypatch: pytest.MonkeyPatch, epoch: int, do: Callable[[], None]) -> None:
    """Do something when an epoch is reported, before it is checkpointed."""
    report = Bar.update

    def update(self: Bar, done: int, news: str) -> None:
        report(self, done, news)
        if done == epoch:
            do()

    monkeypatch.setattr(Bar, "update", update)


def test_a_finished_run(tmp_path: Path) -> None:
    run = trained_run(tmp_path / "x")
    assert list(checkpoints(run)) == ["epoch-00002.safetensors", "epoch-00004.safetensors"]
    rows = run.read_metrics()
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4]
    # 4 lanes × 6 episodes × 3 pulls × 2 seeds
    assert [row["steps"] for row in rows] == [144, 288, 432, 576]
    for row in rows:
        assert row["seconds"] > 0
        assert {n: len(row[n]) for n in ("reward", "loss", "entropy", "grad_norm")} == {
            "reward": 2, "loss": 2, "entropy": 2, "grad_norm": 2,
        }  # fmt: skip


def test_already_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained_run(tmp_path / "x")
    before = contents(run.path)
    monkeypatch.setattr(Reporter, "track", None)  # nothing is compiled, nothing is trained
    trained = go(run)
    assert len(trained.metrics) == 4 and trained.steps_per_second > 0
    assert trained.state.epoch.tolist() == [4, 4]
    assert contents(run.path) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_resume_is_bit_identical(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    whole, run = trained_run(tmp_path / "whole"), new_run(tmp_path / "halves")
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with monkeypatch.context() as patch:
        after_epoch(patch, 1, lambda: interrupt(number))
        with pytest.raises(Stopped, match="epl2rl stopped after epoch 1 of 4: --resume continues"):
            go(run)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers
    assert list(checkpoints(run)) == ["epoch-00001.safetensors"]
    trained = go(run)
    assert len(trained.metrics) == 4
    assert ["compile" in row for row in trained.metrics] == [True, True, False, False]
    assert seconds_of(trained.metrics)["train"] == sum(row["seconds"] for row in trained.metrics)
    assert numbers(run) == numbers(whole)
    last = "epoch-00004.safetensors"
    assert checkpoints(run)[last] == checkpoints(whole)[last]


def test_a_crash_is_resumed_from_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash() -> None:
        raise MemoryError

    whole, run = trained_run(tmp_path / "whole"), new_run(tmp_path / "crashed")
    with monkeypatch.context() as patch:
        after_epoch(patch, 3, crash)
        with pytest.raises(MemoryError):
            go(run)
    assert [row["epoch"] for row in run.read_metrics()] == [1, 2, 3]
    with open(run.metrics_path, "a") as file:
        file.write('{"epoch": 4, "rew')
    go(run)
    assert numbers(run) == numbers(whole)
    assert checkpoints(run) == checkpoints(whole)


def test_a_second_signal_acts_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def twice() -> None:
        interrupt(signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)  # cut short by the interrupt

    after_epoch(monkeypatch, 1, twice)
    with pytest.raises(KeyboardInterrupt):
        go(new_run(tmp_path / "x"))


def test_a_signal_in_the_last_epoch_is_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or `reproduce` would go on to the next agent."""
    run = new_run(tmp_path / "x")
    after_epoch(monkeypatch, 4, lambda: interrupt(signal.SIGINT))
    with pytest.raises(Stopped, match="after epoch 4 of 4"):
        go(run)
    assert "epoch-00004.safetensors" in checkpoints(run)


def test_what_is_not_finite_stops_and_keeps_the_last_good_state(tmp_path: Path) -> None:
    """Weights of 1e38 are still numbers; what one epoch makes of them is not."""
    run = trained_run(tmp_path / "x")
    state = Evaluator(BARCODE_BANDITS, "epl2rl", TINY).load(run)
    huge = state.params.head.weight.at[1].set(1e38)  # of the second seed
    params = jax.tree.map(lambda x: x, state.params)
    object.__setattr__(params.head, "weight", huge)
    for path in (run.path / "checkpoints").iterdir():
        path.unlink()
    run.save_checkpoint(state._replace(params=params, epoch=jnp.full(2, 1)), 1)
    before = checkpoints(run)
    with pytest.raises(UserError) as error:
        go(run)
    kept = run.path / "checkpoints" / "epoch-00001.safetensors"
    assert re.fullmatch(
        r"weight cell\.weight \(and 3 more\) of seed 1 \(nan generated by primitive: \w+[^)\n]*\)"
        r" is not finite in epoch 2: try a lower --learner\.learning-rate; the last good state is"
        rf" kept in {re.escape(str(kept))}",
        str(error.value),
    )
    assert checkpoints(run) == before
    assert [row["epoch"] for row in run.read_metrics()] == [1]


def test_metrics_are_those_up_to_the_checkpoint(tmp_path: Path) -> None:
    run = trained_run(tmp_path / "x")
    before = run.metrics_path.read_bytes()
    for spoilt in (before + before, before + b'{"epoch": 5, "rew', b"\xff{\n" + before):
        run.metrics_path.write_bytes(spoilt)
        assert len(go(run).metrics) == 4
        assert run.metrics_path.read_bytes() == before
    for spoilt in (b"", before[:-30], before[30:]):
        run.metrics_path.write_bytes(spoilt)
        with pytest.raises(UserError, match=r"metrics.jsonl lacks some of 4 epochs: restore it"):
            go(run)


def test_metrics_are_on_the_disk_before_the_checkpoint_that_counts_on_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, sync = new_run(tmp_path / "x"), os.fsync
    on_disk: list[tuple[str, int]] = []

    def fsync(descriptor: int) -> None:
        about, metrics = os.fstat(descriptor), run.metrics_path
        if metrics.exists() and os.path.samestat(about, metrics.stat()):
            on_disk.append(("metrics", metrics.read_bytes().count(b"\n")))
        for path in (run.path / "checkpoints").glob(".*.tmp"):
            on_disk.append(("checkpoint", int(path.name[7:12])))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    go(run, checkpoint_every=2)
    assert on_disk == [("metrics", 2), ("checkpoint", 2), ("metrics", 4), ("checkpoint", 4)]


def flip(path: Path, share: float = 0.5) -> None:
    """Flip one bit of a file."""
    content = bytearray(path.read_bytes())
    content[int(share * len(content))] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.99])
def test_a_damaged_checkpoint_is_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], share: float
) -> None:
    run, whole = trained_run(tmp_path / "x"), trained_run(tmp_path / "whole")
    damaged = run.path / "checkpoints" / "epoch-00004.safetensors"
    flip(damaged, share)
    with pytest.raises(UserError, match="epoch-00004"):
        Evaluator(BARCODE_BANDITS, "epl2rl", TINY).load(run)
    train("epl2rl", TINY, run, Reporter(), 2)
    assert f"passing over a damaged checkpoint: {damaged}" in capsys.readouterr().err
    assert checkpoints(run) == checkpoints(whole) and numbers(run) == numbers(whole)


def test_where_every_checkpoint_is_damaged_training_starts_over(tmp_path: Path) -> None:
    run, whole = trained_run(tmp_path / "x"), trained_run(tmp_path / "whole")
    for path in run.checkpoints().values():
        flip(path)
    go(run)
    assert checkpoints(run) == checkpoints(whole) and numbers(run) == numbers(whole)


def test_the_newest_checkpoints_are_kept(tmp_path: Path) -> None:
    run = new_run(tmp_path / "x")
    go(run, checkpoint_every=1)
    assert [*run.checkpoints()] == [3, 4]
    every = new_run(tmp_path / "all")
    train("epl2rl", TINY, every, SILENT, 1, keep_checkpoints=0)
    assert [*every.checkpoints()] == [1, 2, 3, 4]
    for number in (1, -1):
        with pytest.raises(UserError, match="keep_checkpoints must be 2 or more, or 0 for all"):
            train("epl2rl", TINY, run, SILENT, keep_checkpoints=number)


def test_what_is_refused_while_it_is_traced_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Any, state: Any) -> Any:
        raise UserError("this memory cannot be recognised")

    monkeypatch.setattr("reinstate.runs.training.AgentWork.compile", refuse)
    with pytest.raises(UserError, match="recognised"):
        go(new_run(tmp_path / "x"))
    assert list(tmp_path.iterdir()) == []


def test_training_on_begins_with_the_weights_of_another_run(tmp_path: Path) -> None:
    parent = Evaluator(BARCODE_BANDITS, "epl2rl", TINY).load(trained_run(tmp_path / "parent"))
    run = start_run(BARCODE_BANDITS, "epl2rl", TINY, tmp_path / "on", False, parent="parent")
    stop = replace(TINY, learner=replace(TINY.learner, learning_rate=1e-12, epochs=1))
    on = train("epl2rl", stop, run, SILENT, start=parent)
    for old, new in zip(*map(jax.tree.leaves, (parent.params, on.state.params)), strict=True):
        np.testing.assert_allclose(old, new, atol=1e-6)
    assert on.state.epoch.tolist() == [1, 1]
    assert run.read_config()["parent"] == "parent"
    assert open_run(run.path).settings == TINY


def test_checkpoints_cannot_come_every_zero_epochs(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="checkpoint_every must be positive, not 0"):
        go(new_run(tmp_path / "x"), checkpoint_every=0)


def test_seeds_do_not_depend_on_each_other(tmp_path: Path) -> None:
    """Seed 1 is the same beside seed 2 as beside seed 0."""
    before = Evaluator(BARCODE_BANDITS, "epl2rl", TINY).load(trained_run(tmp_path / "before"))
    settings = replace(TINY, first_seed=1)
    trained = train("epl2rl", settings, new_run(tmp_path / "x", settings=settings), SILENT)
    pairs = zip(jax.tree.leaves(before.params), jax.tree.leaves(trained.state.params), strict=True)
    for old, new in pairs:
        np.testing.assert_array_equal(old[1], new[0])
        assert not np.array_equal(old[0], new[0])
