"""Frozen weights, fresh keys → a Record of every step."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
from jax import Array

from reinstate.cell import Gates
from reinstate.errors import require_positive
from reinstate.memory import DND
from reinstate.rollout import Player, new_lives, play
from reinstate.tasks.base import World


@dataclass(frozen=True)
class Evaluation:
    """How trained agents are judged."""

    epochs: int = 100
    """Epochs that each seed's agent plays with frozen weights."""
    seed: int = 1_000_000
    """Where the evaluation's own random numbers start: no training seed may equal it."""

    def __post_init__(self) -> None:
        require_positive(epochs=self.epochs)


class Arena(NamedTuple):
    """Where agents are judged, and with what memory."""

    world: World
    memory: DND
    recall: float = 1.0
    """How much of what the memory retrieves comes back: at 0 it is as if it were cleared."""


class Record(NamedTuple):
    """Every step of an evaluation. A leading axis of seeds is added by mapping over them."""

    context_id: Array  # (epochs, episodes)
    exposure: Array  # (epochs, episodes) how often the context was met before
    action: Array  # (epochs, episodes, steps)
    reward: Array  # (epochs, episodes, steps)
    expected_reward: Array  # (epochs, episodes, steps) of the action taken
    best_expected_reward: Array  # (epochs, episodes, steps)
    gates: Gates  # each (epochs, episodes, steps), the mean over units
    outcome_gates: Gates  # each (epochs, episodes), at the step that sees the last reward
    distance: Array  # (epochs, episodes, steps) to the nearest key; infinite in an empty memory
    retrieved: Array  # (epochs, episodes, steps) the episode whose state came back; −1: none
    trace: Any  # what the world tells of each step, as arrays of (epochs, episodes, steps, …)


def evaluate(world: World, agent: Player, dnd: DND, settings: Evaluation, seed: Array) -> Record:
    return evaluate_in(Arena(world, dnd), agent, settings, seed)


def evaluate_in(arena: Arena, agent: Player, settings: Evaluation, seed: Array) -> Record:
    """Let one agent play. Each epoch runs in a lane of its own, from an empty memory."""
    world, dnd, recall = arena
    key = jax.random.fold_in(jax.random.key(settings.seed), seed)
    task_key, play_key = jax.random.split(key)
    tasks: Any = jax.vmap(world.sample_epoch)(jax.random.split(task_key, settings.epochs))
    keys = jax.random.split(play_key, settings.epochs)
    life = new_lives(world, agent, dnd, settings.epochs)
    run = partial(play, world, agent, dnd, recall=recall)
    _, (steps, outcome_gates) = jax.vmap(run)(life, tasks, keys)
    return Record(
        tasks.context_id,
        tasks.exposure,
        steps.action,
        steps.reward,
        steps.expected_reward,
        steps.best_expected_reward,
        steps.gates,
        outcome_gates,
        steps.distance,
        steps.retrieved,
        steps.trace,
    )
