"""Choices from a table, checked row by row.

It is a CSV file (commas, semicolons or tabs; also compressed, .csv.gz), a Parquet file, a data
frame or a dict of columns, with one row per episode:

    participant, session, episode, cued, cue_episode, action, state, reward

Actions and states may be any two labels; in sorted order they become 0 and 1, and action 0 is taken
to lead commonly to state 0 (unless `common` says otherwise). Episodes are numbered by any integers
that grow within a session; cue_episode is such a number, and empty on uncued rows.

Without a column `session` a participant has one session; without `episode` the rows of a session
come in its order, and are numbered from 1; without `cued` and `cue_episode` nothing is cued.
Without `state`, the column `second_choice` tells it: of its four labels in sorted order, the first
two belong to one state and the last two to the other.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from reinstate.choices.model import Choices
from reinstate.choices.reading import Raw, read_columns
from reinstate.errors import UserError, nearest, one_line

COLUMNS = ("participant", "session", "episode", "cued", "cue_episode", "action", "state", "reward")
SECOND_CHOICE = "second_choice"  # of four options, two per state: serves where there is no state
KNOWN = (*COLUMNS, SECOND_CHOICE)
REQUIRED = ("participant", "action", "state", "reward")
ABSENT = {"session": "1", "cue_episode": ""}  # what each row then has
# hBayesDM's names of its two-step models are understood as they are.
THEIRS = {"participant": "subjID", "action": "level1_choice", SECOND_CHOICE: "level2_choice"}
EMPTY = ("", "nan", "na", "<na>", "null", "none")
BINARY = {"0": 0, "1": 1, "false": 0, "true": 1}
SIGNED = {"-1": 0, "1": 1}
EITHER = "0, 1, true or false"
UNKNOWN = -(2**60)  # comes before all episodes
LONGEST = 60  # characters of a label in messages
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
    file = os.fspath(source) if isinstance(source, str | os.PathLike) else None
    rows = _Rows(file or "the table", source, dict(columns or {}))
    actions, action = rows.two("action")
    states, state = _states(rows)
    if _crossed(actions, states, dict(common or {})):
        states, state = states[::-1], [None if s is None else 1 - s for s in state]
    reward = _rewards(rows, signed_rewards)
    participants = rows.labels("participant")
    participant = rows.coded("participant", participants)
    session = rows.coded("session", rows.labels("session"))
    cued, cue = _cues(rows)
    whose = [*zip(participant, session, strict=True)]
    episode, cue_episode = _numbered(rows, whose, _episodes(rows, whose), cued, cue)
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
    found = Choices._make(np.array([column[row] for row in kept]) for column in every)
    present, codes = np.unique(found.participant, return_inverse=True)
    names = [participants[code] for code in present]
    found = found._replace(participant=codes)
    return ChoiceTable(found, names, actions, states, len(rows.bad), told, file)


Codes = list[int | None]  # of each row; None where its label has no meaning


class _Rows:
    """The rows of a table, and what is wrong with those that are bad: the first reason found."""

    def __init__(self, table: str, source: Any, renamed: Mapping[str, str]) -> None:
        self.table = table
        raw: Raw = read_columns(source, lambda names: _own_names(table, names, renamed))
        self.columns, self.place, self.bad = raw
        self.count = len(self.columns["action"])
        for name, label in ABSENT.items():
            self.columns.setdefault(name, [label] * self.count)

    def refuse(self, row: int, reason: str) -> None:
        self.bad.setdefault(row, reason)

    def told(self, name: str, row: int) -> str:
        label = self.columns[name][row]
        return f"{name} is {'empty' if _is_empty(label) else _quoted(label)}"

    def decode(self, name: str, meaning: Callable[[str], int | None], expected: str) -> Codes:
        """Return the meaning of each row's label; refuse rows without one."""
        known = {label: meaning(label) for label in set(self.columns[name])}
        codes = [known[label] for label in self.columns[name]]
        for row, code in enumerate(codes):
            if code is None:
                self.refuse(row, f"{self.told(name, row)}, expected {expected}")
        return codes

    def labels(self, name: str, number: int | None = None) -> list[str]:
        """Return a column's labels in sorted order; perhaps only those that most good rows have."""
        column = self.columns[name]
        good = (label for row, label in enumerate(column) if not number or row not in self.bad)
        total = Counter(_tidy(label) for label in good if not _is_empty(label))
        labels = sorted(label for label, _ in total.most_common(number))
        if any(_integer(label) is None for label in labels):
            return labels
        return sorted(labels, key=lambda label: _integer(label) or 0)  # numbers by size

    def coded(self, name: str, labels: list[str], expected: str = "a name or a number") -> Codes:
        """Return the place of each row's label."""
        code = {label: place for place, label in enumerate(labels)}
        return self.decode(name, lambda label: code.get(_tidy(label)), expected)

    def two(self, name: str) -> tuple[list[str], Codes]:
        """Number the two commonest labels in sorted order; rows with any other are bad."""
        labels = self.labels(name, 2)
        if len(labels) < 2:
            only = f"only the value {_quoted(labels[0])}" if labels else "no value"
            where = f"column {name} of {self.table}"
            raise UserError(f"{where} has {only}: a choice model needs two")
        return labels, self.coded(name, labels, " or ".join(map(_quoted, labels)))


def _own_names(table: str, names: Sequence[str], renamed: Mapping[str, str]) -> dict[str, str]:
    """Return our name → the table's; a UserError names all that are missing at once."""
    for name in renamed:
        if name not in KNOWN:
            raise UserError(nearest("column", name, KNOWN))
    own = {name: name if name in names else THEIRS.get(name, name) for name in KNOWN}
    own = {n: w for n, w in own.items() if w in names or n in REQUIRED} | dict(renamed)
    if "state" not in renamed and own["state"] not in names and own.get(SECOND_CHOICE) in names:
        del own["state"]
    if missing := {name: theirs for name, theirs in own.items() if theirs not in names}:
        asked = " or ".join(
            repr(renamed[n]) + f" for {n}" if n in renamed else repr(n) for n in missing
        )
        such = " ".join(f"{name}=NAME" for name in missing)
        raise UserError(
            f"{table} has no column {asked}: say which are meant, --columns {such};"
            f" it has {one_line(', '.join(names)) or 'none'}"
        )
    return own


def _is_empty(label: str) -> bool:
    return label.strip().lower() in EMPTY


def _quoted(label: str) -> str:
    """Quote the beginning of a label, which may be long."""
    return repr(label) if len(label) <= LONGEST else f"{label[:LONGEST]!r}…"


def _tidy(label: str) -> str:
    """Write 1.0 as 1: columns of integers with gaps are often stored as floats."""
    whole = _integer(label)
    return label.strip() if whole is None else str(whole)


def _integer(label: str) -> int | None:
    try:
        value = float(label)
    except ValueError:
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else None


def _states(rows: _Rows) -> tuple[list[str], Codes]:
    """Number the second stages, from their own column or from the choices that were made there."""
    if "state" in rows.columns:
        return rows.two("state")
    labels = rows.labels(SECOND_CHOICE, 4)
    numbers = ["0", "1", "2", "3"] if "0" in labels else ["1", "2", "3", "4"]
    labels = numbers if set(labels) <= set(numbers) else labels  # an option may be unused
    if len(labels) != 4:
        raise UserError(
            f"column {SECOND_CHOICE} of {rows.table} has {len(labels)} values: without a column"
            " state it needs four, two for each state in sorted order"
        )
    option = rows.coded(SECOND_CHOICE, labels, ", ".join(map(_quoted, labels)))
    state = [None if code is None else code // 2 for code in option]
    return ["/".join(labels[:2]), "/".join(labels[2:])], state


def _crossed(actions: list[str], states: list[str], common: Mapping[str, str]) -> bool:
    """Tell whether the first action commonly leads to the second state."""
    crossed = set()
    for action, state in common.items():
        for kind, label, known in (("action", action, actions), ("state", state, states)):
            if label not in known:
                there = f"[{', '.join(map(_quoted, known))}]"
                raise UserError(f"--common names the {kind} {label!r}: the table has {there}")
        crossed.add(actions.index(action) != states.index(state))
    if len(crossed) > 1:
        raise UserError(f"--common pairs both actions with the same state: {common}")
    return crossed == {True}


def _rewards(rows: _Rows, signed: bool) -> Codes:
    known, expected = (SIGNED, "-1 or 1") if signed else (BINARY, "0 or 1")
    if not signed and any(_tidy(label) == "-1" for label in set(rows.columns["reward"])):
        expected += " (for -1 and 1 there is --signed-rewards)"
    return rows.decode("reward", lambda label: known.get(_tidy(label).lower()), expected)


def _cues(rows: _Rows) -> tuple[list[bool], Codes]:
    """Return whether each row is cued, and the number of the episode whose cue it shows."""
    labels = rows.columns["cue_episode"]
    shown, cue = [not _is_empty(label) for label in labels], [_integer(label) for label in labels]
    cued = shown
    if "cued" in rows.columns:
        flags = rows.decode("cued", lambda label: BINARY.get(_tidy(label).lower()), EITHER)
        cued = [flag == 1 for flag in flags]
    for row in range(rows.count):
        if cued[row] and cue[row] is None:
            expected = "expected a whole number on a cued row"
            rows.refuse(row, f"{rows.told('cue_episode', row)}, {expected}")
        if not cued[row] and shown[row] and cue[row] != -1:  # tables without gaps write −1
            expected = "on an uncued row, expected nothing"
            rows.refuse(row, f"{rows.told('cue_episode', row)} {expected}")
    return cued, cue


def _episodes(rows: _Rows, whose: Sequence[object]) -> Codes:
    """Return the episodes' numbers; without a column, 1, 2, … in the order of a session's rows."""
    if "episode" in rows.columns:
        return rows.decode("episode", _integer, "a whole number")
    played: Counter[object] = Counter()
    numbers: Codes = []
    for session in whose:
        played[session] += 1
        numbers.append(played[session])
    return numbers


def _numbered(
    rows: _Rows, whose: Sequence[object], number: Codes, cued: list[bool], cue: Codes
) -> tuple[list[int], list[int]]:
    """Number episodes and cues 0, 1, … within their session; check cues and order.

    Bad rows are numbered too: when dropped they leave a gap, after which none has a predecessor.
    """
    sessions: dict[object, list[tuple[int, int]]] = defaultdict(list)
    last = UNKNOWN
    for row, session in enumerate(whose):
        # A row without a readable episode number keeps its place in the file.
        last = last if (own := number[row]) is None else own
        sessions[session].append((last, row))
    episode, cue_episode = [0] * rows.count, [-1] * rows.count
    for session_rows in sessions.values():
        row_of: dict[int, int] = {}
        for place, (own, row) in enumerate(sorted(session_rows)):
            episode[row] = place
            if row in rows.bad:
                continue
            if own in row_of:
                rows.refuse(row, f"episode {own} comes twice in this session")
                continue
            row_of[own] = row
            if not cued[row] or (wanted := cue[row]) is None:
                continue
            target = row_of.get(wanted)
            if wanted >= own:
                expected = f"expected one before episode {own}"
                rows.refuse(row, f"cue_episode is {wanted}, {expected}")
            elif target is None or target in rows.bad:  # what shows a bad row's cue is bad too
                rows.refuse(row, f"cue_episode is {wanted}: this session has no such good row")
            else:
                cue_episode[row] = episode[target]
    return episode, cue_episode
