"""Kill a sweep of many tiny runs again and again; then see that each run was done, and done once.

    PYTHONPATH=tests python -m torture.sweeps --record results/torture/sweeps.json
    PYTHONPATH=tests python -m torture.sweeps --runs 12 --kills 3

Processes and learning are real. In turn the sweeper is killed, the sweeper with all its runs, and
one run alone; the sweeper is told to stop; and a second sweeper shares the folder. The same command
is then given again, to the end. Some of the runs are also made by a sweep that nobody disturbs: the
numbers have to be the same.
"""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from torture import Trial

KINDS = (
    "SIGKILL to the sweeper",
    "SIGKILL to the sweeper and its runs",
    "SIGKILL to a run",
    "SIGTERM to the sweeper",
    "SIGKILL to one of two sweepers",
)
PATIENCE = 60.0  # seconds for one run, however slow the machine
TINY = """
experiments = ["barcode-bandits"]
agents = ["l2rl"]
seeds-per-run = 1
retries = 3
[settings]
task.num-arms = 3
task.pulls = 3
task.num-contexts = 3
task.repeats = 2
task.barcode-length = 4
network.hidden-size = 4
memory.capacity = 6
evaluation.epochs = 3
learner.lanes = 4
learner.epochs = 4
"""


class Sweep(NamedTuple):
    """A sweep in a folder, as a command that is given again and again."""

    folder: Path
    runs: int
    workers: int

    def start(self) -> "subprocess.Popen[bytes]":
        words = [sys.executable, "-m", "reinstate", "sweep", str(self.folder / "tiny.toml")]
        words += ["--seeds", str(self.runs), "--workers", str(self.workers)]
        with open(self.folder / "said.txt", "ab") as said:
            return subprocess.Popen(
                [*words, "--out", str(self.out)],
                stdout=said,
                stderr=said,
                env=os.environ | {"JAX_COMPILATION_CACHE_DIR": str(self.folder / "cache")},
            )

    @property
    def out(self) -> Path:
        return self.folder / f"out{self.runs}"

    def done(self) -> int:
        return len([*self.out.glob("runs/*/evaluation.json")])

    def under_way(self) -> list[int]:
        """Return the processes of this sweep's runs."""
        words = f"reinstate.runs.engines {self.out}"
        found = subprocess.run(["pgrep", "-f", words], capture_output=True, text=True)
        return [int(pid) for pid in found.stdout.split()]

    def finish(self) -> bool:
        """Give the command until nothing is left to do; say whether that came to a good end."""
        ends = time.monotonic() + 30 + self.runs * PATIENCE
        while time.monotonic() < ends:  # again, where runs of a killed sweeper still went on
            process = self.start()
            try:
                good = process.wait(ends - time.monotonic()) == 0
            except subprocess.TimeoutExpired:
                process.kill()
                return False
            if not good or (self.out / "sweep.csv").exists():
                return good
        return False


def main(arguments: Sequence[str] | None = None) -> int:
    """Disturb a sweep as asked; return 1 if a run was lost or came out different."""
    # The undisturbed runs are compared with.
    trial = Trial("sweeps", runs=200, kills=10, workers=2, undisturbed=20, seed=0)
    asked = trial.options(arguments)
    with tempfile.TemporaryDirectory(prefix="sweeps-") as folder:
        (Path(folder) / "tiny.toml").write_text(TINY)
        plain = Sweep(Path(folder), min(asked.undisturbed, asked.runs - 1), 1)
        fine = plain.finish()
        sweep = Sweep(Path(folder), asked.runs, asked.workers)
        killed = disturb(sweep, asked.kills, random.Random(asked.seed))
        found = {"stuck": int(not (sweep.finish() and fine)), **aftermath(sweep, plain)}
    document = {"runs": asked.runs, "kills": dict(Counter(killed)), **found}
    print(json.dumps(document, indent=1))
    trial.write(document)
    return int(any(found[name] for name in ("stuck", "lost", "different", "tracebacks")))


def disturb(sweep: Sweep, kills: int, chance: random.Random) -> list[str]:
    """Kill a sweep so many times, at moments spread over its runs; return how."""
    kinds = [KINDS[n % len(KINDS)] for n in range(kills)]
    for number, kind in enumerate(kinds, 1):
        process = sweep.start()
        second = sweep.start() if "two" in kind else None
        _wait_for(sweep, process, number * sweep.runs // (kills + 1))
        time.sleep(chance.uniform(0, 3))
        print(f"{kind}, {sweep.done()} of {sweep.runs} done", file=sys.stderr, flush=True)
        if kind == "SIGKILL to a run":
            _kill(sweep.under_way()[:1])
            time.sleep(chance.uniform(3, 9))  # it is tried again
        if kind in ("SIGKILL to a run", "SIGTERM to the sweeper"):
            process.terminate()
        else:
            process.kill()
        if "its runs" in kind:
            _kill(sweep.under_way())
        process.wait(PATIENCE)
        if second:
            second.terminate()
            second.wait(PATIENCE)
    return kinds


def _wait_for(sweep: Sweep, process: Any, done: int) -> None:
    """Wait until so many runs are done and one is under way, or until the sweep ends."""
    while process.poll() is None and (sweep.done() < done or not sweep.under_way()):
        time.sleep(0.05)


def _kill(pids: Sequence[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def aftermath(sweep: Sweep, plain: Sweep) -> dict[str, int]:
    """Count what went wrong."""
    logs = "".join(path.read_text() for path in sweep.out.glob("logs/*.log"))
    said = (sweep.folder / "said.txt").read_text()
    rows, expected = _rows(sweep), _rows(plain)
    done = sum(row["reward"] != "" for row in rows.values())
    return {
        "done": done,
        "lost": sweep.runs - done,
        "different": sum(rows.get(seed) != row for seed, row in expected.items()),
        "tracebacks": (logs + said).count("Traceback"),
    }


def _rows(sweep: Sweep) -> dict[str, dict[str, str]]:
    """Return the table of a sweep by seed, without times."""
    with suppress(FileNotFoundError), open(sweep.out / "sweep.csv", newline="") as file:
        rows = {row["seed"]: row for row in csv.DictReader(file)}
        return {s: {n: v for n, v in r.items() if n != "seconds"} for s, r in rows.items()}
    return {}


if __name__ == "__main__":
    sys.exit(main())
