"""Back-propagation through time for the episodic LSTM, written out for steps already taken.

Whoever has played knows every state, so that only what depends on the future is left to go back
step by step. With ∂x for the gradient of the loss with respect to x, and ∂c_t to start with what
c_{t+1} passes on,

    ∂h_t  = ∂h_t of the heads + W_h ∂z_{t+1}
    ∂c_t += ∂h_t ∘ o ∘ (1 − tanh²(c_t))
    ∂z_t  = (∂c_t ∘ c_in ∘ i(1−i),  ∂c_t ∘ c_{t−1} ∘ f(1−f),  ∂h_t ∘ tanh(c_t) ∘ o(1−o),
             ∂c_t ∘ i ∘ (1−c_in²),  ∂c_t ∘ c_ep ∘ r(1−r))
    ∂c_{t−1} = ∂c_t ∘ f

That way back is one GPU kernel, `reinstate.through_time.kernel`, and the gradient of the weights is
one matrix product over all steps. Differentiating the play goes back in a dozen kernels per step;
on a CPU, which has less use for large operations, it is about as fast.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from reinstate.cell import EpisodicLSTMCell, LSTMState
from reinstate.through_time import kernel


class _Taken(NamedTuple):
    """Steps, as the player took them: (steps, rows, hidden)."""

    c_ep: Array
    c: Array  # after the step
    h: Array


class _Kept(NamedTuple):
    """What the way back needs of the way there."""

    weight: Array  # (inputs + hidden + 1, gates × hidden): the bias is the last row
    x: Array  # (steps, rows, inputs)
    start: LSTMState  # (rows, hidden)
    taken: _Taken


def outputs(
    cell: EpisodicLSTMCell, x: Array, c_ep: Array, start: LSTMState, states: LSTMState
) -> Array:
    """Return h of steps already taken, (steps, rows, hidden), with its gradient through time.

    Rows are sequences side by side, each with a state to start from; `states` are those after each
    step. Gradients reach the cell's weights, `x` and `start`; c_ep has none, as in the paper.
    """
    weight = jnp.concatenate([cell.weight, cell.bias[None]])
    taken = jax.lax.stop_gradient(_Taken(c_ep, states.c, states.h))
    return _outputs(weight, x, start, taken)


@jax.custom_vjp
def _outputs(weight: Array, x: Array, start: LSTMState, taken: _Taken) -> Array:
    return taken.h


def _there(weight: Array, x: Array, start: LSTMState, taken: _Taken) -> tuple[Array, _Kept]:
    return taken.h, _Kept(weight, x, start, taken)


def _back(kept: _Kept, d_h: Array) -> tuple[Array, Array, LSTMState, None]:
    weight, x, start, taken = kept
    size, units = x.shape[-1], d_h.shape[-1]
    h_before = jnp.concatenate([start.h[None], taken.h[:-1]])
    entered = jnp.concatenate([x, h_before, jnp.ones_like(x[..., :1])], axis=-1)
    # A gate's columns are filled up with zeros to what the kernel takes at a time.
    gates = weight.reshape(weight.shape[0], -1, units)
    gates = jnp.pad(gates, [(0, 0), (0, 0), (0, kernel.width_of(units) - units)])
    flat = gates.reshape(weight.shape[0], -1)
    z = (entered @ flat).reshape(*entered.shape[:-1], *gates.shape[1:])
    recurrent = gates[size : size + units]
    d_z, *d_start = kernel.go_back(recurrent, z, start.c, taken.c, taken.c_ep, d_h)
    d_z = d_z.reshape(*entered.shape[:-1], -1)
    d_gates = jnp.einsum("tri,trz->iz", entered, d_z).reshape(gates.shape)
    d_weight = d_gates[..., :units].reshape(weight.shape)
    return d_weight, d_z @ flat[:size].T, LSTMState(*d_start), None


_outputs.defvjp(_there, _back)
