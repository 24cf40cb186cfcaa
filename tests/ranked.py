"""Several processes of the command that train together on this machine."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from reinstate.runs.run import Run
from tiny import ENVIRONMENT, OPTIONS

LINE = f"train barcode-bandits --agent epl2rl {OPTIONS} --checkpoint-every 2 --devices 2"


class Ended(NamedTuple):
    """How a process ended: its status, and what it printed."""

    status: int
    out: str
    err: str


def start(
    folder: Path, count: int, words: Sequence[str] = (), own: dict[int, Sequence[str]] | None = None
) -> list[subprocess.Popen[str]]:
    """Start so many processes, each in a folder of its own; `own` has words for single ones."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    found = []
    for number in range(count):
        here = folder / str(number)
        here.mkdir(parents=True, exist_ok=True)
        where = ["--distributed", f"{address},{number},{count}"]
        line = [*LINE.split(), *where, "--out", "run", *words]
        more = (own or {}).get(number, ())
        found.append(
            subprocess.Popen(
                [sys.executable, "-m", "reinstate", *line, *more],
                cwd=here,
                env={**ENVIRONMENT, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        )
    return found


def wait(processes: Sequence[subprocess.Popen[str]], seconds: float = 120) -> list[Ended]:
    """Wait until all have ended; what takes too long is killed."""
    ends, found = time.monotonic() + seconds, []
    for each in processes:
        try:
            out, err = each.communicate(timeout=max(ends - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            os.killpg(each.pid, signal.SIGKILL)
            out, err = each.communicate()
        found.append(Ended(each.returncode, out, err))
    return found


def until(run: Run, epoch: int, seconds: float = 120) -> None:
    """Wait until a run has trained an epoch."""
    ends = time.monotonic() + seconds
    while len(run.read_metrics()) < epoch and time.monotonic() < ends:
        time.sleep(0.05)
