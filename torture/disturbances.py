"""What is done to a command, one function for each way; each returns what is wrong afterwards.

All of them work in the current folder, which has what commands read, and clear it up again.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import stubbed
from reinstate import cli
from torture.aftermath import INPUTS, Trouble, finish, go_on
from torture.forked import Ended, Undisturbed, clear, fork, line_of, run, wait

PAUSE = 0.003  # seconds of each act of a stand-in, over which moments are spread
LONGEST_CHAIN = 3  # interruptions of one piece of work
DISK = "4m"  # of a file system in memory


class Case(NamedTuple):
    """One disturbance of one command."""

    name: str
    kind: str
    number: int  # of the operation, or of the draw
    seed: int = 0

    @property
    def random(self) -> Random:
        return Random(f"{self.seed} {self.name} {self.kind} {self.number}")


class Found(NamedTuple):
    """How many disturbances a case had, and what was wrong after them."""

    disturbances: int
    trouble: Trouble


def at_operation(case: Case, known: Undisturbed) -> Found:
    """Disturb a single file operation."""
    first = run(case.name, False, case.kind, case.number)
    if case.kind.startswith("kill"):
        assert first.status == -signal.SIGKILL, first
    trouble = finish(case.name, first, known.bits, run)
    clear()
    return Found(1, trouble)


def at_moments(case: Case, known: Undisturbed) -> Found:
    """Send a signal at a random moment, then perhaps another while the work is continued."""
    random, number = case.random, signal.Signals[case.kind.removesuffix(" at a moment")]
    counted = 0

    def interrupted(name: str, resume: bool) -> Ended:
        nonlocal counted
        pid = fork(lambda: _slowly(name, resume))
        time.sleep(random.uniform(0.0, known.seconds + PAUSE * len(known.operations) / 4))
        os.kill(pid, number)
        ended = wait(pid)
        counted += ended.status not in (0, 2)
        return ended

    for _ in range(random.randint(1, LONGEST_CHAIN)):
        first = go_on(case.name, interrupted)
    trouble = finish(case.name, first, known.bits, run)
    clear()
    return Found(counted, trouble)


def _slowly(name: str, resume: bool) -> int:
    act = stubbed.Program.__call__

    def pause(program: stubbed.Program, *arguments: Any) -> Any:
        time.sleep(PAUSE)
        return act(program, *arguments)

    setattr(stubbed.Program, "__call__", pause)  # noqa: B010
    return cli.main(line_of(name, resume))


def on_full_disk(case: Case, known: Undisturbed) -> Found:
    """Let a real file system be full, but for some pages; then make room."""
    with _disk() as disk:
        room = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        filler = disk / "filler"
        filler.write_bytes(bytes(max(room - 4096 * case.number, 0)))
        first = go_on(case.name, run)
        filler.unlink()
        trouble = finish(case.name, first, known.bits, run)
    return Found(int(first.status != 0), trouble)


def on_read_only_disk(case: Case, known: Undisturbed) -> Found:
    """Kill a command, make a real file system read-only, try to go on, make it writable again."""
    with _disk() as disk:
        run(case.name, False, "kill-before", case.number)
        _mount("remount,ro", disk)
        first = go_on(case.name, run)
        _mount("remount,rw", disk)
        trouble = finish(case.name, first, known.bits, run)
    return Found(2, trouble)


def can_mount() -> bool:
    """Tell whether a file system can be mounted here."""
    try:
        with _disk():
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


@contextmanager
def _disk() -> Iterator[Path]:
    """Work in a small file system of its own for a while."""
    before = Path.cwd()
    disk = before.with_name(f"{before.name}-disk")
    disk.mkdir(exist_ok=True)
    _mount(f"size={DISK}", disk)
    try:
        for name in INPUTS:
            copy = shutil.copytree if Path(name).is_dir() else shutil.copy
            copy(name, disk / name)
        os.chdir(disk)
        yield disk
    finally:
        os.chdir(before)
        subprocess.run(["umount", str(disk)], check=True)
        disk.rmdir()


def _mount(options: str, place: Path) -> None:
    words = ["mount", "-t", "tmpfs", "-o", options, "torture", str(place)]
    subprocess.run(words, check=True, capture_output=True)


def with_writers(case: Case, known: Undisturbed) -> Found:
    """Start several processes at the same time; one may be killed after a while."""
    count, random = int(case.kind.split()[0]), case.random
    kills = case.kind.endswith("killed")
    logs = [Path("..") / f"writer-{n}.txt" for n in range(count)]
    ready, go = os.pipe()

    def writer() -> int:
        os.close(go)
        os.read(ready, 1)  # until the other end is closed
        return _slowly(case.name, False)

    pids = [fork(writer, log) for log in logs]
    os.close(ready)
    os.close(go)
    if kills:
        for pid in pids:
            time.sleep(random.uniform(0.0, known.seconds / 4))
            os.kill(pid, signal.SIGKILL)
    ended = [wait(pid, log) for pid, log in zip(pids, logs, strict=True)]
    trouble = {} if kills else _rivals(pids, ended)
    trouble |= finish(case.name, ended[0], known.bits, run)
    clear()
    return Found(count - 1, trouble)


def _rivals(pids: list[int], ended: list[Ended]) -> Trouble:
    """Say what is wrong unless some succeeded, and others were told who was first."""
    names = [f"in use by process {pid} on {os.uname().nodename}: wait" for pid in pids]
    done = ("already holds", "not empty: add --resume")  # too late, and not too early
    for each in ended:
        fine = each.status == 0 or (each.status == 2 and any(n in each.said for n in names))
        if not fine and not (each.status == 2 and any(n in each.said for n in done)):
            return {"stuck": f"status {each.status}: {each.said[-500:]}"}
    if all(each.status for each in ended):
        return {"stuck": f"nobody was first: {[each.said[-200:] for each in ended]}"}
    return {}
