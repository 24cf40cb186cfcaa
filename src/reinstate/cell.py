"""The episodic LSTM: an LSTM cell with a third gate, through which memories come back.

The module needs no other of the package but its error messages: use it in a loop of your own.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from reinstate.errors import require_shape


class LSTMState(NamedTuple):
    """What the cell carries from step to step."""

    c: Array  # (hidden_size,) cell state: what the memory stores
    h: Array  # (hidden_size,) output


class Gates(NamedTuple):
    """How far each gate was open, 0 to 1."""

    i: Array  # (hidden_size,) input gate
    f: Array  # (hidden_size,) forget gate
    o: Array  # (hidden_size,) output gate
    r: Array  # (hidden_size,) reinstatement gate; zeros in the plain LSTM


class EpisodicLSTMCell(eqx.Module):
    """The paper's epLSTM (equations 3–7); with `episodic=False` the plain LSTM, by the same code.

    i, f, o, r = σ(W_x x_t + W_h h_{t-1} + b)        each with rows of its own
    c_in       = tanh(W_x x_t + W_h h_{t-1} + b)
    c_t        = i ∘ c_in + f ∘ c_{t-1} + r ∘ c_ep
    h_t        = o ∘ tanh(c_t)

    c_ep enters raw: it is a cell state already, and shares the meaning of c's axes.
    The cell is for one lane (`jax.vmap` for more), and computes in the dtype of its weights.
    """

    # Gates lie side by side in the order i, f, o, c_in, r.
    weight: Array  # (input_size + hidden_size, gates × hidden_size): W_x above W_h
    bias: Array  # (gates × hidden_size,)
    hidden_size: int = eqx.field(static=True)
    episodic: bool = eqx.field(static=True)

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        episodic: bool = True,
        forget_bias: float = 1.0,
        key: Array,
    ) -> None:
        self.hidden_size = hidden_size
        self.episodic = episodic
        shape = (input_size + hidden_size, (5 if episodic else 4) * hidden_size)
        scale = hidden_size**-0.5
        self.weight = jax.random.uniform(key, shape, minval=-scale, maxval=scale)
        # A forget gate that starts open lets gradients reach the episode's first steps.
        self.bias = jnp.zeros(shape[1]).at[hidden_size : 2 * hidden_size].set(forget_bias)

    def initial_state(self) -> LSTMState:
        """Return zeros."""
        dtype = self.weight.dtype
        return LSTMState(jnp.zeros(self.hidden_size, dtype), jnp.zeros(self.hidden_size, dtype))

    def __call__(
        self, x: Array, state: LSTMState, c_ep: Array | None = None
    ) -> tuple[LSTMState, Gates]:
        """Take one step. `c_ep` is the retrieved cell state; without one, nothing is reinstated."""
        self._check(x, state, c_ep)
        dtype = self.weight.dtype
        # The bias rides along as a row of the weights: its gradient then comes out of the same
        # matrix product, which made training a tenth faster on a GPU.
        weight = jnp.concatenate([self.weight, self.bias[None, :]])
        inputs = [x.astype(dtype), state.h.astype(dtype), jnp.ones(1, dtype)]
        z = jnp.concatenate(inputs) @ weight
        i, f, o, c_in, *r = jnp.split(z, 5 if self.episodic else 4)
        gates = Gates(sigmoid(i), sigmoid(f), sigmoid(o), sigmoid(r[0]) if r else jnp.zeros_like(i))
        c = gates.i * jnp.tanh(c_in) + gates.f * state.c.astype(dtype)
        if self.episodic and c_ep is not None:
            c = c + gates.r * c_ep.astype(dtype)
        return LSTMState(c, gates.o * jnp.tanh(c)), gates

    def _check(self, x: Array, state: LSTMState, c_ep: Array | None) -> None:
        hidden, whose = (self.hidden_size,), "the cell's hidden_size"
        require_shape("x", x, (self.weight.shape[0] - self.hidden_size,), "the cell's input_size")
        require_shape("state.c", state.c, hidden, whose)
        require_shape("state.h", state.h, hidden, whose)
        if self.episodic and c_ep is not None:
            require_shape("c_ep", c_ep, hidden, whose)


def sigmoid(z: Array) -> Array:
    """σ(z), by way of tanh: XLA's logistic made the cell a third slower on a CPU."""
    return 0.5 + 0.5 * jnp.tanh(0.5 * z)
