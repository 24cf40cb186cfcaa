"""The paper's agents at another size, to stand beside rivals that have a width of their own."""

from dataclasses import dataclass, field, replace

from jax import Array

from reinstate.agent import Agent, Maker, Network, Wiring
from reinstate.memory import Memory
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
