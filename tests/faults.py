"""Count and disturb what is done to files under a folder: kills, full and read-only disks.

    with Faults(folder) as counted:
        work()
    counted.operations  # [("mkdir", "out"), ("open", "out/.lock"), …]
    with Faults(folder, "kill-before", at=3) as fault, suppress(Killed):
        work()

In this process a kill is an exception that nothing catches; whatever would change a file after it
raises it again, since nothing runs after a kill. `die` can end the process in earnest instead.
Nobody sleeps, and who does far more than was needed before is `Endless`: waiting shows at once.
What an operation cannot change is not counted: folders that are there, files that are not. Nothing
is flushed to the disk: who kills a process takes nothing from the operating system's buffers.
"""

import builtins
import errno
import io
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

GROWING = {"open", "write", "ftruncate", "fsync", "mkdir", "symlink", "link", "replace"}
ERRORS = {"enospc": errno.ENOSPC, "eio": errno.EIO, "erofs": errno.EROFS}
MODES = (
    "kill-before",
    "kill-after",
    "kill-half",  # after half of what is to be written
    "enospc-on",  # the disk is full from here on
    "enospc-once",
    "enospc-half",  # once, after half of what is to be written
    "eio-once",
    "erofs-on",  # nothing can be changed from here on
    "remove",  # somebody removes the folder, and the operation goes on
)
TWO_PATHS = ("replace", "rename", "link", "symlink")
ONE_PATH = ("unlink", "remove", "mkdir", "rmdir")
DESCRIPTORS = ("write", "ftruncate", "fsync")
CHANGING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Killed(BaseException):
    """In place of SIGKILL: nothing of ours catches it."""


class Endless(BaseException):
    """More was done to files, or slept, than can be right."""


def _raise() -> NoReturn:
    raise Killed


def applies(mode: str, operation: str) -> bool:
    """Tell whether a disturbance can befall an operation, and leaves what no other does."""
    if mode.endswith("-half"):
        return operation == "write"
    if mode.startswith("enospc"):
        return operation in GROWING
    return operation != "fsync" or not mode.startswith("kill")


class Faults:
    """A context in which the operation number `at`, counted from 1, is disturbed."""

    def __init__(
        self,
        folder: Path,
        mode: str = "",
        at: int = 0,
        die: Callable[[], None] = _raise,
        limit: int = 10_000,
        pid: int = 0,
    ) -> None:
        assert not mode or mode in MODES, mode
        self.folder, self.mode, self.at, self.die = os.path.abspath(folder), mode, at, die
        self.operations: list[tuple[str, str]] = []
        self.limit, self.slept, self.pid = limit, 0, pid
        self.dead = self.idle = False
        self._paths: dict[int, str] = {}  # of open descriptors
        self._files: list[_File] = []
        self._before: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> "Faults":
        self.open = builtins.open
        for module, name in ((builtins, "open"), (io, "open")):
            self._patch(module, name, self._open)
        self._patch(time, "sleep", self._sleep)
        if self.pid:  # after a kill, it is another process that goes on
            self._patch(os, "getpid", lambda: self.pid)
        self._patch(os, "open", self._open_descriptor)
        self._patch(os, "close", self._close_descriptor)
        for name in ONE_PATH:
            self._patch(os, name, self._on_path(name, getattr(os, name)))
        for name in TWO_PATHS:
            self._patch(os, name, self._on_two_paths(name, getattr(os, name)))
        for name in DESCRIPTORS:
            self._patch(os, name, self._on_descriptor(name, getattr(os, name)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for module, name, original in reversed(self._before):
            setattr(module, name, original)
        for file in self._files:  # as the operating system does after a kill
            file.close()
        for descriptor in self._paths:
            os.close(descriptor)

    def _patch(self, module: Any, name: str, wrapper: Any) -> None:
        self._before.append((module, name, getattr(module, name)))
        setattr(module, name, wrapper)

    def do(self, name: str, path: str, act: Callable[[], Any], half: Any = None) -> Any:
        """Do an operation, unless it is its turn to be disturbed."""
        if self.idle or not self._is_inside(path):
            return act()
        if self.dead:
            raise Killed
        self.operations.append((name, os.path.relpath(path, self.folder)))
        if len(self.operations) > self.limit:
            raise Endless(f"more than {self.limit} operations")
        place, (what, _, how) = len(self.operations), self.mode.partition("-")
        if not self.at or place < self.at or (place > self.at and how != "on"):
            return act()
        if what == "remove":
            self._remove_outermost(path)
            return act()
        if how == "half" and half:
            half()
        if what in ERRORS:
            if applies(self.mode, name):
                raise OSError(ERRORS[what], os.strerror(ERRORS[what]), path)
            return act()
        done = act() if how == "after" else None
        self.dead = True
        self.die()
        return done

    def _remove_outermost(self, path: str) -> None:
        """Remove what a path lies in, up to the folder itself, as somebody else would."""
        first = os.path.relpath(path, self.folder).split(os.sep)[0]
        self.at, self.idle = 0, True
        shutil.rmtree(os.path.join(self.folder, first), ignore_errors=True)
        self.idle = False

    def _sleep(self, seconds: float) -> None:
        self.slept += 1
        if self.slept > self.limit:
            raise Endless(f"slept more than {self.limit} times")

    def _is_inside(self, path: str) -> bool:
        return path == self.folder or path.startswith(f"{self.folder}{os.sep}")

    def _place(self, path: Any, dir_fd: int | None = None) -> str:
        """Return where a path or a descriptor leads; nowhere if it is not known."""
        if isinstance(path, int):
            return self._paths.get(path, "")
        path = os.fsdecode(path)
        return os.path.abspath(os.path.join(self._paths.get(dir_fd or -1, ""), path))

    def _open(self, file: Any, mode: str = "r", *rest: Any, **how: Any) -> Any:
        path = "" if isinstance(file, int) else self._place(file)
        if not ({*mode} & {*"wxa+"} and self._is_inside(path)):
            return self.open(file, mode, *rest, **how)
        binary = mode.replace("b", "").replace("t", "")
        opened = self.do("open", path, lambda: _File(self, path, binary, how.get("opener")))
        self._files.append(opened)
        return opened if "b" in mode else io.TextIOWrapper(opened, how.get("encoding") or "utf-8")

    def _open_descriptor(
        self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None
    ) -> int:
        place = self._place(path, dir_fd)

        def act() -> int:
            descriptor: int = self._original(os, "open")(path, flags, mode, dir_fd=dir_fd)
            # A file that is only read may be closed behind our back; a folder may be flushed.
            if self._is_inside(place) and (flags & CHANGING or os.path.isdir(place)):
                self._paths[descriptor] = place
            return descriptor

        return self.do("open", place, act) if flags & CHANGING else act()

    def _close_descriptor(self, descriptor: int) -> None:
        self._paths.pop(descriptor, None)
        self._original(os, "close")(descriptor)

    def _on_path(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def act(path: Any, *rest: Any, **how: Any) -> Any:
            place = self._place(path, how.get("dir_fd"))
            if os.path.lexists(place) == (name == "mkdir") or (
                name == "rmdir" and os.listdir(place)
            ):
                return original(path, *rest, **how)  # which fails
            return self.do(name, place, lambda: original(path, *rest, **how))

        return act

    def _on_two_paths(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def act(source: Any, target: Any, *rest: Any, **how: Any) -> Any:
            place = self._place(target, how.get("dst_dir_fd") or how.get("dir_fd"))
            return self.do(name, place, lambda: original(source, target, *rest, **how))

        return act

    def _on_descriptor(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def act(descriptor: Any, *what: Any) -> Any:
            number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
            path = self._paths.get(number, "")
            half = None
            if name == "write":
                (content,) = what
                half = lambda: original(number, content[: len(content) // 2])  # noqa: E731
            if name == "fsync" and self._is_inside(path):
                return self.do(name, path, lambda: None)
            return self.do(name, path, lambda: original(number, *what), half)

        return act

    def _original(self, module: Any, name: str) -> Any:
        return next(kept for where, named, kept in self._before if (where, named) == (module, name))


class _File(io.FileIO):
    """A file without a buffer, so that each `write` is one operation."""

    def __init__(self, faults: Faults, path: str, mode: str, opener: Any) -> None:
        self.faults, self.path = faults, path
        super().__init__(path, mode, opener=opener)
        faults._paths[self.fileno()] = path

    def write(self, content: Any) -> int:
        half = content[: len(content) // 2]
        written: int = self.faults.do(
            "write", self.path, lambda: self._write(content), lambda: self._write(half)
        )
        return written

    def _write(self, content: Any) -> int:
        """Write all of it, or raise, as a file with a buffer does."""
        left = memoryview(content)
        while left:
            left = left[super().write(left) :]
        return len(content)

    def close(self) -> None:
        if not self.closed:
            self.faults._paths.pop(self.fileno(), None)
        super().close()
