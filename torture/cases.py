"""One case: files of a seed, damaged, and read under guard.

A case must end in success or in a `UserError`, within seconds, and change nothing but what its
reader is asked to write. Python tells of every file that is opened or changed, and of every process
that is started (`sys.addaudithook`), so nothing can be changed unseen.
"""

import contextlib
import gc
import io
import os
import re
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path, PurePath
from random import Random
from types import FrameType
from typing import Any, NamedTuple

from reinstate.errors import UserError
from torture.mutations import GENERATORS, damage
from torture.readers import READERS, Reader

PATIENCE = 10  # seconds
MOST_MEMORY = 2_000_000_000  # bytes of the whole process
LONGEST = 4000  # characters of a message, before the command makes one line of it
MOST_LINES = 12  # of a message: a table's lists its first ten bad rows
GENERATOR_SHARES = (12, 7, 1)
CHANGING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
EVENTS = {  # that change files: which of their arguments are paths
    "os.mkdir": (0,),
    "os.rmdir": (0,),
    "os.remove": (0,),
    "os.rename": (0, 1),
    "os.link": (1,),
    "os.symlink": (1,),
    "os.truncate": (0,),
    "os.chmod": (0,),
    "shutil.rmtree": (0,),
}
FORBIDDEN = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "socket.connect",
    "os.fork",
)
# Under such a name a file or folder is written before it has its own.
TEMPORARY = re.compile(r"(?<![^/])\.([^/]*)\.\d+\.tmp(?![^/])")


class Hang(BaseException):
    """A case took too long; nothing of ours catches this."""


class Outcome(NamedTuple):
    """How a case ended."""

    reader: str
    number: int
    generator: str
    ended: str  # accepted, refused, or what went wrong
    message: str
    seconds: float
    peak: int  # bytes that the process had at most


class _Guard:
    """What audit events are held against."""

    folder = ""
    allowed: tuple[str, ...] = ()
    found: str | None = None

    def hear(self, event: str, arguments: Any) -> None:
        if not self.folder:
            return
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, int) or not (flags or 0) & CHANGING:
                return
            self._check(event, path)
        elif event in EVENTS:
            for place in EVENTS[event]:
                if event != "os.mkdir" or not os.path.isdir(arguments[0]):  # which changes nothing
                    self._check(event, arguments[place])
        elif event in FORBIDDEN:
            self.found = self.found or f"{event} {str(arguments)[:200]}"

    def _check(self, event: str, path: Any) -> None:
        if isinstance(path, int) or path == os.devnull:
            return
        full = os.path.abspath(os.fsdecode(path))
        place = PurePath(TEMPORARY.sub(r"\1", os.path.relpath(full, self.folder)))
        if not any(place.is_relative_to(each) for each in self.allowed):
            self.found = self.found or f"{event} of {full}"


guard = _Guard()


def install() -> None:
    """Begin to listen, in this process."""
    sys.addaudithook(lambda event, arguments: guard.hear(event, arguments))
    signal.signal(signal.SIGALRM, _too_long)


def _too_long(number: int, frame: FrameType | None) -> None:
    raise Hang


def prepare(name: str, number: int, seed: int, seeds: Path, folder: Path) -> str:
    """Put the files of a case into a new folder; return by which generator they were damaged."""
    reader = READERS[name]
    draw = Random(f"{seed} {name} {number}")
    shutil.copytree(seeds / reader.seed, folder)
    generator: str = draw.choices(GENERATORS, GENERATOR_SHARES)[0]
    if name == "list" and generator == "kind":
        generator = "bytes"  # Python itself waits for a pipe among its packages
    files = damaged_files(reader, folder)
    others = [path.read_bytes() for path in files]
    for path in draw.sample(files, min(len(files), draw.choice((1, 1, 1, 2)))):
        damage(path, generator, draw, others, seed)
    return generator


def require_accepted(seeds: Path, folder: Path) -> None:
    """Make sure that every reader accepts its files as long as they are whole."""
    trouble = []
    for name, reader in READERS.items():
        shutil.copytree(seeds / reader.seed, folder)
        found = damaged_files(reader, folder)
        outcome = run(name, -1, "none", folder)
        shutil.rmtree(folder)
        if outcome.ended != "accepted" or not found:
            trouble.append(f"{name} does not accept its own files: {outcome.message}")
    if trouble:
        raise SystemExit("\n".join(trouble))


def damaged_files(reader: Reader, folder: Path) -> list[Path]:
    found = [path for pattern in reader.damaged for path in folder.glob(pattern)]
    return sorted({path for path in found if path.is_file()})


def run(name: str, number: int, generator: str, folder: Path) -> Outcome:
    """Read the files of a case."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    began = time.perf_counter()
    ended, message = _read(READERS[name], folder)
    seconds = time.perf_counter() - began
    lines = Path("/proc/self/status").read_text().split("VmHWM:")
    peak = 1024 * int(lines[1].split()[0])
    if peak > MOST_MEMORY and ended in ("accepted", "refused"):
        ended, message = "memory", f"{peak / 1e9:.2f} GB"
    if guard.found and ended in ("accepted", "refused"):
        ended, message = "wrote", guard.found
    return Outcome(name, number, generator, ended, message, seconds, peak)


def _read(reader: Reader, folder: Path) -> tuple[str, str]:
    said = io.StringIO()
    try:
        streams = contextlib.redirect_stdout(said), contextlib.redirect_stderr(said)
        with _guarded(reader, folder), streams[0], streams[1]:
            reader.read()
    except UserError as error:
        return _judged(str(error))
    except Hang:
        return "hang", traceback.format_exc()[-3000:]
    except OSError as error:  # the command prints these in one line, too
        return "refused", str(error)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and type(error) is KeyboardInterrupt:
            raise
        return type(error).__name__, traceback.format_exc()[-3000:]
    return "accepted", ""


def _judged(message: str) -> tuple[str, str]:
    long = len(message) > LONGEST or len(message.splitlines()) > MOST_LINES or not message.strip()
    return ("long message" if long else "refused"), message[:LONGEST]


@contextlib.contextmanager
def _guarded(reader: Reader, folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    guard.folder, guard.allowed, guard.found = str(folder), reader.writes, None
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        guard.folder = ""
        os.chdir(before)
        gc.collect(0)
