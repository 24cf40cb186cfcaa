"""What a user waits for: the first progress line of a training."""

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cases import Case
from measuring import in_bytes, rounded
from reinstate.errors import UserError

PROGRAM = (sys.executable, "-m", "reinstate")
PATIENCE = 300.0  # seconds for a training to say how its first epoch went
PROGRESS = ": epoch "  # of the line that does
CACHES = ("JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_COMPILATION_CACHE")  # which a user may set


def starts(case: Case, preset: str) -> dict[str, Any]:
    """Start the same training twice as a command: without compiled programs, then with them."""
    with TemporaryDirectory(prefix="reinstate-speed-") as folder:
        cache = Path(folder) / "cache"
        cache.mkdir(mode=0o700)
        words = ["train", case.experiment, "--preset", preset, "--agent", case.agent]
        found = {
            name: first_line([*words, "--out", str(Path(folder) / name)], cache)
            for name in ("cold", "warm")
        }
    return {"experiment": case.experiment, "agent": case.agent, **found}


def first_line(words: list[str], cache: Path) -> dict[str, Any]:
    """Start a command of ours and end it at its first progress line: seconds, and peak memory."""
    kept = {name: value for name, value in os.environ.items() if name not in CACHES}
    pipes: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    began = time.perf_counter()
    child = subprocess.Popen(
        [*PROGRAM, *words], env=kept | {"XDG_CACHE_HOME": str(cache)}, text=True, **pipes
    )
    late = threading.Timer(PATIENCE, child.kill)
    late.start()
    said, seconds = "", None
    assert child.stderr is not None
    for said in child.stderr:
        if PROGRESS in said:
            seconds = time.perf_counter() - began
            break
    late.cancel()
    child.send_signal(signal.SIGKILL)
    child.wait()
    if seconds is None:
        raise UserError(f"reinstate {' '.join(words[:2])} did not get to train: {said.strip()}")
    peak = in_bytes(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)  # of any child so far
    return {"seconds": rounded(seconds, 3), "peak_bytes": peak}
