"""A file (CSV or Parquet), a data frame or a dict of columns → columns of labels.

A file may be anybody's: its size is bounded before and while it is read, and only columns that are
wanted are decoded.
"""

import csv
import gzip
import importlib
import os
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import count, islice
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

import numpy as np

from reinstate.choices.columns import PARQUET, Column, Columns, Problems, Raw
from reinstate.choices.model import Ints
from reinstate.errors import UserError, one_line
from reinstate.files import require_regular

CHUNK = 500  # rows at a time: more set off the garbage collector, which took most of the time
MOST_ROWS = 2_000_000  # of a file: several times the largest published study, in two gigabytes
LARGEST_TABLE = 500_000_000  # bytes of a file, and of what it unpacks to
LONGEST_ROW = 1 << 16  # characters
MOST_COLUMNS = 10_000


def read_columns(source: Any, wanted: Collection[str]) -> Raw:
    """Read those columns of a file, a data frame or a mapping from names that are wanted.

    A data frame is anything with `columns` (or `column_names`) that gives a column by its name, so
    pandas, polars and pyarrow all serve, and none of them is imported.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return (_read_parquet if path.suffix in PARQUET else _read_csv)(path, wanted)
    if isinstance(source, Mapping):
        names: Iterable[Any] = source.keys()
    elif hasattr(source, "column_names") or hasattr(source, "columns"):
        names = source.column_names if hasattr(source, "column_names") else source.columns
    else:
        raise TypeError(
            "choices come as the path of a table, a data frame, a dict of columns, or Choices,"
            f" not as {type(source).__name__}"
        )
    _require_unique("the table", names, wanted)
    known = {str(name): name for name in names}
    columns = {n: _encode_values(n, source[known[n]]) for n in known if n in wanted}
    lengths = {name: len(column.code) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise UserError(f"the columns of the table are not equally long: {told}")
    rows = next(iter(lengths.values()), 0)
    return Columns(known, columns), Problems(lambda row: f"row {row + 1}", rows)


def _too_large(path: Path, found: str) -> UserError:
    most = f"{LARGEST_TABLE / 1e6:,.0f} MB and {MOST_ROWS:,} rows"
    return UserError(f"{path} has {found}, and a table may have {most}: split it by participants")


def _require_unique(path: Path | str, names: Iterable[Any], wanted: Collection[str]) -> None:
    """Refuse names that are wanted and mean two columns."""
    twice = [name for name, n in Counter(map(str, names)).items() if n > 1 and name in wanted]
    if twice:
        raise UserError(f"{path} has several columns {twice[0]!r}: rename all but one")


def _encode_values(name: str, values: Any) -> Column:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise UserError(f"column {name!r} of the table is no column: give one value per episode")
    to_list = getattr(values, "tolist", None)  # of NumPy and pandas: faster than a loop
    index: defaultdict[str, int] = defaultdict(count().__next__)
    try:
        listed = to_list() if to_list else list(values)
        code = np.fromiter((index[str(value)] for value in listed), np.int64, len(listed))
    except Exception as error:  # values may be anything, such as numbers too long to be written
        said = one_line(error)
        raise UserError(f"column {name!r} of the table cannot be read as labels: {said}") from error
    return Column(name, list(index), code)


def _read_csv(path: Path, wanted: Collection[str]) -> Raw:
    require_regular(path, LARGEST_TABLE)
    try:
        opened: Any = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", newline="", encoding="utf-8-sig") as file:
            lines = _Lines(path, file)
            first = next(lines, "")
            delimiter = max(",;\t", key=first.count)
            header = [*map(str.strip, next(csv.reader([first], delimiter=delimiter), []))]
            if not header:
                raise UserError(f"{path} is empty: write a header and one row per episode")
            _require_unique(path, header, wanted)
            return _encode(path, header, csv.reader(lines, delimiter=delimiter), wanted, lines)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path} cannot be read as CSV: {error}; save it as UTF-8") from None
    except (EOFError, zlib.error, csv.Error) as error:
        raise UserError(f"{path} cannot be read as CSV: {error}") from None


class _Lines(Iterator[str]):
    """The lines of a file, as long as they can be a table's."""

    def __init__(self, path: Path, file: IO[str]) -> None:
        self.path, self.file = path, file
        self.total = self.in_chunk = 0  # characters; a quote can make one row of all lines

    def __next__(self) -> str:
        line = self.file.readline(LONGEST_ROW + 1)
        if not line:
            raise StopIteration
        self.total += len(line)
        self.in_chunk += len(line)
        if len(line) > LONGEST_ROW or self.in_chunk > CHUNK * LONGEST_ROW:
            raise UserError(f"{self.path} has a row of more than {LONGEST_ROW:,} characters")
        if self.total > LARGEST_TABLE:
            raise _too_large(self.path, f"more than {LARGEST_TABLE / 1e6:,.0f} MB unpacked")
        return line


def _encode(
    path: Path, header: list[str], reader: Any, wanted: Collection[str], lines: _Lines
) -> Raw:
    """Encode each wanted column as its distinct labels and one number per row."""
    if len(header) > MOST_COLUMNS:
        raise UserError(f"{path} has {len(header):,} columns: keep those that are needed")
    places = [place for place, name in enumerate(header) if name in wanted]
    # A new label gets the next number.
    index: list[defaultdict[str, int]] = [defaultdict(count().__next__) for _ in places]
    codes: list[list[Ints]] = [[] for _ in places]
    widths, numbers, line = [], [], 2
    while rows := list(islice(reader, CHUNK)):
        lines.in_chunk = 0
        width = np.fromiter(map(len, rows), np.int64, len(rows))
        if (width != len(header)).any():
            rows = [(row + [""] * len(header))[: len(header)] for row in rows if row]
        numbers.append(line + np.flatnonzero(width > 0))
        line += len(width)
        widths.append(width[width > 0])
        if line > MOST_ROWS:
            raise _too_large(path, f"more than {MOST_ROWS:,} rows")
        for labels, code, place in zip(index, codes, places, strict=True):
            column = map(itemgetter(place), rows)
            code.append(np.fromiter(map(labels.__getitem__, column), np.int64, len(rows)))
    at, fields = np.concatenate([*numbers, []]), np.concatenate([*widths, []])
    problems = Problems(lambda row: f"line {at[row]:.0f}", len(at))
    problems.add(fields != len(header), lambda r: f"{fields[r]:.0f} fields, expected {len(header)}")
    columns = {
        header[place]: Column(
            header[place], list(labels), np.concatenate([*code, []]).astype(np.int64)
        )
        for place, labels, code in zip(places, index, codes, strict=True)
    }
    return Columns(header, columns), problems


def _read_parquet(path: Path, wanted: Collection[str]) -> Raw:
    try:
        arrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise UserError(
            f"{path}: reading Parquet needs pyarrow: pip install 'reinstate[parquet]'"
        ) from None
    require_regular(path, LARGEST_TABLE)
    try:
        metadata = parquet.read_metadata(path)
        schema, rows = metadata.schema.to_arrow_schema(), metadata.num_rows
        _require_unique(path, schema.names, wanted)
        if rows > MOST_ROWS:
            raise _too_large(path, f"{rows:,} rows")
        chosen = [name for name in schema.names if name in wanted]
        for name in chosen:
            kind = schema.field(name).type
            if arrow.types.is_nested(_plain(kind)):
                raise UserError(f"{path}: column {name} holds {kind}, expected numbers or text")
        _require_small(path, metadata, chosen)
        # Text stays as its distinct values: a megabyte that every row repeats is there once.
        text = [c.path for c in metadata.schema if c.physical_type == "BYTE_ARRAY"]
        repeated = [name for name in text if name in chosen]
        with parquet.ParquetFile(path, metadata=metadata, read_dictionary=repeated) as file:
            table = file.read(columns=chosen)
            columns = {name: _encode_arrow(name, table[name], arrow) for name in chosen}
        if any(len(column.code) != rows for column in columns.values()):
            raise ValueError(f"it says that it has {rows:,} rows, and has others")
    # Of pyarrow's own errors some are ValueErrors, others KeyErrors; and names may not be UTF-8.
    except (arrow.ArrowException, OSError, ValueError) as error:
        said = one_line(error)
        raise UserError(f"{path} cannot be read as Parquet: {said}") from None
    return Columns(schema.names, columns), Problems(lambda row: f"row {row + 1}", rows)


def _require_small(path: Path, metadata: Any, chosen: Collection[str]) -> None:
    """Refuse columns that would unpack to more than a table's bytes."""
    size = 0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        parts = map(group.column, range(group.num_columns))
        size += sum(p.total_uncompressed_size for p in parts if p.path_in_schema in chosen)
    if size > LARGEST_TABLE:
        raise _too_large(path, f"{size / 1e6:,.0f} MB unpacked")


def _plain(kind: Any) -> Any:
    """Return the type of a column's values, of which a dictionary has each once."""
    return kind.value_type if hasattr(kind, "index_type") else kind


def _encode_arrow(name: str, column: Any, arrow: Any) -> Column:
    """Encode a column of plain values as its distinct labels and one number per row."""
    is_a, whole = arrow.types, column.combine_chunks()
    if not is_a.is_dictionary(column.type):
        whole = whole.dictionary_encode()
    code = whole.indices.cast(arrow.int64()).fill_null(len(whole.dictionary))  # its label is ""
    values = whole.dictionary
    # As text where Python has no such values, as of times in nanoseconds; and where it has bytes.
    if is_a.is_temporal(values.type) or is_a.is_binary(values.type):
        values = values.cast(arrow.string())
    labels = ["" if v is None else str(v) for v in values.to_pylist()]
    return Column(name, [*labels, ""], code.to_numpy())
