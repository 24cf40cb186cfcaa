"""Docstrings are plain English with equations: this makes them good reStructuredText.

Equations and layouts, which are indented or aligned by spaces, keep their lines. Fields of a
NamedTuple are explained by the comment behind them.
"""

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
        comment = comment_of(name)
        # Shapes and the like are not to be read as markup.
        lines[:] = [re.sub(r"([\\*|_`])", r"\\\1", comment)]
    else:
        lines[:] = literal_layouts(lines)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
