"""What benchmarks share: programs that take turns, what is told of their times, and records.

Programs run one after the other, again and again, so that a busy moment hits them all.
"""

import math
import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from reinstate.devices import describe
from reinstate.files import write_document
from reinstate.runs.provenance import provenance

FEWEST = 3  # rounds that quartiles need


class Compiled(NamedTuple):
    """A compiled program, how long that took, and what memory it asks for."""

    run: Any
    trace: float  # seconds of tracing and lowering, in Python
    xla: float  # seconds of XLA
    memory: int  # bytes of arguments, results and what lies between


def compile_timed(jitted: Any, *arguments: Any) -> Compiled:
    """Compile a jitted function for arguments like these."""
    began = time.perf_counter()
    lowered = jitted.lower(*arguments)
    traced = time.perf_counter()
    run = lowered.compile()
    seconds = traced - began, time.perf_counter() - traced
    found = run.memory_analysis()
    parts = found.argument_size_in_bytes + found.output_size_in_bytes + found.temp_size_in_bytes
    return Compiled(run, *seconds, int(parts - found.alias_size_in_bytes))


def take_turns(
    programs: Mapping[Any, Any], repeats: int, patience: float = math.inf
) -> dict[Any, list[float]]:
    """Run every program once per round; return the seconds of each, without a first round's.

    Once all have taken `patience` seconds, and there are three rounds, no other begins.
    """
    seconds: dict[Any, list[float]] = {name: [] for name in programs}
    started = time.perf_counter()
    for number in range(1 + repeats):
        if number > FEWEST and time.perf_counter() - started > patience:
            break
        for name, run in programs.items():
            began = time.perf_counter()
            jax.block_until_ready(run())
            seconds[name].append(time.perf_counter() - began)
    return {name: found[1:] for name, found in seconds.items()}


def summary(values: Sequence[float], digits: int = 4) -> dict[str, Any]:
    """Return the median and the quartiles, in so many significant digits."""
    low, median, high = (rounded(float(q), digits) for q in np.quantile(values, (0.25, 0.5, 0.75)))
    return {"median": median, "quartiles": [low, high], "repeats": len(values)}


def rates(steps: float, seconds: Sequence[float]) -> dict[str, Any]:
    """Return steps per second: median and quartiles over repetitions."""
    return summary([steps / each for each in seconds])


def ratio(
    one: tuple[float, Sequence[float]], other: tuple[float, Sequence[float]]
) -> dict[str, Any]:
    """Return how many times as fast one is as the other, round by round: steps, and seconds."""
    pairs = zip(one[1], other[1], strict=True)
    return summary([one[0] / a / (other[0] / b) for a, b in pairs])


def rounded(value: float, digits: int = 4) -> float:
    """Round to significant digits: a record has no use for more than can be measured."""
    return float(f"{value:.{digits}g}")


def cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load() -> float | None:
    """Return how many processes wanted a core in the last minute, where the system counts."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def made() -> dict[str, Any]:
    """Say what makes a record: the command, the program, the machine."""
    command = shlex.join(["python", *sys.argv])
    return {"command": command, **provenance(), "device": describe(), "cores": cores()}


def write_record(path: Path | None, document: Mapping[str, Any]) -> None:
    """Write what was found, if it is to be kept."""
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_document(path, document)
