"""Where the time of training goes: an epoch with and without its parts, one beside the other.

    tasks      the epoch's tasks are drawn
    chance     random numbers for actions and outcomes are drawn
    memory     playing, less playing with a memory that holds nothing
    playing    the rest of a pass without gradients: the network, actions, outcomes
    backward   training without an optimiser, less tasks and a pass without gradients
    optimiser  training, less training without an optimiser

A compiler mixes what it compiles together, so that such differences are estimates; one that comes
out below zero counts as zero.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from reinstate import draws
from reinstate.bench.cases import Case, Program, Shelf
from reinstate.bench.timing import compile_timed, rounded
from reinstate.devices import over_seeds
from reinstate.learner import Learner
from reinstate.memory import Memory
from reinstate.rollout import play, start_lanes
from reinstate.settings import Settings

PARTS = ("tasks", "chance", "memory", "playing", "backward", "optimiser")


class Nothing(NamedTuple):
    """What an empty memory finds."""

    value: Array
    distances: Array
    written: Array


class NoMemory(Memory):
    """A memory that holds nothing and costs nothing; agents with one play as ever."""

    def empty(self, key_size: int, value_size: int) -> Any:
        """Return zeros to be found."""
        return jnp.zeros(value_size)

    def write(self, contents: Any, key: Array, value: Array) -> Any:
        """Forget it."""
        return contents

    def read(self, contents: Any, query: Array) -> tuple[Nothing, Any]:
        """Find nothing."""
        nothing = jnp.full(1, jnp.inf), jnp.zeros(1, jnp.int32)
        return Nothing(contents, *nothing), contents


def programs(case: Case, shelf: Shelf) -> dict[str, Program]:
    """Compile training, and less and less of it."""
    settings = case.settings
    learner, plain = (settings.make_learner(case.agent) for _ in range(2))
    plain.optimizer = optax.set_to_zero()
    seeds = jnp.array(settings.seed_range)
    state = over_seeds(plain.init, settings.seeds)(seeds)
    keys = over_seeds(jax.random.key, settings.seeds)(seeds)

    def compiled(function: Any, *arguments: Any) -> Program:
        found = compile_timed(over_seeds(function, settings.seeds), *arguments)
        return Program(found, arguments, learner.steps_per_epoch * settings.seeds)

    return {
        "training": shelf.get("train", case),
        "without optimiser": compiled(plain.train_epoch, state),
        "playing": compiled(partial(_playing, learner, learner.memory), state.params, keys),
        "without memory": compiled(partial(_playing, learner, NoMemory()), state.params, keys),
        "tasks": compiled(partial(_drawing, learner), keys),
        "chance": compiled(partial(_chance, settings), keys),
    }


def _drawing(learner: Learner, key: Array) -> Any:
    """Draw the tasks of one epoch, as training does."""
    sample = partial(learner.world.sample_training_epoch, progress=jnp.zeros(()))
    return jax.vmap(sample, out_axes=1)(jax.random.split(key, learner.settings.lanes))


def _playing(learner: Learner, memory: Memory, params: Any, key: Array) -> Any:
    """Play one epoch without gradients; all that is returned is what an update would start from."""
    task_key, play_key = jax.random.split(key)
    lanes, world, agent = learner.settings.lanes, learner.world, learner.agent(params)
    run = partial(play, world, agent, memory, unroll=learner.settings.unroll)
    start = start_lanes(world, agent, memory, lanes)
    tasks = _drawing(learner, task_key)
    keys = jax.random.split(play_key, lanes)
    after, played = jax.vmap(run, in_axes=(0, 1, 0))(start, tasks, keys)
    steps = played.steps
    return after, steps.logits, steps.value, steps.action, steps.reward


def _chance(settings: Settings, key: Array) -> Any:
    """Draw the random numbers of one epoch's steps; sums alone are kept."""
    task = settings.task
    shape = task.episodes_per_epoch, settings.learner.lanes

    def episode(key: Array) -> Any:
        action_key, steps_key = jax.random.split(key)
        gumbel = draws.gumbel(action_key, task.episode_length, task.num_actions)
        keys = draws.split(steps_key, task.episode_length)
        uniform = jax.vmap(partial(jax.random.uniform, dtype=jnp.float32))(keys)
        return jnp.max(gumbel), jnp.max(uniform)

    return jax.lax.map(jax.vmap(episode), jax.random.split(key, shape))


def shares(seconds: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    """Return each part's seconds per epoch and its share of all, medians over rounds."""
    rounds = [dict(zip(seconds, each, strict=True)) for each in zip(*seconds.values(), strict=True)]
    found = {part: max(0.0, median(_part(part, times) for times in rounds)) for part in PARTS}
    whole = sum(found.values())
    return [
        {"part": part, "seconds": rounded(value), "share": rounded(value / whole, 3)}
        for part, value in found.items()
    ]


def _part(name: str, times: Mapping[str, float]) -> float:
    memory = times["playing"] - times["without memory"]
    return {
        "tasks": times["tasks"],
        "chance": times["chance"],
        "memory": memory,
        "playing": times["playing"] - memory - times["tasks"] - times["chance"],
        "backward": times["without optimiser"] - times["playing"],
        "optimiser": times["training"] - times["without optimiser"],
    }[name]
