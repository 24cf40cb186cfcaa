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

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from reinstate.choices.columns import (
    UNKNOWN,
    Column,
    Origin,
    Problems,
    is_empty,
    origin_of,
    quoted,
)
from reinstate.choices.layout import COLUMNS, KNOWN, SECOND_CHOICE, THEIRS, own_columns
from reinstate.choices.model import Choices, Ints
from reinstate.choices.reading import read_columns
from reinstate.errors import UserError

__all__ = ["COLUMNS", "ChoiceTable", "read_choices"]

BINARY = {"0": 0, "1": 1, "false": 0, "true": 1}
SIGNED = {"-1": 0, "1": 1}


class ChoiceTable(NamedTuple):
    """Choices and the labels that they had in the table."""

    choices: Choices
    participants: list[str]  # the label of each code
    actions: list[str]
    states: list[str]  # in the order of the actions that commonly lead there
    skipped: int
    bad_rows: list[str]  # the first of those skipped, with reasons
    origin: Origin = Origin("the table", in_memory=True)


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
    renamed = dict(columns or {})
    found, problems = read_columns(source, {*KNOWN, *THEIRS.values(), *renamed.values()})
    origin = origin_of(source)
    own = own_columns(origin, found, renamed)
    actions, action = _two_labels(origin, own["action"], problems)
    states, state = _states(origin, own, problems)
    if _crossed(origin, actions, states, dict(common or {})):
        states, state = states[::-1], 1 - state
    reward = _rewards(origin, own["reward"], problems, signed_rewards)
    participants, participant = _named(own["participant"], problems)
    _, session = _named(own["session"], problems)
    cued, cue = _cues(own, problems)
    table = Choices(participant, session, participant, cued, cue, action, state, reward)
    table = table._replace(episode=_episodes(own, table, problems))
    table = _renumber(table, problems)
    good = problems.good
    if not good.all() and not skip_bad:
        raise UserError(_complaint(origin, problems))
    if not good.any():
        raise UserError(f"{origin.name} has no good row: {'; '.join(problems.shown())}")
    kept = Choices._make(column[good] for column in table)
    present, codes = np.unique(kept.participant, return_inverse=True)
    names = [participants[p] for p in present]
    kept = kept._replace(participant=codes)
    bad = int((~good).sum())
    return ChoiceTable(kept, names, actions, states, bad, problems.shown(), origin)


def _complaint(origin: Origin, problems: Problems) -> str:
    bad, rows = int((~problems.good).sum()), len(problems.reason)
    shown = problems.shown()
    more = [f"and {bad - len(shown)} more"] if bad > len(shown) else []
    drop = f"mend them, or drop them with {origin.option('skip_bad')}"
    heading = f"{bad} of {rows} rows in {origin.name} are bad: {drop}"
    return "\n  ".join([heading, *shown, *more])


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


def _binary(label: str) -> int | None:
    return BINARY.get(_tidy(label).lower())


def _in_order(labels: set[str]) -> list[str]:
    """Sort numbers by size, other labels alphabetically."""
    numbers = all(_integer(label) is not None for label in labels)
    return sorted(labels, key=lambda label: _integer(label) or 0) if numbers else sorted(labels)


def _named(column: Column, problems: Problems) -> tuple[list[str], Ints]:
    labels = _in_order({_tidy(label) for label in column.labels if not is_empty(label)})
    return labels, _codes(column, labels, "a name or a number", problems)


def _commonest(column: Column, problems: Problems, count: int) -> list[str]:
    """Return the labels that most good rows have, in sorted order."""
    rows = np.bincount(column.code[problems.good], minlength=len(column.labels))
    total: Counter[str] = Counter()
    for label, n in zip(column.labels, rows.tolist(), strict=True):
        if n and not is_empty(label):
            total[_tidy(label)] += n
    return _in_order({label for label, _ in total.most_common(count)})


def _two_labels(origin: Origin, column: Column, problems: Problems) -> tuple[list[str], Ints]:
    """Encode the two commonest labels in sorted order; rows with any other are bad."""
    labels = _commonest(column, problems, 2)
    if len(labels) < 2:
        only = f"only the value {quoted(labels[0])}" if labels else "no value"
        table = f"column {column.name} of {origin.name}"
        raise UserError(f"{table} has {only}: a choice model needs two")
    return labels, _codes(column, labels, " or ".join(map(quoted, labels)), problems)


def _states(origin: Origin, own: dict[str, Column], problems: Problems) -> tuple[list[str], Ints]:
    """Encode the second stage, from its own column or from the choice that was made there."""
    if "state" in own:
        return _two_labels(origin, own["state"], problems)
    column = own[SECOND_CHOICE]
    labels = _commonest(column, problems, 4)
    numbers = ["0", "1", "2", "3"] if "0" in labels else ["1", "2", "3", "4"]
    labels = numbers if set(labels) <= set(numbers) else labels  # an option may be unused
    if len(labels) != 4:
        raise UserError(
            f"column {SECOND_CHOICE} of {origin.name} has {len(labels)} values: without a column"
            " state it needs four, two for each state in sorted order"
        )
    option = _codes(column, labels, ", ".join(map(quoted, labels)), problems)
    state = np.where(option == UNKNOWN, UNKNOWN, option // 2)
    return ["/".join(labels[:2]), "/".join(labels[2:])], state


def _rewards(origin: Origin, column: Column, problems: Problems, signed: bool) -> Ints:
    if signed:
        return problems.decode(column, lambda label: SIGNED.get(_tidy(label)), "-1 or 1")
    expected = "0 or 1"
    if any(_tidy(label) == "-1" for label in column.labels):
        expected += f" (for -1 and 1 there is {origin.option('signed_rewards')})"
    return problems.decode(column, _binary, expected)


def _episodes(own: dict[str, Column], table: Choices, problems: Problems) -> Ints:
    """Return the episodes' numbers; without a column, 1, 2, … in the order of a session's rows."""
    if "episode" in own:
        return problems.decode(own["episode"], _integer, "a whole number")
    return _ranks(_session_of(table), np.arange(len(table.action))) + 1


def _codes(column: Column, labels: list[str], expected: str, problems: Problems) -> Ints:
    code = {label: i for i, label in enumerate(labels)}
    return problems.decode(column, lambda label: code.get(_tidy(label)), expected)


def _crossed(origin: Origin, actions: list[str], states: list[str], common: dict[str, str]) -> bool:
    """Tell whether the first action commonly leads to the second state."""
    crossed, flag = set(), "common" if origin.in_memory else "--common"
    for action, state in common.items():
        for kind, label, known in (("action", action, actions), ("state", state, states)):
            if label not in known:
                there = f"[{', '.join(map(quoted, known))}]"
                raise UserError(f"{flag} names the {kind} {label!r}: the table has {there}")
        crossed.add(actions.index(action) != states.index(state))
    if len(crossed) > 1:
        raise UserError(f"{flag} pairs both actions with the same state: {common}")
    return crossed == {True}


def _cues(own: dict[str, Column], problems: Problems) -> tuple[np.ndarray, Ints]:
    """Return whether each row is cued, and the number of the episode whose cue it shows."""
    column = own["cue_episode"]
    cued = shown = column.decode(is_empty) == 0
    cue = column.decode(_integer)
    if "cued" in own:
        cued = problems.decode(own["cued"], _binary, "0, 1, true or false") == 1
    expected = "expected a whole number on a cued row"
    problems.add(cued & (cue == UNKNOWN), lambda row: f"{column.quoted(row)}, {expected}")
    # Tables without gaps write −1 for no cue.
    problems.add(
        ~cued & shown & (cue != -1),
        lambda row: f"{column.quoted(row)} on an uncued row, expected nothing",
    )
    return cued, cue


def _renumber(table: Choices, problems: Problems) -> Choices:
    """Number episodes and cues 0, 1, … within their session; check cues and order.

    Bad rows are numbered too: when dropped they leave a gap, after which none has a predecessor.
    """
    number, cue_number = table.episode, table.cue_episode
    group, row = _session_of(table), np.arange(len(number))
    # A row without a readable episode number keeps its place in the file.
    before = np.maximum.accumulate(np.where(number != UNKNOWN, row, 0))
    rank = _ranks(group, number[before])

    values, place = np.unique(number, return_inverse=True)
    cue_place = np.minimum(np.searchsorted(values, cue_number), len(values) - 1)
    cue_place = np.where(values[cue_place] == cue_number, cue_place, len(values))
    key, cue_key = (group * (len(values) + 1) + at for at in (place, cue_place))
    problems.add(
        (_find(key, problems.good, key) != row) & problems.good,
        lambda r: f"episode {number[r]} comes twice in this session",
    )
    problems.add(
        table.cued & (cue_number >= number),
        lambda r: f"cue_episode is {cue_number[r]}, expected one before episode {number[r]}",
    )
    found = True
    while found:  # rows that show the cue of a bad row are bad too
        target = _find(cue_key, problems.good, key)
        found = problems.add(
            table.cued & (target < 0),
            lambda r: f"cue_episode is {cue_number[r]}: this session has no such good row",
        )
    return table._replace(episode=rank, cue_episode=np.where(table.cued, rank[target], -1))


def _session_of(table: Choices) -> Ints:
    """Return one number per session; labels without a meaning count as one more."""
    person, session = (np.maximum(c, -1) + 1 for c in (table.participant, table.session))
    pairs = person * (session.max(initial=0) + 1) + session
    return np.unique(pairs, return_inverse=True)[1]  # small, so that products of them are, too


def _ranks(group: Ints, number: Ints) -> Ints:
    """Count 0, 1, … through each group in the order of its numbers, and of rows where equal."""
    row = np.arange(len(group))
    order = np.lexsort((row, number, group))
    new = np.diff(group[order], prepend=-1) != 0
    rank = np.empty(len(row), np.int64)
    rank[order] = row - np.maximum.accumulate(np.where(new, row, 0))
    return rank


def _find(wanted: Ints, good: np.ndarray, key: Ints) -> Ints:
    """Find the first good row with each wanted key; −1 if there is none."""
    rows = np.flatnonzero(good)
    if not len(rows):
        return np.full(len(wanted), -1)
    rows = rows[np.argsort(key[rows], kind="stable")]
    at = np.minimum(np.searchsorted(key[rows], wanted), len(rows) - 1)
    return np.where(key[rows][at] == wanted, rows[at], -1)
