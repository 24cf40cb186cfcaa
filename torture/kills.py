"""Kill, starve and crowd every command that writes; then see whether anything is lost or stuck.

    PYTHONPATH=tests python -m torture.kills --record results/torture/kills.json
    PYTHONPATH=tests python -m torture.kills --one-of 12
    PYTHONPATH=tests python -m torture.kills --only tune

Each of eight commands is killed before, after and within every single file operation, meets a full
disk, a failing disk, a read-only disk and a removed folder at each, is sent signals at random
moments, and is started two and five times at once. Then the same command is run again, to its end.
Processes are real and really die. Learning is stood in for (tests/stubbed.py), but for some signals
that fall on real learning. There has to be a POSIX system; mounting a full disk takes root.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import stubbed
from faults import MODES, applies
from reinstate.runs.provenance import provenance
from torture import disturbances, learner, records
from torture.aftermath import TROUBLE
from torture.disturbances import Case, Found
from torture.forked import Undisturbed, prepare, require_forkable, undisturbed

WORKERS = 2
SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT")
MOMENTS = 25  # chains of one to three signals, of each kind and command
REAL_MOMENTS = 4  # with the real learner, of each kind and command
PAGES = range(12)  # left on a full disk
CROWDED = ("train", "reproduce all", "tune", "pretrain")
CROWDS = ("2 writers", "5 writers", "5 writers killed")
ROUNDS = 10  # of each crowd and command

_known: dict[str, Undisturbed] = {}
_known_of_learner: dict[str, Undisturbed] = {}


def main(arguments: Sequence[str] | None = None) -> int:
    """Disturb commands as asked; return 1 if anything was lost, stuck or different."""
    parser = argparse.ArgumentParser(prog="python -m torture.kills")
    parser.add_argument("--only", choices=stubbed.LINES, help="one command")
    parser.add_argument("--one-of", type=int, default=1, help="one case of so many, evenly spread")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--record", type=Path, help="write what was found to this JSON file")
    parser.add_argument("--folder", type=Path, help="where to work; one in memory is faster")
    asked = parser.parse_args(arguments)
    began, record = time.monotonic(), asked.record and asked.record.resolve()
    made_by = provenance()  # before there are stand-ins for it
    with tempfile.TemporaryDirectory(prefix="kills-", dir=asked.folder) as folder:
        notes, cases = get_ready(Path(folder), asked)
        found = disturb(cases, Path(folder), asked.workers)
        os.chdir("/")
    about = {**made_by, "seed": asked.seed, "notes": notes}
    document = records.document(found, about, time.monotonic() - began)
    print(records.table(document))
    if record:
        records.write(record, document)
    return int(any(document["totals"][kind] for kind in TROUBLE))


def get_ready(folder: Path, asked: Any) -> tuple[list[str], list[Case]]:
    """Learn what commands do undisturbed; return remarks and all cases."""
    names = [asked.only] if asked.only else [*stubbed.LINES]
    here = folder / "first" / "here"
    here.mkdir(parents=True)
    with _silently():
        prepare(here)
        for name in names:
            _known[name] = undisturbed(name)
        require_forkable()
    _say(f"undisturbed: {', '.join(f'{n} {len(k.operations)}' for n, k in _known.items())} steps")
    for name in {*names} & {*learner.COMMANDS}:
        _known_of_learner[name] = learner.undisturbed(name)
        _say(f"{name} with the real learner: {_known_of_learner[name].seconds:.1f} s")
    notes = [] if disturbances.can_mount() else ["no file system could be mounted: left out"]
    cases = [case for name in names for case in plan(name, asked.seed, mount=not notes)]
    return notes, cases[:: asked.one_of]


def plan(name: str, seed: int, mount: bool) -> Iterator[Case]:
    """List all disturbances of a command."""
    operations = _known[name].operations
    for mode in MODES:
        for at, (operation, _) in enumerate(operations, 1):
            if applies(mode, operation):
                yield Case(name, mode, at)
    for each in SIGNALS:
        yield from (Case(name, f"{each} at a moment", n, seed) for n in range(MOMENTS))
        if name in _known_of_learner:
            kind = f"{each} while really learning"
            yield from (Case(name, kind, n, seed) for n in range(REAL_MOMENTS))
    if name in CROWDED:
        yield from (Case(name, crowd, n, seed) for crowd in CROWDS for n in range(ROUNDS))
    if mount:
        yield from (Case(name, "full disk", pages) for pages in PAGES)
        steps = range(1, len(operations), max(len(operations) // 10, 1))
        yield from (Case(name, "read-only disk", at) for at in steps)


def disturb(cases: list[Case], folder: Path, workers: int) -> list[tuple[Case, Found]]:
    """Work through all cases in a few processes, and say how far it is."""
    found: list[tuple[Case, Found]] = []
    began, last = time.monotonic(), 0.0
    how: Any = {"mp_context": get_context("fork"), "initializer": settle, "initargs": (folder,)}
    with ProcessPoolExecutor(workers, **how) as pool:
        waiting = {pool.submit(one, case): case for case in cases}
        for done in as_completed(waiting):
            case = waiting[done]
            found.append((case, done.result()))
            if found[-1][1].trouble:
                _say(f"TROUBLE {case.name}, {case.kind}, {case.number}: {found[-1][1].trouble}")
            now = time.monotonic() - began
            if now - last > 5 or len(found) == len(cases):
                last, bad = now, sum(bool(each.trouble) for _, each in found)
                left = now / len(found) * (len(cases) - len(found))
                _say(f"{len(found)} of {len(cases)} cases, {bad} bad, {now:.0f} s, {left:.0f} left")
    return found


def settle(folder: Path) -> None:
    """Give a worker a folder of its own, with what commands read."""
    here = folder / str(os.getpid()) / "here"
    shutil.copytree(folder / "first" / "here", here)
    os.chdir(here)


def one(case: Case) -> Found:
    """Do one disturbance, and see what comes of it."""
    if case.kind.endswith("really learning"):
        return learner.at_moments(case, _known_of_learner[case.name])
    known = _known[case.name]
    if case.kind in MODES:
        return disturbances.at_operation(case, known)
    if case.kind.endswith("at a moment"):
        return disturbances.at_moments(case, known)
    if "writers" in case.kind:
        return disturbances.with_writers(case, known)
    if case.kind == "full disk":
        return disturbances.on_full_disk(case, known)
    return disturbances.on_read_only_disk(case, known)


class _silently:
    """Send what commands print elsewhere."""

    def __enter__(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self.kept = [os.dup(1), os.dup(2)]
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)

    def __exit__(self, *error: object) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        for stream, kept in zip((1, 2), self.kept, strict=True):
            os.dup2(kept, stream)


def _say(text: str) -> None:
    print(f"kills: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
