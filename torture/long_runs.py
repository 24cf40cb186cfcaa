"""Train for thousands of epochs, and see that nothing grows that need not.

    PYTHONPATH=tests python -m torture.long_runs --epochs 10000 [--record FILE]

Measured on the way: the host's memory, arrays on devices, open files and the size of the folder.
After a warm-up, arrays and files must not grow at all. Memory may grow by what a run has to
remember, its metrics; a folder by its metrics, on which it appends.
"""

import os
import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import jax

from reinstate import devices
from reinstate.runs.progress import Bar
from reinstate.runs.training import train
from tiny import SILENT, TINY, new_run
from torture import Trial

SAMPLES = 200
WARM_UP = 0.3  # the share of a run that does not count
SPARE = 16e6  # bytes that memory may grow by, whatever the epochs: what allocators hold back
AN_EPOCH = 2_000  # bytes that memory may grow by with each: a row of metrics of two seeds


class Sample(NamedTuple):
    """What is in use at one moment."""

    step: int  # an epoch
    memory: int  # bytes of this process
    arrays: int  # on devices
    array_bytes: int
    files: int  # open
    folder: int  # bytes, without what is appended to


def sample(step: int, folder: Path) -> Sample:
    arrays = jax.live_arrays()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    kept = [path for path in folder.rglob("*.*") if path.suffix in (".json", ".safetensors")]
    used, files = sum(array.nbytes for array in arrays), len(os.listdir("/proc/self/fd"))
    return Sample(
        step, resident, len(arrays), used, files, sum(path.stat().st_size for path in kept)
    )


def trained(folder: Path, epochs: int, track: tuple[str, ...]) -> dict[str, Any]:
    """Train the tests' smallest agent, with a checkpoint every 25 epochs."""
    settings = replace(TINY, learner=replace(TINY.learner, epochs=epochs))
    run = new_run(folder / "run", settings=settings)
    samples: list[Sample] = []
    update = Bar.update

    def watched(bar: Any, done: int, news: str) -> None:
        update(bar, done, news)
        if done % max(1, epochs // SAMPLES) == 0:
            samples.append(sample(done, run.path))

    with patch.object(Bar, "update", watched):
        train("epl2rl", settings, run, SILENT, 25, track)
    name = " ".join(["train", *(f"--track {each}" for each in track)])
    return {"run": name, "steps": epochs, **compared(samples)}


def compared(samples: list[Sample]) -> dict[str, Any]:
    """Compare what was in use after the warm-up with the end."""
    warm = samples[round(WARM_UP * len(samples)) :]
    part = max(1, len(warm) // 5)
    first, last = warm[:part], warm[-part:]
    steps = last[-1].step - first[0].step
    grown = _median(last, "memory") - _median(first, "memory")
    wrong = {
        "memory grows": grown > SPARE + AN_EPOCH * steps,
        "arrays pile up": max(s.arrays for s in last) > max(s.arrays for s in first),
        "arrays grow": max(s.array_bytes for s in last) > max(s.array_bytes for s in first),
        "files stay open": max(s.files for s in last) > max(s.files for s in first),
        "the folder grows": _median(last, "folder") > 1.02 * _median(first, "folder") + 1000,
    }
    return {
        "grown_bytes": grown,
        "trouble": [words for words, is_so in wrong.items() if is_so],
        "samples": [each._asdict() for each in samples[::part]],
    }


def _median(samples: list[Sample], name: str) -> float:
    return float(statistics.median(getattr(each, name) for each in samples))


def main() -> int:
    trial, found = Trial("long_runs", epochs=10_000), []
    asked = trial.options()
    devices.divide_cpu()
    for track in ((), ("tensorboard",)):
        with tempfile.TemporaryDirectory(prefix="reinstate-long-") as folder:
            row = trained(Path(folder), asked.epochs, track)
        found.append(row)
        print({name: value for name, value in row.items() if name != "samples"}, flush=True)
    trouble = sum(len(row["trouble"]) for row in found)
    trial.write({"device": devices.describe(), "trouble": trouble, "runs": found})
    return int(bool(trouble))


if __name__ == "__main__":
    sys.exit(main())
