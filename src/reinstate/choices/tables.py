"""Choices from a table, one row per episode, checked row by row.

The how-to on fitting choices says what its columns hold. In sorted order the labels of actions and
states become 0 and 1, and action 0 is taken to lead commonly to state 0, unless `common` says
otherwise.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reinstate.choices.model import Choices, Ints
from reinstate.choices.reading import SECOND_CHOICE, UNKNOWN, Rows, integer, quoted, read_rows
from reinstate.errors import UserError

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
    reward = _rewards(rows, signed_rewards)
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


def _rewards(rows: Rows, signed: bool) -> Ints:
    known, expected = (SIGNED, "-1 or 1") if signed else (BINARY, "0 or 1")
    if not signed and "-1" in rows.columns["reward"]:
        expected += " (for -1 and 1 there is --signed-rewards)"
    return rows.decode("reward", lambda label: known.get(label.lower()), expected)


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
