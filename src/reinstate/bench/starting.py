"""What a user waits for: the first progress line of a training, and a reward."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import jax
import numpy as np

from reinstate.bench.cases import Case, Shelf
from reinstate.bench.timing import in_bytes, rounded
from reinstate.errors import UserError

PROGRAM = (sys.executable, "-m", "reinstate")
PATIENCE = 300.0  # seconds for a training to say how its first epoch went
PROGRESS = ": epoch "  # of the line that does
CACHES = ("JAX_COMPILATION_CACHE_DIR", "REINSTATE_COMPILE_CACHE")  # which a user may have set
KEPT = ("XDG_CACHE_HOME", "LOCALAPPDATA")  # by which a program finds the user's cache folder


class Start(NamedTuple):
    """How a command began."""

    seconds: float  # until its first progress line
    peak_bytes: int | None  # the most memory that it had by then


def starts(case: Case, preset: str) -> dict[str, Any]:
    """Start the same training twice as a command: without compiled programs, then with them."""
    with TemporaryDirectory(prefix="reinstate-bench-") as folder:
        cache = Path(folder) / "cache"
        cache.mkdir(mode=0o700)
        words = ["train", case.experiment, "--preset", preset, "--agent", case.agent]
        found = {}
        for name in ("cold", "warm"):
            start = first_line([*words, "--out", str(Path(folder) / name)], cache)
            peak = {"peak_bytes": start.peak_bytes} if start.peak_bytes else {}
            found[name] = {"seconds": rounded(start.seconds, 3), **peak}
    return {"experiment": case.experiment, "agent": case.agent, **found}


def first_line(words: list[str], cache: Path) -> Start:
    """Start a command of ours, wait for its first progress line, and end it."""
    command = [*PROGRAM, *words]
    pipes: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    began = time.perf_counter()
    child = subprocess.Popen(command, env=_environment(cache), text=True, **pipes)
    late = threading.Timer(PATIENCE, child.kill)
    late.start()
    said, seconds = "", None
    try:
        assert child.stderr is not None
        for said in child.stderr:
            if PROGRESS in said:
                seconds = time.perf_counter() - began
                break
    finally:
        late.cancel()
        peak = _end(child)
    if seconds is None:
        raise UserError(f"reinstate {' '.join(words[:2])} did not get to train: {said.strip()}")
    return Start(seconds, peak)


def _environment(cache: Path) -> Mapping[str, str]:
    """Return an environment in which programs keep what they compile in this folder alone."""
    kept = {name: value for name, value in os.environ.items() if name not in CACHES}
    return {**kept, **dict.fromkeys(KEPT, str(cache))}


def _end(child: "subprocess.Popen[str]") -> int | None:
    """End a process, and wait for that; return the most memory it had, where the system tells."""
    if child.stderr:
        child.stderr.close()
    if not hasattr(os, "wait4"):  # Windows
        child.kill()
        child.wait()
        return None
    # By its number: `child.kill()` would wait for one that has ended, and lose what it used.
    os.kill(child.pid, signal.SIGKILL)
    try:
        _, status, used = os.wait4(child.pid, 0)
    except ChildProcessError:  # its time was over just now
        return None
    child.returncode = os.waitstatus_to_exitcode(status)
    return in_bytes(used.ru_maxrss)


def time_to_reward(case: Case, target: float, shelf: Shelf) -> dict[str, Any]:
    """Train until an epoch's mean reward per episode, over all seeds, is as high as stated."""
    program = shelf.get("train", case)
    (state,) = program.arguments
    compiling = program.compiled.trace + program.compiled.xla

    def epoch() -> float:
        nonlocal state
        state, metrics = jax.block_until_ready(program.compiled.run(state))
        return float(np.mean(metrics.reward))

    return {
        "name": "reinstate",
        **case.told,
        **_trained(case, target, epoch, program.steps, compiling),
    }


def rival_to_reward(case: Case, target: float) -> dict[str, Any]:
    """Train the rival in PyTorch with the lanes of one seed, on one thread, which is fastest."""
    import torch

    from reinstate.bench.pytorch import Rival

    torch.set_num_threads(1)
    torch.manual_seed(0)
    rival = Rival(case.settings, case.settings.learner.lanes)
    episodes = rival.episodes

    def epoch() -> float:
        return float(np.mean([rival.train(1) for _ in range(episodes)]))

    told = {**case.told, "seeds": 1, "threads": 1}
    steps = case.settings.make_learner(case.agent).steps_per_epoch
    return {"name": "PyTorch", **told, **_trained(case, target, epoch, steps, 0.0)}


def _trained(
    case: Case, target: float, epoch: Callable[[], float], steps: int, compiling: float
) -> dict[str, Any]:
    """Train epoch by epoch, until the reward is there or the preset's epochs are over."""
    began, rewards = time.perf_counter(), [epoch()]
    while rewards[-1] < target and len(rewards) < case.settings.learner.epochs:
        rewards.append(epoch())
    return {
        "reward": target,
        "reached": rewards[-1] >= target,
        "best": rounded(max(rewards)),
        "epochs": len(rewards),
        "steps": len(rewards) * steps,
        "compile_seconds": rounded(compiling, 3),
        "train_seconds": rounded(time.perf_counter() - began, 3),
    }
