"""A file (CSV or Parquet), a data frame or a dict of columns → rows of labels under our names."""

import csv
import gzip
import importlib
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reinstate.choices.model import Ints
from reinstate.errors import UserError, nearest, one_line
from reinstate.files import require_regular

COLUMNS = ("participant", "session", "episode", "cued", "cue_episode", "action", "state", "reward")
SECOND_CHOICE = "second_choice"  # of four options, two per state: serves where there is no state
KNOWN = (*COLUMNS, SECOND_CHOICE)
REQUIRED = ("participant", "action", "state", "reward")
ABSENT = {"session": "1", "cue_episode": ""}  # what each row then has
# hBayesDM's names of its two-step models are understood as they are.
THEIRS = {"participant": "subjID", "action": "level1_choice", SECOND_CHOICE: "level2_choice"}
EMPTY = ("", "nan", "na", "<na>", "null", "none")
UNKNOWN = -(2**60)  # the code of a label without meaning; comes before all episodes
LONGEST = 60  # characters of a label in messages
PARQUET = (".parquet", ".pq")
MOST_ROWS = 2_000_000  # several times the largest published study
LARGEST_TABLE = 500_000_000  # bytes of a file


class Rows:
    """The labels of a table by our names, and what is wrong with bad rows: the first reason.

    Labels are tidy: without spaces around them, empty if they say that nothing is there, and 1.0 is
    1, since columns of integers with gaps are often stored as floats.
    """

    def __init__(
        self,
        table: str,
        columns: Mapping[str, Iterable[Any]],
        place: Callable[[int], str] = lambda row: f"row {row + 1}",
        bad: Mapping[int, str] | None = None,
    ) -> None:
        self.table, self.place, self.bad = table, place, dict(bad or {})
        self.columns = {name: _tidied(column) for name, column in columns.items()}
        lengths = {name: len(column) for name, column in self.columns.items()}
        if len({*lengths.values()}) > 1:
            told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise UserError(f"the columns of {table} are not equally long: {told}")
        self.count = lengths["action"]
        if self.count > MOST_ROWS:
            raise UserError(f"{table} has more than {MOST_ROWS:,} rows: split it by participants")
        for name, label in ABSENT.items():
            self.columns.setdefault(name, [label] * self.count)

    def refuse(self, row: int, name: str, expected: str) -> None:
        """Say that the label of a column is not what is expected."""
        label = self.columns[name][row]
        self.bad.setdefault(row, f"{name} is {quoted(label) if label else 'empty'}{expected}")

    def decode(self, name: str, meaning: Callable[[str], int | None], expected: str) -> Ints:
        """Return the meaning of each row's label; refuse rows without one."""
        known = {label: meaning(label) for label in {*self.columns[name]}}
        codes = {label: UNKNOWN if code is None else code for label, code in known.items()}
        found = np.array([codes[label] for label in self.columns[name]], np.int64)
        for row in np.flatnonzero(found == UNKNOWN).tolist():
            self.refuse(row, name, f", expected {expected}")
        return found

    def labels(self, name: str, number: int | None = None) -> list[str]:
        """Return a column's labels in sorted order; perhaps only the commonest."""
        total = Counter(filter(None, self.columns[name]))
        labels = sorted(label for label, _ in total.most_common(number))
        return labels if None in map(integer, labels) else sorted(labels, key=int)

    def coded(self, name: str, labels: list[str], expected: str = "a name or a number") -> Ints:
        """Return the place of each row's label."""
        return self.decode(name, {label: i for i, label in enumerate(labels)}.get, expected)

    def two(self, name: str) -> tuple[list[str], Ints]:
        """Number the two commonest labels in sorted order; rows with any other are bad."""
        labels = self.labels(name, 2)
        if len(labels) < 2:
            only = f"only the value {quoted(labels[0])}" if labels else "no value"
            where = f"column {name} of {self.table}"
            raise UserError(f"{where} has {only}: a choice model needs two")
        return labels, self.coded(name, labels, " or ".join(map(quoted, labels)))


def _tidied(column: Iterable[Any]) -> list[str]:
    labels = [*map(str, column)]
    tidy = {label: _tidy(label.strip()) for label in {*labels}}
    return [tidy[label] for label in labels]


def _tidy(label: str) -> str:
    if label.lower() in EMPTY:
        return ""
    whole = integer(label)
    return label if whole is None else str(whole)


def integer(label: str) -> int | None:
    """Return the whole number that a label is."""
    try:
        value = float(label)
    except ValueError:
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else None


def quoted(label: str) -> str:
    """Quote the beginning of a label, which may be long."""
    return repr(label) if len(label) <= LONGEST else f"{label[:LONGEST]!r}…"


def read_rows(source: Any, renamed: Mapping[str, str]) -> Rows:
    """Read a file, or a data frame: whatever has column names and gives a column by its name."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        require_regular(path, LARGEST_TABLE)
        return (_read_parquet if path.suffix in PARQUET else _read_csv)(path, renamed)
    names = source.keys() if isinstance(source, Mapping) else getattr(source, "columns", None)
    if names is None:
        raise TypeError(
            "choices come as the path of a table, a data frame, a dict of columns, or Choices,"
            f" not as {type(source).__name__}"
        )
    known = {str(name): name for name in names}
    own = _own_names("the table", [str(name) for name in names], renamed)
    return Rows("the table", {ours: source[known[theirs]] for ours, theirs in own.items()})


def _read_csv(path: Path, renamed: Mapping[str, str]) -> Rows:
    opened: Any = gzip.open if path.suffix == ".gz" else open
    lines: list[int] = []
    bad: dict[int, str] = {}
    try:
        with opened(path, "rt", newline="", encoding="utf-8-sig") as file:
            first = file.readline()
            delimiter = max(",;\t", key=first.count)
            header = [*map(str.strip, next(csv.reader([first], delimiter=delimiter), []))]
            if not header:
                raise UserError(f"{path} is empty: write a header and one row per episode")
            own = {n: header.index(w) for n, w in _own_names(str(path), header, renamed).items()}
            columns: dict[str, list[str]] = {name: [] for name in own}
            reader = csv.reader(file, delimiter=delimiter)
            for row in filter(None, reader):
                if len(row) != len(header):
                    bad[len(lines)] = f"{len(row)} fields, expected {len(header)}"
                    row += [""] * len(header)
                for name, place in own.items():
                    columns[name].append(row[place])
                lines.append(reader.line_num + 1)
    except UnicodeDecodeError as error:
        raise UserError(f"{path} cannot be read as CSV: {error}; save it as UTF-8") from None
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        raise UserError(f"{path} cannot be read as CSV: {error}") from None
    return Rows(str(path), columns, lambda row: f"line {lines[row]}", bad)


def _read_parquet(path: Path, renamed: Mapping[str, str]) -> Rows:
    try:
        arrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise UserError(
            f"{path}: reading Parquet needs pyarrow: pip install 'reinstate[parquet]'"
        ) from None
    try:
        with parquet.ParquetFile(path) as file:
            own = _own_names(str(path), file.schema_arrow.names, renamed)
            table = file.read(columns=[*own.values()])
        labels = {n: table[w].cast(arrow.string()).to_pylist() for n, w in own.items()}
    except (arrow.ArrowException, OSError, ValueError, KeyError) as error:
        raise UserError(f"{path} cannot be read as Parquet: {one_line(error)}") from None
    return Rows(str(path), labels)


def _own_names(table: str, names: Sequence[str], renamed: Mapping[str, str]) -> dict[str, str]:
    """Return our name → the table's; a UserError names all that are missing at once."""
    for name in renamed:
        if name not in KNOWN:
            raise UserError(nearest("column", name, KNOWN))
    own = {name: name if name in names else THEIRS.get(name, name) for name in KNOWN}
    own = {n: w for n, w in own.items() if w in names or n in REQUIRED} | dict(renamed)
    if "state" not in renamed and own["state"] not in names and own.get(SECOND_CHOICE) in names:
        del own["state"]
    if missing := [name for name, theirs in own.items() if theirs not in names]:
        asked = " or ".join(repr(renamed.get(name, name)) for name in missing)
        such = " ".join(f"{name}=NAME" for name in missing)
        raise UserError(
            f"{table} has no column {asked}: say which are meant, --columns {such};"
            f" it has {one_line(', '.join(names)) or 'none'}"
        )
    for name in own.values():
        if names.count(name) > 1:
            raise UserError(f"{table} has several columns {name!r}: rename all but one")
    return own
