"""Columns of labels from a table on disk: CSV (commas, semicolons or tabs) or Parquet."""

import csv
import importlib
from collections import defaultdict
from collections.abc import Callable
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


# A table as read: its columns, and the rows that do not have one field per column.
Raw = tuple[dict[str, Column], Problems]


def read_columns(path: Path) -> Raw:
    """Read every column of a file."""
    return _read_parquet(path) if path.suffix in PARQUET else _read_csv(path)


def _read_csv(path: Path) -> Raw:
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            first = file.readline()
            delimiter = max(",;\t", key=first.count)
            header = next(csv.reader([first], delimiter=delimiter), [])
            if not header:
                raise UserError(f"{path} is empty: write a header and one row per episode")
            return _encode(header, csv.reader(file, delimiter=delimiter))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
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
