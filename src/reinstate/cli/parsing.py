"""What a verb is; and tyro's subcommands, help and errors, as this command wants them.

Help must come fast: nothing in here may import JAX.
"""

import argparse
import contextlib
import io
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Union

import tyro
from tyro.conf import FlagCreatePairsOff, arg

from reinstate.errors import UserError

_ANSI = re.compile(r"\033\[[\d;]*m")
_PIECES = re.compile(r"\[[^]]*\]|(?:\bp )?(?:[<>]=?|=) [-\d.]+")  # [0.1, 0.2], p < .001


Flag = Annotated[bool, FlagCreatePairsOff, arg(help_behavior_hint="")]


@dataclass(frozen=True, kw_only=True)
class Verb:
    """What a verb does. Its fields are the options, its docstring is the help."""

    json: Flag = False
    """Print the result as JSON."""

    def do(self, command: str) -> Any:
        """Do it, and return the result; `command` is the whole line, for records."""
        raise NotImplementedError

    def show(self, result: Any) -> None:
        """Print a result for people; the last line names the next command."""


@dataclass(frozen=True)
class Nothing:
    """In place of options that nobody asked for."""


def branch(name: str, kind: Any, text: str, default: Any = tyro.MISSING_NONPROP) -> Any:
    """Make a subcommand, as tyro wants it: options of some type, with defaults and help."""
    # tyro joins the lines of a paragraph only if they start with a letter.
    joined = re.sub(r"(?<=\S)\n(?=\S)", " ", text.replace("\n    ", "\n").strip())
    return Annotated[kind, tyro.conf.subcommand(name, description=joined, default=default)]


def union(branches: Iterable[Any]) -> Any:
    """Make a choice between subcommands; tyro wants two or more, but one may be hidden."""
    return Union[(*branches, Annotated[None, tyro.conf.Suppress])]


def run_tyro(tree: Any, arguments: list[str]) -> Any:
    """Parse with tyro; show its help tidied, and turn its boxed errors into one line."""
    shown, errors = _Page(), io.StringIO()
    try:
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(errors):
            return tyro.cli(tree, args=arguments, prog="reinstate")
    except SystemExit as stop:
        if stop.code in (0, None):
            help_or_script = shown.getvalue()
            print(help_or_script if "--tyro" in arguments[0] else _tidied(help_or_script), end="")
            raise
        raise UserError(_one_line(errors.getvalue(), arguments[0])) from None


class _Page(io.StringIO):
    """Where tyro writes; it asks whether it may use colours and boxes."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return sys.__stdout__ is not None and sys.__stdout__.isatty()


def _tidied(text: str) -> str:
    """Shorten the usage, wrap long lines between words, and drop repeated blank lines."""
    usage, _, rest = text.partition("\n")
    usage = re.sub(r"\[-h\] ?|(?<=\[)\S+ (?=OPTIONS\])", "", _ANSI.sub("", usage))
    if "subcommands" in rest:
        usage = re.sub(r"\{\S+,\S+\}", "EXPERIMENT …", usage)
    width = shutil.get_terminal_size().columns
    lines = wrap(usage, width, 4)
    for line in re.sub(r"\n{3,}", "\n\n", rest).splitlines():
        plain, hang = _ANSI.sub("", line), 6 if line.startswith(" ") else 0
        fits = len(plain) <= width or plain.startswith(("╭", "│", "╰"))
        lines += [line] if fits else wrap(plain, width, hang)
    return "\n".join(lines) + "\n"


def wrap(line: str, width: int, hang: int) -> list[str]:
    """Break a line between words only; intervals and comparisons stay in one piece."""
    whole = _PIECES.sub(lambda found: found[0].replace(" ", "\0"), line)
    wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    wrapper.subsequent_indent = " " * hang
    return [piece.replace("\0", " ") for piece in wrapper.wrap(whole)]


def _one_line(box: str, verb: str) -> str:
    """Return the message in one of tyro's error boxes, with its suggestion if it has one."""
    lines = [re.sub(r"^[│╭╰] ?| *[│╮╯]$", "", line) for line in box.splitlines()]
    message, *others = re.split(r"(?m)^─+$", "\n".join(lines[1:-1]))
    if missing := re.match(r"Missing from reinstate (\S+)", message):
        needed = re.findall(r"(?m)^ {4}(\S.*)$", message)
        message = f"{missing[1].rstrip(':')} needs {' and '.join(needed)} first"
    hints = " ".join(" ".join(others).split())
    meant = re.search(r"Perhaps you meant: (\S+?),? ", hints)
    see = re.findall(r"reinstate(?: [\w-]+)* --help", hints)
    return (
        " ".join(message.partition("\n\n")[0].split())
        + (f"; did you mean {meant[1]}?" if meant else "")
        + f" (see {max([f'reinstate {verb} --help', *see], key=len)})"
    )


def peek(arguments: list[str], flag: str, default: str) -> str:
    """Return a flag's value before the rest can be parsed."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(flag, dest="value", nargs="?", default=default, const=default)
    return str(parser.parse_known_args(arguments)[0].value)
