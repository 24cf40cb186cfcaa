"""Recorded results → the tables in README.md and the pages, written into them.

Pages are also read as plain files, so that tables stand in them, between comments that say what
they are made of. Sentences repeat no number of a table:

    <!-- results: water-maze -->
    <!-- /results -->

`make tables` writes all of them; `make check-results` fails when pages and results drift apart.
Names of tables are those of `recorded`, with the files that each is made of.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import recorded
from reinstate.files import write_atomically

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"<!-- ([\w-]+)(?:: ([^>]+))? -->\n.*?<!-- /\1 -->", re.DOTALL)


def fill(text: str) -> str:
    """Fill every table of a text from the recorded files that it names."""

    def made(block: re.Match[str]) -> str:
        opening, *_, closing = block[0].splitlines()
        return "\n\n".join([opening, recorded.table(block[1], (block[2] or "").split()), closing])

    return BLOCK.sub(made, text)


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
