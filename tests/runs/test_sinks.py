"""Sinks show what metrics.jsonl keeps: every epoch once, and never at the price of training."""

import json
import struct
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reinstate.errors import UserError
from reinstate.files import write_json
from reinstate.runs import sinks
from reinstate.runs.progress import Reporter
from reinstate.runs.run import Run
from reinstate.runs.sinks import Sinks, flat, require_sinks
from reinstate.runs.training import train
from tiny import SILENT, TINY, new_run

NAMES = ("reward", "loss", "entropy", "grad_norm")
SEEDS = (3, 4)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path / "run")
    write_json(run.path / "config.json", {"format": 2, "id": "0a1b", "config": {"agent": "epl2rl"}})
    return run


def row(epoch: int) -> dict[str, Any]:
    """What two seeds brought in an epoch, of 10 steps in half a second."""
    values: dict[str, Any] = {name: [epoch + n, epoch + n + 2.0] for n, name in enumerate(NAMES)}
    return {"epoch": epoch, "steps": 10 * epoch, "seconds": 0.5, **values}


def show(run: Run, track: list[str], epochs: range, reporter: Reporter = SILENT) -> None:
    """Train for some epochs, as far as a sink can tell."""
    with closing(Sinks(track, run, "epl2rl", epochs.start - 1, reporter)) as shown:
        for epoch in epochs:
            shown.write(epoch, flat(row(epoch), SEEDS))


def test_a_row_is_flattened_by_seed() -> None:
    assert flat({"epoch": 4, "steps": 40, "seconds": 0.5, "loss": [1.0, 3.0]}, SEEDS) == {
        "steps": 40,
        "seconds": 0.5,
        "loss/mean": 2.0,
        "loss/seed-3": 1.0,
        "loss/seed-4": 3.0,
        "steps_per_second": 20.0,
    }
    assert flat({"epoch": 1, "seconds": 2.0, "right": 0.5}, ()) == {"seconds": 2.0, "right": 0.5}


def events(folder: Path) -> Iterator[Any]:
    """Read event files, oldest first: records of length, checksum, event and checksum."""
    from tensorboardX.proto.event_pb2 import Event

    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        while content:
            (size,) = struct.unpack("<Q", content[:8])
            yield Event.FromString(content[12 : 12 + size])
            content = content[16 + size :]


def as_tensorboard_shows(folder: Path) -> dict[str, dict[int, float]]:
    """Collect curves; a session drops what earlier ones wrote from its first step on."""
    curves: dict[str, dict[int, float]] = {}
    for event in events(folder):
        if event.session_log.status == 1:  # START
            for curve in curves.values():
                for step in [step for step in curve if step >= event.step]:
                    del curve[step]
        for value in event.summary.value:
            curve = curves.setdefault(value.tag, {})
            assert event.step not in curve
            curve[event.step] = value.simple_value
    return curves


def test_tensorboard_has_every_epoch_once(run: Run) -> None:
    pytest.importorskip("tensorboardX")
    show(run, ["tensorboard"], range(1, 5))  # and then it crashed; the checkpoint is of epoch 2
    assert list(as_tensorboard_shows(run.path / "tensorboard")["loss/mean"]) == [1, 2, 3, 4]
    show(run, ["tensorboard"], range(3, 4))
    curves = as_tensorboard_shows(run.path / "tensorboard")
    for n, name in enumerate(NAMES):
        assert curves[f"{name}/mean"] == {epoch: epoch + n + 1 for epoch in (1, 2, 3)}
        assert curves[f"{name}/seed-3"] == {epoch: epoch + n for epoch in (1, 2, 3)}
        assert curves[f"{name}/seed-4"] == {epoch: epoch + n + 2 for epoch in (1, 2, 3)}
    assert set(curves["steps_per_second"].values()) == {20.0}


def test_wandb_continues_the_same_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    for name in ("CONFIG", "CACHE", "DATA"):
        monkeypatch.setenv(f"WANDB_{name}_DIR", str(run.path.parent / name.lower()))
    show(run, ["wandb"], range(1, 4))
    (run.path / "wandb").rename(run.path / "before")  # folders are named by the second
    show(run, ["wandb"], range(3, 5))
    folders = [*run.path.glob("before/offline-run-*"), *run.path.glob("wandb/offline-run-*")]
    assert [folder.name.rpartition("-")[2] for folder in folders] == ["0a1b", "0a1b"]
    logged = [written(folder, rows) for folder, rows in zip(folders, (3, 2), strict=True)]
    assert [[row["_step"] for row in rows] for rows in logged] == [[1, 2, 3], [3, 4]]
    assert logged[1][1]["reward/mean"] == 5.0 and logged[1][1]["steps_per_second"] == 20.0


def written(folder: Path, rows: int) -> list[dict[str, float]]:
    """Wait for so many rows: a process of W&B's own writes them, on a busy machine later."""
    for _ in range(100):
        if len(found := list(wandb_rows(folder))) >= rows:
            break
        time.sleep(0.1)
    return found


def wandb_rows(folder: Path) -> Iterator[dict[str, float]]:
    """Read what an offline run of W&B logged, all within one block of LevelDB's log format."""
    from wandb.proto import wandb_internal_pb2 as protocol

    (path,) = folder.glob("run-*.wandb")
    content = path.read_bytes()
    assert len(content) < 2**15
    content = content[7:]
    while content:
        size, kind = struct.unpack("<HB", content[4:7])
        assert kind == 1  # a whole record
        record = protocol.Record.FromString(content[7 : 7 + size])  # type: ignore[attr-defined]
        content = content[7 + size :]
        if record.WhichOneof("record_type") == "history":
            items = record.history.item
            yield {i.key or "/".join(i.nested_key): json.loads(i.value_json) for i in items}


@pytest.mark.parametrize("name", ["tensorboard", "wandb"])
def test_a_missing_package_is_named(name: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    package = {"tensorboard": "tensorboardX", "wandb": "wandb"}[name]
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError) as error:
        require_sinks([name])
    assert f'--track {name} needs {package}: pip install "reinstate[{name}]"' in str(error.value)


class Breaking:
    """A sink that fails in its second epoch, or as soon as it is opened for `nobody`."""

    def __init__(self, folder: Path, label: str, config: Mapping[str, Any], done: int) -> None:
        self.events: list[Any] = []
        opened.append(self)
        if label == "nobody" and type(self) is Breaking:
            raise ConnectionError("no network\nat all")

    def write(self, epoch: int, values: Mapping[str, float]) -> None:
        self.events.append(epoch)
        if epoch == 2:
            raise OSError("quota exceeded")

    def close(self) -> None:
        self.events.append("closed")


class Listing(Breaking):
    """A sink that never fails."""

    def write(self, epoch: int, values: Mapping[str, float]) -> None:
        self.events.append(epoch)


class Known(dict[str, type[Breaking]]):
    find = dict.__getitem__


opened: list[Breaking] = []


@pytest.fixture
def two_sinks(monkeypatch: pytest.MonkeyPatch) -> None:
    opened.clear()
    monkeypatch.setattr(sinks, "SINKS", Known(breaking=Breaking, listing=Listing))


def test_a_sink_that_fails_is_dropped_with_a_warning(
    run: Run, two_sinks: None, capsys: pytest.CaptureFixture[str]
) -> None:
    show(run, ["breaking", "listing"], range(1, 4), Reporter())
    assert capsys.readouterr().err == (
        "breaking failed (quota exceeded): training continues without it; metrics.jsonl has every"
        " epoch\n"
    )
    assert [sink.events for sink in opened] == [[1, 2], [1, 2, 3, "closed"]]


def test_a_sink_that_cannot_be_opened_is_an_error(run: Run, two_sinks: None) -> None:
    message = r"^cannot open breaking \(no network at all\): leave --track out$"
    with pytest.raises(UserError, match=message):
        Sinks(["listing", "breaking"], run, "nobody", 0, SILENT)
    assert opened[0].events == ["closed"]


def test_sinks_are_closed_when_training_fails(
    tmp_path: Path, two_sinks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Run, *checkpoint: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(Run, "save_checkpoint", fail)
    with pytest.raises(MemoryError):
        train("epl2rl", TINY, new_run(tmp_path / "x"), SILENT, 2, ["listing"])
    assert opened[0].events == [1, 2, "closed"]
