"""Train for thousands of epochs, and see that nothing grows that need not.

    PYTHONPATH=tests python -m torture.long_runs --epochs 10000 [--record FILE]

Measured on the way: the host's memory, arrays on devices, open files, the size of the folder, and
what was said to be left. After a warm-up, arrays and files must not grow at all. Memory may grow by
what a run has to remember, its metrics; a folder by its metrics, on which it appends.
"""

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

SAMPLES = 200  # of each run
WARM_UP = 0.3  # the share of a run that does not count
SPARE = 16e6  # bytes that memory may grow by, whatever the epochs: what allocators hold back
AN_EPOCH = 2_000  # bytes that memory may grow by with each: a row of metrics of two seeds
A_ROUND = 20_000  # and with each round of a search: its trials, and rows for their figure
LEFT_AT = (0.1, 0.25, 0.5, 0.75)  # shares of a run after which the time left is compared
HONEST = 0.5  # how far the time left may be off, as a share of the truth, on a machine with others


class Sample(NamedTuple):
    """What is in use at one moment."""

    step: int  # an epoch, or a round of a search
    memory: int  # bytes of this process
    arrays: int  # on devices
    array_bytes: int
    files: int  # open
    folder: int  # bytes, without what is appended to


def sample(step: int, folder: Path) -> Sample:
    import jax

    arrays = jax.live_arrays()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and not _grows(p))
    used = sum(array.nbytes for array in arrays)
    return Sample(step, resident, len(arrays), used, len(os.listdir("/proc/self/fd")), size)


def _grows(path: Path) -> bool:
    return path.name in ("metrics.jsonl", "search.json") or "tfevents" in path.name


class Watch:
    """Samples a run whenever its bar moves."""

    def __init__(self, folder: Path, steps: int) -> None:
        self.folder, self.steps = folder, steps
        self.samples: list[Sample] = []
        self.left: dict[int, tuple[float, float]] = {}  # step → when, and what was said to be left

    def during_training(self) -> AbstractContextManager[Any]:
        from reinstate.runs.progress import Bar

        update, at = Bar.update, {round(share * self.steps) for share in LEFT_AT}

        def watched(bar: Any, done: int, news: str) -> None:
            update(bar, done, news)
            if done in at:
                self.left[done] = time.monotonic(), bar.pace * (bar.total - done)
            if done % max(1, self.steps // SAMPLES) == 0:
                self.samples.append(sample(done, self.folder))

        return patch.object(Bar, "update", watched)

    def during_search(self) -> AbstractContextManager[Any]:
        from reinstate.runs import search

        write = search.write_document

        def watched(path: Path, document: Any) -> None:
            write(path, document)
            rounds = len(document["trials"]) // document["trials_a_round"]
            self.samples.append(sample(rounds, self.folder))

        return patch.object(search, "write_document", watched)

    def found(self, name: str, allowed: int) -> dict[str, Any]:
        """Compare what was in use after the warm-up with the end; `allowed` bytes for each step."""
        ended = time.monotonic()
        warm = [each for each in self.samples if each.step > WARM_UP * self.steps]
        part = max(1, len(warm) // 5)
        first, last = warm[:part], warm[-part:]
        steps = last[-1].step - first[0].step
        grown = _median(last, "memory") - _median(first, "memory")
        errors = {}
        for step, (when, said) in self.left.items():
            errors[f"{step / self.steps:.0%}"] = round(said / (ended - when) - 1, 3)
        wrong = {
            "memory grows": grown > SPARE + allowed * steps,
            "arrays pile up": max(s.arrays for s in last) > max(s.arrays for s in first),
            "arrays grow": max(s.array_bytes for s in last) > max(s.array_bytes for s in first),
            "files stay open": max(s.files for s in last) > max(s.files for s in first),
            "the folder grows": _median(last, "folder") > 1.02 * _median(first, "folder") + 1000,
            "the time left was wrong": any(abs(error) > HONEST for error in errors.values()),
        }
        return {
            "run": name,
            "steps": self.steps,
            "grown_bytes": grown,
            "grown_bytes_per_step": round(grown / max(steps, 1), 1),
            "time_left_errors": errors,
            "trouble": [words for words, is_so in wrong.items() if is_so],
            "samples": [each._asdict() for each in self.samples[:: max(1, part)]],
        }


def _median(samples: list[Sample], name: str) -> float:
    return float(statistics.median(getattr(each, name) for each in samples))


def trained(folder: Path, epochs: int, track: tuple[str, ...] = ()) -> dict[str, Any]:
    """Train the tests' smallest agent, with a checkpoint every 25 epochs."""
    from reinstate.runs.training import train
    from tiny import SILENT, TINY, new_run

    settings = replace(TINY, learner=replace(TINY.learner, epochs=epochs))
    run = new_run(folder / "run", settings=settings)
    watch = Watch(run.path, epochs)
    with watch.during_training():
        train("epl2rl", settings, run, SILENT, 25, track)
    return watch.found(" ".join(["train", *(f"--track {name}" for name in track)]), AN_EPOCH)


def searched(folder: Path, epochs: int) -> dict[str, Any]:
    """Search in many rounds of ten epochs each."""
    from reinstate.runs.search import Asked, Search, search
    from reinstate_paper.barcode_bandits import BARCODE_BANDITS
    from tiny import SILENT, TINY

    settings = replace(TINY, learner=replace(TINY.learner, epochs=10))
    rounds = max(10, epochs // 50)
    watch = Watch(folder / "search", rounds)
    asked = Asked(BARCODE_BANDITS, "quick", ("epl2rl",), settings, Search(trials=2, rounds=rounds))
    with watch.during_search():
        search(asked, watch.folder, SILENT, command="reinstate tune")
    return watch.found("tune", A_ROUND)


RUNS: dict[str, Callable[[Path, int], dict[str, Any]]] = {
    "train": trained,
    "sink": lambda folder, epochs: trained(folder, epochs, ("tensorboard",)),
    "tune": searched,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m torture.long_runs")
    parser.add_argument("--epochs", type=int, default=10_000)
    parser.add_argument("--runs", nargs="+", choices=RUNS, default=[*RUNS])
    parser.add_argument("--record", type=Path, help="write what was found to this JSON file")
    asked = parser.parse_args()
    from reinstate import devices

    devices.divide_cpu()
    began, found = time.monotonic(), []
    for name in asked.runs:
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="reinstate-long-"))
            found.append(RUNS[name](Path(folder), asked.epochs))
        row = found[-1]
        print(
            f"{row['run']}: {row['steps']} steps, {row['grown_bytes'] / 1e6:+.1f} MB"
            f" ({row['grown_bytes_per_step']:.0f} bytes a step), time left off by"
            f" {row['time_left_errors']}; {', '.join(row['trouble']) or 'no trouble'}",
            flush=True,
        )
    if asked.record:
        _record(asked, found, time.monotonic() - began)
    return int(any(row["trouble"] for row in found))


def _record(asked: argparse.Namespace, found: list[dict[str, Any]], seconds: float) -> None:
    from reinstate.devices import describe
    from reinstate.files import write_document
    from reinstate.runs.provenance import provenance

    document = {
        "command": f"PYTHONPATH=tests python -m torture.long_runs --epochs {asked.epochs}",
        **provenance(),
        "python": platform.python_version(),
        "device": describe(),
        "seconds": round(seconds, 1),
        "allowed": {
            "bytes": SPARE,
            "bytes_per_epoch": AN_EPOCH,
            "bytes_per_round": A_ROUND,
            "time_left": HONEST,
        },
        "trouble": sum(len(row["trouble"]) for row in found),
        "runs": found,
    }
    write_document(asked.record, document)
    print(f"recorded in {asked.record}")


if __name__ == "__main__":
    sys.exit(main())
