"""Columns of labels, the rows in which they are bad, and the table that they come from."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from reinstate.choices.model import Ints

PARQUET = (".parquet", ".pq")
EMPTY = ("", "nan", "na", "<na>", "null", "none")
UNKNOWN = -(2**60)  # a label without a meaning; no number in a table is that large
LONGEST = 60  # characters of a label in messages
SHOWN = 10  # bad rows named in messages


def is_empty(label: str) -> bool:
    return label.strip().lower() in EMPTY


def quoted(label: str) -> str:
    """Quote the beginning of a label, which may be long."""
    return repr(label) if len(label) <= LONGEST else f"{label[:LONGEST]!r}…"


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
        return f"{self.name} is {'empty' if is_empty(label) else quoted(label)}"


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


class Columns(Mapping[str, Column]):
    """The columns of a table by name, of which only those that were asked for can be had."""

    def __init__(self, names: Iterable[str], decoded: Mapping[str, Column]) -> None:
        self._names, self._decoded = [*names], decoded

    def __getitem__(self, name: str) -> Column:
        return self._decoded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names


# A table as read: its columns, and the rows that do not have one field per column.
Raw = tuple[Columns, Problems]


def origin_of(source: Any) -> Origin:
    """Tell files, by their names, from tables in memory."""
    in_memory = not isinstance(source, str | os.PathLike)
    return Origin("the table" if in_memory else os.fspath(source), in_memory)
