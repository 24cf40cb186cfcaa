"""After a disturbance: does the same command go on to the same bits, and lose nothing?"""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bits import bits, different, leftovers, trained
from torture.forked import HUNG, Ended, takes_resume

TROUBLE = ("lost", "stuck", "differing", "leftovers", "tracebacks")
INPUTS = ("choices.csv", "results")  # what commands read
CIVIL = (0, 2, 130)  # exit statuses of the command's own
# Python loses a Ctrl-C that comes while it collects garbage, and says so: another has to follow.
IGNORED = re.compile(r"Exception ignored in: .*?\nTraceback.*?\nKeyboardInterrupt: ?\n", re.DOTALL)

Trouble = dict[str, str]  # kind of trouble → what
Run = Callable[[str, bool], Ended]


def go_on(name: str, run: Run) -> Ended:
    """Run a command again, with --resume if it asks for that."""
    ended = run(name, False)
    if ended.status == 2 and "--resume" in ended.said and takes_resume(name):
        ended = run(name, True)
    return ended


def finish(name: str, first: Ended, wanted: dict[str, Any], run: Run) -> Trouble:
    """Run a command that was disturbed to its end; return what is wrong then."""
    out = Path("out")
    saved = trained(out)
    last = go_on(name, run)
    found = trained(out)
    again = [each for each, rows in saved.items() if found.get(each, [])[: len(rows)] != rows]
    wrong = _different(wanted, out)
    # It is no trouble to be told that the work is done.
    stuck = last.status != 0 and (bool(wrong) or last.status != 2)
    others = {*os.listdir()} - {"out", *INPUTS}
    trouble = {
        "lost": ", ".join(again),
        "stuck": last.said[-500:] if stuck else "",
        "differing": "" if stuck else ", ".join(wrong),
        "leftovers": ", ".join([*leftovers(Path.cwd()), *others]),
        "tracebacks": uncivil(first) or uncivil(last),
    }
    return {kind: text for kind, text in trouble.items() if text}


def _different(wanted: dict[str, Any], out: Path) -> list[str]:
    try:
        return different(wanted, bits(out))
    except ValueError as error:
        return [f"unreadable: {error}"]


def uncivil(ended: Ended) -> str:
    """Say what a process did other than succeed, say in one line why not, or die of a signal."""
    if ended.status == HUNG or "Traceback" in IGNORED.sub("", ended.said):
        return ended.said[-2000:]
    if ended.status < 0 or ended.status in CIVIL:
        return ""
    return f"exit status {ended.status}: {ended.said[-500:]}"
