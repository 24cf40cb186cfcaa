"""Recorded results → the tables and numbers in README.md and the pages, written into them.

Pages are also read as plain files, so that what is made stands in them, beside a comment that says
what it is made of. A table, which ends where the comment says so, and a number in a sentence:

    <!-- results: water-maze -->
    <!-- /results -->
    it earns 7.16<!-- water-maze agents.epl2rl.reward.mean .2f --> per episode

`make tables` writes all of them; `make check-results` fails when pages and results drift apart.
Names of tables are those of `recorded`, with the files that each is made of, and those below.
"""

import contextlib
import dataclasses
import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import recorded
from reinstate.cli import VERBS, parse
from reinstate.cli.parsing import explained
from reinstate.files import write_atomically
from words import NBSP, markdown

EXAMPLE = "barcode-bandits"  # whose settings stand for those of all experiments
ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"<!-- ([\w-]+)(?:: ([^>]+))? -->\n.*?<!-- /\1 -->", re.DOTALL)
NUMBER = re.compile(r"[^ \n(|]+<!-- ([^>]+) -->")


def verbs_table() -> str:
    """The command's verbs, and what each is for."""
    verbs = VERBS.items()
    return markdown([{"verb": f"[`reinstate {v}`](#{v})", "to": line} for v, line in verbs])


def settings_table(where: str, section: str = "task") -> str:
    """The fields of a settings dataclass: flag, default, and the line that explains it.

    Only a task's have flags of their own: --set changes the others.
    """
    module, _, name = where.rpartition(".")
    kind: Any = getattr(import_module(module), name)
    meanings = explained(kind)
    rows = []
    for field in dataclasses.fields(kind):
        flag = f"`{'--' * (section == 'task')}{section}.{field.name.replace('_', '-')}`"
        meaning = meanings[field.name]
        rows.append({"setting": flag, "default": f"`{field.default}`", "meaning": meaning})
    return markdown(rows)


def commands() -> str:
    """What every verb says of itself; settings that many have, where the first of them is."""
    parts, known = [], set[str]()
    for verb in VERBS:
        line = [verb, EXAMPLE] if EXAMPLE in help_of([verb]) else [verb]
        about, *boxes = help_of(line).split("╭─ ")
        new = [box for box in boxes if "--help" in box or box not in known]
        known.update(boxes)
        also = "" if len(new) == len(boxes) else "\n\nAnd the settings above."
        said = "╭─ ".join([about, *new]).rstrip()
        parts += [f"## {verb}\n\n```\n$ reinstate {' '.join(line)} --help\n{said}\n```{also}"]
    return "\n\n".join(parts)


def help_of(words: Sequence[str]) -> str:
    said = io.StringIO()
    wide = mock.patch.dict(os.environ, {"COLUMNS": "100", "NO_COLOR": "1"})
    with wide, contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        parse([*words, "--help"])
    return said.getvalue().strip()


def file_block(name: str) -> str:
    """A file of the repository, whole."""
    path = ROOT / name
    kind = {".sh": "bash", ".yaml": "yaml", ".toml": "toml"}.get(path.suffix, "docker")
    return f"```{kind}\n{path.read_text(encoding='utf-8').rstrip()}\n```"


MADE: dict[str, Callable[..., str]] = {
    "verbs": verbs_table,
    "commands": commands,
    "settings": settings_table,
    "file": file_block,
}


def table(kind: str, words: list[str]) -> str:
    """Make a table by its name and what stands behind it."""
    return MADE[kind](*words) if kind in MADE else recorded.table(kind, words)


def fill(text: str) -> str:
    """Fill every table and number of a text from the recorded files that it names."""

    def made(block: re.Match[str]) -> str:
        kind, words = block[1], block[2]
        opening = f"{kind}: {words}" if words else kind
        lines = [f"<!-- {opening} -->", table(kind, (words or "").split()), f"<!-- /{kind} -->"]
        return "\n\n".join(lines)

    def number(found: re.Match[str]) -> str:
        # Words stay in one piece, so that it is known where they begin.
        value = recorded.number(found[1]).replace(" ", NBSP)
        return f"{value}<!-- {found[1]} -->"

    return NUMBER.sub(number, BLOCK.sub(made, text))


def pages() -> Iterator[Path]:
    """README.md and every page."""
    yield ROOT / "README.md"
    folder = ROOT / "docs"
    yield from (p for p in sorted(folder.rglob("*.md")) if folder / "_build" not in p.parents)


def main() -> None:
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if (filled := fill(text)) != text:
            write_atomically(page, filled.encode())


if __name__ == "__main__":
    main()
