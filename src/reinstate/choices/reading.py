"""A file (CSV or Parquet), a data frame or a dict of columns → columns of labels."""

import csv
import gzip
import importlib
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple

from reinstate.errors import UserError, one_line
from reinstate.files import require_regular

PARQUET = (".parquet", ".pq")
MOST_ROWS = 2_000_000  # of a file: several times the largest published study
LARGEST_TABLE = 500_000_000  # bytes of a file

# Finds the wanted columns among the names in a table: our name → the table's.
Pick = Callable[[Sequence[str]], Mapping[str, str]]


class Raw(NamedTuple):
    """A table as read, under our names."""

    columns: dict[str, list[str]]  # a label per row
    place: Callable[[int], str]  # "line 17"
    bad: dict[int, str]  # row → what is wrong with it


def read_columns(source: Any, pick: Pick) -> Raw:
    """Read those columns of a file, a data frame or a mapping from names that `pick` chooses.

    A data frame is anything with `columns` (or `column_names`) that gives a column by its name, so
    pandas, polars and pyarrow all serve, and none of them is imported.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        require_regular(path, LARGEST_TABLE)
        return (_read_parquet if path.suffix in PARQUET else _read_csv)(path, pick)
    if isinstance(source, Mapping):
        names: Iterable[Any] = source.keys()
    elif hasattr(source, "column_names") or hasattr(source, "columns"):
        names = source.column_names if hasattr(source, "column_names") else source.columns
    else:
        raise TypeError(
            "choices come as the path of a table, a data frame, a dict of columns, or Choices,"
            f" not as {type(source).__name__}"
        )
    known = {str(name): name for name in names}
    chosen = _chosen("the table", [str(name) for name in names], pick)
    return _by_rows({ours: source[known[theirs]] for ours, theirs in chosen.items()})


def _chosen(table: object, names: Sequence[str], pick: Pick) -> Mapping[str, str]:
    chosen, times = pick(names), Counter(names)
    for name in chosen.values():
        if times[name] > 1:
            raise UserError(f"{table} has several columns {name!r}: rename all but one")
    return chosen


def _by_rows(columns: Mapping[str, Iterable[Any]]) -> Raw:
    labels = {name: [intern(str(value)) for value in column] for name, column in columns.items()}
    if len({*map(len, labels.values())}) > 1:
        told = ", ".join(f"{name} has {len(column)}" for name, column in labels.items())
        raise UserError(f"the columns of the table are not equally long: {told}")
    return Raw(labels, lambda row: f"row {row + 1}", {})


def _read_csv(path: Path, pick: Pick) -> Raw:
    opened: Any = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", newline="", encoding="utf-8-sig") as file:
            first = file.readline()
            delimiter = max(",;\t", key=first.count)
            header = [*map(str.strip, next(csv.reader([first], delimiter=delimiter), []))]
            if not header:
                raise UserError(f"{path} is empty: write a header and one row per episode")
            chosen = {n: header.index(w) for n, w in _chosen(path, header, pick).items()}
            return _rows_of(path, csv.reader(file, delimiter=delimiter), len(header), chosen)
    except UnicodeDecodeError as error:
        raise UserError(f"{path} cannot be read as CSV: {error}; save it as UTF-8") from None
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        raise UserError(f"{path} cannot be read as CSV: {error}") from None


def _rows_of(path: Path, reader: Any, width: int, chosen: Mapping[str, int]) -> Raw:
    columns: dict[str, list[str]] = {name: [] for name in chosen}
    lines: list[int] = []
    bad: dict[int, str] = {}
    for row in filter(None, reader):
        if len(row) != width:
            bad[len(lines)] = f"{len(row)} fields, expected {width}"
            row = (row + [""] * width)[:width]
        for name, place in chosen.items():
            columns[name].append(intern(row[place]))
        lines.append(reader.line_num + 1)
        _require_fewer(path, len(lines))
    return Raw(columns, lambda row: f"line {lines[row]}", bad)


def _require_fewer(path: Path, rows: int) -> None:
    if rows > MOST_ROWS:
        raise UserError(f"{path} has more than {MOST_ROWS:,} rows: split it by participants")


def _read_parquet(path: Path, pick: Pick) -> Raw:
    try:
        arrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise UserError(
            f"{path}: reading Parquet needs pyarrow: pip install 'reinstate[parquet]'"
        ) from None
    try:
        with parquet.ParquetFile(path) as file:
            _require_fewer(path, file.metadata.num_rows)
            chosen = _chosen(path, file.schema_arrow.names, pick)
            table = file.read(columns=[*chosen.values()])
        labels = {n: table[w].cast(arrow.string()).to_pylist() for n, w in chosen.items()}
    except (arrow.ArrowException, OSError, ValueError, KeyError) as error:
        raise UserError(f"{path} cannot be read as Parquet: {one_line(error)}") from None
    return _by_rows({n: ("" if v is None else v for v in column) for n, column in labels.items()})
