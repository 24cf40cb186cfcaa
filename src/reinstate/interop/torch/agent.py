"""Trained agents in PyTorch; `reinstate.agent` has the originals."""

from __future__ import annotations  # the documentation is built without PyTorch

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from reinstate.interop.torch.cell import EpisodicLSTMCell, Gates, LSTMState, Module, to_tensor
from reinstate.interop.torch.memory import DND, Consolidating, Retrieval

if TYPE_CHECKING:
    from reinstate import agent as original
    from reinstate.memory import recognition

LARGEST_STORED = 1e6  # as in reinstate.agent
AGE_SCALE, SHARPEST = 3.0, 20.0  # as in reinstate.memory.recognition


class Decision(NamedTuple):
    """What an agent does on one step."""

    logits: Tensor  # (…, num_actions) actions are drawn from their softmax
    value: Tensor  # (…) the reward it expects from here on
    gates: Gates  # how far each was open


class Recollection(NamedTuple):
    """What comes back, and how well it fits."""

    c_ep: Tensor  # (…, value_size)
    cues: Tensor  # (…, num_cues)


class Recognizer(Module):
    """Turns what a dictionary finds into a recollection, as the JAX one that it is made of.

    w_i = κ_i^p / (κ_0^p + Σ_j κ_j^p),  p = exp(a + b s),  s = similarity of the nearest
    c_ep = Σ_i w_i c_i
    """

    sharpness: nn.Parameter | None  # a and b
    log_null: nn.Parameter | None  # of κ_0

    def __init__(self, recognizer: recognition.Recognizer) -> None:
        super().__init__()
        self.settings = recognizer.settings
        for name in ("sharpness", "log_null"):
            weight = getattr(recognizer, name)
            made = None if weight is None else nn.Parameter(to_tensor(weight))
            self.register_parameter(name, made)

    def forward(self, found: Retrieval) -> Recollection:
        """Combine the neighbours of a `Retrieval`."""
        there = found.written > 0  # (…, k), of which margin may want one more than is combined
        some = there[..., 0]
        similarity = torch.where(some, 1 - found.distances[..., 0], 0)
        first = torch.arange(there.shape[-1], device=there.device) < self.settings.neighbours
        weights = self._weights(found.kernel, there & first, similarity[..., None])
        c_ep = (weights[..., None] * found.values).sum(-2)
        return Recollection(c_ep, self._cues(found, similarity, some))

    def _weights(self, kernel: Tensor, there: Tensor, similarity: Tensor) -> Tensor:
        power = torch.ones_like(similarity)
        if self.sharpness is not None:
            a, b = self.sharpness
            power = (a + b * similarity).clamp(max=SHARPEST).exp()
        null = (
            torch.full_like(power, -torch.inf) if self.log_null is None else power * self.log_null
        )
        logs = power * kernel.masked_fill(~there, 1).log()
        # In an empty memory every logarithm is −∞: the largest is then taken to be 0.
        largest = logs.masked_fill(~there, -torch.inf).amax(-1, keepdim=True).maximum(null).detach()
        largest = largest.masked_fill(~largest.isfinite(), 0)
        shares = (logs.masked_fill(~there, 0) - largest).exp().masked_fill(~there, 0)
        return shares / (shares.sum(-1, keepdim=True) + (null - largest).exp()).clamp(min=1e-30)

    def _cues(self, found: Retrieval, similarity: Tensor, some: Tensor) -> Tensor:
        s, cues = self.settings, []
        if s.similarity:
            cues.append(similarity)
        if s.margin:
            # Where there is no second, it is taken to be as far away as contexts usually are.
            second = torch.ones_like(similarity)
            if found.distances.shape[-1] > 1:
                second = found.distances[..., 1].nan_to_num(posinf=1)
            cues.append(torch.where(some, second - (1 - similarity), 0))
        if s.age:
            age = (found.writes - found.written[..., 0]).to(similarity.dtype)
            cues.append(torch.where(some, age.log1p() / AGE_SCALE, 0))
        if s.emptiness:
            cues.append(some.to(similarity.dtype))
        return s.gain * torch.stack(cues, -1) if cues else similarity.new_zeros(*some.shape, 0)


class Agent(Module):
    """An LSTM agent of this package, with the weights of the JAX agent that it is made of."""

    def __init__(self, agent: original.Agent) -> None:
        super().__init__()
        if type(agent).__name__ != "Agent":
            raise ValueError(
                f"PyTorch has no {type(agent).__name__}, only the paper's agents and those that"
                " recognise: play it in JAX"
            )
        self.recognizer = None if agent.recognizer is None else Recognizer(agent.recognizer)
        self.recalls_once = agent.recalls_once
        self.cell = EpisodicLSTMCell.from_jax(agent.cell)
        self.head = _linear(agent.head)
        self.shrink = None if agent.shrink is None else _linear(agent.shrink)
        self.num_actions, self.wiring, self.network = agent.num_actions, agent.wiring, agent.network
        self.outlives_episodes = agent.outlives_episodes  # whether its state does

    @property
    def remembers(self) -> bool:
        """Whether it has an episodic memory."""
        return bool(self.wiring.remembers)

    def initial_state(self, *batch: int) -> LSTMState:
        """Return zeros, with the leading dimensions that are given."""
        return self.cell.initial_state(*batch)

    def to_store(self, state: LSTMState) -> Tensor:
        """Return what the memory keeps of a state: c, as the agent was trained to have it."""
        if self.network.stored == "tanh":
            return state.c.tanh()
        if self.network.stored == "rms":
            return state.c * (state.c**2).mean(-1, keepdim=True).clamp(min=1).rsqrt()
        return state.c.clamp(-LARGEST_STORED, LARGEST_STORED)

    def recall(self, found: Retrieval) -> Tensor | Recollection:
        """Return what comes back to the agent of what its memory has found."""
        return found.value if self.recognizer is None else self.recognizer(found)

    def forward(
        self,
        features: Tensor,
        context: Tensor | None,
        last_action: Tensor,
        last_reward: Tensor,
        recalled: Tensor | Recollection | None,
        state: LSTMState,
        first_shown: Tensor | None = None,
    ) -> tuple[LSTMState, Decision]:
        """Take one step.

        On the first step of an episode `last_action` is −1 and `last_reward` 0: there were none.
        `context` may be None for agents that do not see it, and what is `recalled` where nothing
        came back. `first_shown` says where a context has just appeared; by default there.
        """
        if recalled is None:
            nothing = self.cell.weight.new_zeros(*last_action.shape, self.cell.hidden_size)
            recalled = nothing
            if self.recognizer is not None:
                n = self.recognizer.settings.num_cues
                recalled = Recollection(nothing, nothing.new_zeros(*last_action.shape, n))
        c_ep, *cues = recalled if isinstance(recalled, Recollection) else (recalled,)
        if self.recalls_once:
            first = (last_action < 0 if first_shown is None else first_shown)[..., None]
            c_ep, *cues = (torch.where(first, each, 0) for each in (c_ep, *cues))
        actions = torch.arange(self.num_actions, device=last_action.device)
        action = (last_action[..., None] == actions).to(features.dtype)  # of −1, all zero
        reward = last_reward[..., None]
        x = [features, action, reward]
        if self.network.feedback == "joint":
            x.append(reward * action)
        if self.wiring.sees_context:
            if context is None:
                raise ValueError("this agent sees the context: give it, (…, context_size)")
            x.append(context)
        x += cues
        if self.wiring.route == "input":
            x.append(c_ep if self.shrink is None else self.shrink(c_ep))
        # The layout is that of training.
        entering = torch.cat([part.to(self.cell.weight.dtype) for part in x], dim=-1)
        state, gates = self.cell(entering, state, c_ep)
        out = self.head(state.h)
        return state, Decision(out[..., :-1], out[..., -1], gates)


def _linear(layer: Any) -> nn.Linear:
    """Make a linear layer of Equinox's, which has the same layout."""
    weight, bias = to_tensor(layer.weight), to_tensor(layer.bias)
    made = nn.Linear(weight.shape[1], weight.shape[0], dtype=weight.dtype)
    made.load_state_dict({"weight": weight, "bias": bias})
    return made


def load_agent(path: str | Path, seed: int = 0) -> tuple[Agent, DND]:
    """Load the agent of a run, as it was at the last checkpoint, and its memory's settings.

    `seed` counts from 0 among those of the run.
    """
    from reinstate import memory as original
    from reinstate.runs.notebook import TrainedAgent, load

    trained = load(path)
    if not isinstance(trained, TrainedAgent):
        raise ValueError(f"{path} holds results, not a run: name a folder with checkpoints")
    if not 0 <= seed < trained.settings.seeds:
        raise ValueError(f"seed {seed} is none of the run's {trained.settings.seeds}: count from 0")
    memory = trained.settings.for_agent(trained.agent).memory
    agent = Agent(trained.player(seed))
    made = {original.DND: DND, original.Consolidating: Consolidating}.get(type(memory))
    if made is None:
        raise ValueError(
            f"PyTorch has no memory of the run's kind, {type(memory).__name__}: use"
            " Agent(reinstate.load(path).player(seed)) with a memory of your own"
        )
    return agent, made(**asdict(memory))
