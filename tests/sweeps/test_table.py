"""One row per seed, in files that other programs read."""

import csv
from pathlib import Path
from typing import Any

import pytest

from reinstate.sweeps.plan import Job
from reinstate.sweeps.queue import NOTHING, Outcome
from reinstate.sweeps.runs import regret_per_seed
from reinstate.sweeps.table import table_of, write_table

ROWS = [{"seed": n, "reward": 1.5 + n, "regret": None, "steps": 9, "seconds": 0.5} for n in (0, 1)]
JOBS = [Job(n, "e", "a", "quick", {"learner.lanes": v}, {}) for n, v in (("one", 4), ("two", 0.5))]
OUTCOMES: dict[str, Outcome] = {
    "one": {"done": True, "failures": 0, "error": "", "result": {"rows": ROWS}},
    "two": {**NOTHING, "failures": 2, "error": "not finite, alas"},
}


def test_seeds_are_rows_and_what_failed_is_one_too(tmp_path: Path) -> None:
    rows = table_of(JOBS, OUTCOMES)
    assert [row["reward"] for row in rows] == [1.5, 2.5, None]
    assert [row["error"] for row in rows] == [None, None, "not finite, alas"]
    write_table(rows, tmp_path / "sweep")
    with open(tmp_path / "sweep.csv", newline="") as file:
        read = [*csv.DictReader(file)]
    assert [row["learner.lanes"] for row in read] == ["4", "4", "0.5"]
    assert read[2]["reward"] == "" and read[2]["error"] == "not finite, alas"


def test_parquet_holds_the_same(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write_table(table_of(JOBS, OUTCOMES), tmp_path / "sweep")
    read = parquet.read_table(tmp_path / "sweep.parquet").to_pydict()
    assert read["reward"] == [1.5, 2.5, None] and read["learner.lanes"] == [4.0, 4.0, 0.5]
    assert read["seed"] == [0, 1, None] and read["regret"] == [None] * 3


def test_without_pyarrow_there_is_no_parquet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    files = write_table(table_of(JOBS, OUTCOMES), tmp_path / "sweep")
    assert files == [tmp_path / "sweep.csv"]


def test_regret_counts_every_episode_once() -> None:
    by_exposure: Any = {"episodes": [3, 1], "regret": {"per_seed": [[1.0, 5.0], [2.0, 2.0]]}}
    scores: Any = {"by_exposure": by_exposure}
    assert regret_per_seed(scores) == [2.0, 2.0]
    by_exposure["regret"]["per_seed"][0][0] = None
    assert regret_per_seed(scores) is None
    assert regret_per_seed({"reward": ROWS}) is None  # type: ignore[typeddict-item]
