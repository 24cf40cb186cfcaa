"""How much memory settings need: what cannot fit is refused before anything is compiled.

Sizes are rough, and rather too small. They are here because a kernel that runs out of memory ends a
process without a word.
"""

import math
import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from reinstate.agent import AgentKind
from reinstate.errors import UserError
from reinstate.learner import Learner
from reinstate.rollout import EpochState, start_epoch
from reinstate.settings import Settings

PROGRAM = 400_000_000  # bytes of Python, JAX and its compiler
CONTAINER = Path("/sys/fs/cgroup/memory.max")  # what a container may take, on Linux
KEPT = 80  # bytes of a step that are kept to differentiate it, for each unit of the network
RECORDED = 100  # bytes of a step of an evaluation
LOWER = """seeds, --trials, learner.lanes, evaluation.epochs, network.hidden-size,
memory.capacity or the task's size"""


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
    task, how, learner = settings.task, settings.learner, settings.make_learner(agent)
    state = jax.eval_shape(learner.init, jax.ShapeDtypeStruct((), jnp.int32))
    try:
        start = jax.eval_shape(partial(_start_and_read, learner), state.params)
    except AttributeError as error:  # of somebody's memory, or of somebody's agent
        kind = type(learner.memory).__name__
        raise UserError(
            f"this agent cannot read the memory {kind} ({error}): choose another --agent or"
            " --set memory-kind"
        ) from None
    lane = bytes_of(start) + 2 * bytes_of(jax.eval_shape(task.sample_epoch, state.key))
    steps = how.episodes_per_update * task.episode_length
    kept = how.lanes * (lane + KEPT * settings.network.hidden_size * steps)
    record = RECORDED * task.episodes_per_epoch * task.episode_length
    require_fits(settings.seeds * candidates * (3 * bytes_of(state) + kept) * trained)
    require_fits(settings.seeds * settings.evaluation.epochs * (lane + record) * evaluated)


def _start_and_read(learner: Learner, params: Any) -> EpochState:
    """Start an epoch, and read its empty memory as the agent will."""
    player, world = learner.agent(params), learner.world
    start = start_epoch(world, player, learner.memory)
    if player.remembers:
        player.read(learner.memory, start.memory, jnp.zeros(world.context_size), start.player)
    return start


def require_fits(need: float) -> None:
    """Refuse what takes more bytes than there are, and say what to lower."""
    there = memory_there_is()
    if need + PROGRAM > there:
        raise UserError(
            f"this needs about {(need + PROGRAM) / 1e9:.3g} GB of memory, and there are"
            f" {there / 1e9:.3g} GB: lower {' '.join(LOWER.split())}"
        )


def memory_there_is() -> float:
    """Return the bytes of all accelerators; without one, those of the host."""
    devices = jax.local_devices()
    if devices[0].platform != "cpu" and (known := devices[0].memory_stats()):
        return float(known.get("bytes_limit", math.inf) * len(devices))
    limits = [math.inf]
    with suppress(AttributeError, ValueError, OSError):  # not a POSIX system
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(ValueError, OSError):  # no container, or no limit, which is spelt "max"
        limits.append(int(CONTAINER.read_text(encoding="utf-8")))
    return float(min(limits))


def bytes_of(tree: Any) -> int:
    """Add up the bytes of a tree of arrays, or of their shapes."""
    leaves = (leaf for leaf in jax.tree.leaves(tree) if hasattr(leaf, "dtype"))
    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves)
