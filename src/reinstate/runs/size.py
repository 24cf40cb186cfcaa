"""How much memory settings need: what cannot fit is refused before anything is compiled.

Sizes are rough, and rather too small. They are here because a kernel that runs out of memory ends a
process without a word.
"""

import math
import os
from contextlib import suppress
from typing import Any

import jax
import jax.numpy as jnp

from reinstate.agent import AgentKind
from reinstate.errors import UserError
from reinstate.rollout import start_epoch
from reinstate.settings import Settings

PROGRAM = 400_000_000  # bytes of Python, JAX and its compiler
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
    start = jax.eval_shape(
        lambda params: start_epoch(learner.world, learner.agent(params), learner.memory),
        state.params,
    )
    lane = bytes_of(start) + 2 * bytes_of(jax.eval_shape(task.sample_epoch, state.key))
    steps = how.episodes_per_update * task.episode_length
    kept = how.lanes * (lane + KEPT * settings.network.hidden_size * steps)
    record = RECORDED * task.episodes_per_epoch * task.episode_length
    require_fits(settings.seeds * candidates * (3 * bytes_of(state) + kept) * trained)
    require_fits(settings.seeds * settings.evaluation.epochs * (lane + record) * evaluated)


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
    with suppress(AttributeError, ValueError, OSError):  # not a POSIX system
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return math.inf


def bytes_of(tree: Any) -> int:
    """Add up the bytes of a tree of arrays, or of their shapes."""
    leaves = (leaf for leaf in jax.tree.leaves(tree) if hasattr(leaf, "dtype"))
    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves)
