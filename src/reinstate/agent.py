"""Agents: what the LSTM sees, the cell, policy and value heads; the paper's agents by name."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from reinstate.cell import EpisodicLSTMCell, Gates, LSTMState
from reinstate.errors import UserError, nearest, require_positive
from reinstate.tasks.base import World

LARGEST_STORED = 1e6  # far beyond where tanh(c) is ±1: behaviour does not change


@dataclass(frozen=True)
class Wiring:
    """What makes one agent differ from another; everything else they share."""

    summary: str
    sees_context: bool = False
    """Whether the context is an input of the LSTM."""
    recall: Literal["none", "gate", "input"] = "none"
    """How a retrieved state enters: not at all, through the r-gate, or as further inputs."""


AGENTS = {
    "l2rl": Wiring("LSTM that sees its last action and reward (Wang et al. 2016); no memory"),
    "l2rl-context": Wiring("L2RL with the context as another input; no memory", sees_context=True),
    "epl2rl": Wiring("episodic LSTM: retrieved states come back through the r-gate", recall="gate"),
    "epl2rl-input": Wiring(
        "retrieved states as inputs: the variant that the paper rejects", recall="input"
    ),
}


@dataclass(frozen=True)
class Network:
    """The network's settings, the same for every agent of an experiment."""

    hidden_size: int = 50
    """Width of the LSTM."""
    compress: int = 0
    """epl2rl-input alone: a linear layer shrinks the retrieved state to this size; 0: none."""
    forget_bias: float = 1.0
    """Initial bias of the forget gate."""
    learned_start: bool = False
    """Whether the state in which an episode starts is learned (Wang et al. 2018) or zero."""
    reset: Literal["episode", "epoch"] = "episode"
    """When the LSTM starts afresh: with every episode (the paper) or with every epoch."""

    def __post_init__(self) -> None:
        require_positive(hidden_size=self.hidden_size)
        if self.compress < 0:
            raise UserError(f"compress must be 0 (off) or a size, not {self.compress}")
        if self.reset not in ("episode", "epoch"):
            raise UserError(f"unknown reset {self.reset!r}: choose episode or epoch")


class Decision(NamedTuple):
    logits: Array  # (num_actions,)
    value: Array  # ()
    gates: Gates


class Agent(eqx.Module):
    """An LSTM agent. It does not know which task it plays, nor who resets it."""

    cell: EpisodicLSTMCell
    head: eqx.nn.Linear  # policy logits and, last, the value
    shrink: eqx.nn.Linear | None
    start: LSTMState | None
    wiring: Wiring = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)
    outlives_episodes: bool = eqx.field(static=True)  # whether its state does

    def __init__(self, world: World, wiring: Wiring, network: Network, *, key: Array) -> None:
        self.wiring = wiring
        self.num_actions = world.num_actions
        self.outlives_episodes = network.reset == "epoch"
        cell_key, head_key, shrink_key = jax.random.split(key, 3)
        hidden = network.hidden_size
        size = world.observation_size + world.num_actions + 1
        size += world.context_size if wiring.sees_context else 0
        self.shrink = None
        if wiring.recall == "input":
            size += network.compress or hidden
            if network.compress:
                self.shrink = eqx.nn.Linear(hidden, network.compress, key=shrink_key)
        self.cell = EpisodicLSTMCell(
            size,
            hidden,
            episodic=wiring.recall == "gate",
            forget_bias=network.forget_bias,
            key=cell_key,
        )
        self.head = eqx.nn.Linear(hidden, world.num_actions + 1, key=head_key)
        self.start = self.cell.initial_state() if network.learned_start else None

    @property
    def remembers(self) -> bool:
        """Whether it has an episodic memory."""
        return self.wiring.recall != "none"

    @property
    def value_size(self) -> int:
        return self.cell.hidden_size

    def to_store(self, state: LSTMState) -> Array:
        """What the memory keeps of a state: the paper stores c, not h.

        c_ep is added on every step of an exposure and stored again at its end, so that c can grow
        by a factor with each: nearly twofold at initialisation. In the paper's ten exposures
        that is nothing; in hundreds it would leave the floating-point numbers.
        """
        return jnp.clip(state.c, -LARGEST_STORED, LARGEST_STORED)

    def initial_state(self) -> LSTMState:
        return self.cell.initial_state() if self.start is None else self.start

    def __call__(
        self,
        features: Array,
        context: Array,
        last_action: Array,
        last_reward: Array,
        c_ep: Array,
        state: LSTMState,
    ) -> tuple[LSTMState, Decision]:
        """One step. An action of −1 means that there was none yet: its one-hot is all zero."""
        x = [features, jax.nn.one_hot(last_action, self.num_actions), last_reward[None]]
        if self.wiring.sees_context:
            x.append(context)
        if self.wiring.recall == "input":
            x.append(c_ep if self.shrink is None else self.shrink(c_ep))
        state, gates = self.cell(jnp.concatenate(x), state, c_ep)
        out = self.head(state.h)
        return state, Decision(out[:-1], out[-1], gates)


def make_agent(name: str, world: World, network: Network, *, key: Array) -> Agent:
    if name not in AGENTS:
        raise UserError(nearest("agent", name, AGENTS))
    return Agent(world, AGENTS[name], network, key=key)
