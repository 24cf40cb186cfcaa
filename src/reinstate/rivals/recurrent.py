"""LSTM and GRU, carried through the epoch.

Their unroll is a scan: what a step does depends on the one before. It keeps √T states, and steps of
one block of √T.
"""

from dataclasses import dataclass
from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from reinstate.cell import EpisodicLSTMCell, LSTMState
from reinstate.errors import require_choices
from reinstate.rivals.base import Core, RivalMaker, in_blocks, root
from reinstate.tasks.base import World


class Recurrent(Core):
    """A core that only goes step by step."""

    def unroll(self, x: Array, first: Array, state: Any) -> Array:
        def step(state: Any, each: tuple[Array, Array]) -> tuple[Any, Array]:
            return self(*each, state)

        return in_blocks(step, state, (x, first), root(x.shape[0]))[1]


class LSTM(Recurrent):
    """The paper's LSTM, without its r-gate and never reset within an epoch."""

    cell: EpisodicLSTMCell

    def initial_state(self) -> LSTMState:
        return self.cell.initial_state()

    def __call__(self, x: Array, first: Array, state: LSTMState) -> tuple[LSTMState, Array]:
        state, _ = self.cell(x, state)
        return state, state.h


class GRU(Recurrent):
    """A gated recurrent unit (Cho et al. 2014)."""

    cell: eqx.nn.GRUCell

    def initial_state(self) -> Array:
        return jnp.zeros(self.cell.hidden_size, self.cell.weight_hh.dtype)

    def __call__(self, x: Array, first: Array, state: Array) -> tuple[Array, Array]:
        state = self.cell(x, state)
        return state, state


@dataclass(frozen=True)
class RecurrentMaker(RivalMaker):
    """Makes LSTM and GRU rivals."""

    cell: Literal["lstm", "gru"] = "lstm"
    """Which cell."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choices(self)

    def core(self, size: int, width: int, world: World, *, key: Array) -> Core:
        if self.cell == "lstm":
            return LSTM(EpisodicLSTMCell(size, width, episodic=False, key=key))
        return GRU(eqx.nn.GRUCell(size, width, key=key))
