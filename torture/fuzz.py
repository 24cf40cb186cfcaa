"""Fuzz every reader: damaged files end in success or in one line, and in nothing else.

    export PYTHONPATH=tests
    python -m torture.fuzz --cases 100000 --seed 0 --record results/torture/fuzz.json
    python -m torture.fuzz --only "tune" --cases 500
    python -m torture.fuzz --only "tune" --case 17 --seed 0

A case fails if anything but a `UserError` is raised, if it takes more than ten seconds or two
gigabytes, if its process dies, or if it changes a file that it was not asked to write. Cases that
fail are kept in a folder with their files, and named with the line that repeats them.
"""

import argparse
import json
import multiprocessing
import platform
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

WORKERS = 2
MEMORY = 2 << 30  # bytes that a worker may have beyond what it has when it is ready
SILENCE = 60  # seconds without a word after which a worker is taken to hang
KEPT = 20  # failures of one reader whose files are kept
PACKAGES = ("reinstate", "jax", "numpy", "safetensors", "pyarrow", "pillow", "hypothesis")


class Job(NamedTuple):
    """Cases of one reader, by their numbers."""

    reader: str
    numbers: Sequence[int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as many cases as are asked for; return 1 if any failed."""
    parser = argparse.ArgumentParser(prog="python -m torture.fuzz")
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="one reader, by its name")
    parser.add_argument("--case", type=int, help="one case of that reader, with its traceback")
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--failures", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--record", type=Path, help="write what was found to this JSON file")
    asked = parser.parse_args(arguments)
    began = time.monotonic()
    jobs = [Job(asked.only, [asked.case])] if asked.case is not None else list(plan(asked))
    found = Found(asked.failures, asked.seed)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        supervise(jobs, asked, Path(folder), found)
    document = found.document(time.monotonic() - began, asked)
    print(
        json.dumps(
            {n: document[n] for n in ("cases", "ended", "seconds", "slowest", "largest")}, indent=1
        )
    )
    if asked.record:
        from reinstate.files import write_json

        write_json(asked.record, document)
    return 1 if found.failures else 0


def plan(asked: argparse.Namespace) -> Iterator[Job]:
    """Divide the cases among readers by their shares, in portions."""
    from torture.readers import READERS

    chosen = {n: r for n, r in READERS.items() if asked.only in (None, n)}
    if not chosen:
        sys.exit(f"no reader {asked.only!r}: {', '.join(READERS)}")
    total = sum(reader.share for reader in chosen.values())
    counts = {n: -(-asked.cases * r.share // total) for n, r in chosen.items()}
    portion = max(1, min(200, asked.cases // 50))
    for start in range(0, max(counts.values()), portion):
        for name, count in counts.items():
            if start < count:
                yield Job(name, range(start, min(start + portion, count)))


class Found:
    """What came of all cases."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.seed = folder, seed
        self.counts: Counter[tuple[str, str, str]] = Counter()  # reader, generator, how it ended
        self.failures: list[dict[str, Any]] = []
        self.slowest: dict[str, Any] = {"seconds": 0.0}
        self.largest: dict[str, Any] = {"peak_gb": 0.0}
        self.spent: Counter[str] = Counter()  # seconds of each reader

    def add(self, outcome: Any) -> None:
        """Count a case; keep the words of one that failed, beside its files."""
        case = {"reader": outcome.reader, "case": outcome.number}
        self.spent[outcome.reader] += outcome.seconds
        self.counts[outcome.reader, outcome.generator, outcome.ended] += 1
        if outcome.seconds > self.slowest["seconds"]:
            self.slowest = {**case, "seconds": round(outcome.seconds, 3)}
        if outcome.peak / 1e9 > self.largest["peak_gb"]:
            self.largest = {**case, "peak_gb": round(outcome.peak / 1e9, 3)}
        if outcome.ended in ("accepted", "refused"):
            return
        again = f'--only "{outcome.reader}" --case {outcome.number} --seed {self.seed}'
        self.failures.append({**outcome._asdict(), "again": again})
        last = outcome.message.strip().splitlines()[-1:] or [""]
        print(f"{outcome.ended}: {last[0][:200]}\n  python -m torture.fuzz {again}", flush=True)
        if sum(f["reader"] == outcome.reader for f in self.failures) <= KEPT:
            kept = self.folder / f"{outcome.reader}-{outcome.number}".replace(" ", "-")
            kept.mkdir(parents=True, exist_ok=True)
            (kept / "failure.txt").write_text(f"{again}\n{outcome.message}\n", "utf-8", "replace")

    def document(self, seconds: float, asked: argparse.Namespace) -> dict[str, Any]:
        """Return what --record writes."""
        readers: dict[str, Any] = {}
        for (reader, generator, ended), count in sorted(self.counts.items()):
            outcomes = readers.setdefault(reader, {}).setdefault(generator, {})
            outcomes[ended] = count
        total: Counter[str] = Counter()
        for (_, _, how), count in self.counts.items():
            total[how if how in ("accepted", "refused") else "failed"] += count
        return {
            "command": f"python -m torture.fuzz --cases {asked.cases} --seed {asked.seed}",
            **_program(),
            "seed": asked.seed,
            "workers": asked.workers,
            "cases": sum(self.counts.values()),
            "ended": {"accepted": 0, "refused": 0, "failed": 0, **total},
            "seconds": round(seconds, 1),
            "slowest": self.slowest,
            "largest": self.largest,
            "seconds_of_readers": {n: round(s, 1) for n, s in self.spent.most_common()},
            "readers": readers,
            "failures": [{k: f[k] for k in ("again", "ended")} for f in self.failures],
        }


def _program() -> dict[str, Any]:
    from reinstate.runs.provenance import commit

    versions = {name: version(name) for name in PACKAGES}
    return {"commit": commit(), "python": platform.python_version(), "versions": versions}


def supervise(jobs: list[Job], asked: argparse.Namespace, folder: Path, found: Found) -> None:
    """Give jobs to workers; replace one that dies or falls silent, and note at which case."""
    left = jobs[::-1]
    workers = [Worker(n, asked, folder, found) for n in range(min(asked.workers, len(left)))]
    while workers:
        ready = wait([worker.pipe for worker in workers], timeout=1)
        for worker in list(workers):
            if worker.pipe in ready:
                worker.hear()
            elif worker.silent():
                worker.replace("hang")
            if worker.idle and not left:
                worker.end()
                workers.remove(worker)
            elif worker.idle:
                worker.give(left.pop())


class Worker:
    """A process that runs cases, seen from outside."""

    def __init__(self, number: int, asked: argparse.Namespace, folder: Path, found: Found) -> None:
        self.number, self.asked, self.found = number, asked, found
        self.folder, self.starts = folder / str(number), 0
        self.idle, self.left = False, Job("", [])
        self.start()

    def start(self) -> None:
        self.starts += 1
        own = self.folder / str(self.starts)
        own.mkdir(parents=True)
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        arguments = (theirs, own, self.asked.failures.resolve(), self.asked.seed)
        self.process = context.Process(target=work, args=arguments, daemon=True)
        self.process.start()
        theirs.close()
        self.heard, self.patience = time.monotonic(), 600.0  # it compiles nothing, but imports

    def give(self, job: Job) -> None:
        self.idle, self.left = False, job
        self.pipe.send(job)
        self.heard = time.monotonic()

    def hear(self) -> None:
        try:
            outcome = self.pipe.recv()
        except EOFError:
            self.replace("died")
            return
        self.heard, self.patience = time.monotonic(), SILENCE
        if outcome is None:
            self.idle = True
            if self.left.numbers:  # given to one that died
                self.give(self.left)
            return
        self.left = Job(self.left.reader, self.left.numbers[1:])
        self.found.add(outcome)

    def silent(self) -> bool:
        return time.monotonic() - self.heard > self.patience

    def replace(self, why: str) -> None:
        """Note the case at which a worker failed, and start another for those after it."""
        from torture.cases import Outcome

        self.process.kill()
        self.process.join()
        if not self.left.numbers:
            sys.exit(f"a worker {why} before its first case: exit status {self.process.exitcode}")
        reader, (number, *others) = self.left
        said = f"exit status {self.process.exitcode}"
        self.found.add(Outcome(reader, number, "unknown", why, said, self.patience, 0))
        self.left = Job(reader, others)
        self.start()

    def end(self) -> None:
        self.pipe.send(None)
        self.process.join()


def work(pipe: Connection, folder: Path, failures: Path, seed: int) -> None:
    """Run the cases that come through a pipe, and say how each ended."""
    import warnings

    from torture import cases, readers, seeds

    warnings.simplefilter("ignore")
    readers.install()
    with open(folder / "making.txt", "w") as log:
        _quietly(log, lambda: seeds.make(folder / "seeds"))
    cases.install()
    cases.require_accepted(folder / "seeds", folder / "case")
    _limit_memory()
    pipe.send(None)
    while job := pipe.recv():
        for number in job.numbers:
            case = folder / "case"
            shutil.rmtree(case, ignore_errors=True)
            generator = cases.prepare(job.reader, number, seed, folder / "seeds", case)
            outcome = cases.run(job.reader, number, generator, case)
            if outcome.ended not in ("accepted", "refused"):
                kept = failures / f"{job.reader}-{number}".replace(" ", "-")
                shutil.rmtree(kept, ignore_errors=True)
                cases.prepare(job.reader, number, seed, folder / "seeds", kept)
            pipe.send(outcome)
        pipe.send(None)


def _quietly(log: Any, act: Any) -> None:
    import contextlib

    with contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
        act()


def _limit_memory() -> None:
    """Let this process have so much more than it has now."""
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))


if __name__ == "__main__":
    sys.exit(main())
