"""Random settings with extremes: each is refused in one line, or can be computed with.

    PYTHONPATH=tests python -m torture.settings --cases 5000 --seed 0
    PYTHONPATH=tests python -m torture.settings --case 17 --seed 0

A case is a command line. What is refused must be so in one line, with nothing written; what is
accepted must fit into memory, and its settings must come back from a file. Of a quarter of that an
epoch of training and an evaluation are traced (`jax.eval_shape`); a sample of what is small is
really trained, for one epoch.
"""

import argparse
import json
import multiprocessing
import platform
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any

PORTION = 200  # cases of one process
LARGEST = 2.0  # GB that a process may take
FINE = ("refused", "accepted", "traced", "trained")


def main(arguments: Sequence[str] | None = None) -> int:
    """Try as many command lines as are asked for; return 1 if any failed."""
    parser = argparse.ArgumentParser(prog="python -m torture.settings")
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="one case alone, with its traceback")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--record", type=Path, help="write what was found to this JSON file")
    asked = parser.parse_args(arguments)
    began = time.monotonic()
    one = asked.case is not None
    numbers = [asked.case] if one else range(asked.cases)
    cases = []
    for case in _tried(numbers, asked.seed, asked.workers):
        cases.append(case)
        if one or case.ended not in FINE or case.peak > LARGEST:
            print(f"{case.ended}: {_line(case.words)}\n{case.said}", flush=True)
    document = _document(cases, asked, time.monotonic() - began)
    print(json.dumps({n: v for n, v in document.items() if n != "failures"}, indent=1))
    if asked.record:
        from reinstate.files import write_json

        write_json(asked.record, document)
    return 1 if document["failures"] else 0


def _tried(numbers: Sequence[int], seed: int, workers: int) -> Iterator[Any]:
    """Try portions of the cases, each in a process of its own, so that nothing piles up."""
    portions = [(seed, numbers[at : at + PORTION]) for at in range(0, len(numbers), PORTION)]
    context = multiprocessing.get_context("spawn")
    with context.Pool(min(workers, len(portions)), maxtasksperchild=1) as pool:
        for cases in pool.imap_unordered(_portion, portions):
            yield from cases


def _portion(portion: tuple[int, Sequence[int]]) -> list[Any]:
    from torture import options, trial

    seed, numbers = portion
    trial.install()
    cases = []
    for number in numbers:
        random = Random(f"{seed}/{number}")
        cases.append(trial.run(number, options.line(random), random))
    return cases


def _line(words: Sequence[str]) -> str:
    return shlex.join(["reinstate", *words])


def _document(cases: list[Any], asked: argparse.Namespace, seconds: float) -> dict[str, Any]:
    """Return what --record writes."""
    from reinstate.runs.provenance import commit

    ended = Counter(case.ended for case in cases)
    slowest = max((case for case in cases if case.ended != "trained"), key=lambda c: c.seconds)
    failed = [case for case in cases if case.ended not in FINE or case.peak > LARGEST]
    return {
        "command": f"python -m torture.settings --cases {asked.cases} --seed {asked.seed}",
        "version": version("reinstate"),
        "commit": commit(),
        "python": platform.python_version(),
        "jax": version("jax"),
        "seed": asked.seed,
        "cases": len(cases),
        "refused": ended["refused"],
        "accepted": ended["accepted"] + ended["traced"] + ended["trained"],
        "traced": ended["traced"] + ended["trained"],
        "trained": ended["trained"],
        "failed": len(failed),
        "verbs": Counter(" ".join(case.words[:2]).partition("/")[0] for case in cases),
        "seconds": round(seconds, 1),
        "slowest": {"seconds": round(slowest.seconds, 2), "command": _line(slowest.words)},
        "largest_gb": round(max(case.peak for case in cases), 2),
        "failures": [
            {"case": c.number, "command": _line(c.words), "ended": c.ended, "said": c.said[-2000:]}
            for c in failed
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
