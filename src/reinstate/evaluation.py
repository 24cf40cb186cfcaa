"""Frozen weights, fresh keys → a Record of every step."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from reinstate.errors import require_positive
from reinstate.memory import Memory
from reinstate.player import Player
from reinstate.rollout import Options, Report, play, start_lanes
from reinstate.tasks.base import World


@dataclass(frozen=True)
class Evaluation:
    """How trained agents are evaluated."""

    epochs: int = 100
    """Epochs that each seed's agent plays with frozen weights."""
    seed: int = 1_000_000
    """Where the evaluation's own random numbers start: no training seed may equal it."""

    def __post_init__(self) -> None:
        require_positive(epochs=self.epochs)


class Condition(NamedTuple):
    """The condition under which agents are evaluated: a world and a memory."""

    world: World
    memory: Memory
    recall: float = 1.0
    """How much of what the memory retrieves comes back; 0 is as if it had been cleared."""


class Record(NamedTuple):
    """Every step of an evaluation. A leading axis of seeds is added by mapping over them."""

    context_id: Array  # (epochs, episodes)
    exposure: Array  # (epochs, episodes) how often the context was met before
    action: Array  # (epochs, episodes, steps)
    reward: Array  # (epochs, episodes, steps)
    expected_reward: Array  # (epochs, episodes, steps) of the action taken
    best_expected_reward: Array  # (epochs, episodes, steps)
    report: dict[str, Array]  # what the agent reports (its gates), each (epochs, episodes, steps)
    outcome: dict[str, Array]  # the same at the step that sees the last reward, (epochs, episodes)
    distance: Array  # (epochs, episodes, steps) to the nearest key; infinite in an empty memory
    retrieved: Array  # (epochs, episodes, steps) the episode whose state came back; −1: none
    trace: Any  # what the world tells of each step, as arrays of (epochs, episodes, steps, …)
    filled: Any = None  # (epochs, episodes) the memory's entries at the epoch's end; −1: unknown
    played: Any = None  # (epochs, episodes, steps) false after an early end; None: none ends early


def evaluate(
    world: World, player: Player, memory: Memory, settings: Evaluation, seed: Array
) -> Record:
    """Let one player play a world, with this memory."""
    return evaluate_in(Condition(world, memory), player, settings, seed)


def evaluate_in(
    condition: Condition,
    player: Player,
    settings: Evaluation,
    seed: Array,
    report: Report | None = None,
) -> Record:
    """Let one player play fresh epochs of the condition's world."""
    return evaluate_on(condition, player, *fresh_epochs(condition.world, settings, seed), report)


def fresh_epochs(world: World, settings: Evaluation, seed: Array) -> tuple[Any, Array]:
    """Draw the epochs that a seed's agent is evaluated in, (epochs, …), and a key for each."""
    key = jax.random.fold_in(jax.random.key(settings.seed), seed)
    task_key, play_key = jax.random.split(key)
    tasks: Any = jax.vmap(world.sample_epoch)(jax.random.split(task_key, settings.epochs))
    return tasks, jax.random.split(play_key, settings.epochs)


def evaluate_on(
    condition: Condition, player: Player, tasks: Any, keys: Array, report: Report | None = None
) -> Record:
    """Let one player play these epochs, each in its own lane, from an empty memory.

    With `report`, that is recorded in place of what the player reports.
    """
    world, memory, recall = condition
    start = start_lanes(world, player, memory, keys.shape[0])
    run = partial(play, world, player, memory, options=Options(recall=recall, report=report))
    after, (steps, outcome, *_) = jax.vmap(run)(start, tasks, keys)
    filled = jax.vmap(memory.filled)(after.memory)
    return Record(
        tasks.context_id,
        tasks.exposure,
        steps.action,
        steps.reward,
        steps.expected_reward,
        steps.best_expected_reward,
        steps.report,
        outcome,
        steps.distance,
        steps.retrieved,
        steps.trace,
        jnp.broadcast_to(filled[:, None], tasks.exposure.shape),
        steps.played,
    )
