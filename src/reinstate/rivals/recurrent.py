"""Cores that pass a state from step to step: LSTM, GRU and the linear recurrent unit.

What a step of an LSTM or a GRU does depends on the one before: their unroll is a scan, which keeps
√T states, and steps of one block of √T.

The linear recurrent unit (Orvieto et al. 2023) is complex and diagonal, and so computed in
parallel. Per step and unit a state is one complex number. Unrolling takes log₂ T rounds over all
steps; each layer is computed again for gradients, so that its inputs are kept and little else.
"""

from dataclasses import dataclass
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from reinstate.cell import EpisodicLSTMCell, LSTMState
from reinstate.errors import require_choices, require_positive
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


MODULI = 0.9, 0.999  # of the eigenvalues at the start, which last 10 to 1,000 steps


class LRULayer(eqx.Module):
    """x + W [Re(C h), gated], with h_t = λ ∘ h_{t-1} + γ ∘ (B norm(x_t)),  γ = √(1 − λ λ̄).

    λ = exp(−exp(ν) + i exp(θ)), so that its modulus stays below 1 whatever is learned.
    """

    norm: eqx.nn.LayerNorm
    log_decay: Array  # ν, (width,)
    log_phase: Array  # θ, (width,)
    into: Array  # B, (real and imaginary, width, width)
    out: Array  # C, the same
    through: Array  # D, (width,)
    gate: eqx.nn.Linear

    def __init__(self, width: int, *, key: Array) -> None:
        keys = jax.random.split(key, 5)
        low, high = MODULI
        u = jax.random.uniform(keys[0], (width,))
        modulus = jnp.sqrt(low**2 + u * (high**2 - low**2))
        self.norm = eqx.nn.LayerNorm(width)
        self.log_decay = jnp.log(-jnp.log(modulus))
        self.log_phase = jnp.log(jax.random.uniform(keys[1], (width,), minval=1e-3, maxval=0.5))
        self.into = jax.random.normal(keys[2], (2, width, width)) * (2 * width) ** -0.5
        self.out = jax.random.normal(keys[3], (2, width, width)) * width**-0.5
        self.through = jnp.ones(width)
        self.gate = eqx.nn.Linear(width, 2 * width, key=keys[4])

    @property
    def eigenvalues(self) -> Array:
        """λ, (width,)."""
        return jnp.exp(-jnp.exp(self.log_decay) + 1j * jnp.exp(self.log_phase))

    def enter(self, x: Array) -> tuple[Array, Array]:
        """Return norm(x), and what it adds to the state."""
        u = self.norm(x)
        scale = jnp.sqrt(1 - jnp.abs(self.eigenvalues) ** 2)
        return u, scale * jax.lax.complex(self.into[0] @ u, self.into[1] @ u)

    def leave(self, x: Array, u: Array, h: Array) -> Array:
        """Return the layer's output, given norm(x) and the new state."""
        y = self.out[0] @ h.real - self.out[1] @ h.imag + self.through * u
        value, gate = jnp.split(self.gate(jax.nn.gelu(y)), 2)
        return x + value * jax.nn.sigmoid(gate)

    def __call__(self, x: Array, h: Array) -> tuple[Array, Array]:
        u, added = self.enter(x)
        h = self.eigenvalues * h + added
        return h, self.leave(x, u, h)

    @jax.checkpoint
    def unroll(self, x: Array, h: Array) -> Array:
        """Take all steps, (steps, width)."""

        def join(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
            return one[0] * other[0], other[0] * one[1] + other[1]

        u, added = jax.vmap(self.enter)(x)
        decay = jnp.broadcast_to(self.eigenvalues, added.shape)
        added = added.at[0].add(self.eigenvalues * h)
        _, states = jax.lax.associative_scan(join, (decay, added))
        return jax.vmap(self.leave)(x, u, states)


class LRU(Core):
    """Layers of linear recurrent units."""

    embed: eqx.nn.Linear
    layers: list[LRULayer]

    def initial_state(self) -> Array:
        zeros = jnp.zeros_like(self.layers[0].through)
        return jnp.stack([jax.lax.complex(zeros, zeros)] * len(self.layers))

    def __call__(self, x: Array, first: Array, state: Array) -> tuple[Array, Array]:
        x, after = self.embed(x), []
        for layer, h in zip(self.layers, state, strict=True):
            h, x = layer(x, h)
            after.append(h)
        return jnp.stack(after), x

    def unroll(self, x: Array, first: Array, state: Any) -> Array:
        x = jax.vmap(self.embed)(x)
        for layer, h in zip(self.layers, state, strict=True):
            x = layer.unroll(x, h)
        return x


@dataclass(frozen=True)
class LRUMaker(RivalMaker):
    """Makes rivals of linear recurrent units."""

    layers: int = 2
    """Layers, one above the other."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(layers=self.layers)

    def core(self, size: int, width: int, world: World, *, key: Array) -> Core:
        first, *others = jax.random.split(key, 1 + self.layers)
        embed = eqx.nn.Linear(size, width, key=first)
        return LRU(embed, [LRULayer(width, key=each) for each in others])
