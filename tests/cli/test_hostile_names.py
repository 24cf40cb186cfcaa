"""Names that Rich would read as colours, or a terminal as commands: they are printed as text."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reinstate import registry
from reinstate.cli import list as listing
from reinstate.cli.tables import print_agents, print_alarms, print_checks, print_table, say
from reinstate.errors import LONGEST, printable
from reinstate.runs.progress import Reporter
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from spoken import Command, assert_refused

HOSTILE = (
    *("a[/b]c", "[red]a[/red]", "[link=https://example.org]a[/link]", "a:smile:b", "日本 γ é"),
    *("a\x1b[31mb", "\x1b]0;owned\x07", "a\nreinstate: b", "harmless\rharmful"),
    *("a\u202egpj.exe", "a\udcffb", "a\u200b\u2028b"),
)


def checks(name: str) -> None:
    row: Any = {"claim": name, "verdict": "undecided", "value": 1.0, "bound": name, "p": 0.5}
    print_checks([row | {"ci95": [0.0, 1.0], "paper": name, "section": name}])


def agents(name: str) -> None:
    reward: Any = {"mean": 1.0, "ci95": [0.0, 2.0], "per_seed": [1.0]}
    experiment = replace(BARCODE_BANDITS, columns=lambda agent: {name: 1.0})
    print_agents(experiment, {name: {"reward": reward}})


def table(name: str) -> None:
    print_table(name, [name], [name], [[name, name]])


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize(
    "act",
    [say, table, checks, agents, lambda name: print_alarms([name]), Reporter().note],
    ids=["say", "table", "checks", "agents", "alarm", "note"],
)
def test_a_name_is_text(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    act: Callable[[str], None],
    terminal: bool,
) -> None:
    if terminal:
        for name, value in (("FORCE_COLOR", "1"), ("COLUMNS", "200"), ("TERM", "xterm")):
            monkeypatch.setenv(name, value)
    for name in HOSTILE:
        act(name)
        said = capfd.readouterr()
        shown = re.sub(r"\x1b\[[\d;]*m", "", said.out + said.err)  # our own colours
        assert bare(printable(name)) in bare(shown)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200b\u202e]", shown)


def bare(text: str) -> str:
    """A text without spaces: lines are wrapped, and names in tables padded."""
    return re.sub(r"\s+", "", text)


def test_a_terminal_that_lacks_our_symbols_gets_others() -> None:
    words = [sys.executable, "-m", "reinstate", "train", "barcode-bandits", "--help"]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    said = subprocess.run(words, capture_output=True, env=env)
    assert said.returncode == 0 and b"--task.num-arms INT" in said.stdout, said.stderr


def test_an_error_is_one_bounded_line(command: Command) -> None:
    long = "x" * 100_000
    for line in (
        long,
        f"train {long}",
        f"train barcode-bandits --agent {long}",
        f"evaluate {long}",
    ):
        said = command(line)
        assert_refused(said, "xxx")
        assert len(said.err) < LONGEST + 100


@pytest.mark.parametrize("escape", ["\x1b[2J", "[/b]", "\udcff", "\u202e"])
def test_what_is_typed_comes_back_as_text(command: Command, escape: str) -> None:
    for line in (escape, f"train {escape}", f"train barcode-bandits --preset {escape}"):
        said = command(line)
        assert_refused(said, printable(escape) if escape != "\udcff" else "udcff")
        assert escape not in said.err or escape == "[/b]"


@pytest.mark.parametrize("name", ["[red]x", "a[/b]"])
def test_a_file_may_have_any_name(command: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / name.replace("/", "")).mkdir()
    assert_refused(command(f"evaluate {name.replace('/', '')}"), "holds no run")
    assert_refused(command(f"report {name.replace('/', '')}"), name.replace("/", ""))


def test_experiments_of_others_are_listed_as_text(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(BARCODE_BANDITS, summary="[/b]\x1b[2J\nexperiments", title="[red]")
    monkeypatch.setitem(registry._registered["experiment"], "other", other)
    said = command("list")
    assert said.code == 0 and "[/b]\\x1b[2J\\nexperiments" in said.out
    assert listing.List().do("")["experiments"]["other"]["title"] == "[red]"
    said = command("train --help")
    assert said.code == 0 and "[/b]\\x1b[2J" in said.out and "\x1b[2J" not in said.out


@pytest.mark.parametrize(
    ("error", "code"), [(MemoryError("20 TB"), 2), (RecursionError(), None), (ValueError(), None)]
)
def test_only_running_out_of_memory_is_no_traceback(
    command: Command, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int | None
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("reinstate.runs.size.require_room", fail)
    if code is None:  # a mistake of ours must be seen
        with pytest.raises(type(error)):
            command("train barcode-bandits")
    else:
        assert_refused(command("train barcode-bandits"), "out of memory (20 TB): lower --seeds")
