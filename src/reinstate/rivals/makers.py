"""What the names of rivals stand for.

Those named after their kind alone have as many weights as epL2RL, or nearly; the others have a
width of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import jax.numpy as jnp
from jax import Array

from reinstate.agent import Agent, Maker, Network, Wiring
from reinstate.memory import DND, Memory
from reinstate.rivals.deltanet import DeltaNetMaker
from reinstate.rivals.hcam import HCAMMaker
from reinstate.rivals.recurrent import LRUMaker, RecurrentMaker
from reinstate.rivals.transformer import TransformerMaker
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


EQUAL: Mapping[str, Maker] = {
    "epl2rl-oracle": OracleMaker(
        "episodic LSTM handed its own context's newest state: no error of retrieval",
        "epL2RL, oracle recall",
        "#17697A",
    ),
    "lstm-epoch": RecurrentMaker(
        "LSTM that sees the context and is carried through the epoch", "LSTM, epoch", "#B3541E"
    ),
    "gru-epoch": RecurrentMaker(
        "GRU that sees the context and is carried through the epoch",
        "GRU, epoch",
        "#8C6D1F",
        cell="gru",
    ),
    "lru": LRUMaker("linear recurrent units, 2 layers, through the epoch", "LRU", "#5B7F2B"),
    "deltanet": DeltaNetMaker(
        "matrix states written by the delta rule, 2 layers, through the epoch",
        "DeltaNet",
        "#B0307A",
    ),
    "transformer": TransformerMaker(
        "causal transformer over the whole epoch, 2 layers, 4 heads", "Transformer", "#6A3FA0"
    ),
    "hcam": HCAMMaker(
        "attention to the 4 earlier episodes that matter most (HCAM)", "HCAM", "#3B5BA9"
    ),
}

# Wide enough to tell whether size is what an agent lacks, and small enough for a CPU.
MEDIUM: Mapping[str, Maker] = {
    "epl2rl-110": ReinstatingMaker(
        "epl2rl of 110 units",
        "epL2RL, 110",
        "#00507D",
        wiring=Wiring("", route="gate"),
        hidden_size=110,
    ),
    "epl2rl-recognition-110": ReinstatingMaker(
        "epl2rl-recognition of 110 units",
        "epL2RL+Recognition, 110",
        "#C26A00",
        wiring=Wiring("", route="gate", recognises=True),
        hidden_size=110,
    ),
    "deltanet-64": DeltaNetMaker("deltanet of width 64", "DeltaNet, 64", "#922763", width=64),
    "transformer-64": TransformerMaker(
        "transformer of width 64", "Transformer, 64", "#573287", width=64
    ),
    "gru-epoch-128": RecurrentMaker(
        "gru-epoch of 128 units", "GRU, epoch, 128", "#755B19", width=128, cell="gru"
    ),
}

WIDE: Mapping[str, Maker] = {
    "lstm-epoch-256": RecurrentMaker(
        "lstm-epoch of 256 units", "LSTM, epoch, 256", "#7A3412", width=256
    ),
    "gru-epoch-256": RecurrentMaker(
        "gru-epoch of 256 units", "GRU, epoch, 256", "#5E4813", width=256, cell="gru"
    ),
    "lru-128": LRUMaker("lru of width 128", "LRU, 128", "#3A541A", width=128),
    "deltanet-128": DeltaNetMaker("deltanet of width 128", "DeltaNet, 128", "#741D50", width=128),
    "transformer-128": TransformerMaker(
        "transformer of width 128", "Transformer, 128", "#43246B", width=128
    ),
    "hcam-128": HCAMMaker("hcam of width 128", "HCAM, 128", "#243A70", width=128),
}

RIVALS: Mapping[str, Maker] = {**EQUAL, **MEDIUM, **WIDE}
