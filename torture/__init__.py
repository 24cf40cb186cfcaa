"""Try to break the program, in earnest and with counts: `make torture`.

kills      kills, full disks and several writers at every file operation and at random moments
fuzz       damaged and hostile files, for everything that reads one
sweeps     a sweep of many runs, killed again and again: each is done, and done once
long_runs  thousands of epochs: memory and file handles
mistakes   deliberate mistakes in the code itself: do the tests notice? (not in `make torture`)

None of it is part of the tests, which do a minute's worth of the same. Each is a command of its
own, `PYTHONPATH=tests python -m torture.NAME --help`, and leaves a record in results/torture.
"""

import argparse
import platform
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class Trial:
    """One command: its options, and a record of what it found."""

    def __init__(self, name: str, **numbers: int) -> None:
        self.name, self.began = name, time.monotonic()
        self.parser = argparse.ArgumentParser(prog=f"python -m torture.{name}")
        for number, default in numbers.items():
            self.parser.add_argument(f"--{number.replace('_', '-')}", type=int, default=default)
        self.parser.add_argument("--record", type=Path, help="write what was found to this file")

    def options(self, arguments: Sequence[str] | None = None) -> argparse.Namespace:
        """Read the options; from here on the program may be stood in for."""
        from reinstate.runs.provenance import provenance

        words = ["python", "-m", f"torture.{self.name}", *(arguments or sys.argv[1:])]
        command = f"PYTHONPATH=tests {shlex.join(words)}"
        self.made_by = {"command": command, **provenance(), "python": platform.python_version()}
        asked = self.parser.parse_args(arguments)
        self.record = asked.record and asked.record.resolve()
        return asked

    def write(self, found: dict[str, Any]) -> None:
        """Write what was found, if it is to be kept."""
        from reinstate.files import write_document

        told = {"platform": platform.platform(), "seconds": round(time.monotonic() - self.began, 1)}
        if self.record:
            write_document(self.record, {**self.made_by, **told, **found})
            print(f"recorded in {self.record}")
