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
    compress: int = 0
    """As inputs: a linear layer makes this many of the retrieved state; 0 gives it as it is."""


INPUT_SIZES = (2, 4, 8, 16)  # of the compressed variants: the paper says that below 5 some learn

AGENTS = {
    "l2rl": Wiring("LSTM that sees its last action and reward (Wang et al. 2016); no memory"),
    "l2rl-context": Wiring("L2RL with the context as another input; no memory", sees_context=True),
    "epl2rl": Wiring("episodic LSTM: retrieved states come back through the r-gate", recall="gate"),
    "epl2rl-input": Wiring(
        "retrieved states as inputs: the variant that the paper rejects", recall="input"
    ),
    **{
        f"epl2rl-input-{size}": Wiring(
            f"the same, compressed to {size} inputs by a linear layer",
            recall="input",
            compress=size,
        )
        for size in INPUT_SIZES
    },
}


@dataclass(frozen=True)
class Network:
    """The network's settings, the same for every agent of an experiment."""

    hidden_size: int = 50
    """Width of the LSTM."""
    forget_bias: float = 1.0
    """Initial bias of the forget gate."""
    learned_start: bool = False
    """Whether the state in which an episode starts is learned (Wang et al. 2018) or zero."""
    feedback: Literal["separate", "joint"] = "separate"
    """How the last action and reward enter: each by itself, or their product as well."""
    reset: Literal["episode", "epoch"] = "episode"
    """When the LSTM starts afresh: with every episode (the paper) or with every epoch."""

    def __post_init__(self) -> None:
        require_positive(hidden_size=self.hidden_size)
        if self.feedback not in ("separate", "joint"):
            raise UserError(f"unknown feedback {self.feedback!r}: choose separate or joint")
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
    joint_feedback: bool = eqx.field(static=True)

    def __init__(self, world: World, wiring: Wiring, network: Network, *, key: Array) -> None:
        self.wiring = wiring
        self.num_actions = world.num_actions
        self.outlives_episodes = network.reset == "epoch"
        self.joint_feedback = network.feedback == "joint"
        cell_key, head_key, shrink_key = jax.random.split(key, 3)
        hidden = network.hidden_size
        size = world.observation_size + world.num_actions + 1
        size += world.num_actions if self.joint_feedback else 0
        size += world.context_size if wiring.sees_context else 0
        self.shrink = None
        if wiring.recall == "input":
            size += wiring.compress or hidden
            if wiring.compress:
                self.shrink = eqx.nn.Linear(hidden, wiring.compress, key=shrink_key)
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
        action = jax.nn.one_hot(last_action, self.num_actions)
        x = [features, action, last_reward[None]]
        if self.joint_feedback:
            # Whether to favour what was chosen depends on both at once, which a sum cannot tell.
            x.append(last_reward * action)
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
