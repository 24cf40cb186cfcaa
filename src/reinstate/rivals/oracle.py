"""epL2RL with perfect retrieval: it is handed the newest state that its own context stored.

In a new context it gets nothing, where the paper's agent gets a stranger's state. What it still
loses is lost in using what comes back; what epL2RL loses against it, in retrieving.
"""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from reinstate.agent import Agent, Decision, Network, Wiring
from reinstate.cell import LSTMState
from reinstate.memory import DND, Found, Memory
from reinstate.tasks.base import World

SAME = 0.5  # distance: numbers of other contexts lie 1 or more apart


class Oracle(eqx.Module):
    """The paper's agent, whose memory goes by which context it is."""

    agent: Agent

    remembers, outlives_episodes, told_contexts = True, False, True

    @property
    def value_size(self) -> int:
        """The size of a cell state."""
        return self.agent.value_size

    def recall(self, found: Found) -> Array:
        """Return the own context's state, or zeros."""
        return jnp.where(found.distances[0] < SAME, found.value, 0.0)

    def initial_state(self) -> LSTMState:
        """Return the agent's."""
        return self.agent.initial_state()

    def to_store(self, state: LSTMState) -> Array:
        """Return what the agent stores."""
        return self.agent.to_store(state)

    def __call__(
        self,
        features: Array,
        context: Array,
        last_action: Array,
        last_reward: Array,
        c_ep: Array,
        state: LSTMState,
    ) -> tuple[LSTMState, Decision]:
        """Take the agent's step."""
        return self.agent(features, context, last_action, last_reward, c_ep, state)


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

    def __call__(self, world: World, network: Network, *, key: Array) -> Any:
        """Make an agent."""
        return Oracle(Agent(world, Wiring(self.summary, route="gate"), network, key=key))
