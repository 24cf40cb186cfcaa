"""Kill a sweep of many tiny runs again and again; then see that each run was done, and done once.

    python -m torture.sweeps --record results/torture/sweeps.json
    python -m torture.sweeps --runs 12 --kills 3

Processes and learning are real. In turn the sweeper is killed, the sweeper with all its workers,
and one worker alone; the sweeper is told to stop; and a second sweeper shares the folder. The same
command is then given again, to the end. Some of the runs are also made by a sweep that nobody
disturbs: the numbers have to be the same, and what a job costs beside its run is measured there.
"""

import argparse
import csv
import json
import os
import platform
import random
import re
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from reinstate.files import write_document
from reinstate.runs.provenance import provenance
from reinstate.sweeps.claims import is_alive

KINDS = (
    "SIGKILL to the sweeper",
    "SIGKILL to the sweeper and its workers",
    "SIGKILL to a worker",
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
        return len([*self.out.glob("jobs/*.json")])

    def workers_now(self) -> list[int]:
        """Return the processes that have a run now."""
        found = []
        for path in self.out.glob("jobs/*.claim"):
            with suppress(OSError, ValueError):
                found.append(int(json.loads(path.read_text())["pid"]))
        return [pid for pid in found if is_alive(pid)]

    def finish(self) -> bool:
        """Give the command, and wait for its end; say whether it came, and was a good one."""
        process = self.start()
        try:
            return process.wait(30 + self.runs * PATIENCE) == 0
        except subprocess.TimeoutExpired:
            process.kill()
            return False


def main(arguments: Sequence[str] | None = None) -> int:
    """Disturb a sweep as asked; return 1 if a run was lost, done twice, or came out different."""
    parser = argparse.ArgumentParser(prog="python -m torture.sweeps")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--undisturbed", type=int, default=20, help="runs to compare with")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", type=Path, help="write what was found to this JSON file")
    asked = parser.parse_args(arguments)
    began, made_by = time.monotonic(), provenance()
    with tempfile.TemporaryDirectory(prefix="sweeps-") as folder:
        (Path(folder) / "tiny.toml").write_text(TINY)
        plain = Sweep(Path(folder), min(asked.undisturbed, asked.runs - 1), 1)
        _say(f"{plain.runs} runs undisturbed")
        fine = plain.finish()
        sweep = Sweep(Path(folder), asked.runs, asked.workers)
        killed = disturb(sweep, asked.kills, random.Random(asked.seed))
        _say("to the end")
        found = {"stuck": int(not (sweep.finish() and fine)), **aftermath(sweep, plain)}
        overhead = overhead_of(plain)
    document = {
        "command": shlex.join(["python", "-m", "torture.sweeps", *sys.argv[1:]]),
        **made_by,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "seconds": round(time.monotonic() - began, 1),
        "runs": asked.runs,
        "kills": dict(Counter(killed)),
        "overhead": overhead,
        **found,
    }
    print(json.dumps(document, indent=1))
    if asked.record:
        write_document(asked.record, document)
    return int(any(found[name] for name in ("stuck", "lost", "twice", "different", "tracebacks")))


def disturb(sweep: Sweep, kills: int, chance: random.Random) -> list[str]:
    """Kill a sweep so many times, at moments spread over its runs; return how."""
    kinds = [KINDS[n % len(KINDS)] for n in range(kills)]
    for number, kind in enumerate(kinds, 1):
        process = sweep.start()
        second = sweep.start() if "two" in kind else None
        _wait_for(sweep, process, number * sweep.runs // (kills + 1))
        time.sleep(chance.uniform(0, 3))
        _say(f"{kind}, {sweep.done()} of {sweep.runs} done")
        if kind == "SIGKILL to a worker":
            _kill_worker(sweep)
            time.sleep(chance.uniform(3, 9))  # it is replaced
            process.terminate()
        elif "SIGTERM" in kind:
            process.terminate()
        else:
            if "its workers" in kind:
                for pid in sweep.workers_now():
                    _kill(pid)
            process.kill()
        process.wait(PATIENCE)
        if second:
            second.terminate()
            second.wait(PATIENCE)
    return kinds


def _wait_for(sweep: Sweep, process: Any, done: int) -> None:
    """Wait until so many runs are done and one is under way, or until the sweep ends."""
    while process.poll() is None and (sweep.done() < done or not sweep.workers_now()):
        time.sleep(0.05)


def _kill_worker(sweep: Sweep) -> None:
    for pid in sweep.workers_now()[:1]:
        _kill(pid)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def aftermath(sweep: Sweep, plain: Sweep) -> dict[str, int]:
    """Count what went wrong, and what a disturbance may cost: attempts that were begun again."""
    logs = "".join(path.read_text() for path in sweep.out.glob("logs/*.log"))
    said = (sweep.folder / "said.txt").read_text()
    # A signal that came while garbage was collected is told as one, and noticed a moment later.
    found = re.findall(r"Traceback.*?\n(?=\S)[^\n]*", logs + said, re.DOTALL)
    tracebacks = [text for text in found if "KeyboardInterrupt" not in text]
    for text in tracebacks[:5]:
        _say(text)
    begun, done = (Counter(re.findall(rf"^{w} (\S+)$", logs, re.M)) for w in ("job", "done"))
    rows, expected = _rows(sweep), _rows(plain)
    return {
        "done": sum(row["reward"] != "" for row in rows.values()),
        "lost": sweep.runs - sum(row["reward"] != "" for row in rows.values()),
        "twice": sum(times > 1 for times in done.values()),
        "different": sum(rows.get(seed) != row for seed, row in expected.items()),
        "tracebacks": len(tracebacks),
        "begun_again": begun.total() - len(begun),
        "failures": sum(_outcome(path)["failures"] for path in sweep.out.glob("jobs/*.json")),
    }


def _rows(sweep: Sweep) -> dict[str, dict[str, str]]:
    """Return the table of a sweep by seed, without times."""
    with suppress(FileNotFoundError), open(sweep.out / "sweep.csv", newline="") as file:
        rows = {row["seed"]: row for row in csv.DictReader(file)}
        return {s: {n: v for n, v in r.items() if n != "seconds"} for s, r in rows.items()}
    return {}


def _outcome(path: Path) -> Any:
    return json.loads(path.read_text())


def overhead_of(plain: Sweep) -> dict[str, float]:
    """Measure what a job costs beside training and judging: from one result to the next."""
    paths = sorted(plain.out.glob("jobs/*.json"), key=lambda path: path.stat().st_mtime)
    ends = [path.stat().st_mtime for path in paths]
    spans = [after - before for before, after in pairwise(ends)]
    seconds = [_outcome(path)["result"]["seconds"] for path in paths[1:]]
    own = [each["training"] + each["judging"] for each in seconds]
    extra = [span - each for span, each in zip(spans, own, strict=True)]
    median = {"job": statistics.median(spans), "beside the run": statistics.median(extra)}
    return {name: round(value, 3) for name, value in median.items()}


def _say(text: str) -> None:
    print(f"sweeps: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
