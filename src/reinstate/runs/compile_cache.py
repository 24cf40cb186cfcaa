"""Compiled programs, kept in the user's cache folder: a second start compiles nothing again.

JAX finds a program by its content, by the compiler's version and options and by the kind of device.
What it does not look at is which instructions a CPU has; a home folder may be shared by machines of
several kinds, so that each kind gets a folder of its own.

Compiled code is loaded from here and run. A folder that anybody else could have written to is
therefore left alone. Whatever is wrong, programs are compiled as if there were no cache.
"""

import hashlib
import os
import platform
import stat
import sys
import warnings
import zlib
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import jax
import jaxlib

FOLDER = "jax_compilation_cache_dir"  # JAX's own setting
VARIABLE = "REINSTATE_COMPILE_CACHE"  # "off": keep nothing
LIMIT = 256 * 2**20  # bytes that all programs may take; one that trains takes a third of a megabyte
LEFT = 0.75  # of the limit, after the programs that were not used for longest are deleted
CPUINFO = Path("/proc/cpuinfo")  # on Linux
INSTRUCTIONS = ("flags", "Features", "model name", "CPU part")  # lines of it that tell CPUs apart
CHECKED = "checked"  # a file as old as the last look at what had been written
FAILED = "Error (reading|writing) persistent compilation cache entry"


def enable() -> Path | None:
    """Let JAX keep compiled programs; return the folder, or None if there is to be none.

    JAX_COMPILATION_CACHE_DIR, where it is set, stays the user's own choice.
    """
    if switched_off() or getattr(jax.config, FOLDER) is not None:
        return None
    try:
        root = user_cache() / "reinstate" / "compiled"
        folder = root / f"jax-{jax.__version__}-{jaxlib.__version__}-{_kind_of_cpu()}"
        if not _made_private(folder):
            return None
        _delete_damaged(folder)
        _delete_oldest(root)
    except (OSError, RuntimeError, ValueError):  # no home, no right, no such name
        return None
    jax.config.update(FOLDER, str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)  # small ones are many
    # A full disk, or an entry that another process has just deleted: JAX compiles, and so be it.
    warnings.filterwarnings("ignore", FAILED)
    return folder


def switched_off() -> bool:
    """Tell whether the user wants no programs kept."""
    return os.environ.get(VARIABLE, "").strip().lower() in ("off", "0", "no", "false")


def user_cache() -> Path:
    """Return the folder in which the user's programs keep what can be made again."""
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(chosen):  # the specification says to ignore others
        return Path(chosen)
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local)
    home = Path.home()
    if not home.is_absolute():
        raise ValueError(f"the home folder {home} is no absolute path")
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache")


def _kind_of_cpu() -> str:
    """Name a CPU's kind in a few characters: equal where the same programs run."""
    told = [platform.system(), platform.machine(), platform.processor()]
    with suppress(OSError):
        lines = CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
        told += sorted({line for line in lines if line.startswith(INSTRUCTIONS)})
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:12]


def _made_private(folder: Path) -> bool:
    """Make a folder that the user alone can write to; tell whether it is one, and can be used.

    Three levels are ours: reinstate/compiled/jax-VERSION.
    """
    home, ours = folder.parents[2], [folder.parents[1], folder.parent, folder]
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    for each in ours:
        each.mkdir(mode=0o700, exist_ok=True)
        if not _is_private(each.lstat()):
            return False
    replaceable = any(_is_open(each.stat()) for each in (home, *home.parents))
    return not replaceable and os.access(folder, os.R_OK | os.W_OK | os.X_OK)


def _is_private(found: os.stat_result) -> bool:
    """Tell whether this is a folder, not a link to one, of the user's and closed to others."""
    if not hasattr(os, "geteuid"):  # Windows: a user's folder is closed to others
        return stat.S_ISDIR(found.st_mode)
    writable = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not writable


def _is_open(found: os.stat_result) -> bool:
    """Tell whether anybody could put another folder in the place of one in here."""
    if not hasattr(os, "geteuid"):
        return False
    return bool(found.st_mode & stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX


def _delete_damaged(folder: Path) -> None:
    """Delete programs that cannot be read: JAX would pass over them, and never replace them.

    A process that is killed, or a full disk, leaves half a file. Only those that were written since
    the last look are read.
    """
    stamp = folder / CHECKED
    since = stamp.stat().st_mtime if stamp.exists() else 0.0
    stamp.touch(mode=0o600)
    decompress = _decompressor()
    for path in folder.glob("*-cache"):
        with suppress(FileNotFoundError):  # another process tidies up as well
            if path.stat().st_mtime >= since and not _readable(path, decompress):
                path.unlink()


def _decompressor() -> Callable[[bytes], Any]:
    """Return what JAX decompresses with: zstandard where it is installed, else zlib."""
    for name in ("compression.zstd", "zstandard"):
        with suppress(ImportError):
            decompress: Callable[[bytes], Any] = import_module(name).decompress
            return decompress
    return zlib.decompress


def _readable(path: Path, decompress: Callable[[bytes], Any]) -> bool:
    try:
        return bool(decompress(path.read_bytes()))
    except FileNotFoundError:
        raise
    except Exception:  # each library has its own
        return False


def _delete_oldest(root: Path) -> None:
    """Delete what was not used for longest, of all versions, if all takes more than the limit."""
    found = []
    for path in root.rglob("*"):
        with suppress(FileNotFoundError):
            about = path.lstat()
            if stat.S_ISREG(about.st_mode):
                found.append((max(about.st_atime, about.st_mtime), about.st_size, path))
    total = sum(size for _, size, _ in found)
    if total <= LIMIT:
        return
    for _, size, path in sorted(found):
        path.unlink(missing_ok=True)
        total -= size
        if total <= LEFT * LIMIT:
            return
