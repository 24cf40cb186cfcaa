"""What a verb is; and tyro's help and errors, as this command wants them.

Help must come fast: nothing in here may import JAX.
"""

import argparse
import ast
import contextlib
import io
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from inspect import getdoc, getsource
from typing import Annotated, Any, ClassVar

import tyro
from tyro.conf import FlagCreatePairsOff, arg

from reinstate.errors import UserError, one_line

ONE_BOX = 110  # columns
_COLOUR = r"(?:\033\[[\d;]*m)*"
_BOX = re.compile(rf"{_COLOUR}[╭│╰]")

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


class Worded:
    """A verb that wants a word before its options, such as an experiment, which decides them."""

    first: ClassVar[str]  # what the word is
    placeholder: ClassVar[str] = "EXPERIMENT"

    @classmethod
    def words(cls) -> dict[str, str]:
        """Return one line per word."""
        raise NotImplementedError

    @classmethod
    def for_word(cls, word: str, arguments: list[str]) -> tuple[Any, Any]:
        """Return the options for a word, as a type and as defaults."""
        raise NotImplementedError

    def more(self, arguments: list[str]) -> Mapping[str, str]:
        """Return what --set changes, as NAME=DEFAULT, and what it means."""
        return {}

    def often(self) -> list[str]:
        """Return the options that --help explains, if it leaves the others to --help-all."""
        return []


def parse_verb(verb: str, kind: Any, rest: list[str]) -> Any:
    """Parse what follows a verb: return its options, ready to be done."""
    prog = f"reinstate {verb}"
    if not issubclass(kind, Worded):
        return run_tyro(kind, rest, prog)
    if rest and not rest[0].startswith("-"):
        chosen, default = kind.for_word(rest[0], rest[1:])
        return run_tyro(chosen, rest[1:], f"{prog} {rest[0]}", default)
    if {"-h", "--help", "--help-all"} & {*rest}:
        _print_words(prog, kind)
        raise SystemExit(0)
    known = ", ".join(kind.words())
    raise UserError(f"{verb} needs {kind.first} first: {prog} … (known: {known})")


def _print_words(prog: str, kind: Any) -> None:
    """Print the help of a verb that wants a word first: what it does, and the words."""
    about = re.sub(r"(?<=\S)\n(?=\S)", " ", getdoc(kind) or "")  # one line per paragraph
    words = [f"  {word:22} {one_line(text)}" for word, text in kind.words().items()]
    lines = [f"usage: {prog} {kind.placeholder} [OPTIONS]", "", about, "", *words]
    print(folded("\n".join(lines), 25))


def run_tyro(kind: Any, arguments: list[str], prog: str, default: Any = None) -> Any:
    """Parse with tyro; fold its help to the terminal, and turn its boxed errors into one line."""
    start = {} if default is None else {"default": default}
    shown, errors = _Page(), io.StringIO()
    words = ["--help" if word == "--help-all" else word for word in arguments]
    often = default.often() if isinstance(default, Worded) and words == arguments else []
    if often and {"-h", "--help"} & {*words}:  # wider, tyro would put boxes side by side
        os.environ["COLUMNS"] = str(min(shutil.get_terminal_size().columns, ONE_BOX))
    try:
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(errors):
            return tyro.cli(kind, args=words, prog=prog, **start)
    except SystemExit as stop:
        if stop.code in (0, None):
            page = re.sub(r"(?m)^reinstate ", "  reinstate ", shown.getvalue().rstrip())
            if often:
                page = _brief(page, often) + f"`{prog} --help-all` explains all options."
            print(folded(page))
            if not often and (more := _more(default, words)):
                rows = (f"  {name}\n      {text}" for name, text in more.items())
                print(folded("\n".join(["", "settings that --set changes:", *rows])))
            raise
    names = [row.partition("=")[0] for row in _more(default, [])]
    raise UserError(_one_line(errors.getvalue(), prog, names))


def _brief(page: str, often: Collection[str]) -> str:
    """Leave out the options that are not of these, and boxes that are left with none."""
    first, *boxes = re.split(rf"(?m)^(?={_COLOUR}╭)", page)
    for box in boxes:
        body, end, _ = re.split(rf"(?m)^({_COLOUR}╰.*)", box)
        about, *rows = re.split(rf"(?m)^(?={_COLOUR}│{_COLOUR} {_COLOUR}-[-h])", body)
        rows = [row for row in rows if {*re.findall(r"--[\w.-]+", row)[:1]} & {*often}]
        first += "".join([about, *rows, end, "\n"]) if rows else ""
    return first


class _Page(io.StringIO):
    """Where tyro writes; it asks whether it may use colours and boxes."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return sys.__stdout__ is not None and sys.__stdout__.isatty()


def folded(text: str, hang: int = 6) -> str:
    """Wrap the lines that are wider than the terminal, between words only; boxes fit already."""
    wrapper = textwrap.TextWrapper(shutil.get_terminal_size().columns, break_long_words=False)
    wrapper.break_on_hyphens, lines = False, []
    for line in re.sub(r"\n{3,}", "\n\n", text).splitlines():
        wrapper.subsequent_indent = " " * hang if line.startswith(" ") else ""
        lines += [line] if not line.strip() or _BOX.match(line) else wrapper.wrap(line)
    return "\n".join(lines)


def _more(default: Any, arguments: list[str]) -> Mapping[str, str]:
    return default.more(arguments) if isinstance(default, Worded) else {}


def _one_line(box: str, prog: str, more: Iterable[str]) -> str:
    """Return the message in one of tyro's error boxes, and the option that was probably meant.

    `more` are the settings that --set changes, of which tyro does not know.
    """
    lines = [re.sub(r"^[│╭╰] ?| *[│╮╯]$", "", line) for line in box.splitlines()]
    whole, *hints = re.split(r"(?m)^─+$", "\n".join(lines[1:-1]))
    message = " ".join(whole.partition("\n\n")[0].split())
    if wrong := re.match(r"Unrecognized options: (--[^\s,=]+)", message):
        end = wrong[1].lstrip("-").split(".")[-1].replace("_", "-")
        meant = re.findall(r"^\s+(--[\w.-]+)", "".join(hints), re.MULTILINE)
        meant += [f"--set {name}" for name in more if name.split(".")[-1] == end]
        if meant:
            message = f"unknown option {wrong[1]}: did you mean {meant[0]}?"
    elif message.startswith("Missing from"):
        needed = re.findall(r"(?m)^ {4}(\S.*)$", whole)
        message = f"{prog.removeprefix('reinstate ')} needs {' and '.join(needed)} first"
    return f"{message} (see {prog} --help)"


def peek(arguments: list[str], flag: str, default: str) -> str:
    """Return a flag's value before the rest can be parsed."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(flag, dest="value", nargs="?", default=default, const=default)
    return str(parser.parse_known_args(arguments)[0].value)


def explained(kind: type) -> dict[str, str]:
    """Return what the string below each field of a dataclass says, of its bases as well."""
    found: dict[str, str] = {}
    for base in reversed([each for each in kind.__mro__ if is_dataclass(each)]):
        (tree,) = ast.parse(textwrap.dedent(getsource(base))).body
        assert isinstance(tree, ast.ClassDef)
        for field, below in zip(tree.body, tree.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                found[ast.unparse(field.target)] = " ".join(ast.literal_eval(below.value).split())
    return found
