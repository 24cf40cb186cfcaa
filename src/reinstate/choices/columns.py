"""Columns of labels from a table: a file (CSV or Parquet), a data frame or a dict of columns."""

import csv
import gzip
import importlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reinstate.choices.model import Ints
from reinstate.errors import UserError

PARQUET = (".parquet", ".pq")
EMPTY = ("", "nan", "na", "<na>", "null", "none")
UNKNOWN = -(2**60)  # a label without a meaning; no number in a table is that large
SHOWN = 10  # bad rows named in messages
CHUNK = 500  # rows at a time: more set off the garbage collector, which took most of the time


def is_empty(label: str) -> bool:
    return label.strip().lower() in EMPTY


class Column(NamedTuple):
    """A column as its distinct labels and the label of each row."""

    name: str
    labels: list[str]
    code: Ints  # (rows,) which label

    def decode(self, meaning: Callable[[str], int | None]) -> Ints:
        """Return the meaning of each row's label; UNKNOWN where it has none."""
        found = [meaning(label) for label in self.labels]
        return np.array([UNKNOWN if m is None else m for m in found], np.int64)[self.code]

    def quoted(self, row: int) -> str:
        label = self.labels[self.code[row]]
        return f"{self.name} is {'empty' if is_empty(label) else repr(label)}"


class Problems:
    """Which rows are bad, each for the first reason found."""

    def __init__(self, place: Callable[[int], str], rows: int) -> None:
        self.place = place  # "line 17"
        self.reason = np.full(rows, -1)
        self.tell: list[Callable[[int], str]] = []

    @property
    def good(self) -> np.ndarray:
        return self.reason < 0

    def add(self, bad: np.ndarray, tell: Callable[[int], str]) -> bool:
        """Mark rows as bad; return whether any of them was good until now."""
        new = bad & self.good
        self.reason[new] = len(self.tell)
        self.tell.append(tell)
        return bool(new.any())

    def decode(self, column: Column, meaning: Callable[[str], int | None], expected: str) -> Ints:
        """Return the meaning of each row's label; mark rows without one as bad."""
        value = column.decode(meaning)
        self.add(value == UNKNOWN, lambda row: f"{column.quoted(row)}, expected {expected}")
        return value

    def shown(self) -> list[str]:
        """Name the first bad rows and what is wrong with each."""
        rows = np.flatnonzero(~self.good)[:SHOWN]
        return [f"{self.place(r)}: {self.tell[self.reason[r]](r)}" for r in map(int, rows)]


class Origin(NamedTuple):
    """Where a table comes from, and how its reader is asked for something: by flag or argument."""

    name: str  # in messages
    in_memory: bool = False

    def option(self, name: str, pairs: Mapping[str, str] | None = None) -> str:
        """Write an option as the user would: --skip-bad, or skip_bad=True in a program."""
        if self.in_memory:
            return f"{name}={True if pairs is None else dict(pairs)}"
        words = "".join(f" {ours}={theirs}" for ours, theirs in (pairs or {}).items())
        return f"--{name.replace('_', '-')}{words}"


# A table as read: its columns, and the rows that do not have one field per column.
Raw = tuple[dict[str, Column], Problems]


def origin_of(source: Any) -> Origin:
    """Tell files, by their names, from tables in memory."""
    in_memory = not isinstance(source, str | os.PathLike)
    return Origin("the table" if in_memory else os.fspath(source), in_memory)


def read_columns(source: Any) -> Raw:
    """Read every column of a file, a data frame or a mapping from names to columns.

    A data frame is anything with `columns` (or `column_names`) that gives a column by its name, so
    pandas, polars and pyarrow all serve, and none of them is imported.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return _read_parquet(path) if path.suffix in PARQUET else _read_csv(path)
    if isinstance(source, Mapping):
        names: Iterable[Any] = source.keys()
    elif hasattr(source, "column_names") or hasattr(source, "columns"):
        names = source.column_names if hasattr(source, "column_names") else source.columns
    else:
        raise TypeError(
            "choices come as the path of a table, a data frame, a dict of columns, or Choices,"
            f" not as {type(source).__name__}"
        )
    columns = {str(name): _encode_values(str(name), source[name]) for name in names}
    lengths = {name: len(column.code) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise UserError(f"the columns of the table are not equally long: {told}")
    rows = next(iter(lengths.values()), 0)
    return columns, Problems(lambda row: f"row {row + 1}", rows)


def _encode_values(name: str, values: Any) -> Column:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise UserError(f"column {name!r} of the table is no column: give one value per episode")
    to_list = getattr(values, "tolist", None)  # of NumPy and pandas: faster than a loop
    index: defaultdict[str, int] = defaultdict(count().__next__)
    listed = to_list() if to_list else list(values)
    code = np.fromiter((index[str(value)] for value in listed), np.int64, len(listed))
    return Column(name, list(index), code)


def _read_csv(path: Path) -> Raw:
    try:
        opened: Any = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", newline="", encoding="utf-8-sig") as file:
            first = file.readline()
            delimiter = max(",;\t", key=first.count)
            header = next(csv.reader([first], delimiter=delimiter), [])
            if not header:
                raise UserError(f"{path} is empty: write a header and one row per episode")
            return _encode(header, csv.reader(file, delimiter=delimiter))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, EOFError, csv.Error) as error:
        raise UserError(f"{path} cannot be read as CSV: {error}") from None


def _encode(header: list[str], reader: Any) -> Raw:
    """Encode each column as its distinct labels and one number per row."""
    # A new label gets the next number.
    index: list[defaultdict[str, int]] = [defaultdict(count().__next__) for _ in header]
    codes: list[list[Ints]] = [[] for _ in header]
    widths, lines, line = [], [], 2
    while rows := list(islice(reader, CHUNK)):
        width = np.fromiter(map(len, rows), np.int64, len(rows))
        if (width != len(header)).any():
            rows = [(row + [""] * len(header))[: len(header)] for row in rows if row]
        lines.append(line + np.flatnonzero(width > 0))
        line += len(width)
        widths.append(width[width > 0])
        for labels, code, column in zip(index, codes, zip(*rows, strict=True), strict=False):
            code.append(np.fromiter(map(labels.__getitem__, column), np.int64, len(rows)))
    at, fields = np.concatenate([*lines, []]), np.concatenate([*widths, []])
    problems = Problems(lambda row: f"line {at[row]:.0f}", len(at))
    problems.add(fields != len(header), lambda r: f"{fields[r]:.0f} fields, expected {len(header)}")
    columns = {
        name: Column(name, list(labels), np.concatenate([*code, []]).astype(np.int64))
        for name, labels, code in zip(map(str.strip, header), index, codes, strict=True)
    }
    return columns, problems


def _read_parquet(path: Path) -> Raw:
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise UserError(
            f"{path}: reading Parquet needs pyarrow: pip install 'reinstate[parquet]'"
        ) from None
    if not path.exists():
        raise UserError(f"{path} cannot be read: no such file")
    try:
        table = parquet.read_table(path)
    except (OSError, ValueError) as error:  # pyarrow's own errors are ValueErrors
        raise UserError(f"{path} cannot be read as Parquet: {error}") from None
    columns = {}
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        plain = table[name].cast(kind.value_type) if hasattr(kind, "index_type") else table[name]
        encoded = plain.combine_chunks().dictionary_encode(null_encoding="encode")
        labels = ["" if v is None else str(v) for v in encoded.dictionary.to_pylist()]
        columns[name] = Column(name, labels, encoded.indices.to_numpy().astype(np.int64))
    return columns, Problems(lambda row: f"row {row + 1}", table.num_rows)
