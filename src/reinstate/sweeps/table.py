"""One row per seed of all runs, as CSV, and as Parquet where pyarrow is there."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reinstate.files import write_atomically
from reinstate.sweeps.plan import Job
from reinstate.sweeps.queue import Outcome

MEASURED = ("seed", "reward", "regret", "steps", "seconds")

Rows = list[dict[str, Any]]


def table_of(jobs: Sequence[Job], outcomes: Mapping[str, Outcome]) -> Rows:
    """Put all runs into one table; those not done have a row each, without numbers."""
    options = list(dict.fromkeys(name for job in jobs for name in job.options))
    rows = []
    for job in jobs:
        outcome = outcomes[job.name]
        known: dict[str, Any] = {"run": job.name, "experiment": job.experiment, "agent": job.agent}
        known |= {"preset": job.preset, **{name: job.options.get(name) for name in options}}
        measured = outcome["result"].get("rows", []) if outcome["done"] else [{}]
        for row in measured:
            numbers = {name: row.get(name) for name in MEASURED}
            rows.append({**known, **numbers, "error": outcome["error"] or None})
    return rows


def write_table(rows: Rows, stem: Path) -> list[Path]:
    """Write the table; return its files."""
    files = [stem.with_suffix(".csv")]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(files[0], text.getvalue().encode())
    if (content := _parquet(rows)) is not None:
        files.append(stem.with_suffix(".parquet"))
        write_atomically(files[1], content)
    return files


def _parquet(rows: Rows) -> bytes | None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return None
    columns = {name: _of_one_kind([row[name] for row in rows]) for name in rows[0]}
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()


def _of_one_kind(values: list[Any]) -> list[Any]:
    """Make a column's values of one kind: 1 and 0.5 are numbers, 1 and "adam" are words."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) < 2:
        return values
    kind: Any = float if kinds == {int, float} else str
    return [None if value is None else kind(value) for value in values]
