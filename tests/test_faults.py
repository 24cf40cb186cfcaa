"""Killed, or out of disk, at any single file operation: the same command goes on, to the same bits.

With stand-ins for all that is slow, and in this process; `make torture` does it in earnest.
"""

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import stubbed
from bits import bits, different, leftovers, trained
from faults import Endless, Faults, Killed, applies
from reinstate.cli import main, parse
from reinstate.errors import UserError
from reinstate.runs.progress import Reporter

MODES = ("kill-before", "kill-half", "enospc-on")
PIDS = count(2**22 + 1)  # of no process that there can be
TIMES = 50  # as many operations as undisturbed: who does more does not come to an end


@pytest.fixture(scope="module", autouse=True)
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with all that commands read, in which they work."""
    folder = tmp_path_factory.mktemp("faults")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        stubbed.install(patch.setattr)
        patch.setattr(Reporter, "note", lambda *text: None)
        with Faults(folder):
            stubbed.prepare(folder, main)
        yield folder


@cache
def options_of(name: str) -> Any:
    return parse(stubbed.LINES[name].split())


@cache
def undisturbed(name: str) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    """Return all file operations of a command, and what it leaves."""
    with Faults(Path.cwd()) as counted:
        options_of(name).do(f"reinstate {name}")
    found = bits(Path("out"))
    shutil.rmtree("out")
    return counted.operations, found


def attempt(options: Any, name: str, mode: str = "", at: int = 0) -> str:
    """Do what a command does; return why it did not come to its end."""
    try:
        limit = TIMES * len(undisturbed(name)[0])
        with Faults(Path.cwd(), mode, at, limit=limit, pid=next(PIDS)):
            options.do(f"reinstate {name}")
    except (Endless, Killed, UserError) as error:
        return str(error) or "killed"
    return ""


def trouble_after(name: str, mode: str, at: int) -> str:
    """Disturb one operation of a command, and do it again; return what is wrong then."""
    options, before = options_of(name), {*os.listdir()}
    attempt(options, name, mode, at)
    saved = trained(Path("out"))
    why = attempt(options, name)
    if "--resume" in why:
        why = attempt(replace(options, resume=True), name)
    wrong = different(undisturbed(name)[1], bits(Path("out")))
    again = [run for run, rows in saved.items() if trained(Path("out"))[run][: len(rows)] != rows]
    left = [*leftovers(Path.cwd()), *({*os.listdir()} - before - {"out"})]
    shutil.rmtree("out", ignore_errors=True)
    if why and wrong:
        return why  # it is no trouble to be told that the work is done
    parts = {"differs": wrong, "trained twice": again, "left": left}
    return "; ".join(f"{part}: {', '.join(names)}" for part, names in parts.items() if names)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", stubbed.LINES)
def test_the_same_command_goes_on_to_the_same_bits(name: str, mode: str) -> None:
    trouble = {}
    for at, (operation, path) in telling(undisturbed(name)[0]):
        if applies(mode, operation) and (found := trouble_after(name, mode, at)):
            trouble[f"{at}: {operation} {path}"] = found
    assert not trouble


def telling(operations: list[tuple[str, str]]) -> list[tuple[int, tuple[str, str]]]:
    """Number operations; of those that do the same to files of one name, the first and the last."""
    numbered = [*enumerate(operations, 1)]
    kinds = [(operation, re.sub(r"\d+", "", Path(path).name)) for operation, path in operations]
    first = {kind: at for at, kind in reversed([*enumerate(kinds, 1)])}
    last = {kind: at for at, kind in enumerate(kinds, 1)}
    return [numbered[at - 1] for at in sorted({*first.values(), *last.values()})]
