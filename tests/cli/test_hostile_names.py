"""Names that Rich would read as colours, or a terminal as commands: they are printed as text."""

import io
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from reinstate import registry
from reinstate.cli import list as listing
from reinstate.cli import main, parsing
from reinstate.cli.tables import (
    print_agents,
    print_alarms,
    print_checks,
    print_table,
    say,
    say_next,
)
from reinstate.errors import LONGEST, UserError, printable
from reinstate.runs.progress import Reporter
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from spoken import Command, assert_refused

HOSTILE = {
    "an end of markup": "a[/b]c",
    "a colour": "[red]a[/red]",
    "a link": "[link=https://example.org]a[/link]",
    "an escape code": "a\x1b[31mb",
    "a title of the window": "\x1b]0;owned\x07",
    "a new line": "a\nreinstate: b",
    "a return": "harmless\rharmful",
    "text that runs backwards": "a\u202egpj.exe",
    "a byte that is no text": "a\udcffb",
    "nothing to see": "a\u200b\u2028b",
    "other scripts": "日本 γ é",
    "an emoji's name": "a:smile:b",
}
ENCODINGS = ["utf-8", "latin-1", "ascii", "cp1252"]
OUR_CODES = re.compile(r"\x1b\[[\d;?]*[a-zA-Z]")  # colours, and those that draw a bar again


class Terminal(io.TextIOWrapper):
    """A terminal of some encoding, as strict as Python's own."""

    def __init__(self, encoding: str, interactive: bool) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, write_through=True)
        self.interactive = interactive

    def isatty(self) -> bool:
        return self.interactive

    def shown(self) -> str:
        text = self.buffer.getvalue()  # type: ignore[attr-defined]
        return text.decode(self.encoding)


@pytest.fixture(params=[False, True], ids=["pipe", "terminal"])
def see(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, Callable[[], Any]], str]:
    """Do something with both streams going to a terminal, or a pipe; return what is seen."""

    def do(encoding: str, act: Callable[[], Any]) -> str:
        screen = Terminal(encoding, request.param)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "200")
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", screen)
            patched.setattr(sys, "stderr", screen)
            patched.setattr(parsing, "run_tyro", lambda *_: Doing(act))
            main(["list"])
        return OUR_CODES.sub("", screen.shown())

    return do


class Doing:
    """In place of a verb."""

    json = False

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act

    def do(self, command: str) -> None:
        self.act()

    def show(self, result: Any) -> None:
        pass


def as_shown(name: str, encoding: str) -> str:
    """A name as a terminal of an encoding shows it: letters that it lacks are spelled."""
    return printable(name).encode(encoding, "reinstate-symbols").decode(encoding)


def bar(name: str) -> None:
    reporter = Reporter()
    reporter.part(1, 2, name)
    with reporter.track(name, 2) as bar:
        bar.compiled()
        bar.update(1, name)
        bar.update(2, name)


def working(name: str) -> None:
    with Reporter().working(name):
        pass


def checks(name: str) -> None:
    row: Any = {"claim": name, "verdict": "undecided", "value": 1.0, "bound": name, "p": 0.5}
    print_checks([row | {"ci95": [0.0, 1.0], "paper": name, "section": name}])


def agents(name: str) -> None:
    reward: Any = {"mean": 1.0, "ci95": [0.0, 2.0], "per_seed": [1.0]}
    experiment = replace(BARCODE_BANDITS, columns=lambda agent: {name: 1.0})
    print_agents(experiment, {name: {"reward": reward}})


def refusal(name: str) -> None:
    raise UserError(name)


@pytest.mark.parametrize(
    "act",
    [
        say,
        lambda name: say_next([name], name),
        lambda name: print_table(name, [name], [name], [[name, name]]),
        checks,
        agents,
        lambda name: print_alarms([name]),
        lambda name: Reporter().note(name),
        working,
        bar,
        refusal,
    ],
    ids=["say", "next", "table", "checks", "agents", "alarm", "note", "working", "bar", "refusal"],
)
def test_a_name_is_text(
    see: Callable[[str, Callable[[], Any]], str], act: Callable[[str], None]
) -> None:
    for (what, name), encoding in product(HOSTILE.items(), ENCODINGS):
        shown = see(encoding, partial(act, name))
        if act is refusal:  # on one line, with spaces in place of its ends
            name = " ".join(name.splitlines())
        assert bare(as_shown(name, encoding)) in bare(shown), f"{what} in {encoding}"
        steering = re.search("[\x00-\x08\x0b-\x1f\x7f\u200b\u202e]", shown.replace("\r", ""))
        assert not steering, f"{what} in {encoding}"


def bare(text: str) -> str:
    """A text without spaces: lines are wrapped, and names in tables padded."""
    return re.sub(r"\s+", "", text)


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
