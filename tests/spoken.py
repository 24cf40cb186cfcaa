"""The command in this process, and what it says; for tests of single verbs."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from reinstate.cli import main


class Said(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[[str], Said]


def in_this_process(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> Command:
    """`main`, from a folder."""
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)

    def run(line: str) -> Said:
        capfd.readouterr()
        code = main(line.split())
        return Said(code, *capfd.readouterr())

    return run


def assert_refused(said: Said, message: str) -> None:
    """A mistake is one line, the last after whatever progress was told."""
    assert said.code == 2
    assert said.out == ""
    *progress, last = said.err.splitlines()
    assert re.fullmatch("reinstate: .+", last), said.err
    assert not any("reinstate: " in line or "Traceback" in line for line in progress)
    assert message in last
