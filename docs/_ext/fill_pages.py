"""Recorded results → the tables and numbers in README.md and the pages, written into them.

Pages are also read as plain files, so that what is made stands in them, beside a comment that says
what it is made of. A table, which ends where the comment says so, and a number in a sentence:

    <!-- results: water-maze -->
    <!-- /results -->
    it earns 7.16<!-- water-maze agents.epl2rl.reward.mean .2f --> per episode

`make tables` writes all of them, and the figure of memory as an input; `make check-results` fails
when pages and results drift apart.
Names of tables are those of `recorded.MADE`, with the files that each is made of, and those below.
"""

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import command_help
import input_figure
import recorded
from reinstate.cli import VERBS
from reinstate.files import write_atomically

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"<!-- ([\w-]+)(?:: ([^>]+))? -->\n.*?<!-- /\1 -->", re.DOTALL)
NUMBER = re.compile(r"[^ \n(|]+<!-- ([^>]+) -->")


def verbs_table() -> str:
    """The command's verbs, and what each is for."""
    rows = [[f"[`reinstate {verb}`](#{verb})", line] for verb, line in VERBS.items()]
    return recorded.markdown(["verb", "to"], rows)


def settings_table(where: str, section: str = "task") -> str:
    """The fields of a settings dataclass: flag, default, and the line that explains it."""
    module, _, name = where.rpartition(".")
    kind: Any = getattr(import_module(module), name)
    meanings = explained(kind)
    rows = []
    for field in dataclasses.fields(kind):
        flag = f"`--{section}.{field.name.replace('_', '-')}`"
        rows.append([flag, f"`{field.default}`", meanings[field.name]])
    return recorded.markdown(["setting", "default", "meaning"], rows)


def file_block(name: str) -> str:
    """A file of the repository, whole."""
    path = ROOT / name
    kind = {".sh": "bash", ".yaml": "yaml", ".toml": "toml"}.get(path.suffix, "docker")
    return f"```{kind}\n{path.read_text(encoding='utf-8').rstrip()}\n```"


def explained(kind: type) -> dict[str, str]:
    """Field → the string below it, of the class or of one it inherits from."""
    found: dict[str, str] = {}
    for base in reversed([each for each in kind.__mro__ if dataclasses.is_dataclass(each)]):
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(tree, ast.ClassDef)
        for field, below in zip(tree.body, tree.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                found[ast.unparse(field.target)] = " ".join(ast.literal_eval(below.value).split())
    return found


MADE: dict[str, Callable[..., str]] = {
    **recorded.COMPUTED,
    "recorded-files": recorded.files_table,
    "verbs": verbs_table,
    "commands": command_help.commands,
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
        value = recorded.number(found[1]).replace(" ", recorded.NBSP)
        return f"{value}<!-- {found[1]} -->"

    return NUMBER.sub(number, BLOCK.sub(made, text))


def pages() -> Iterator[Path]:
    """README.md and every page."""
    yield ROOT / "README.md"
    folder = ROOT / "docs"
    yield from (p for p in sorted(folder.rglob("*.md")) if folder / "_build" not in p.parents)


def main() -> None:
    input_figure.write()
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if (filled := fill(text)) != text:
            write_atomically(page, filled.encode())


if __name__ == "__main__":
    main()
