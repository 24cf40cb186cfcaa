"""A process that looks after another: when JAX aborts that one, this one can still speak.

JAX ends a process by force once it loses process 0, and writes pages about it. So what runs with
others runs as a child, whose C++ speaks to a file, and the parent turns its end into one line.
"""

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, BinaryIO

from reinstate.errors import UserError

START = 60  # seconds for all processes to find each other
NOT_MET = (
    f"the processes did not all meet within {START} s: start each of them, with the same"
    " --num-processes and a --coordinator that all can reach"
)
LOST = 3  # exit status when other processes are gone
LOUD = "TF_CPP_MIN_LOG_LEVEL"  # JAX's variable; 0 shows everything
FORWARDED = (signal.SIGINT, signal.SIGTERM)
HEARD = 0.3  # seconds for a signal to reach the child by itself

_noise: list[BinaryIO] = []


def guarded(work: Callable[[], int]) -> int:
    """Do work in a child, and return its exit status; if it is ended by force, say so."""
    if not hasattr(os, "fork"):
        raise UserError("--distributed needs Linux or macOS")
    noise: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - the child writes to it to its end
    heard, hears = os.pipe()
    for end in (heard, hears):
        os.set_blocking(end, False)
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        signal.set_wakeup_fd(hears, warn_on_full_buffer=False)
        _noise[:] = [noise]
        if os.environ.get(LOUD) != "0":  # JAX itself sets it to 1
            _divert(noise)
        status = 1
        try:
            status = work()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)  # JAX would wait for processes that are gone
    return _look_after(child, heard, noise)


def tell(number: int) -> None:
    """Let the parent know which process this is."""
    if _noise:
        os.write(_noise[0].fileno(), f"\nprocess {number}\n".encode())


def _divert(noise: BinaryIO) -> None:
    """Keep what Python prints where it was; send what C++ prints to a file."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        kept = os.dup(stream.fileno())
        how: Any = {"encoding": stream.encoding, "errors": stream.errors}
        replaced = os.fdopen(kept, "w", buffering=1, **how)
        os.dup2(noise.fileno(), stream.fileno())
        setattr(sys, name, replaced)


def _look_after(child: int, heard: int, noise: BinaryIO) -> int:
    """Pass signals on, unless the child got them as well; return its status."""

    def forward(number: int, frame: FrameType | None) -> None:
        time.sleep(HEARD)
        if number not in _received(heard):
            os.kill(child, number)

    for number in FORWARDED:
        signal.signal(number, forward)
    _, ended = os.waitpid(child, 0)
    if os.WIFEXITED(ended):
        return os.WEXITSTATUS(ended)
    noise.seek(0)
    said = noise.read().decode(errors="replace")
    if line := _explain(os.WTERMSIG(ended), said):
        print(f"reinstate: {line}", file=sys.stderr, flush=True)
    return LOST


def _received(heard: int) -> bytes:
    try:
        return os.read(heard, 1000)
    except BlockingIOError:
        return b""


def _explain(number: int, said: str) -> str:
    """Say what the child died of; nothing if process 0 says it, too."""
    again = "what was saved is not lost: start all processes again with --resume"
    first = "\nprocess 0\n" in said
    if "stopped sending heartbeats" in said:
        return f"one of the processes has died or hangs; {again}" if first else ""
    if number == signal.SIGABRT and "\nprocess " not in said:
        return NOT_MET
    if number == signal.SIGABRT and "distributed service" in said:
        return f"process 0 is gone; {again}"
    name = signal.Signals(number).name
    return f"this process was ended by {name}; {again} ({LOUD}=0 shows what JAX says)"
