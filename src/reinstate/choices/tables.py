"""Choices from a table on disk, checked row by row.

It is a CSV file (commas, semicolons or tabs) or a Parquet file with a header and one row per
episode:

    participant, session, episode, cued, cue_episode, action, state, reward

Actions and states may be any two labels; in sorted order they become 0 and 1, and action 0 is taken
to lead commonly to state 0 (unless `common` says otherwise). Episodes are numbered by any integers
that grow within a session; cue_episode is such a number, and empty on uncued rows. Without a column
`session` a participant has one session; without `cued` and `cue_episode` nothing is cued.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from reinstate.choices.columns import UNKNOWN, Column, Problems, is_empty, read_columns
from reinstate.choices.model import Choices, Ints
from reinstate.errors import UserError, nearest

COLUMNS = ("participant", "session", "episode", "cued", "cue_episode", "action", "state", "reward")
OPTIONAL = ("session", "cued", "cue_episode")
ABSENT = {"session": "1", "cue_episode": ""}  # what each row then has
BINARY = {"0": 0, "1": 1, "false": 0, "true": 1}


class ChoiceTable(NamedTuple):
    """Choices and the labels that they had in the table."""

    choices: Choices
    participants: list[str]  # the label of each code
    actions: list[str]
    states: list[str]  # in the order of the actions that commonly lead there
    skipped: int
    bad_rows: list[str]  # the first of those skipped, with reasons


def read_choices(
    path: Path,
    columns: Mapping[str, str] | None = None,
    common: Mapping[str, str] | None = None,
    skip_bad: bool = False,
) -> ChoiceTable:
    """Read and check a table.

    `columns` maps our names to the file's ({"action": "choice1"}), `common` an action's label to
    the state that it commonly leads to. Bad rows raise a UserError that names them; `skip_bad`
    drops them instead, and an episode that followed a dropped one has no predecessor.
    """
    found, problems = read_columns(path)
    own = _own_columns(path, found, dict(columns or {}))
    actions, action = _two_labels(path, own["action"], problems)
    states, state = _two_labels(path, own["state"], problems)
    if _crossed(actions, states, dict(common or {})):
        states, state = states[::-1], 1 - state
    reward = problems.decode(own["reward"], _binary, "0 or 1")
    episode = problems.decode(own["episode"], _integer, "a whole number")
    participants, participant = _named(own["participant"], problems)
    _, session = _named(own["session"], problems)
    cued, cue = _cues(own, problems)
    table = Choices(participant, session, episode, cued, cue, action, state, reward)
    table = _renumber(table, problems)
    good = problems.good
    if not good.all() and not skip_bad:
        raise UserError(_complaint(path, problems))
    if not good.any():
        raise UserError(f"{path} has no good row: {'; '.join(problems.shown())}")
    kept = Choices._make(column[good] for column in table)
    present, codes = np.unique(kept.participant, return_inverse=True)
    names = [participants[p] for p in present]
    kept = kept._replace(participant=codes)
    return ChoiceTable(kept, names, actions, states, int((~good).sum()), problems.shown())


def _complaint(path: Path, problems: Problems) -> str:
    bad, rows = int((~problems.good).sum()), len(problems.reason)
    shown = problems.shown()
    more = [f"and {bad - len(shown)} more"] if bad > len(shown) else []
    heading = f"{bad} of {rows} rows in {path} are bad: mend them, or drop them with --skip-bad"
    return "\n  ".join([heading, *shown, *more])


def _own_columns(
    path: Path, there: dict[str, Column], renamed: dict[str, str]
) -> dict[str, Column]:
    for name in renamed:
        if name not in COLUMNS:
            raise UserError(nearest("column", name, COLUMNS))
    wanted = {name: renamed.get(name, name) for name in COLUMNS}
    for name, theirs in wanted.items():
        if theirs not in there and (name in renamed or name not in OPTIONAL):
            raise UserError(
                f"{path} has no column {theirs!r} for {name}: it has {', '.join(there)};"
                f" say which is meant, such as --columns {name}={next(iter(there), 'NAME')}"
            )
    own = {n: there[w]._replace(name=n) for n, w in wanted.items() if w in there}
    same = np.zeros(len(own["action"].code), np.int64)
    absent = {name: Column(name, [label], same) for name, label in ABSENT.items()}
    return absent | own


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


def _two_labels(path: Path, column: Column, problems: Problems) -> tuple[list[str], Ints]:
    """Encode the two commonest labels in sorted order; rows with any other are bad."""
    rows = np.bincount(column.code[problems.good], minlength=len(column.labels))
    total: Counter[str] = Counter()
    for label, n in zip(column.labels, rows.tolist(), strict=True):
        if n and not is_empty(label):
            total[_tidy(label)] += n
    labels = _in_order({label for label, _ in total.most_common(2)})
    if len(labels) < 2:
        only = f"only the value {labels[0]!r}" if labels else "no value"
        raise UserError(f"column {column.name} of {path} has {only}: a choice model needs two")
    return labels, _codes(column, labels, f"{labels[0]!r} or {labels[1]!r}", problems)


def _codes(column: Column, labels: list[str], expected: str, problems: Problems) -> Ints:
    code = {label: i for i, label in enumerate(labels)}
    return problems.decode(column, lambda label: code.get(_tidy(label)), expected)


def _crossed(actions: list[str], states: list[str], common: dict[str, str]) -> bool:
    """Tell whether the first action commonly leads to the second state."""
    crossed = set()
    for action, state in common.items():
        for kind, label, known in (("action", action, actions), ("state", state, states)):
            if label not in known:
                raise UserError(f"--common names the {kind} {label!r}: the file has {known}")
        crossed.add(actions.index(action) != states.index(state))
    if len(crossed) > 1:
        raise UserError(f"--common pairs both actions with the same state: {common}")
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
    # One number per session; labels without a meaning count as one more.
    person, session = (np.maximum(c, -1) + 1 for c in (table.participant, table.session))
    group = person * (session.max() + 1) + session
    # A row without a readable episode number keeps its place in the file.
    row = np.arange(len(number))
    before = np.maximum.accumulate(np.where(number != UNKNOWN, row, 0))
    order = np.lexsort((row, number[before], group))
    new = np.diff(group[order], prepend=-1) != 0
    rank = np.empty(len(row), np.int64)
    rank[order] = row - np.maximum.accumulate(np.where(new, row, 0))

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


def _find(wanted: Ints, good: np.ndarray, key: Ints) -> Ints:
    """Find the first good row with each wanted key; −1 if there is none."""
    rows = np.flatnonzero(good)
    if not len(rows):
        return np.full(len(wanted), -1)
    rows = rows[np.argsort(key[rows], kind="stable")]
    at = np.minimum(np.searchsorted(key[rows], wanted), len(rows) - 1)
    return np.where(key[rows][at] == wanted, rows[at], -1)
