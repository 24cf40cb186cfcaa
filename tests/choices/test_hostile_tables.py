"""Tables made to break the reader: what is too large, misshapen or no file is one line."""

import gzip
import os
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reinstate.choices import reading
from reinstate.choices.tables import _session_of, read_choices
from reinstate.errors import UserError

HEADER = "participant,action,state,reward"
ROWS = "1,left,pink,1\n1,right,blue,0\n1,left,blue,1\n"
GOOD = f"{HEADER}\n{ROWS}".encode()


def refused(table: Any) -> str:
    with pytest.raises(UserError) as caught:
        read_choices(table)
    return str(caught.value)


def columns(**changed: Any) -> dict[str, list[Any]]:
    rows = [line.split(",") for line in ROWS.splitlines()]
    names = dict(zip(HEADER.split(","), zip(*rows, strict=True), strict=True))
    return {**{name: [*values] for name, values in names.items()}, **changed}


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small bounds, so that small files pass them."""
    for name, bound in (("MOST_ROWS", 600), ("LARGEST_TABLE", 60_000), ("LONGEST_ROW", 100)):
        monkeypatch.setattr(reading, name, bound)


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GOOD + b"1,left,pink,1\n" * 2000, "more than 600 rows"),
        (GOOD + (b" " * 99 + b"\n") * 700, "more than 0 MB unpacked"),
        (GOOD + b"," * 1000, "a row of more than 100 characters"),
        (GOOD + b'"' + b'\n","x' * 20_000, "a row of more than 100 characters"),
        (b"x" * 1000 + GOOD, "a row of more than 100 characters"),
    ],
)
def test_what_unpacks_to_too_much_is_refused_on_the_way(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(content))
    assert message in refused(path)


@pytest.mark.usefixtures("bounded")
def test_a_file_that_is_too_large_is_not_opened(tmp_path: Path) -> None:
    for name in ("table.csv", "table.parquet"):
        with open(tmp_path / name, "wb") as file:
            file.truncate(70_000)
        assert "it is larger than 0 MB" in refused(tmp_path / name)


def test_a_name_that_no_file_can_have() -> None:
    assert "cannot be read" in refused("a\0b.csv") and "cannot be read" in refused("x" * 9999)


def test_too_many_columns(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("," * 20_000 + GOOD.decode())
    assert "20,004 columns" in refused(tmp_path / "table.csv")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
@pytest.mark.parametrize("name", ["pipe.csv", "pipe.csv.gz", "pipe.parquet"])
def test_a_pipe_does_not_hang(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    assert "no regular file" in refused(tmp_path / name)


@pytest.mark.parametrize(
    "content",
    [
        b"\x1f\x8b",
        gzip.compress(GOOD)[:-4],
        gzip.compress(GOOD)[:12] + b"\xff" * 40,
        gzip.compress(GOOD)[:10] + zlib.compress(GOOD),
        GOOD,
    ],
    ids=["cut short", "no end", "nonsense", "another kind", "not compressed"],
)
def test_broken_compression(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "table.csv.gz"
    path.write_bytes(content)
    assert "cannot be read" in refused(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GOOD.replace(b"left", b"l\xe9ft"), "save it as UTF-8"),  # latin-1
        (GOOD.replace(b"left", b"\xed\xa0\x80"), "save it as UTF-8"),  # a lone surrogate
        (GOOD.replace(b"1,left,pink,1", b"1,l\x00ft,pink,1\x00", 1), "'1\\x00'"),
        (GOOD + b'"' + b"x" * 60_000 + b"\n" + b"x" * 60_000 + b"\n" + b"x" * 60_000, "field"),
        (GOOD.replace(b"reward", b"action"), "several columns 'action'"),
    ],
)
def test_odd_text(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    assert message in refused(path)


@pytest.mark.parametrize(
    ("reward", "message"),
    [
        ([1, 0, 10**5000], "cannot be read as labels"),
        ([1, 0, 10**300], "reward is"),
        ([1, 0, float("inf")], "reward is 'inf'"),
        ([1, 0, "\ud800"], "reward is '\\ud800'"),
        (np.array(1), "cannot be read as labels"),
        ([1, 0], "not equally long"),
    ],
)
def test_odd_values_in_memory(reward: Any, message: str) -> None:
    assert message in refused(columns(reward=reward))


def test_sessions_are_numbered_small() -> None:
    """Their numbers are multiplied by those of episodes, which has to fit 64 bits."""
    codes = np.array([0, 3 * 10**9])
    table: Any = SimpleNamespace(participant=codes, session=codes)
    assert _session_of(table).tolist() == [0, 1]


def test_parquet_is_bounded_by_its_metadata(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "table.parquet"
    parquet.write_table(pyarrow.table({"action": [0] * 3_000_000}), path)
    monkeypatch.setattr(parquet.ParquetFile, "read", None)  # nothing of it is decoded
    assert "3,000,000 rows" in refused(path)
    monkeypatch.setattr(reading, "LARGEST_TABLE", 100_000)
    parquet.write_table(pyarrow.table({"action": ["x" * 1_000_000]}), path)
    assert "unpacked" in refused(path)


def test_parquet_decodes_only_what_is_needed(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path, n = tmp_path / "table.parquet", 3
    moments = pyarrow.array([1, 2, 3], pyarrow.timestamp("ns"))
    others = {"lists": [[1]] * n, "structs": [{"a": {"b": 1}}] * n, "moment": moments}
    parquet.write_table(pyarrow.table(columns(**others)), path)
    assert len(read_choices(path).choices.action) == n
    assert read_choices(path, {"participant": "moment"}, skip_bad=True).participants[0] == (
        "1970-01-01 00:00:00.000000001"
    )
    bytes_as_text = pyarrow.array([b"left", b"right", None])
    parquet.write_table(pyarrow.table(columns(action=bytes_as_text, episode=[1, 2, 3])), path)
    assert read_choices(path, skip_bad=True).actions == ["left", "right"]
    parquet.write_table(pyarrow.table(columns(action=others["structs"])), path)
    assert "column action holds struct<" in refused(path)
    parquet.write_table(pyarrow.Table.from_arrays([moments, moments], ["action", "action"]), path)
    assert "several columns 'action'" in refused(path)
