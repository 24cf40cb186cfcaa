"""Damage to tables of choices, by what they mean: names, cells, rows, types of columns."""

import csv
import io
from decimal import Decimal
from importlib import import_module
from random import Random
from typing import Any

import numpy as np

CELLS = (
    *("", "nan", "1e400", "-1", "1.5", "9" * 400, "x" * 70_000, "é", "\x00", '"', "\r", "a\nb"),
    *("True", "2", "-9223372036854775808", "inf", "1_000", "٣", "=cmd()", "\ufeff", "0x1"),
)
ENCODINGS = ("utf-16", "latin-1", "utf-8-sig", "utf-32")


def damage_table(content: bytes, draw: Random) -> bytes:
    """Change cells, names, rows or the way of writing them."""
    text = content.decode()
    mark = max(",;\t", key=text.partition("\n")[0].count)
    rows = list(csv.reader(io.StringIO(text), delimiter=mark))
    for _ in range(draw.choice((1, 1, 2, 5))):
        _change_rows(rows, draw)
    written = io.StringIO()
    csv.writer(written, delimiter=draw.choice((mark, mark, mark, ",", ";", "\t", "|"))).writerows(
        rows
    )
    encoding = draw.choice(ENCODINGS) if draw.random() < 0.05 else "utf-8"
    return written.getvalue().encode(encoding, "replace")


def _change_rows(rows: list[list[str]], draw: Random) -> None:
    row = rows[0] if draw.random() < 0.3 else draw.choice(rows)
    column, act = draw.randrange(max(len(row), 1)), draw.randrange(8)
    if act <= 1 and row:
        row[column] = draw.choice(CELLS)
    elif act == 2:
        cell = draw.choice(CELLS)
        for each in rows[1:]:
            each[column:] = [cell, *each[column + 1 :]]
    elif act == 3:
        del row[column:]
    elif act == 4:
        row += [draw.choice(CELLS)] * draw.choice((1, 30))
    elif act == 5:
        rows[1:] = draw.choice((rows[:0:-1], rows[1:] * 3, rows[1:3], [], [[]] * 9))
    elif act == 6:
        for each in rows:
            del each[column : column + 1]
    else:
        few = sum(map(len, rows[0])) < 1000
        rows[0] = rows[0] * draw.choice((2, 2000 if few else 3))
    if not rows[0]:
        rows[0] = ["action"]


def damage_parquet(content: bytes, draw: Random) -> bytes:
    """Write a table with columns of other types, values, lengths or packings."""
    arrow: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(content))
    for _ in range(draw.choice((1, 1, 2))):
        name = draw.choice(table.column_names)
        place, rows = table.column_names.index(name), table.num_rows
        act = draw.randrange(6)
        if act <= 2:
            column = _column(rows, draw, arrow)
            table = table.set_column(place, name, column)
        elif act == 3 and table.num_columns > 1:
            table = table.remove_column(place)
        elif act == 4:
            column = table.column(place)  # by place, since a name may mean two
            table = table.append_column(draw.choice((name, "extra", "x" * 300)), column)
        else:
            table = draw.choice(
                (table.slice(0, 0), table.slice(1), arrow.concat_tables([table] * 3))
            )
    written = io.BytesIO()
    how = draw.choice(("none", "snappy", "gzip", "zstd", "brotli"))
    parquet.write_table(table, written, compression=how, use_dictionary=draw.random() < 0.5)
    return written.getvalue()


def _column(rows: int, draw: Random, arrow: Any) -> Any:
    kinds: tuple[tuple[Any, Any], ...] = (
        (arrow.list_(arrow.int64()), [1, 2]),
        (arrow.struct([("a", arrow.int64())]), {"a": 1}),
        (arrow.timestamp("ns"), 2**60 + 1),
        (arrow.duration("us"), 7),
        (arrow.decimal128(38, 10), Decimal(3)),
        (arrow.binary(), b"\xff\xfe"),
        (arrow.string(), draw.choice(CELLS)),
        (arrow.float64(), draw.choice((float("nan"), 1e308, 0.5))),
        (arrow.bool_(), True),
        (arrow.null(), None),
        (arrow.date32(), 2**30),
        (arrow.time64("ns"), 7),
        (arrow.uint64(), 2**64 - 1),
        (arrow.map_(arrow.string(), arrow.int64()), [("a", 1)]),
        (arrow.large_string(), "x"),
        (arrow.float16(), np.float16(1.5)),
    )
    kind, value = draw.choice(kinds)
    values = [value if draw.random() < 0.9 else None for _ in range(rows)]
    column = arrow.array(values, kind)
    if draw.random() < 0.2 and not arrow.types.is_nested(kind) and not arrow.types.is_null(kind):
        column = column.dictionary_encode()
    return column
