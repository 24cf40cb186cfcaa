"""The paper's agent with perfect retrieval, to tell apart what is lost in retrieving and in use."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import Array

from reinstate.agent import Agent, Maker, Network, Wiring
from reinstate.memory import DND, Memory
from reinstate.tasks.base import World

SAME = 0.5  # distance: numbers of other contexts lie 1 or more apart


@dataclass(frozen=True)
class ByNumber:
    """A world that shows the numbers of contexts in place of what they look like."""

    world: World

    def __getattr__(self, name: str) -> Any:
        return getattr(self.world, name)

    def contexts(self, task: Any) -> Array:
        shown = self.world.contexts(task)
        ids = self.world.context_ids(task).astype(shown.dtype)
        return jnp.broadcast_to(1 + ids[:, None], shown.shape)


class Oracle(Agent):
    """The paper's agent with perfect retrieval: its memory goes by which context it is.

    It gets the newest state that its own context stored, and nothing in a new context, where the
    paper's agent gets another context's state. What it still loses is lost in using what comes
    back; what epL2RL loses against it, in retrieving.
    """

    def __init__(self, world: World, network: Network, *, key: Array) -> None:
        super().__init__(world, Wiring("", route="gate"), network, key=key)

    def view(self, world: World) -> World:
        """Show numbers: of what it is shown, the agent sees no context, only the memory does."""
        shown: Any = ByNumber(world)
        return shown

    def read(
        self, memory: Memory, contents: Any, context: Array, state: Any
    ) -> tuple[Any, Any, Any]:
        """Recall the state of the current context, or zeros."""
        found, contents = memory.read(contents, context)
        return jnp.where(found.distances[0] < SAME, found.value, 0.0), found, contents


@dataclass(frozen=True)
class OracleMaker(Maker):
    """Makes agents with perfect retrieval."""

    def memory_for(self, memory: Memory, world: World, network: Network) -> Memory:
        """Return a dictionary by number, with room for all contexts of an epoch."""
        writes = world.episodes_per_epoch * world.writes_per_episode
        return DND(capacity=writes, distance="euclidean")

    def __call__(self, world: World, network: Network, *, key: Array) -> Oracle:
        """Make an agent."""
        return Oracle(world, network, key=key)
