"""epL2RL with perfect retrieval: it is handed the newest state that its own context stored.

In a new context it gets nothing, where the paper's agent gets a stranger's state. What it still
loses is lost in using what comes back; what epL2RL loses against it, in retrieving.
"""

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

from reinstate.agent import Agent, Network, Wiring
from reinstate.memory import DND, Found, Memory
from reinstate.tasks.base import World

SAME = 0.5  # distance: numbers of other contexts lie 1 or more apart


class Oracle(Agent):
    """The paper's agent, whose memory goes by which context it is."""

    told_contexts = True

    def __init__(self, world: World, network: Network, *, key: Array) -> None:
        super().__init__(world, Wiring("", route="gate"), network, key=key)

    def recall(self, found: Found) -> Array:
        """Return the own context's state, or zeros."""
        return jnp.where(found.distances[0] < SAME, found.value, 0.0)


@dataclass(frozen=True)
class OracleMaker:
    """Makes agents with perfect retrieval."""

    summary: str
    label: str
    colour: str
    remembers = True

    def memory_for(self, memory: Memory, world: World, network: Network) -> Memory:
        """Return a dictionary by number, with room for all contexts of an epoch."""
        writes = world.episodes_per_epoch * world.writes_per_episode
        return DND(capacity=writes, distance="euclidean")

    def __call__(self, world: World, network: Network, *, key: Array) -> Oracle:
        """Make an agent."""
        return Oracle(world, network, key=key)
