"""The command line's own help → a reference of every verb, for docs/commands.md.

What `reinstate VERB --help` prints is read back: paragraphs, examples, and boxes of options.
"""

import contextlib
import io
import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from unittest import mock

from recorded import AGENT
from reinstate.cli import VERBS, parse

WORD = "barcode-bandits"  # whose settings stand for those of all experiments
COLUMNS = 120  # wide enough for the examples, and narrow enough for one column of boxes
DEFAULT = re.compile(r" ?\((?:default: (.*)|required)\)$")
SHOWN_ELSEWHERE = "task options"


class Option(NamedTuple):
    names: str  # --seeds INT
    meaning: str
    default: str | None  # none if it has to be given


class Page(NamedTuple):
    """What a help page says."""

    usage: str
    text: list[str]  # paragraphs; examples keep their lines
    words: list[str]  # of which one has to follow
    boxes: dict[str, list[Option]]


def help_of(arguments: Sequence[str]) -> Page:
    """Ask the command for help and read it."""
    said = io.StringIO()
    wide = mock.patch.dict(os.environ, {"COLUMNS": str(COLUMNS), "NO_COLOR": "1"})
    with wide, contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        parse([*arguments, "--help"])
    usage, _, rest = said.getvalue().partition("\n\n")
    text, *boxes = re.split(r"^╭─ ", rest, flags=re.MULTILINE)
    return Page(
        " ".join(usage.removeprefix("usage: ").split()),
        [part.strip("\n") for part in text.split("\n\n") if part.strip()],
        re.findall("• (\\S+)", rest),
        {box.partition(" ─")[0]: [*_options_in(box)] for box in boxes},
    )


def _options_in(box: str) -> Iterator[Option]:
    """Read a box's options; what an option does may begin beside its name or below."""
    rows = [line.strip("│").rstrip()[1:] for line in box.splitlines() if line.startswith("│")]
    starts = [n for n, row in enumerate(rows) if re.match(r"-|[A-Z]+\S*( …)?(?=  |$)", row)]
    for start, end in zip(starts, [*starts[1:], len(rows)], strict=False):
        names, _, beside = rows[start].partition("  ")
        meaning = " ".join(" ".join([beside, *rows[start + 1 : end]]).split())
        default = DEFAULT.search(meaning)
        if names != "-h, --help":
            yield Option(names, DEFAULT.sub("", meaning), default[1] if default else "")


def commands() -> str:
    """Describe every verb: what it does, examples, options; settings that many share come last."""
    parts: list[str] = []
    shared = {t: rows for t, rows in help_of(["train", WORD]).boxes.items() if _is_setting(t)}
    for verb in VERBS:
        page = help_of([verb])
        word = [WORD] if WORD in page.words else page.words[:1]
        full = help_of([verb, *word])
        parts += [f"## {verb}", f"```\n{page.usage}\n```", *map(_paragraph, page.text)]
        boxes = {t: rows for t, rows in full.boxes.items() if t not in shared and rows}
        parts += [_table([row for rows in boxes.values() for row in rows])]
        if also := full.boxes.keys() & shared.keys():
            parts += [ALSO if len(also) > 1 else ALSO_TASK]
    parts += ["## Settings", SETTINGS]
    for title, rows in shared.items():
        if title != SHOWN_ELSEWHERE:
            parts += [f"### {title.removesuffix(' options')}", _table(rows)]
    return "\n\n".join(parts)


ALSO = "And every [setting](#settings)."
ALSO_TASK = (
    "And every setting of the task, as on the page of [its experiment](experiments/index.md)."
)
SETTINGS = (
    "Options of `train`, `reproduce` and `tune`; defaults are those of barcode bandits at the"
    " quick preset. The task's own (`--task.…`) are on the page of"
    " [its experiment](experiments/index.md)."
)


def _is_setting(title: str) -> bool:
    return title.endswith(" options")


def _paragraph(text: str) -> str:
    if all(line.startswith("  ") for line in text.splitlines()):
        return f"```\n{text}\n```".replace("\n  ", "\n")
    return _plain(" ".join(text.split()))


def _table(options: Sequence[Option]) -> str:
    lines = ["| option | default | meaning |", "| --- | --- | --- |"]
    for names, meaning, default in options:
        shown = "*required*" if default is None else f"`{default}`" if default else ""
        lines.append(f"| `{names.replace('|', chr(92) + '|')}` | {shown} | {_plain(meaning)} |")
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Keep what only looks like markup from being read as such; code stays code."""
    pieces = text.split("`")
    for n in range(0, len(pieces), 2):
        escaped = re.sub(r"([\\*|_<$\[\]])", r"\\\1", pieces[n])
        options = re.sub(r"(?<!\S)(--\w[\w.-]*\w)", r"`\1`", escaped)
        pieces[n] = AGENT.sub(r"`\g<0>`", options)
    return "`".join(pieces)
