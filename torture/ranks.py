"""Kill one of several processes that train together, over and over; then let them go on.

    PYTHONPATH=tests python -m torture.ranks --record results/torture/ranks.json
    PYTHONPATH=tests python -m torture.ranks --kills 5 --processes 4

All others have to end in time, each with a status other than 0. Started again with --resume they
have to end with the bits of a run that nobody disturbed.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from bits import bits, different
from ranked import start, until, wait
from reinstate.runs.run import Run
from tiny import ENVIRONMENT
from torture import Trial

EPOCHS = 150
IN_TIME = 330.0  # seconds for the others to end: JAX's own time-outs and a bit
STARTING = 10  # one kill of so many falls on processes that are not training yet
Processes = list[subprocess.Popen[str]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill as asked; return 1 if anything was lost, stuck or different."""
    trial = Trial("ranks", kills=100, processes=2, seed=0)
    asked = trial.options(arguments)
    with tempfile.TemporaryDirectory(prefix="ranks-") as folder:
        found = Torture(Path(folder), asked.processes, asked.seed).run(asked.kills)
    print(", ".join(f"{name} {value}" for name, value in found.items() if name != "trouble"))
    trial.write({"seed": asked.seed, "processes": asked.processes, **found})
    return int(bool(found["trouble"]))


class Torture:
    """One run after the other, each killed until it is finished."""

    def __init__(self, folder: Path, processes: int, seed: int) -> None:
        self.folder, self.processes, self.random = folder, processes, Random(seed)
        self.trouble: list[str] = []
        ENVIRONMENT["JAX_COMPILATION_CACHE_DIR"] = str(folder / "compiled")
        ENVIRONMENT["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        ENVIRONMENT["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
        self.slowest = 0.0  # seconds from a kill to the end of the last of the others

    def run(self, kills: int) -> dict[str, Any]:
        """Kill so many processes; return counts, and what was wrong."""
        began = time.monotonic()
        ended = wait(self._start("undisturbed"), 600)
        assert all(each.status == 0 for each in ended), ended
        self._say(f"undisturbed: {time.monotonic() - began:.0f} s")
        expected = self._bits("undisturbed")
        done, runs, number = 0, 0, 0
        while done < kills or number > runs:
            if number == runs:
                number += 1
            name = f"run-{number}"
            if done < kills and self._kill(name, starting=done % STARTING == STARTING - 1):
                done += 1
                self._say(f"{done} of {kills} kills, {time.monotonic() - began:.0f} s")
                continue
            self._finish(name)
            runs += 1
            if changed := different(self._bits(name), expected):
                self._note(f"{name} differs in {changed}")
        return {
            "kills": done,
            "finished_runs": runs,
            "slowest_end": round(self.slowest, 1),
            "bad": len(self.trouble),
            "trouble": self.trouble,
        }

    def _start(self, name: str) -> Processes:
        words = ["--learner.epochs", str(EPOCHS), "--shard", "auto", "--resume"]
        return start(self.folder / name, self.processes, words)

    def _finish(self, name: str) -> None:
        ended = wait(self._start(name), 600)
        if any(each.status for each in ended):
            self._note(f"{name} could not be finished: {ended}")

    def _kill(self, name: str, starting: bool) -> bool:
        """Start processes and kill one; return False if they were done before that."""
        run = Run(self.folder / name / "0" / "run")
        before = len(run.read_metrics())
        if before >= EPOCHS:  # only the last checkpoint is missing
            return False
        processes = self._start(name)
        if not starting:
            until(run, before + 1)
        time.sleep(self.random.uniform(0, 5 if starting else 2))
        victim = self.random.randrange(self.processes)
        in_time = processes[victim].poll() is None
        processes[victim].kill()
        began = time.monotonic()
        others = [each for n, each in enumerate(wait(processes, IN_TIME)) if n != victim]
        self.slowest = max(self.slowest, time.monotonic() - began)
        if not in_time or all(each.status == 0 for each in others):
            return False
        if not all(each.status and "Traceback" not in each.err for each in others):
            said = [(each.status, each.err[-400:]) for each in others]
            self._note(f"{name}, process {victim} killed: {said}")
        return True

    def _bits(self, name: str) -> dict[str, Any]:
        """Return what was computed; who computed it may differ."""
        found = bits(self.folder / name / "0" / "run")
        return {file: value for file, value in found.items() if file != "config.json"}

    def _note(self, text: str) -> None:
        self.trouble.append(text)
        self._say(f"TROUBLE {text}")

    def _say(self, text: str) -> None:
        print(f"ranks: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
