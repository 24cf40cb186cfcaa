"""Agents: how one is made, and the paper's LSTM agents by name.

An agent is known to the rest of the package by what it does (`reinstate.player.Player`) and by how
it is made (`Maker`), so a GRU, an S5 or a transformer is as welcome as the paper's LSTM.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from reinstate import recompute
from reinstate.cell import EpisodicLSTMCell, LSTMState
from reinstate.errors import UserError, require_choices, require_positive
from reinstate.memory import Memory
from reinstate.memory.keys import Keys
from reinstate.memory.recognition import Recognition, Recognizer
from reinstate.player import Again, Decision, Inputs, Player
from reinstate.registry import Registry
from reinstate.tasks.base import World

LARGEST_STORED = 1e6  # far beyond where tanh(c) is ±1; `Agent.to_store` says what it is for
# Of the compressed variants, with colours of their lines; the paper says that some below 5 learn.
INPUT_SIZES = {2: "#332288", 4: "#88CCEE", 8: "#999933", 16: "#882255"}


@dataclass(frozen=True)
class Network:
    """The network's settings, the same for every agent of an experiment."""

    hidden_size: int = 50
    """Width of the LSTM."""
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
    keys: Keys = field(default_factory=Keys)

    def __post_init__(self) -> None:
        require_positive(hidden_size=self.hidden_size)
        require_choices(self)


@dataclass(frozen=True)
class Maker:
    """A way to make an agent: what the registry of agents holds."""

    summary: str = ""
    label: str = ""
    """What figures call it; by default its name."""
    colour: str = ""
    """Of its lines, "#rrggbb"."""
    make: Callable[..., Any] | None = field(default=None, kw_only=True)
    """Makes an agent of a world, a network and a key; unless a subclass does, by `__call__`."""

    def memory_for(self, memory: Memory, world: World, network: Network) -> Memory:
        """Return the memory that such agents have, given the experiment's."""
        return memory

    def __call__(self, world: World, network: Network, *, key: Array) -> Any:
        """Make a `Player` for a world, with weights drawn from the key."""
        assert self.make is not None, "a subclass makes its agents itself"
        return self.make(world, network, key=key)


@dataclass(frozen=True)
class Wiring(Maker):
    """What makes one of the paper's agents differ from another; everything else they share."""

    sees_context: bool = False
    """Whether the context is an input of the LSTM."""
    route: Literal["none", "gate", "input"] = "none"
    """How a retrieved state enters: not at all, through the r-gate, or as further inputs."""
    compressed_to: int = 0
    """As inputs: a linear layer makes this many of the retrieved state; 0 gives it as it is."""
    recognises: bool = False
    """Whether it weighs what comes back, as `Network.recognition` says."""
    hidden_size: int = 0
    """Width of its LSTM; 0: the network's."""

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
        if self.hidden_size:
            network = replace(network, hidden_size=self.hidden_size)
        return Agent(world, self, network, key=key)


class Agent(Player):
    """An LSTM agent. It does not know which task it plays, nor who resets it."""

    cell: EpisodicLSTMCell
    head: eqx.nn.Linear  # policy logits and, last, the value
    shrink: eqx.nn.Linear | None
    recognizer: Recognizer | None
    wiring: Wiring = eqx.field(static=True)
    network: Network = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)

    def __init__(self, world: World, wiring: Wiring, network: Network, *, key: Array) -> None:
        self.wiring, self.network, self.num_actions = wiring, network, world.num_actions
        cell_key, head_key, shrink_key = jax.random.split(key, 3)
        hidden = network.hidden_size
        size = world.observation_size + world.num_actions + 1
        size += world.num_actions if network.feedback == "joint" else 0
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
            key=cell_key,
        )
        self.head = eqx.nn.Linear(hidden, world.num_actions + 1, key=head_key)

    @property
    def remembers(self) -> bool:
        """Whether it has an episodic memory."""
        return self.wiring.remembers

    @property
    def outlives_episodes(self) -> bool:
        """Whether the LSTM is reset with every epoch alone."""
        return self.network.reset == "epoch"

    @property
    def value_size(self) -> int:
        """The size of a cell state."""
        return self.cell.hidden_size

    @property
    def recalls_once(self) -> bool:
        """Whether a memory comes back only on the step that first shows its context."""
        recognises = self.recognizer is not None and self.recognizer.settings.once
        return recognises or self.network.reinstated == "first-step"

    def read(
        self, memory: Memory, contents: Any, context: Array, state: Any
    ) -> tuple[Any, Any, Any]:
        """Recall c_ep; an agent that recognises, a `Recollection`."""
        found, contents = memory.read(contents, context)
        recalled = found.value if self.recognizer is None else self.recognizer(found)
        return recalled, found, contents

    def write(self, memory: Memory, contents: Any, context: Array, state: LSTMState) -> Any:
        """Store the cell state."""
        return memory.write(contents, context, self.to_store(state))

    def to_store(self, state: LSTMState) -> Array:
        """Return what the memory keeps of a state: the paper stores c, not h.

        c grows: c_ep is added on every step of an exposure, and the sum is stored again at its end.
        A unit whose gates stay open is multiplied with each exposure, nearly twofold at
        initialisation (r = .5, f = .73) and by up to the number of steps once trained. By the last
        exposure of barcode bandits one stored unit in six is at the clip;
        `reinstate.analysis.memory_map` counts them.

        The clip keeps c within the floating-point numbers, and that is all. It does not keep c in
        tanh's range: far outside it h shows the sign of c alone, i ∘ c_in, at most 1 per step,
        cannot turn that sign, and tanh passes no gradient.
        """
        if self.network.stored == "tanh":
            return jnp.tanh(state.c)
        if self.network.stored == "rms":
            return state.c * jax.lax.rsqrt(jnp.maximum(jnp.mean(state.c**2), 1.0))
        return jnp.clip(state.c, -LARGEST_STORED, LARGEST_STORED)

    def initial_state(self) -> LSTMState:
        """Return zeros."""
        return self.cell.initial_state()

    def __call__(
        self, inputs: Inputs, recalled: Any, state: LSTMState
    ) -> tuple[LSTMState, Decision]:
        """Take one step."""
        x, c_ep = self._entering(inputs, recalled)
        state, gates = self.cell(x, state, c_ep)
        out = self.head(state.h)
        return state, Decision(out[:-1], out[-1], gates._asdict(), state)

    def _entering(self, inputs: Inputs, recalled: Any) -> tuple[Array, Array]:
        """Return what enters the cell: its input x, and the state that is reinstated.

        The one-hot of an action of −1, where there was none yet, is all zero.
        """
        if self.recalls_once:
            recalled = jax.tree.map(lambda x: jnp.where(inputs.first_shown, x, 0.0), recalled)
        c_ep, cues = (recalled, None) if self.recognizer is None else recalled
        action = jax.nn.one_hot(inputs.last_action, self.num_actions)
        x = [inputs.features, action, inputs.last_reward[None]]
        if self.network.feedback == "joint":
            # Whether to favour what was chosen depends on both at once, which a sum cannot tell.
            x.append(inputs.last_reward * action)
        if self.wiring.sees_context:
            x.append(inputs.context)
        if cues is not None:
            x.append(cues)
        if self.wiring.route == "input":
            x.append(c_ep if self.shrink is None else self.shrink(c_ep))
        return jnp.concatenate(x), c_ep

    @property
    def again(self) -> Again | None:
        """`_again`, where there is a kernel for its cell.

        Not if there may be weights to learn in what it recalls, nor if a subclass takes steps of
        another kind.
        """
        usual = type(self).__call__ is Agent.__call__ and type(self).read is Agent.read
        usual = usual and type(self.cell) is EpisodicLSTMCell and self.recognizer is None
        serves = usual and recompute.serves(self.cell.hidden_size, self.cell.weight.dtype)
        return self._again if serves else None

    def _again(
        self, inputs: Inputs, recalled: Array, start: LSTMState, kept: LSTMState
    ) -> tuple[Array, Array]:
        # The kernel wants time to lead.
        steps = jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), (inputs, recalled, kept))
        x, c_ep = jax.vmap(jax.vmap(self._entering))(*steps[:2])
        h = recompute.outputs(self.cell, x, c_ep, start, steps[2])
        out = jnp.swapaxes(jax.vmap(jax.vmap(self.head))(h), 0, 1)
        return out[..., :-1], out[..., -1]


AGENTS: Registry[Maker] = Registry(
    "agent",
    {
        "l2rl": Wiring(
            "LSTM that sees its last action and reward (Wang et al. 2016); no memory",
            "L2RL",
            "#D55E00",
        ),
        "l2rl-context": Wiring(
            "L2RL with the context as another input; no memory",
            "L2RL+Context",
            "#009E73",
            sees_context=True,
        ),
        "epl2rl": Wiring(
            "episodic LSTM: retrieved states come back through the r-gate",
            "epL2RL",
            "#0072B2",
            route="gate",
        ),
        "epl2rl-recognition": Wiring(
            "episodic LSTM that is told how well a memory fits; beyond the paper",
            "epL2RL+Recognition",
            "#3D1C5C",
            route="gate",
            recognises=True,
        ),
        "epl2rl-input": Wiring(
            "retrieved states as inputs: the variant that the paper rejects",
            "epL2RL, memory as input",
            "#A0458C",
            route="input",
        ),
        **{
            f"epl2rl-input-{size}": Wiring(
                f"the same, compressed to {size} inputs by a linear layer",
                f"epL2RL, memory as {size} inputs",
                colour,
                route="input",
                compressed_to=size,
            )
            for size, colour in INPUT_SIZES.items()
        },
    },
)


AgentKind = str | Callable[..., Any]  # a registered name, a `Maker`, or a function like one


def maker_of(agent: AgentKind) -> Maker:
    """Return the way to make an agent."""
    make = AGENTS.find(agent) if isinstance(agent, str) else agent
    return make if isinstance(make, Maker) else Maker(make=make)


def make_agent(name: str, world: World, network: Network, *, key: Array) -> Any:
    """Make the agent that is registered under a name."""
    return maker_of(name)(world, network, key=key)
