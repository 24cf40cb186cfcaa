"""Docstrings are plain English with equations: this makes them good reStructuredText.

Equations and layouts, which are indented or aligned by spaces, keep their lines. Fields of a
NamedTuple or a dataclass are explained by the comment behind them.
"""

import dataclasses
import inspect
import re
from importlib import import_module
from typing import Any

from sphinx.application import Sphinx

ALIGNED = re.compile(r"\S {3,}\S")
LIST = re.compile(r"\s*[-*] ")


def literal_layouts(lines: list[str]) -> list[str]:
    """Paragraphs in which every line is indented, or some line is aligned, become literal."""
    made: list[str] = []
    for paragraph in "\n".join(lines).strip("\n").split("\n\n"):
        rows = [row for row in paragraph.splitlines() if row.strip()]
        if not rows:
            continue
        indented = all(row.startswith("  ") for row in rows)
        aligned = any(ALIGNED.search(row) for row in rows)
        if (indented or aligned) and not LIST.match(rows[0]):
            made += ["::", "", *(f"    {row}" for row in rows), ""]
        else:
            made += [*rows, ""]
    return made


def comment_of(name: str) -> str:
    """The comment behind a field, of its full name."""
    owner, _, field = name.rpartition(".")
    module, _, kind = owner.rpartition(".")
    source = inspect.getsource(getattr(import_module(module), kind))
    found = re.search(rf"^    {field}: .*?  # (.*)$", source, re.MULTILINE)
    return found[1] if found else ""


def mend(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if lines and lines[0].startswith("Alias for field number"):
        lines[:] = [_escaped(comment_of(name))]
    else:
        heading = [f".. rubric:: {name}", ""] if what == "module" else []  # where one begins
        lines[:] = [*heading, *literal_layouts(lines)]
        if inspect.isclass(obj) and dataclasses.is_dataclass(obj):
            lines += explained_fields(obj, name)


def explained_fields(kind: Any, name: str) -> list[str]:
    """List the fields of a dataclass that a comment explains."""
    comments = {f.name: comment_of(f"{name}.{f.name}") for f in dataclasses.fields(kind)}
    return ["", *(f"- `{field}`: {_escaped(said)}" for field, said in comments.items() if said), ""]


def _escaped(comment: str) -> str:
    """Keep shapes and the like from being read as markup."""
    return re.sub(r"([\\*|_`])", r"\\\1", comment)


def name_defaults(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, returns: str
) -> tuple[str, str] | None:
    """Write functions that are defaults by their names."""
    named = re.sub(r"<(?:function|class) '?(?:\S+\.)?(\w+)'?>", r"\1", signature or "")
    return (named.replace("<factory>", "..."), returns) if signature else None


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", mend)
    app.connect("autodoc-process-signature", name_defaults)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
