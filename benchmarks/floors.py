"""The floor of a case: what a step must compute and move, and how fast this machine could do that.

Counted from shapes, for one step of one lane that trains:

    products   forward 2·(I + H + 1)·G·H + 2·(H + 1)·(A + 1), I inputs, H units, G gates, A actions;
               backward twice that, once for the inputs and once for the weights
    units      the elementwise part of the cell, tanh counted as TANH operations; backward as much
    memory     once per episode and context, the dot products of the query with all keys
    optimiser  OPTIMISER operations per weight and update, shared by the steps of the update
    bytes      float32: what the backward pass needs is written once and read once, and the gates'
               gradients likewise; per read all keys and a value, per write a key and a value

An episode takes one step more than it has actions, which sees the last reward; nothing follows from
it but what is stored, so that it has no backward pass. Drawing tasks and random numbers, and the
world itself, are left out: this is a floor.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from cases import Case
from measuring import rounded, take_turns
from reinstate.agent import Agent
from reinstate.devices import over_seeds
from reinstate.tasks.base import World

TANH = 20  # operations of a rational approximation
PER_UNIT = 12  # products and sums of the cell's equations, for each unit
OPTIMISER = 15  # of clipping and Adam, for each weight
FLOAT = 4  # bytes
SIDE = {"cpu": 1024}  # of the matrices that are multiplied to find the peak
LARGE_SIDE = 8192  # on an accelerator
# Floats that each device passes over to find the bandwidth, and how often. On a CPU what an update
# keeps of 16 lanes fits into a core's own cache, and so does this; on an accelerator neither does.
PASSED = {"cpu": (2**17, 400)}
MANY_PASSED = (2**28, 10)


class Work(NamedTuple):
    """What one step takes, at the least."""

    flops: float
    traffic: float  # bytes


class Machine(NamedTuple):
    """What this machine does at its best."""

    flops: float  # per second, of a large float32 matrix product
    traffic: float  # bytes per second, read and written, in passes over an array

    def steps_per_second(self, work: Work) -> float:
        """Return how many such steps fit into a second: products or traffic, whichever is more."""
        return 1 / max(work.flops / self.flops, work.traffic / self.traffic)


def work_of(case: Case, train: bool = True) -> Work | None:
    """Count the work of a step; None for agents that are not ours to count."""
    settings, task = case.settings, case.settings.task
    learner = settings.make_learner(case.agent)
    agent: Any = learner.agent(jax.eval_shape(learner.init, jnp.zeros((), jnp.int32)).params)
    if not isinstance(agent, Agent):
        return None
    rows, columns = agent.cell.weight.shape  # inputs and units; gates × units
    hidden, actions, steps = agent.cell.hidden_size, task.num_actions, task.episode_length
    products = 2 * (rows + 1) * columns + 2 * (hidden + 1) * (actions + 1)
    units = (columns // hidden + 1) * hidden * TANH + PER_UNIT * hidden
    weights = (rows + 1) * columns + (hidden + 1) * (actions + 1)
    kept = rows + 1 + columns + 3 * hidden + 2 * (actions + 1)  # inputs, gates, c, tanh c, h, head
    extra = (steps + 1) / steps  # the step that sees the last reward
    search, moved = _memory(learner.memory, task, hidden) if agent.remembers else (0, 0)
    if not train:
        played = rows + 2 * hidden + actions + 1
        forward = (products + units) * extra
        return Work(forward + search / steps, FLOAT * (played * extra + moved / steps))
    update = OPTIMISER * weights / (steps * settings.learner.episodes_per_update)
    flops = products * (2 + extra) + units * (1 + extra) + search / steps
    flops += update / settings.learner.lanes
    return Work(flops, FLOAT * (2 * kept + 2 * columns + moved / steps))


def _memory(memory: Any, task: World, hidden: int) -> tuple[float, float]:
    """Count the operations, and the floats moved, of an episode's reads and writes."""

    def contexts(key: jax.Array) -> jax.Array:
        return task.contexts(jax.tree.map(lambda x: x[0], task.sample_epoch(key)))

    reads, key = jax.eval_shape(contexts, jax.random.key(0)).shape
    capacity, writes = getattr(memory, "capacity", 0), task.writes_per_episode
    moved = reads * (capacity * key + hidden) + writes * (key + hidden)
    return reads * 2 * capacity * key, moved


def measure_machine(repeats: int = 5) -> Machine:
    """Multiply large matrices, and pass over an array on all devices; the best of several counts.

    Only one device multiplies: a CPU's share all cores for that.
    """
    platform, devices = jax.default_backend(), jax.local_device_count()
    side, (size, passes) = SIDE.get(platform, LARGE_SIDE), PASSED.get(platform, MANY_PASSED)
    product = jax.jit(lambda x: jnp.matmul(x, x, precision=jax.lax.Precision.HIGHEST))
    flops = 2 * side**3 / _best(product, jnp.ones((side, side), jnp.float32), repeats)

    def passed(x: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, passes, lambda _, y: 0.5 * y + 1, x)

    x = jnp.ones((devices, size), jnp.float32)
    seconds = _best(over_seeds(passed, devices), x, repeats)
    accelerators = 1 if platform == "cpu" else devices
    moved = 2 * FLOAT * size * passes * devices / seconds
    return Machine(rounded(accelerators * flops), rounded(moved))


def _best(function: Any, argument: jax.Array, repeats: int) -> float:
    return min(take_turns({"": partial(function, argument)}, repeats)[""])


def floor_of(case: Case, machine: Machine, rate: float, train: bool = True) -> dict[str, Any]:
    """Compare a measured rate with what the machine could do; nothing for agents of others."""
    work = work_of(case, train)
    if work is None:
        return {}
    most = machine.steps_per_second(work)
    return {
        "flops_per_step": rounded(work.flops),
        "bytes_per_step": rounded(work.traffic),
        "by_flops": rounded(machine.flops / work.flops),
        "by_bytes": rounded(machine.traffic / work.traffic),
        "share": rounded(rate / most, 3),  # of what the machine could do
    }
