"""An agent that learns what to look its memories up by, and its controls on the same machinery."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from reinstate.agent import Agent, Maker, Network, Wiring
from reinstate.memory import Memory
from reinstate.memory.keys import CUES, Lookup
from reinstate.rivals.oracle import ByNumber
from reinstate.tasks.base import World

Compared = Literal["learned", "raw", "told"]


class ByIdentity(ByNumber):
    """A world whose contexts are told apart at once: a unit vector for each.

    They are orthogonal for as many contexts as there are dimensions, and random from there on.
    """

    def contexts(self, task: Any) -> Array:
        size, ids = self.world.context_size, self.world.context_ids(task)
        keys = jax.vmap(jax.random.fold_in, (None, 0))(jax.random.key(0), ids)
        others = jax.vmap(lambda key: jax.random.normal(key, (size,), jnp.float32))(keys)
        own = jax.nn.one_hot(ids, size, dtype=jnp.float32)
        return jnp.where(ids[:, None] < size, own, others)


class KeysAgent(Agent):
    """The paper's agent, whose memory is read by learned keys, on the first step of an episode."""

    compared: Compared = eqx.field(static=True)

    def __init__(self, world: World, compared: Compared, network: Network, *, key: Array) -> None:
        own, key = jax.random.split(key)
        wiring = Wiring("", route="gate", recognises=True)
        super().__init__(world, wiring, replace(network, recognition=CUES), key=key)
        self.compared = compared
        middle = 0.0 if compared == "told" else sum(world.bounds().context) / 2
        asked = world.context_size, compared == "learned", middle
        self.recognizer = Lookup(network.keys, *asked, key=own)

    def view(self, world: World) -> World:
        """Show contexts as they are or, if it is told which they are, by their identity."""
        shown: Any = ByIdentity(world) if self.compared == "told" else world
        return shown

    def read(
        self, memory: Memory, contents: Any, context: Array, state: Any
    ) -> tuple[Any, Any, Any]:
        """Recall what is stored under the keys nearest to the context's."""
        lookup: Any = self.recognizer
        found, contents = lookup.read(memory, contents, context)
        return lookup(found), found, contents


@dataclass(frozen=True)
class KeysMaker(Maker):
    """Makes agents whose memory is read softly: by learned keys, by contexts, or by identity."""

    compared: Compared = "learned"
    """What is compared: embeddings that are learned, contexts as they are, or their identity."""

    def memory_for(self, memory: Memory, world: World, network: Network) -> Memory:
        """Return a dictionary that finds several entries by their cosine."""
        return network.keys.memory(memory)

    def __call__(self, world: World, network: Network, *, key: Array) -> KeysAgent:
        """Make an agent."""
        return KeysAgent(world, self.compared, network, key=key)
