"""DeltaNet (Schlag et al. 2021): a matrix as state, which the delta rule writes like a dictionary.

What a key was bound to is replaced, as far as keys are orthogonal. Unrolling goes in chunks, inside
which all steps are computed at once (Yang et al. 2024); a chunk is computed again for gradients, so
that a matrix per chunk is kept, and of one chunk at a time the rest.
"""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from reinstate.errors import require_positive
from reinstate.rivals.base import Core, FeedForward, RivalMaker, cut, each_again, heads_of
from reinstate.tasks.base import World

CHUNK = 32  # steps


class DeltaLayer(eqx.Module):
    """x + W_o S_t q_t,  S_t = S_{t-1} − β_t (S_{t-1} k_t − v_t) k_tᵀ,  each head by itself.

    q and k have length 1, and β lies between 0 and 1.
    """

    norm: eqx.nn.LayerNorm
    project: eqx.nn.Linear  # to q, k, v and β
    merge: eqx.nn.Linear
    heads: int = eqx.field(static=True)

    def __init__(self, width: int, heads: int, *, key: Array) -> None:
        one, other = jax.random.split(key)
        self.heads, self.norm = heads, eqx.nn.LayerNorm(width)
        self.project = eqx.nn.Linear(width, 3 * width + heads, key=one)
        self.merge = eqx.nn.Linear(width, width, key=other)

    def read_in(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """Return q, k, v, (heads, d) each, and β, (heads,)."""
        z = self.project(self.norm(x))
        q, k, v = (heads_of(part, self.heads) for part in jnp.split(z[: -self.heads], 3))
        return _unit(jax.nn.silu(q)), _unit(jax.nn.silu(k)), v, jax.nn.sigmoid(z[-self.heads :])

    def __call__(self, x: Array, state: Array) -> tuple[Array, Array]:
        q, k, v, beta = self.read_in(x)
        error = jnp.einsum("hij,hj->hi", state, k) - v
        state = state - beta[:, None, None] * error[:, :, None] * k[:, None, :]
        y = jnp.einsum("hij,hj->hi", state, q).reshape(-1)
        return state, x + self.merge(y)

    def unroll(self, x: Array, state: Array) -> Array:
        """Take all steps, (steps, width), in chunks."""
        length = x.shape[0]
        parts = jax.vmap(self.read_in)(x)
        # (chunks, heads, CHUNK, …); what fills up has β = 0.
        chunks = jax.tree.map(lambda part: jnp.swapaxes(cut(part, CHUNK), 1, 2), parts)
        step = jax.checkpoint(jax.vmap(_chunk, in_axes=(0, (0, 0, 0, 0))))
        _, y = jax.lax.scan(step, state, chunks)
        y = jnp.swapaxes(y, 1, 2).reshape(-1, x.shape[1])[:length]
        return x + jax.vmap(self.merge)(y)


def _unit(x: Array) -> Array:
    """Scale to length 1; the root is of no less than 1e-6, where its gradient is finite."""
    return x * jax.lax.rsqrt(jnp.sum(x**2, axis=-1, keepdims=True) + 1e-6)


def _chunk(state: Array, parts: tuple[Array, Array, Array, Array]) -> tuple[Array, Array]:
    """Take the steps of a chunk at once, for one head: q, k, v (C, d) and β (C,).

    With u_t = β_t (v_t − S_{t-1} k_t), S_t = S_0 + Σ_{s≤t} u_s k_sᵀ, so that the u solve
    (I + tril(β K Kᵀ, −1)) U = β (V − K S_0ᵀ).
    """
    q, k, v, beta = parts
    earlier = jnp.tril(beta[:, None] * (k @ k.T), -1)
    wanted = beta[:, None] * (v - k @ state.T)
    u = solve(earlier, wanted)
    y = q @ state.T + jnp.tril(q @ k.T) @ u
    return state + u.T @ k, y


@jax.custom_vjp
def solve(lower: Array, wanted: Array) -> Array:
    """Solve (I + L) U = W, where L has nothing on or above its diagonal."""
    return inverse(lower) @ wanted


def _solve(lower: Array, wanted: Array) -> tuple[Array, tuple[Array, Array]]:
    known = inverse(lower)
    u = known @ wanted
    return u, (known, u)


def _solve_back(kept: tuple[Array, Array], grad_u: Array) -> tuple[Array, Array]:
    """Return dW = A dU, with A the inverse transposed, and dL = −tril(dW Uᵀ, −1)."""
    known, u = kept
    grad_wanted = known.T @ grad_u
    return -jnp.tril(grad_wanted @ u.T, -1), grad_wanted


solve.defvjp(_solve, _solve_back)


def inverse(lower: Array) -> Array:
    """Invert I + L, where L (n, n) has nothing on or above its diagonal.

    Blocks of 1, 2, 4, … rows along the diagonal, those of a size all at once: where two neighbours
    have the inverses A and C and B lies below, both together have [[A, 0], [−C B A, C]].
    LAPACK's solver is not used: on a CPU it waits for threads, and where more devices than cores do
    so at the same time, they wait for each other for ever.
    """
    rows = lower.shape[0]
    width = 1 << (rows - 1).bit_length()
    lower = jnp.pad(lower, (0, width - rows))
    known = jnp.ones((width, 1, 1), lower.dtype)  # inverses of the blocks along the diagonal
    for size in (1 << level for level in range((width - 1).bit_length())):
        pairs = jnp.arange(width // (2 * size))
        grid = lower.reshape(pairs.size, 2, size, pairs.size, 2, size)
        below = grid[pairs, 1, :, pairs, 0, :]  # (pairs, size, size)
        first, second = known[0::2], known[1::2]
        corner = -second @ below @ first
        known = jnp.block([[first, jnp.zeros_like(first)], [corner, second]])
    return known[0, :rows, :rows]


class DeltaNet(Core):
    """Layers of the delta rule, each with a feed-forward layer."""

    embed: eqx.nn.Linear
    layers: list[tuple[DeltaLayer, FeedForward]]

    def initial_state(self) -> Array:
        layer = self.layers[0][0]
        size = layer.merge.weight.shape[1] // layer.heads
        return jnp.zeros((len(self.layers), layer.heads, size, size), layer.merge.weight.dtype)

    def __call__(self, x: Array, first: Array, state: Array) -> tuple[Array, Array]:
        x, after = self.embed(x), []
        for (layer, forward), matrices in zip(self.layers, state, strict=True):
            matrices, x = layer(x, matrices)
            x = forward(x)
            after.append(matrices)
        return jnp.stack(after), x

    def unroll(self, x: Array, first: Array, state: Any) -> Array:
        x = jax.vmap(self.embed)(x)
        for (layer, forward), matrices in zip(self.layers, state, strict=True):
            x = each_again(forward, layer.unroll(x, matrices))
        return x


@dataclass(frozen=True)
class DeltaNetMaker(RivalMaker):
    """Makes rivals with the delta rule."""

    layers: int = 2
    """Layers, one above the other."""
    heads: int = 2
    """Matrices per layer, each of width / heads rows and columns."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(layers=self.layers, heads=self.heads)

    @property
    def multiple(self) -> int:
        return self.heads

    def core(self, size: int, width: int, world: World, *, key: Array) -> Core:
        first, *others = jax.random.split(key, 1 + 2 * self.layers)
        layers = [
            (DeltaLayer(width, self.heads, key=one), FeedForward(width, key=other))
            for one, other in zip(others[::2], others[1::2], strict=True)
        ]
        return DeltaNet(eqx.nn.Linear(size, width, key=first), layers)
