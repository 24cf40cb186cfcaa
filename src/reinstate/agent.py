"""Agents: the contract of whoever plays, and the paper's LSTM agents by name.

An agent is known to the rest of the package by what it does (`Player`) and by how it is made
(`Maker`), so a GRU, an S5 or a transformer is as welcome as the paper's LSTM.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from reinstate import through_time
from reinstate.cell import EpisodicLSTMCell, LSTMState
from reinstate.errors import UserError, require_choices, require_finite, require_positive
from reinstate.memory import Found, Memory
from reinstate.memory.recognition import Recognition, Recognizer
from reinstate.registry import Registry
from reinstate.tasks.base import World
from reinstate.through_time import kernel

LARGEST_STORED = 1e6  # far beyond where tanh(c) is ±1; `Agent.to_store` says what it is for
INPUT_SIZES = (2, 4, 8, 16)  # of the compressed variants: the paper says that below 5 some learn


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
    """When the LSTM is reset: with every episode (the paper) or with every epoch."""
    reinstated: Literal["every-step", "first-step"] = "every-step"
    """When a retrieved state comes back: on every step (the paper), so that it is added again and
    again, or on the first step of an episode alone."""
    stored: Literal["raw", "tanh", "rms"] = "raw"
    """What is stored of a cell state c: c itself (the paper), cut off at ±1e6; tanh(c), which keeps
    signs and loses sizes beyond 1; or c scaled down to a root mean square of 1 where it has more,
    which keeps the units' proportions."""
    recognition: Recognition = field(default_factory=Recognition)

    def __post_init__(self) -> None:
        require_positive(hidden_size=self.hidden_size)
        require_finite(forget_bias=self.forget_bias)
        require_choices(self)


class Decision(NamedTuple):
    """What a player does on one step."""

    logits: Array  # (num_actions,) actions are drawn from their softmax
    value: Array  # () the reward it expects from here on; only learners look at it
    report: Mapping[str, Array] = {}  # to be recorded by name, such as gates


class Inputs(NamedTuple):
    """What a player is shown on one step, besides what its memory returns."""

    features: Array  # (observation_size,)
    context: Array  # (context_size,)
    last_action: Array  # () −1 on the first step of an episode
    last_reward: Array  # ()


class Player(Protocol):
    """Whoever can play: an agent, a bandit algorithm, a program of yours.

    It may also have `recall(found)`, which turns what the memory found into what it wants to have
    of it, any tree of arrays, in place of c_ep; and `recalls_once`: if true, that comes back only
    on the step that first shows its context in an episode, and zeros on later ones. If
    `told_contexts` is true, its memory is keyed by which context it is, not by how it looks. With
    `unroll`, or with `retrace` and a true `retraces`, it learns as `reinstate.recompute` says.
    """

    @property
    def remembers(self) -> bool:
        """Whether it reads and writes the memory."""

    @property
    def outlives_episodes(self) -> bool:
        """Whether its state is carried through an epoch; if not, every episode resets it."""

    @property
    def value_size(self) -> int:
        """The size of what it stores."""

    def initial_state(self) -> Any:
        """Return the state in which an episode starts, any tree of arrays."""

    def to_store(self, state: Any) -> Array:
        """Return what the memory keeps of a state, (value_size,)."""

    def __call__(
        self,
        features: Array,
        context: Array,
        last_action: Array,
        last_reward: Array,
        c_ep: Array,
        state: Any,
    ) -> tuple[Any, Decision]:
        """Take one step: return the new state, and what to do.

        `c_ep` is what the memory returned for the context on show. On the first step of an episode
        `last_action` is −1: there was none yet.
        """


class Maker(Protocol):
    """A way to make an agent: what the registry of agents holds.

    It may have the attributes `summary`, `label` and `colour`, for lists, tables and figures, and
    `memory_for(memory, world, network)`, which returns the memory that its agents have in place of
    the experiment's.
    An agent to be trained is an Equinox module, or another tree of arrays.
    """

    def __call__(self, world: World, network: "Network", *, key: Array) -> Any:
        """Make a `Player` for a world, with weights drawn from the key."""


@dataclass(frozen=True)
class Wiring:
    """What makes one of the paper's agents differ from another; everything else they share."""

    summary: str
    sees_context: bool = False
    """Whether the context is an input of the LSTM."""
    route: Literal["none", "gate", "input"] = "none"
    """How a retrieved state enters: not at all, through the r-gate, or as further inputs."""
    compressed_to: int = 0
    """As inputs: a linear layer makes this many of the retrieved state; 0 gives it as it is."""
    recognises: bool = False
    """Whether it judges what comes back, as `Network.recognition` says."""

    def __post_init__(self) -> None:
        require_choices(self)
        if self.recognises and self.route != "gate":
            raise UserError(
                f"an agent that recognises needs the route 'gate', not {self.route!r}: what it"
                " recalls enters through the r-gate"
            )

    @property
    def remembers(self) -> bool:
        """Whether such agents have an episodic memory."""
        return self.route != "none"

    def memory_for(self, memory: Memory, world: World, network: Network) -> Memory:
        """Return the memory that such agents have, given the experiment's."""
        return network.recognition.memory(memory, world) if self.recognises else memory

    def __call__(self, world: World, network: Network, *, key: Array) -> "Agent":
        """Make an agent."""
        return Agent(world, self, network, key=key)


class Agent(eqx.Module):
    """An LSTM agent. It does not know which task it plays, nor who resets it."""

    cell: EpisodicLSTMCell
    head: eqx.nn.Linear  # policy logits and, last, the value
    shrink: eqx.nn.Linear | None
    start: LSTMState | None
    recognizer: Recognizer | None
    wiring: Wiring = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)
    outlives_episodes: bool = eqx.field(static=True)  # whether its state does
    joint_feedback: bool = eqx.field(static=True)
    first_step_only: bool = eqx.field(static=True)  # whether retrieved states come back only then
    stored: Literal["raw", "tanh", "rms"] = eqx.field(static=True)

    told_contexts: ClassVar[bool] = False  # its memory goes by how contexts look

    def __init__(self, world: World, wiring: Wiring, network: Network, *, key: Array) -> None:
        self.wiring = wiring
        self.num_actions = world.num_actions
        self.outlives_episodes = network.reset == "epoch"
        self.joint_feedback = network.feedback == "joint"
        self.first_step_only = network.reinstated == "first-step"
        self.stored = network.stored
        cell_key, head_key, shrink_key = jax.random.split(key, 3)
        hidden = network.hidden_size
        size = world.observation_size + world.num_actions + 1
        size += world.num_actions if self.joint_feedback else 0
        size += world.context_size if wiring.sees_context else 0
        self.recognizer = Recognizer(network.recognition) if wiring.recognises else None
        size += self.recognizer.settings.num_cues if self.recognizer else 0
        self.shrink = None
        if wiring.route == "input":
            size += wiring.compressed_to or hidden
            if wiring.compressed_to:
                self.shrink = eqx.nn.Linear(hidden, wiring.compressed_to, key=shrink_key)
        self.cell = EpisodicLSTMCell(
            size,
            hidden,
            episodic=wiring.route == "gate",
            forget_bias=network.forget_bias,
            key=cell_key,
        )
        self.head = eqx.nn.Linear(hidden, world.num_actions + 1, key=head_key)
        self.start = self.cell.initial_state() if network.learned_start else None

    @property
    def remembers(self) -> bool:
        """Whether it has an episodic memory."""
        return self.wiring.remembers

    @property
    def recalls_once(self) -> bool:
        """Whether a memory comes back only when its context is first shown."""
        return self.recognizer is not None and self.recognizer.settings.once

    @property
    def value_size(self) -> int:
        """The size of a cell state."""
        return self.cell.hidden_size

    def recall(self, found: Found) -> Any:
        """Return c_ep; of an agent that recognises, a `Recollection`."""
        return found.value if self.recognizer is None else self.recognizer(found)

    def to_store(self, state: LSTMState) -> Array:
        """Return what the memory keeps of a state: the paper stores c, not h.

        c grows: c_ep is added on every step of an exposure, and the sum is stored again at its end.
        A unit whose gates stay open is multiplied with each exposure, nearly twofold at
        initialisation (r = .5, f = .73) and by up to the number of steps once trained. By the last
        exposure of barcode bandits one stored unit in six is at the clip;
        `reinstate.analysis.states` counts them.

        The clip keeps c within the floating-point numbers, and that is all. It does not keep c in
        tanh's range: far outside it h shows the sign of c alone, i ∘ c_in, at most 1 per step,
        cannot turn that sign, and tanh passes no gradient.
        """
        if self.stored == "tanh":
            return jnp.tanh(state.c)
        if self.stored == "rms":
            return state.c * jax.lax.rsqrt(jnp.maximum(jnp.mean(state.c**2), 1.0))
        return jnp.clip(state.c, -LARGEST_STORED, LARGEST_STORED)

    def initial_state(self) -> LSTMState:
        """Return zeros, or the learned start."""
        return self.cell.initial_state() if self.start is None else self.start

    def __call__(
        self,
        features: Array,
        context: Array,
        last_action: Array,
        last_reward: Array,
        c_ep: Any,
        state: LSTMState,
    ) -> tuple[LSTMState, Decision]:
        """Take one step."""
        x, c_ep = self._entering(features, context, last_action, last_reward, c_ep)
        state, gates = self.cell(x, state, c_ep)
        out = self.head(state.h)
        return state, Decision(out[:-1], out[-1], gates._asdict())

    def _entering(
        self, features: Array, context: Array, last_action: Array, last_reward: Array, c_ep: Any
    ) -> tuple[Array, Array]:
        """Return what enters the cell: its input x, and the state that is reinstated.

        The one-hot of an action of −1, where there was none yet, is all zero.
        """
        c_ep, cues = (c_ep, None) if self.recognizer is None else c_ep
        if self.first_step_only:
            c_ep = jnp.where(last_action < 0, c_ep, 0.0)
        action = jax.nn.one_hot(last_action, self.num_actions)
        x = [features, action, last_reward[None]]
        if self.joint_feedback:
            # Whether to favour what was chosen depends on both at once, which a sum cannot tell.
            x.append(last_reward * action)
        if self.wiring.sees_context:
            x.append(context)
        if cues is not None:
            x.append(cues)
        if self.wiring.route == "input":
            x.append(c_ep if self.shrink is None else self.shrink(c_ep))
        return jnp.concatenate(x), c_ep

    @property
    def retraces(self) -> bool:
        """Whether it learns by `retrace`: where there is a kernel for its cell.

        Not if there may be weights to learn in c_ep, nor if a subclass takes steps of another kind.
        """
        ways = "__call__", "_entering", "recall"
        usual = all(getattr(type(self), way) is getattr(Agent, way) for way in ways)
        usual = usual and type(self.cell) is EpisodicLSTMCell and self.recognizer is None
        return usual and kernel.serves(self.cell.hidden_size, self.cell.weight.dtype)

    def retrace(
        self, inputs: Inputs, c_ep: Array, start: LSTMState, taken: LSTMState
    ) -> tuple[Array, Array]:
        """Return logits and values of steps already taken, with their gradients.

        All are (steps, rows, …): rows are sequences, each with a state to `start` from, and `taken`
        are the states after each step.
        """
        x, c_ep = jax.vmap(jax.vmap(self._entering))(*inputs, c_ep)
        h = through_time.outputs(self.cell, x, c_ep, start, taken)
        out = jax.vmap(jax.vmap(self.head))(h)
        return out[..., :-1], out[..., -1]


AGENTS: Registry[Maker] = Registry(
    "agent",
    {
        "l2rl": Wiring("LSTM that sees its last action and reward (Wang et al. 2016); no memory"),
        "l2rl-context": Wiring(
            "L2RL with the context as another input; no memory", sees_context=True
        ),
        "epl2rl": Wiring(
            "episodic LSTM: retrieved states come back through the r-gate", route="gate"
        ),
        "epl2rl-recognition": Wiring(
            "episodic LSTM that is told how well a memory fits; beyond the paper",
            route="gate",
            recognises=True,
        ),
        "epl2rl-input": Wiring(
            "retrieved states as inputs: the variant that the paper rejects", route="input"
        ),
        **{
            f"epl2rl-input-{size}": Wiring(
                f"the same, compressed to {size} inputs by a linear layer",
                route="input",
                compressed_to=size,
            )
            for size in INPUT_SIZES
        },
    },
)


def make_agent(name: str, world: World, network: Network, *, key: Array) -> Any:
    """Make the agent that is registered under a name."""
    return AGENTS.find(name)(world, network, key=key)
