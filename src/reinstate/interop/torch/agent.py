"""Trained agents in PyTorch; `reinstate.agent` has the originals."""

from __future__ import annotations  # the documentation is built without PyTorch

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from reinstate.interop.torch.cell import (
    EpisodicLSTMCell,
    Gates,
    LSTMState,
    to_tensor,
)
from reinstate.interop.torch.memory import DND

if TYPE_CHECKING:
    from reinstate import agent as original

LARGEST_STORED = 1e6  # as in reinstate.agent


class Decision(NamedTuple):
    """What an agent does on one step."""

    logits: Tensor  # (…, num_actions) actions are drawn from their softmax
    value: Tensor  # (…) the reward it expects from here on
    gates: Gates  # how far each was open


class Agent(nn.Module):
    """An LSTM agent of this package, with the weights of the JAX agent that it is made of."""

    def __init__(self, agent: original.Agent) -> None:
        super().__init__()
        if agent.recognizer is not None:
            raise ValueError(
                "agents that recognise are in JAX alone: play this one by reinstate.load, or take"
                " epl2rl"
            )
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

    def forward(
        self,
        features: Tensor,
        context: Tensor | None,
        last_action: Tensor,
        last_reward: Tensor,
        c_ep: Tensor | None,
        state: LSTMState,
    ) -> tuple[LSTMState, Decision]:
        """Take one step.

        On the first step of an episode `last_action` is −1 and `last_reward` 0: there were none.
        `context` may be None for agents that do not see it, and `c_ep` where nothing came back.
        """
        if c_ep is None:
            c_ep = self.cell.weight.new_zeros(*last_action.shape, self.cell.hidden_size)
        if self.network.reinstated == "first-step":
            c_ep = torch.where(last_action[..., None] < 0, c_ep, 0)
        x = self._inputs(features, context, last_action, last_reward, c_ep)
        state, gates = self.cell(x, state, c_ep)
        out = self.head(state.h)
        return state, Decision(out[..., :-1], out[..., -1], gates)

    def _inputs(
        self,
        features: Tensor,
        context: Tensor | None,
        last_action: Tensor,
        last_reward: Tensor,
        c_ep: Tensor,
    ) -> Tensor:
        """Lay out the cell's input as in training."""
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
        if self.wiring.route == "input":
            x.append(c_ep if self.shrink is None else self.shrink(c_ep))
        return torch.cat([part.to(self.cell.weight.dtype) for part in x], dim=-1)


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
    from reinstate.memory import DND as Original
    from reinstate.runs.notebook import TrainedAgent, load

    trained = load(path)
    if not isinstance(trained, TrainedAgent):
        raise ValueError(f"{path} holds results, not a run: name a folder with checkpoints")
    if not 0 <= seed < trained.settings.seeds:
        raise ValueError(f"seed {seed} is none of the run's {trained.settings.seeds}: count from 0")
    memory = trained.settings.for_agent(trained.agent).memory
    agent = Agent(trained.player(seed))
    if type(memory) is not Original:
        raise ValueError(
            f"the run has a memory of the kind {type(memory).__name__}, and PyTorch only a DND:"
            " use Agent(reinstate.load(path).player(seed)) with a memory of your own"
        )
    return agent, DND(**asdict(memory))
