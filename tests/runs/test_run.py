"""A run on disk: whatever happens, files are whole; whatever is in them, nothing is executed."""

import json
import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save_file

from reinstate.errors import UserError
from reinstate.evaluation import Record
from reinstate.files import read_json
from reinstate.runs import run as runs
from reinstate.runs.checkpoints import CHECKPOINT, load_checkpoint
from reinstate.runs.run import Run, config_of, write_record
from reinstate.settings import recorded_settings
from reinstate.tasks.bandits import BarcodeBandits
from reinstate.tasks.water_maze import MazeTrace
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from tiny import TINY, contents

CONFIG = {"agent": "epl2rl", "settings": {"seeds": 2, "learner": {"lanes": 4}}}


class State(NamedTuple):
    weights: Any
    count: Any
    key: Any


def a_state(seed: int = 0) -> State:
    key = jax.random.key(seed)
    weights = {"w": jax.random.normal(key, (2, 3)), "b": jnp.array([jnp.nan, -0.0, 1e-45])}
    return State(weights, jnp.array([7, 8]), jax.random.split(key, 2))


def test_a_record_is_a_plain_npz_with_dotted_names(tmp_path: Path) -> None:
    one: list[Any] = [np.arange(2)] * 13
    gates, trace = {"r": np.ones(3), "i": np.zeros(3)}, MazeTrace(np.ones(2), np.zeros(2))  # type: ignore[arg-type]
    parts: Any = {"report": gates, "outcome": gates, "trace": trace}
    write_record(tmp_path / "r.npz", Record(*one)._replace(**parts))
    with np.load(tmp_path / "r.npz", allow_pickle=False) as arrays:
        nested = {"gates.r", "gates.i", "outcome_gates.r", "outcome_gates.i"}
        assert set(arrays) == {*Record._fields} - {*parts} | nested | {"trace.cell", "trace.goal"}
        np.testing.assert_array_equal(arrays["action"], [0, 1])
        np.testing.assert_array_equal(arrays["gates.r"], [1, 1, 1])


# Folders


def test_a_new_run_and_its_config(tmp_path: Path) -> None:
    run = Run(tmp_path / "runs" / "x")
    run.create(CONFIG, resume=False)
    assert run.read_config() == CONFIG
    saved = read_json(run.path / "config.json")
    assert saved["version"] and saved["jax"] == jax.__version__ and "commit" in saved


def test_another_run_is_not_touched(tmp_path: Path) -> None:
    run = Run(tmp_path / "x")
    run.create(CONFIG, resume=False)
    before = contents(tmp_path)
    with pytest.raises(UserError, match=r"x already holds a run: add --resume .* another --out"):
        run.create(CONFIG, resume=False)
    other = {"agent": "l2rl", "settings": {"seeds": 2, "learner": {"lanes": 8}}}
    changes = "agent: epl2rl → l2rl; settings.learner.lanes: 4 → 8"
    with pytest.raises(UserError, match=re.escape(f"with other settings ({changes})")):
        run.create(other, resume=True)
    run.create(CONFIG, resume=True)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("resume", [True, False])
def test_out_that_is_no_place_for_a_run(tmp_path: Path, resume: bool) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes").write_text("mine too")
    before = contents(tmp_path)
    for name, message in (
        ("file", "file is a file: choose another --out"),
        ("full", "full is not empty: it holds no run; choose another --out"),
        ("file/under", "cannot write .*/file/under/config.json: Not a directory"),
    ):
        with pytest.raises(UserError, match=message):
            Run(tmp_path / name).create(CONFIG, resume)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "x holds no run: it has no config.json"),
        ("[]", r"config\.json is not the config of a run"),
        ('{"config": 3}', r"config\.json is not the config of a run"),
        (
            '{"config": {}, "format": 3}',
            "x holds a run of format 3, and this version knows 2",
        ),
        ('{"config"', r"config\.json cannot be read"),
    ],
)
def test_a_folder_that_is_no_run(tmp_path: Path, text: str | None, message: str) -> None:
    (tmp_path / "x").mkdir()
    if text is not None:
        (tmp_path / "x" / "config.json").write_text(text)
    with pytest.raises(UserError, match=message):
        Run(tmp_path / "x").read_config()


# Metrics

ROW: Any = {"epoch": 1, "steps": 7, "seconds": 0.5, "reward": [1.0, 2.0]}


def test_metrics_up_to_an_epoch(tmp_path: Path) -> None:
    run = Run(tmp_path)
    assert run.read_metrics() == []
    rows = [{**ROW, "epoch": n, "reward": [n / 3, 0.1]} for n in (1, 2, 3)]
    for row in rows:
        run.append_metrics(row)
    assert run.read_metrics() == rows
    assert run.read_metrics(2) == rows[:2]
    run.write_metrics(rows[:1])
    assert run.read_metrics() == rows[:1]


@pytest.mark.parametrize(
    "tail",
    [
        *('{"epoch": 2, "rew', "\xff\n", '\n\n{"epo\n\n', "17\n"),
        json.dumps({**ROW, "epoch": "2"}),
    ],
)
def test_a_line_cut_short_or_altered_does_not_count(tmp_path: Path, tail: str) -> None:
    run = Run(tmp_path)
    run.append_metrics(ROW)
    with open(run.metrics_path, "a", encoding="latin-1") as file:
        file.write(tail)
    assert run.read_metrics() == [ROW]


# Checkpoints


def test_checkpoint_round_trip_is_exact(tmp_path: Path) -> None:
    state = a_state()
    path = Run(tmp_path).save_checkpoint(state, 12)
    assert path == tmp_path / "checkpoints" / "epoch-00012.safetensors"
    back, epoch = load_checkpoint(path, jax.eval_shape(a_state))
    assert epoch == 12 and isinstance(back, State)
    assert back.key.dtype == state.key.dtype
    draws = [jax.vmap(jax.random.bits)(s.key) for s in (state, back)]
    np.testing.assert_array_equal(draws[0], draws[1])
    for old, new in zip(jax.tree.leaves(state[:2]), jax.tree.leaves(back[:2]), strict=True):
        assert old.dtype == new.dtype
        assert np.asarray(old).tobytes() == np.asarray(new).tobytes()


def test_the_same_state_gives_the_same_bytes(tmp_path: Path) -> None:
    paths = [Run(tmp_path / name).save_checkpoint(a_state(), 3) for name in "abcdefgh"]
    assert len({path.read_bytes() for path in paths}) == 1


def test_checkpoints_by_epoch_and_in_order(tmp_path: Path) -> None:
    run = Run(tmp_path)
    assert run.checkpoints() == {}
    paths = {epoch: run.save_checkpoint({"x": jnp.ones(1)}, epoch) for epoch in (100_000, 25, 7)}
    for other in ("epoch-last.safetensors", "epoch-9.npz", "9.safetensors", "epoch-.safetensors"):
        (tmp_path / "checkpoints" / other).touch()
    found = run.checkpoints()
    assert list(found) == [7, 25, 100_000] and found == paths


class Bomb:
    """Code that unpickling would run."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os._exit, (99,)


SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda content: content[:-5],
    "header only": lambda content: content[:6],
    "empty": lambda content: b"",
    "garbage": lambda content: b"\xff" * 100,
    "pickled": lambda content: pickle.dumps(Bomb()),
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_checkpoint_that_cannot_be_read(tmp_path: Path, how: str) -> None:
    path = Run(tmp_path).save_checkpoint(a_state(), 1)
    path.write_bytes(SPOILT[how](path.read_bytes()))
    with pytest.raises(UserError) as error:
        load_checkpoint(path, a_state())
    assert str(error.value).startswith(f"{path} cannot be read (")
    assert str(error.value).endswith("continue the run, which makes it again")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "metadata", [None, {"format": "pt"}, {CHECKPOINT: "-1.5"}, {CHECKPOINT: '{"epoch": 1}'}]
)
def test_a_foreign_file(tmp_path: Path, metadata: dict[str, str] | None) -> None:
    path = tmp_path / "foreign.safetensors"
    save_file({"w": np.ones(3)}, path, metadata)
    with pytest.raises(UserError, match=f"{path} is no {CHECKPOINT}"):
        load_checkpoint(path, a_state())


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (a_state()._replace(count=jnp.arange(3)), r"\.count is int32\[2\], expected int32\[3\]"),
        (a_state()._replace(count=jnp.ones(2)), r"\.count is int32\[2\], expected float32\[2\]"),
        (a_state()._replace(count=None), r"\.count is int32\[2\], expected nothing"),
        (a_state()._replace(weights={}), r"\.weights\['b'\] is float32\[3\], expected nothing"),
        ((a_state(), jnp.ones(1)), r"\.count is int32\[2\], expected nothing"),
    ],
)
def test_a_checkpoint_of_another_agent(tmp_path: Path, other: Any, message: str) -> None:
    path = Run(tmp_path).save_checkpoint(a_state(), 1)
    with pytest.raises(UserError, match=f"{path} is of another agent or other settings: {message}"):
        load_checkpoint(path, other)


def test_no_pickle_in_the_source() -> None:
    """Loading a stranger's run executes nothing, because nothing that could is imported."""
    unsafe = re.compile(
        r"import.*\b(pickle|dill|joblib|shelve|marshal)\b|allow_pickle=True|\bexec\("
    )
    source = Path(runs.__file__).parent
    assert [path for path in source.rglob("*.py") if unsafe.search(path.read_text())] == []


def test_the_config_has_the_memory_that_the_agent_has() -> None:
    config = config_of(BARCODE_BANDITS, "epl2rl-oracle", TINY)
    own = recorded_settings(BarcodeBandits, config["settings"])
    assert own == TINY.for_agent("epl2rl-oracle") != TINY
    assert config_of(BARCODE_BANDITS, "epl2rl-oracle", own) == config
