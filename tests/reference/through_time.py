"""The equations of `reinstate.recompute`, step by step."""

import jax
import jax.numpy as jnp
from jax import Array

from reinstate.cell import LSTMState, sigmoid


def go_back(
    recurrent: Array, z: Array, start: Array, c: Array, c_ep: Array, d_h: Array
) -> tuple[Array, Array, Array]:
    """Return ∂z, (steps, rows, gates, width), and the gradient of the starting c and h."""
    units = c.shape[-1]
    c_before = jnp.concatenate([start[None], c[:-1]])

    def step(later: LSTMState, each: tuple[Array, ...]) -> tuple[LSTMState, Array]:
        z, c_before, c, c_ep, d_h = each
        i, f, o, c_in, *r = jnp.moveaxis(z[..., :units], -2, 0)
        i, f, o, c_in = sigmoid(i), sigmoid(f), sigmoid(o), jnp.tanh(c_in)
        tanh_c = jnp.tanh(c)
        d_h = d_h + later.h
        d_c = later.c + d_h * o * (1 - tanh_c**2)
        d_gates = [
            d_c * c_in * i * (1 - i),
            d_c * c_before * f * (1 - f),
            d_h * tanh_c * o * (1 - o),
            d_c * i * (1 - c_in**2),
        ]
        if r:
            gate = sigmoid(r[0])
            d_gates.append(d_c * c_ep * gate * (1 - gate))
        d_z = jnp.stack(d_gates, axis=-2)
        passed = jnp.einsum("rgu,hgu->rh", d_z, recurrent[..., :units])
        return LSTMState(c=d_c * f, h=passed), d_z

    nothing = LSTMState(jnp.zeros_like(start), jnp.zeros_like(start))
    d_start, d_z = jax.lax.scan(step, nothing, (z, c_before, c, c_ep, d_h), reverse=True)
    d_z = jnp.pad(d_z, [(0, 0)] * 3 + [(0, z.shape[-1] - units)])
    return d_z, d_start.c, d_start.h
