"""The paper's agents at another size, and with perfect retrieval.

Those of a size of their own stand beside rivals that have one. The oracle is epL2RL that is handed
the newest state that its own context stored. In a new context it gets nothing, where the paper's
agent gets another context's state. What it still loses is lost in using what comes back; what
epL2RL loses against it, in retrieving.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import jax.numpy as jnp
from jax import Array

from reinstate.agent import Agent, Maker, Network, Wiring
from reinstate.memory import DND, Memory
from reinstate.tasks.base import World


@dataclass(frozen=True)
class ReinstatingMaker(Maker):
    """Makes agents that reinstate, whatever width the experiment's network has."""

    wiring: Wiring = field(kw_only=True)
    hidden_size: int = field(kw_only=True)

    def memory_for(self, memory: Memory, world: World, network: Network) -> Memory:
        """Return the memory that such agents have, given the experiment's."""
        return self.wiring.memory_for(memory, world, network)

    def __call__(self, world: World, network: Network, *, key: Array) -> Agent:
        """Make an agent."""
        return self.wiring(world, replace(network, hidden_size=self.hidden_size), key=key)


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
    """The paper's agent, whose memory goes by which context it is."""

    def __init__(self, world: World, network: Network, *, key: Array) -> None:
        super().__init__(world, Wiring("", route="gate"), network, key=key)

    def view(self, world: World) -> World:
        """Show numbers: of what it is shown, the agent sees no context, only the memory does."""
        shown: Any = ByNumber(world)
        return shown

    def read(
        self, memory: Memory, contents: Any, context: Array, state: Any
    ) -> tuple[Any, Any, Any]:
        """Recall the own context's state, or zeros."""
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
