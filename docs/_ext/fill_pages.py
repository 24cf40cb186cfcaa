"""Recorded results → the tables in both README.md and the pages, written into them.

Pages are also read as plain files, so that tables stand in them, between comments that say what
they are made of. Sentences repeat no number of a table:

    <!-- results: water-maze -->
    <!-- /results -->

`make tables` writes all of them; `make check-results` fails when pages and results drift apart.
Tables are specified in tables.toml, with the words of `words`; those of claims are made by
`claim_tables`.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import claim_tables
import verbs
import words
from reinstate.files import read_json, write_atomically
from reinstate.runs.conclusions import read_results
from words import markdown, once, repeatable

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"<!-- ([\w-]+)(?:: ([^>]+))? -->\n.*?<!-- /\1 -->", re.DOTALL)
TABLES = tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))
NAMES = {**vars(claim_tables), **vars(words), **TABLES.pop("words")}
PROGRAMS: dict[str, Callable[..., str]] = {
    "paper-claims": claim_tables.paper_claims,
    "recognition-parts": words.parts,
    "commands": verbs.commands,
}


def fill(text: str) -> str:
    """Fill every table of a text from the recorded files that it names."""

    def made(block: re.Match[str]) -> str:
        opening, *_, closing = block[0].splitlines()
        return "\n\n".join([opening, table(block[1], (block[2] or "").split()), closing])

    return BLOCK.sub(made, text)


def file_of(name: str) -> Path:
    """`water-maze` is its results.json; other files are named with their folder."""
    name = name.removeprefix("results/")  # as README, in the folder above, says it
    return words.RESULTS / (name if name.endswith(".json") else f"{name}/results.json")


def read(name: str) -> Any:
    """Read a recorded file; of results, with what follows from them."""
    document = read_json(file_of(name))
    return read_results(file_of(name)) if "rules" in document else document


def table(kind: str, names: Sequence[str]) -> str:
    """Make a table of files; a file that is not there is said to be missing."""
    if missing := [name for name in names if not file_of(name).exists()]:
        return f"*Not recorded yet: {missing[0]}.*"
    documents = [*map(read, names)]
    if kind == "command":
        return "\n".join(["```", *(repeatable(each["command"]) for each in documents), "```"])
    return PROGRAMS[kind](*documents) if kind in PROGRAMS else _specified(kind, documents)


def _specified(kind: str, documents: list[Any]) -> str:
    """Make a table as tables.toml has it."""
    spec, known = TABLES[kind], NAMES | {"documents": documents}
    known["document"] = documents[0] if documents else None
    rows = []
    for row in eval(spec["rows"], known):
        own = known | {"row": row} | row
        cells = {_filled(n, known): _filled(c, own) for n, c in spec["columns"].items()}
        rows.append(cells | eval(spec.get("more", "{}"), own))
    made = markdown(once(rows) if "once" in spec else rows, right="right" in spec)
    return f"{made}\n\n{_filled(spec['after'], known)}" if "after" in spec else made


def _filled(template: str, names: dict[str, Any]) -> str:
    return str(eval(f"f{template!r}", names))


def pages() -> Iterator[Path]:
    """README.md, that of results/, and every page."""
    yield ROOT / "README.md"
    yield ROOT / "results" / "README.md"
    folder = ROOT / "docs"
    yield from (p for p in sorted(folder.rglob("*.md")) if folder / "_build" not in p.parents)


def main() -> None:
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if (filled := fill(text)) != text:
            write_atomically(page, filled.encode())


if __name__ == "__main__":
    main()
