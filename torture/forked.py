"""Commands in forked processes, which really die, with the stand-ins of tests/stubbed.py.

Everything is imported and parsed once, here; JAX is not started and there is one thread, so that
forking is safe.
"""

import os
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import stubbed
from bits import bits
from faults import Faults
from reinstate import cli

PATIENCE = 60.0  # seconds; the slowest of these commands takes a tenth of one
SIGNALS = (signal.SIGINT, signal.SIGTERM)
HUNG = -1000  # in place of an exit status
LOG = Path("..") / "said.txt"  # outside of the folder that commands work in


class Ended(NamedTuple):
    """How a process ended."""

    status: int  # minus the number of the signal that it died of
    said: str  # on standard output and standard error


class Undisturbed(NamedTuple):
    """What a command does to files if nobody disturbs it, and what it leaves."""

    operations: list[tuple[str, str]]
    bits: dict[str, Any]
    seconds: float


def prepare(here: Path) -> None:
    """Put stand-ins in their places, parse all lines, and write what commands read."""
    stubbed.install()
    os.chdir(here)
    parsed: dict[tuple[str, ...], Any] = {}

    def parse(arguments: list[str]) -> Any:
        line = tuple(arguments)
        if line not in parsed:
            parsed[line] = parse_again(arguments)
        return parsed[line]

    parse_again, cli.parse = cli.parse, parse
    stubbed.prepare(here, cli.main)
    for name in stubbed.LINES:
        parse(line_of(name, resume=False))
        if takes_resume(name):
            parse(line_of(name, resume=True))


def takes_resume(name: str) -> bool:
    """Tell whether a command has the option --resume; others just continue."""
    return name in ("train", "reproduce", "pretrain")


def line_of(name: str, resume: bool) -> list[str]:
    return [*stubbed.LINES[name].split(), *(["--resume"] if resume else [])]


def undisturbed(name: str) -> Undisturbed:
    """Run a command in this process, undisturbed, and clear away what it leaves."""
    with Faults(Path.cwd()) as counted:
        status = cli.main(line_of(name, resume=False))
    assert status == 0, name
    pid = fork(lambda: cli.main(line_of(name, resume=takes_resume(name))))
    again = wait(pid)  # finished work may be asked for once more
    assert again.status == 0 or "choose another --out" in again.said, again.said
    found = bits(Path("out"))
    clear()
    began = time.monotonic()
    assert wait(fork(lambda: cli.main(line_of(name, resume=False)))).status == 0
    seconds = time.monotonic() - began
    clear()
    return Undisturbed(counted.operations, found, seconds)


def require_forkable() -> None:
    """Make sure that nothing was started here which would not survive a fork."""
    from jax._src import xla_bridge

    assert not xla_bridge._backends, "JAX was started"
    assert threading.active_count() == 1, threading.enumerate()


def clear() -> None:
    shutil.rmtree("out", ignore_errors=True)


def run(name: str, resume: bool = False, mode: str = "", at: int = 0) -> Ended:
    """Run a command in a process of its own, in which one operation may be disturbed."""

    def act() -> int:
        if not mode:
            return cli.main(line_of(name, resume))
        with Faults(Path.cwd(), mode, at, die=die):
            return cli.main(line_of(name, resume))

    return wait(fork(act))


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fork(act: Callable[[], int], log: Path = LOG) -> int:
    """Start a process that does something, writes to a file and exits; return its number."""
    sys.stdout.flush()
    sys.stderr.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # until the new process is ready for them
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        return pid
    status = 70
    try:
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        status = act()
        sys.stdout.flush()
        sys.stderr.flush()
    except KeyboardInterrupt:  # before the command could catch it, or after
        status = 130
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def wait(pid: int, log: Path = LOG, patience: float = PATIENCE) -> Ended:
    """Wait until a process ends; kill it if it does not."""
    end = time.monotonic() + patience
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            said = log.read_text(errors="replace") if log.exists() else ""
            return Ended(os.waitstatus_to_exitcode(status), said)
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return Ended(HUNG, f"no end in {patience:.0f} s")
        time.sleep(0.0005)
