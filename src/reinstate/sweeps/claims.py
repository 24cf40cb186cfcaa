"""Claims: of many processes, on many machines, one does a piece of work; the dead keep none.

    FOLDER/NAME.0.claim    who has it: machine, process, worker; the file's time is its heartbeat
    FOLDER/NAME.1.claim    who took it over, since the owner of 0 is dead

The highest number owns. A file appears whole or not at all, and only if there was none, so that of
many who try one gets it: the number 0 of what is free, the next number of what a dead owner left.
The dead are found by their process, on the machine where they ran; on another one, by their
heartbeat, which is held against the clock of the file system and not of either machine.
"""

import json
import os
import re
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from reinstate.errors import UserError
from reinstate.files import disk_errors, read_bytes

BEAT = 15.0  # seconds between heartbeats
SILENT = 180.0  # seconds after which an owner on another machine counts as dead
CLAIM = re.compile(r"(.+)\.(\d{1,9})\.claim")
LARGEST = 4096  # bytes of a claim


class _Owner(NamedTuple):
    """What a claim says; nothing of it is trusted further than to be compared."""

    place: str  # a machine, since it was started, and its table of processes
    pid: int
    born: str | None  # when, of the processes that had this number
    worker: str
    token: str


class Claim(NamedTuple):
    """A piece of work that this process has."""

    folder: Path
    name: str
    number: int
    token: str

    @property
    def path(self) -> Path:
        return _path(self.folder, self.name, self.number)

    def beat(self) -> None:
        """Say that the owner is alive."""
        with suppress(OSError):
            os.utime(self.path)

    @property
    def holds(self) -> bool:
        """Whether it was not taken over meanwhile, by somebody who thought this process dead."""
        numbers = _numbers(self.folder, self.name)
        owner = _read(self.path) if numbers and numbers[-1] == self.number else None
        return owner is not None and owner.token == self.token

    def release(self) -> None:
        """Give it back: those of earlier owners first, so that a number is free after all below."""
        if self.holds:
            for number in _numbers(self.folder, self.name):
                with suppress(OSError):
                    _path(self.folder, self.name, number).unlink()


def claim(folder: Path, name: str, worker: str) -> Claim | None:
    """Claim a piece of work for a worker of this process; None if somebody has it."""
    before = _owners(folder, name)
    last = max(before, default=-1)
    if before and _lives(folder, name, last, before[last]):
        return None
    made = Claim(folder, name, last + 1, secrets.token_hex(8))
    if not _create(made, worker):
        return None
    now = _owners(folder, name)
    now.pop(made.number, None)
    if now == before:  # else others gave it back or claimed it in between: leave it to them
        return made
    with suppress(OSError):
        made.path.unlink()
    return None


def is_claimed(folder: Path, name: str, here: bool = False) -> bool:
    """Tell whether somebody alive has a piece of work; `here` asks for this machine alone."""
    owners = _owners(folder, name)
    if not owners:
        return False
    last, owner = max(owners.items())
    elsewhere = here and (owner is None or owner.place != _place())
    return not elsewhere and _lives(folder, name, last, owner)


def claimed(folder: Path) -> set[str]:
    """Name all work that was claimed and not given back, be its owners alive or dead."""
    return {match[1] for match in map(CLAIM.fullmatch, _listed(folder)) if match}


def claimed_by(folder: Path, worker: str) -> list[str]:
    """Name the work that a worker has claimed and not given back, be it alive or dead."""
    found = []
    for name in claimed(folder):
        owners = _owners(folder, name)
        owner = owners[max(owners)] if owners else None
        if owner and owner.worker == worker:
            found.append(name)
    return sorted(found)


@contextmanager
def beating(held: Claim) -> Iterator[None]:
    """Keep a claim alive while its work is done."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(BEAT):
            held.beat()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _create(made: Claim, worker: str) -> bool:
    """Write a claim, whole, unless there is one of this number."""
    me = _Owner(_place(), os.getpid(), _born(os.getpid()), worker, made.token)
    content = json.dumps(me._asdict()).encode()
    new = beside(made.path.with_name(f"{made.path.name}.{made.token}"))
    with disk_errors(made.path, "what was done before is kept"):
        made.folder.mkdir(parents=True, exist_ok=True)
        try:
            new.write_bytes(content)
            os.link(new, made.path)
        except FileExistsError:
            return False
        except OSError:  # a file system without links: exclusive, but not whole at once
            return _create_exclusively(made.path, content)
        finally:
            new.unlink(missing_ok=True)
    return True


def _create_exclusively(path: Path, content: bytes) -> bool:
    try:
        with open(path, "xb") as file:
            file.write(content)
    except FileExistsError:
        return False
    return True


def _owners(folder: Path, name: str) -> dict[int, _Owner | None]:
    """Read all claims to a piece of work; None is one that cannot be read, or not yet."""
    return {number: _read(_path(folder, name, number)) for number in _numbers(folder, name)}


def _numbers(folder: Path, name: str) -> list[int]:
    found = (CLAIM.fullmatch(each) for each in _listed(folder, f"{name}."))
    return sorted(int(match[2]) for match in found if match and match[1] == name)


def _listed(folder: Path, start: str = "") -> list[str]:
    try:
        return [entry.name for entry in os.scandir(folder) if entry.name.startswith(start)]
    except FileNotFoundError:
        return []


def _path(folder: Path, name: str, number: int) -> Path:
    return folder / f"{name}.{number}.claim"


def _read(path: Path) -> _Owner | None:
    try:
        said: Any = json.loads(read_bytes(path, LARGEST))
        born = None if said["born"] is None else str(said["born"])
        texts = str(said["worker"]), str(said["token"])
        return _Owner(str(said["place"]), int(said["pid"]), born, *texts)
    except (UserError, ValueError, TypeError, KeyError):
        return None


def _lives(folder: Path, name: str, number: int, owner: _Owner | None) -> bool:
    """Tell whether an owner is at work still."""
    if owner and owner.place == _place() and os.name != "nt":
        return _is_same_process(owner)
    return _silence(folder, _path(folder, name, number)) < SILENT


def _is_same_process(owner: _Owner) -> bool:
    if not is_alive(owner.pid):
        return False
    born = _born(owner.pid)  # None also of one that is dead, but that nobody has buried
    return born == owner.born if owner.born else True


def _silence(folder: Path, path: Path) -> float:
    """Return the seconds since a heartbeat, by the clock of the file system."""
    probe = beside(folder / f"clock-{threading.get_ident()}")
    try:
        probe.touch()
        return probe.stat().st_mtime - path.stat().st_mtime
    except OSError:
        return 0.0  # it is gone, or the disk is full: ask again later
    finally:
        with suppress(OSError):
            probe.unlink(missing_ok=True)


@cache
def _place() -> str:
    """Name this machine since it was started: numbers of processes mean nothing beyond it."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(os.readlink("/proc/self/ns/pid"))  # containers count their own
    return " ".join(parts)


def _born(pid: int) -> str | None:
    """Say when a process was started, where the system tells; None of one that has ended."""
    try:
        said = Path(f"/proc/{pid}/stat").read_bytes().decode("utf-8", "replace")
        state, *fields = said.rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return None if state in "ZX" else fields[18]


def beside(path: Path) -> Path:
    """Name the temporary file under which this process writes a file."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def is_alive(pid: int) -> bool:
    """Tell whether there is a process of this number; where asking would stop it, say yes."""
    if os.name == "nt":
        return True  # asking would stop it
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass
    return True
