"""Choices from a table, one row per episode, checked row by row.

A table is a file (CSV or Parquet), a data frame or a dict of columns; the how-to on fitting choices
says what its columns hold. In sorted order the labels of actions and states become 0 and 1, and
action 0 is taken to lead commonly to state 0, unless `common` says otherwise.
"""

import csv
import gzip
import importlib
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reinstate.choices.model import Choices, Ints
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
BINARY = {"0": 0, "1": 1, "false": 0, "true": 1}
SIGNED = {"-1": 0, "1": 1}
SHOWN = 10  # bad rows named in messages


class ChoiceTable(NamedTuple):
    """Choices and the labels that they had in the table."""

    choices: Choices
    participants: list[str]  # the label of each code
    actions: list[str]
    states: list[str]  # in the order of the actions that commonly lead there
    skipped: int = 0
    bad_rows: Sequence[str] = ()  # the first of those skipped, with reasons
    file: str | None = None


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


def read_choices(
    source: Any,
    columns: Mapping[str, str] | None = None,
    common: Mapping[str, str] | None = None,
    skip_bad: bool = False,
    signed_rewards: bool = False,
) -> ChoiceTable:
    """Read and check a table: a path, a data frame, or a dict of columns.

    `columns` maps our names to the table's ({"action": "choice1"}), `common` an action's label to
    the state that it commonly leads to. Bad rows raise a UserError that names them; `skip_bad`
    drops them instead, and an episode that followed a dropped one has no predecessor. Rewards are
    0 and 1; with `signed_rewards` they are −1 and 1.
    """
    rows = read_rows(source, columns or {})
    actions, action = rows.two("action")
    states, state = _states(rows)
    if _crossed(actions, states, common or {}):
        states, state = states[::-1], 1 - state
    known, expected = (SIGNED, "-1 or 1") if signed_rewards else (BINARY, "0 or 1")
    if not signed_rewards and "-1" in rows.columns["reward"]:
        expected += " (for -1 and 1 there is --signed-rewards)"
    reward = rows.decode("reward", lambda label: known.get(label.lower()), expected)
    participants = rows.labels("participant")
    participant = rows.coded("participant", participants)
    session = rows.coded("session", rows.labels("session"))
    cued, cue = _cues(rows)
    episode, cue_episode = _numbered(rows, participant, session, cued, cue)
    kept = [row for row in range(rows.count) if row not in rows.bad]
    told = [f"{rows.place(row)}: {rows.bad[row]}" for row in sorted(rows.bad)[:SHOWN]]
    if rows.bad and not skip_bad:
        more = [f"and {len(rows.bad) - SHOWN} more"] if len(rows.bad) > SHOWN else []
        heading = f"{len(rows.bad)} of {rows.count} rows in {rows.table} are bad"
        heading += ": mend them, or drop them with --skip-bad"
        raise UserError("\n  ".join([heading, *told, *more]))
    if not kept:
        raise UserError(f"{rows.table} has no good row: {'; '.join(told)}")
    every = participant, session, episode, cued, cue_episode, action, state, reward
    found = Choices._make(column[kept] for column in every)
    present, codes = np.unique(found.participant, return_inverse=True)
    names = [participants[code] for code in present]
    file = os.fspath(source) if isinstance(source, str | os.PathLike) else None
    found = found._replace(participant=codes)
    return ChoiceTable(found, names, actions, states, len(rows.bad), told, file)


def _states(rows: Rows) -> tuple[list[str], Ints]:
    """Number the second stages, from their own column or from the choices that were made there."""
    if "state" in rows.columns:
        return rows.two("state")
    labels = rows.labels(SECOND_CHOICE, 4)
    if len(labels) != 4:
        raise UserError(
            f"column {SECOND_CHOICE} of {rows.table} has {len(labels)} values: without a column"
            " state it needs four, two for each state in sorted order"
        )
    option = rows.coded(SECOND_CHOICE, labels, ", ".join(map(quoted, labels)))
    return ["/".join(labels[:2]), "/".join(labels[2:])], option // 2


def _crossed(actions: list[str], states: list[str], common: Mapping[str, str]) -> bool:
    """Tell whether the first action commonly leads to the second state."""
    crossed = set()
    for action, state in common.items():
        for kind, label, known in (("action", action, actions), ("state", state, states)):
            if label not in known:
                there = f"[{', '.join(map(quoted, known))}]"
                raise UserError(f"--common names the {kind} {label!r}: the table has {there}")
        crossed.add(actions.index(action) != states.index(state))
    if len(crossed) > 1:
        raise UserError(f"--common pairs both actions with the same state: {common}")
    return crossed == {True}


def _cues(rows: Rows) -> tuple[NDArray[np.bool_], Ints]:
    """Return whether each row is cued, and the number of the episode whose cue it shows."""
    labels = np.array(rows.columns["cue_episode"], object)
    cue = np.array([UNKNOWN if (n := integer(label)) is None else n for label in labels], np.int64)
    cued = labels != ""
    if "cued" in rows.columns:
        either = "0, 1, true or false"
        cued = rows.decode("cued", lambda label: BINARY.get(label.lower()), either) == 1
    for row in np.flatnonzero(cued & (cue == UNKNOWN)).tolist():
        rows.refuse(row, "cue_episode", ", expected a whole number on a cued row")
    for row in np.flatnonzero(~cued & (labels != "")).tolist():
        rows.refuse(row, "cue_episode", " on an uncued row, expected nothing")
    return cued, cue


def _numbered(
    rows: Rows, participant: Ints, session: Ints, cued: NDArray[np.bool_], cue: Ints
) -> tuple[Ints, Ints]:
    """Number episodes and cues 0, 1, … within their session; check cues and order.

    Bad rows are numbered too: when dropped they leave a gap, after which none has a predecessor.
    """
    whose = np.unique(np.stack([participant, session]), axis=1, return_inverse=True)[1].ravel()
    in_order = np.arange(rows.count)
    number = 1 + _places(in_order, whose)
    if "episode" in rows.columns:
        number = rows.decode("episode", integer, "a whole number")
        # A row without a readable episode number keeps its place in the file.
        number = number[np.maximum.accumulate(np.where(number == UNKNOWN, 0, in_order))]
    episode, cue_episode = _places(number, whose), np.full(rows.count, -1)
    row_of: dict[tuple[int, int], int] = {}
    for row in np.lexsort((number, whose)).tolist():
        its, own, shown = whose[row], number[row], cue[row]
        if row in rows.bad:
            continue
        if (its, own) in row_of:
            rows.bad[row] = f"episode {own} comes twice in this session"
            continue
        row_of[its, own] = row
        if not cued[row]:
            continue
        target = row_of.get((its, shown))
        if shown >= own:
            rows.bad[row] = f"cue_episode is {shown}, expected one before episode {own}"
        elif target is None or target in rows.bad:  # what shows a bad row's cue is bad too
            rows.bad[row] = f"cue_episode is {shown}: this session has no such good row"
        else:
            cue_episode[row] = episode[target]
    return episode, cue_episode


def _places(number: Ints, whose: Ints) -> Ints:
    """Return the place of each row, 0, 1, …, among the numbers of its session."""
    order, place = np.lexsort((number, whose)), np.zeros_like(whose)
    place[order] = np.arange(len(order)) - np.searchsorted(whose[order], whose[order])
    return place


def _tidied(column: Iterable[Any]) -> list[str]:
    labels = [*map(str, column)]
    tidy = {each: "" if each.strip().lower() in EMPTY else each.strip() for each in {*labels}}
    whole = {each: integer(label) for each, label in tidy.items()}
    return [tidy[each] if whole[each] is None else str(whole[each]) for each in labels]


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
