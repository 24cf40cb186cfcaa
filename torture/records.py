"""What `torture.kills` found, as a table and as a record."""

import platform
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from reinstate.files import write_document
from torture.aftermath import TROUBLE
from torture.disturbances import Case, Found

KEPT = 500  # descriptions of trouble


def document(
    found: Iterable[tuple[Case, Found]], about: Mapping[str, Any], seconds: float
) -> dict[str, Any]:
    """Count, for every command and kind of disturbance and in all, what went wrong."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    trouble = []
    for case, (disturbances, wrong) in sorted(found, key=lambda each: each[0][:3]):
        new = {"command": case.name, "disturbance": case.kind, **_nothing()}
        row = rows.setdefault((case.name, case.kind), new)
        row["cases"] += 1
        row["disturbances"] += disturbances
        for kind in wrong:
            row[kind] += 1
        if wrong:
            trouble.append({**case._asdict(), "trouble": wrong})
    listed = [*rows.values()]
    words = ["python", "-m", "torture.kills", *sys.argv[1:]]
    return {
        "command": f"PYTHONPATH=tests {shlex.join(words)}",
        **about,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "seconds": round(seconds, 1),
        "totals": {name: sum(row[name] for row in listed) for name in _nothing()},
        "rows": listed,
        "trouble": trouble[:KEPT],
    }


def _nothing() -> dict[str, int]:
    return dict.fromkeys(("cases", "disturbances", *TROUBLE), 0)


def table(document: dict[str, Any]) -> str:
    """Lay out the counts for people, a line per command and kind."""
    head = ("command", "disturbance", *_nothing())
    rows = [[str(row[name]) for name in head] for row in document["rows"]]
    rows.append(["all", "", *(str(document["totals"][name]) for name in _nothing())])
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for row in ([*head], *rows):
        words = zip(row, widths, strict=True)
        cells = [w.ljust(n) if at < 2 else w.rjust(n) for at, (w, n) in enumerate(words)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join([*lines, f"{document['seconds']:.0f} s", *document["notes"]])


def write(path: Path, document: dict[str, Any]) -> None:
    write_document(path, document)
    print(f"recorded in {path}")
