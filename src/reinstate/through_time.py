"""Back-propagation through time for the episodic LSTM, written out for steps already taken.

Whoever has played knows every state, so that only what depends on the future is left to go back step
by step. With ∂x for the gradient of the loss with respect to x, and ∂c_t to start with what
c_{t+1} passes on,

    ∂h_t  = ∂h_t of the heads + W_h ∂z_{t+1}
    ∂c_t += ∂h_t ∘ o ∘ (1 − tanh²(c_t))
    ∂z_t  = (∂c_t ∘ c_in ∘ i(1−i),  ∂c_t ∘ c_{t−1} ∘ f(1−f),  ∂h_t ∘ tanh(c_t) ∘ o(1−o),
             ∂c_t ∘ i ∘ (1−c_in²),  ∂c_t ∘ c_ep ∘ r(1−r))
    ∂c_{t−1} = ∂c_t ∘ f

The gates' z of all steps come out of one matrix product beforehand, and the gradient of the weights
out of another afterwards. Differentiating the play makes both step by step, and keeps every
intermediate result.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from reinstate.cell import EpisodicLSTMCell, LSTMState, sigmoid


class _Known(NamedTuple):
    """What the way back starts from: (steps, rows, …)."""

    z: Array  # (steps, rows, gates × hidden)
    c_before: Array  # (steps, rows, hidden)
    c: Array
    c_ep: Array
    d_h: Array  # the gradient of each step's h, as the heads give it


def outputs(
    cell: EpisodicLSTMCell, x: Array, c_ep: Array, start: LSTMState, taken: LSTMState
) -> Array:
    """Return h of steps already taken, (steps, rows, hidden), with its gradient through time.

    Rows are sequences side by side, each with a state to start from; `taken` are the states after
    each step. Gradients reach the cell's weights, `x` and `start`; c_ep has none, as in the paper.
    """
    weight = jnp.concatenate([cell.weight, cell.bias[None]])
    return _outputs(weight, x, start, jax.lax.stop_gradient((c_ep, taken)))


@jax.custom_vjp
def _outputs(weight: Array, x: Array, start: LSTMState, known: tuple[Array, LSTMState]) -> Array:
    return known[1].h


def _forward(
    weight: Array, x: Array, start: LSTMState, known: tuple[Array, LSTMState]
) -> tuple[Array, tuple[Array, Array, LSTMState, tuple[Array, LSTMState]]]:
    return known[1].h, (weight, x, start, known)


def _backward(
    kept: tuple[Array, Array, LSTMState, tuple[Array, LSTMState]], d_h: Array
) -> tuple[Array, Array, LSTMState, None]:
    weight, x, start, (c_ep, taken) = kept
    size, hidden = x.shape[-1], d_h.shape[-1]
    before = jax.tree.map(lambda s, t: jnp.concatenate([s[None], t[:-1]]), start, taken)
    inputs = jnp.concatenate([x, before.h, jnp.ones_like(x[..., :1])], axis=-1)
    recurrent = weight[size : size + hidden]
    d_z, d_start = _back(recurrent, _Known(inputs @ weight, before.c, taken.c, c_ep, d_h))
    d_weight = jnp.einsum("tri,trz->iz", inputs, d_z)
    return d_weight, d_z @ weight[:size].T, d_start, None


_outputs.defvjp(_forward, _backward)


def _back(recurrent: Array, known: _Known) -> tuple[Array, LSTMState]:
    """Return ∂z, (steps, rows, gates × hidden), and the gradient of the start."""

    def step(later: LSTMState, each: _Known) -> tuple[LSTMState, Array]:
        i, f, o, c_in, *r = jnp.split(each.z, each.z.shape[-1] // each.c.shape[-1], axis=-1)
        i, f, o, c_in = sigmoid(i), sigmoid(f), sigmoid(o), jnp.tanh(c_in)
        tanh_c = jnp.tanh(each.c)
        d_h = each.d_h + later.h
        d_c = later.c + d_h * o * (1 - tanh_c**2)
        d_z = [
            d_c * c_in * i * (1 - i),
            d_c * each.c_before * f * (1 - f),
            d_h * tanh_c * o * (1 - o),
            d_c * i * (1 - c_in**2),
        ]
        if r:
            gate = sigmoid(r[0])
            d_z.append(d_c * each.c_ep * gate * (1 - gate))
        d_z_t = jnp.concatenate(d_z, axis=-1)
        return LSTMState(c=d_c * f, h=d_z_t @ recurrent.T), d_z_t

    nothing = jnp.zeros_like(known.d_h[0])
    start, d_z = jax.lax.scan(step, LSTMState(nothing, nothing), known, reverse=True)
    return d_z, start
