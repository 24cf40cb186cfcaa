"""The command with a real learner, at settings so small that compiling is most of the work.

    PYTHONPATH=tests python -m torture.learner train small --out out

Kills fall on processes of this. Nothing in them is a stand-in, but experiments are small, and no
commit is recorded.
"""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import stubbed
from bits import bits
from torture.aftermath import finish, go_on
from torture.disturbances import Case, Found
from torture.forked import Ended, Undisturbed, clear, line_of

EPOCHS = 60
ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 300.0  # seconds
COMMANDS = ("train", "reproduce", "reproduce all")
Process = subprocess.Popen[bytes]
LOG = Path("..") / "learner.txt"


def main() -> int:
    """Run a command on experiments of tests/stubbed.py, whose learner is real here."""
    from reinstate import cli, registry
    from reinstate.runs import provenance

    provenance.commit = lambda: None  # the source may be committed while this runs
    for name, experiment in stubbed.EXPERIMENTS.items():
        tiny = experiment.presets["quick"]
        presets = {"quick": replace(tiny, learner=replace(tiny.learner, epochs=EPOCHS))}
        own = replace(experiment, presets=presets)
        registry._registered["experiment"].setdefault(name, own)
    return cli.main()


def environment(cache: Path) -> dict[str, str]:
    """Return an environment in which nothing is compiled twice."""
    found = dict(os.environ)
    found["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    found["JAX_COMPILATION_CACHE_DIR"] = str(cache)
    found["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    found["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
    return found


def start(name: str, resume: bool) -> Process:
    words = [sys.executable, "-m", "torture.learner", *line_of(name, resume)]
    cache = Path.cwd().parents[1] / "compiled"  # for all workers
    with open(LOG, "wb") as file:
        process = subprocess.Popen(words, stdout=file, stderr=file, env=environment(cache))
    return process


def end_of(process: Process) -> Ended:
    status = process.wait(PATIENCE)
    return Ended(status, LOG.read_text(errors="replace"))


def run(name: str, resume: bool) -> Ended:
    return end_of(start(name, resume))


def undisturbed(name: str) -> Undisturbed:
    """Run a command twice, first to compile; measure how long it works in its folder."""
    for _ in range(2):
        clear()
        process = start(name, False)
        _wait_for_folder(process)
        began = time.monotonic()
        ended = end_of(process)
        assert ended.status == 0, ended.said
    seconds = time.monotonic() - began
    found = bits(Path("out"))
    clear()
    return Undisturbed([], found, seconds)


def _wait_for_folder(process: Process) -> None:
    while not Path("out").exists() and process.poll() is None:
        time.sleep(0.002)


def at_moments(case: Case, known: Undisturbed) -> Found:
    """Send a signal at a random moment after the folder was made; then go on to the end."""
    random, number = case.random, signal.Signals[case.kind.split()[0]]

    def interrupted(name: str, resume: bool) -> Ended:
        process = start(name, resume)
        _wait_for_folder(process)
        time.sleep(random.uniform(0.0, known.seconds))
        process.send_signal(number)
        return end_of(process)

    first = go_on(case.name, interrupted)
    trouble = finish(case.name, first, known.bits, run)
    clear()
    return Found(int(first.status != 0), trouble)


if __name__ == "__main__":
    sys.exit(main())
