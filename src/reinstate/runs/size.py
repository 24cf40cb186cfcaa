"""How much memory settings need: what cannot fit is refused before anything is compiled.

Sizes are rough, and rather too small. They are here because a kernel that runs out of memory ends a
process without a word.
"""

import math
import os
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from reinstate.agent import AgentKind
from reinstate.errors import LARGEST_COUNT, UserError
from reinstate.rollout import start_epoch
from reinstate.settings import Settings

PROGRAM = 400_000_000  # bytes of Python, JAX and its compiler
CONTAINER = Path("/sys/fs/cgroup/memory.max")  # what a container may take, on Linux
KEPT = 80  # bytes of a step that are kept to differentiate it, for each unit of the network
RECORDED = 100  # bytes of a step of an evaluation


def require_room(
    settings: Settings,
    agent: AgentKind,
    *,
    candidates: int = 1,
    trained: bool = True,
    evaluated: bool = False,
) -> None:
    """Refuse settings that no learner can be made of, or that take more memory than there is.

    `candidates` is how many sets of rates are trained side by side; `trained` and `evaluated` say
    what is to be done with them. Nothing is computed and nothing is written.
    """
    _require_counts(settings)
    task, how, learner = settings.task, settings.learner, settings.make_learner(agent)
    state = jax.eval_shape(learner.init, jax.ShapeDtypeStruct((), jnp.int32))
    start = jax.eval_shape(
        lambda params: start_epoch(learner.world, learner.agent(params), learner.memory),
        state.params,
    )
    lane = bytes_of(start) + 2 * bytes_of(jax.eval_shape(task.sample_epoch, state.key))
    steps = how.episodes_per_update * task.episode_length
    training = 3 * bytes_of(state) + how.lanes * (
        lane + KEPT * settings.network.hidden_size * steps
    )
    record = RECORDED * task.episodes_per_epoch * task.episode_length
    if trained:
        lower = "learner.lanes" if candidates == 1 else "--trials, learner.lanes"
        require_fits(settings.seeds * candidates * training, f"seeds, {lower}, {SMALLER}")
    if evaluated:
        judging = settings.seeds * settings.evaluation.epochs * (lane + record)
        require_fits(judging, f"seeds, evaluation.epochs, {SMALLER}")


SMALLER = "network.hidden-size, memory.capacity or the task's size"


def require_fits(need: float, lower: str) -> None:
    """Refuse what takes more bytes than there are, and say what to lower."""
    there = memory_there_is()
    if need + PROGRAM > there:
        raise UserError(
            f"this needs about {in_bytes(need + PROGRAM)} of memory, and there are"
            f" {in_bytes(there)}: lower {lower}"
        )


def memory_there_is() -> float:
    """Return the bytes of all accelerators; without one, those of the host."""
    devices = jax.local_devices()
    known = None if devices[0].platform == "cpu" else devices[0].memory_stats()
    if known and known.get("bytes_limit"):
        return float(known["bytes_limit"] * len(devices))
    try:
        host = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        return math.inf
    try:
        return min(host, int(CONTAINER.read_text(encoding="utf-8")))
    except (OSError, ValueError):  # no limit, which is spelt "max"
        return host


def in_bytes(size: float) -> str:
    """Write a number of bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.0f} TB" if 100 <= size < 1e9 else f"{size:.3g} TB"


def bytes_of(tree: Any) -> int:
    """Add up the bytes of a tree of arrays, or of their shapes."""
    leaves = (leaf for leaf in jax.tree.leaves(tree) if hasattr(leaf, "dtype"))
    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves)


def _require_counts(settings: Settings) -> None:
    """Refuse numbers that are counted in int32 and do not fit."""
    task, learner = settings.task, settings.learner
    episodes = task.episodes_per_epoch
    for what, count in {
        "updates of the weights": learner.epochs * -(-episodes // learner.episodes_per_update),
        "writes of an epoch": 4 * episodes * task.writes_per_episode,
        "actions": task.num_actions,
        "steps per episode": task.episode_length,
    }.items():
        if count > LARGEST_COUNT:
            raise UserError(
                f"{count} {what} are more than can be counted: lower learner.epochs or the"
                " task's size"
            )
