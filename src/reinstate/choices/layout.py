"""Which column of a table is which: our names, other people's, and what may be left out."""

from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np

from reinstate.choices.columns import LONGEST, Column, Origin
from reinstate.errors import UserError, nearest, one_line

COLUMNS = ("participant", "session", "episode", "cued", "cue_episode", "action", "state", "reward")
SECOND_CHOICE = "second_choice"  # of four options, two per state: serves where there is no state
SHOWN = 50  # of a table's columns, in a message
KNOWN = (*COLUMNS, SECOND_CHOICE)
REQUIRED = ("participant", "action", "state", "reward")
ABSENT = {"session": "1", "cue_episode": ""}  # what each row then has
# hBayesDM's names of its two-step models are understood as they are.
THEIRS = {"participant": "subjID", "action": "level1_choice", SECOND_CHOICE: "level2_choice"}
# Parts of names that such columns often have, likeliest first.
LIKELY = {
    "participant": ("subj", "partic", "person", "player", "worker", "user", "sub", "id"),
    "action": ("action", "choice1", "level1", "stage1", "step1", "first", "choice", "response"),
    "state": ("state", "level2", "stage2", "step2", "second"),
    "reward": ("reward", "win", "won", "outcome", "points", "money", "feedback"),
}


def own_columns(
    origin: Origin, there: Mapping[str, Column], renamed: Mapping[str, str]
) -> dict[str, Column]:
    """Return the columns under our names; a UserError names all that are missing at once."""
    for name in renamed:
        if name not in KNOWN:
            raise UserError(nearest("column", name, KNOWN))
    wanted = {name: renamed.get(name) or _known_as(name, there) for name in KNOWN}
    missing = {
        name: theirs
        for name, theirs in wanted.items()
        if theirs not in there and (name in renamed or name in REQUIRED)
    }
    if wanted[SECOND_CHOICE] in there and "state" not in renamed:
        missing.pop("state", None)
    if missing:
        raise UserError(_lacking(origin, there, missing, set(wanted.values())))
    own = {n: there[w]._replace(name=n) for n, w in wanted.items() if w in there}
    same = np.zeros(len(own["action"].code), np.int64)
    absent = {name: Column(name, [label], same) for name, label in ABSENT.items()}
    return absent | own


def _known_as(name: str, there: Mapping[str, Column]) -> str:
    theirs = THEIRS.get(name, name)
    return theirs if name not in there and theirs in there else name


def _lacking(
    origin: Origin, there: Mapping[str, Column], missing: Mapping[str, str], taken: set[str]
) -> str:
    told = [
        repr(theirs) + (f" for {name}" if theirs != name else "")
        for name, theirs in missing.items()
    ]
    free = [name for name in there if name not in taken and len(name) <= LONGEST]
    such = origin.option("columns", dict(_guesses(missing, free)))
    has = one_line(", ".join(islice(there, SHOWN)) or "none")
    has += " and others" if len(there) > SHOWN else ""
    return (
        f"{origin.name} has no column {' or '.join(told)}: it has {has};"
        f" say which are meant, such as {such}"
    )


def _guesses(missing: Mapping[str, str], free: list[str]) -> Iterator[tuple[str, str]]:
    """Guess which of the free columns is meant by each missing name; NAME where none looks it."""
    for name in missing:
        likely = (
            theirs
            for part in LIKELY.get(name, (name,))
            for theirs in free
            if part in theirs.lower().replace("_", "")
        )
        guess = next(likely, "NAME")
        if guess in free:
            free.remove(guess)
        yield name, guess
