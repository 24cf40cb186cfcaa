"""Learning in two passes: play without gradients, then decide again, all steps at once.

Differentiating the play itself goes back step by step, through all that a step computes. A player
that has `again` does without that: it is shown again what it saw while it acted, in one call. With
unchanged weights its decisions, and so the gradient, are those of the play.

    again(inputs, recalled, start, kept) → logits, values

All are (rows, steps, …): rows are sequences, each with a state to start from. A sequence is an
episode or, of players that outlive them, a segment: `A2C.episodes_per_update` of its episodes.
Memory grows with its steps; gradients end at the segment's start, where the state is carried in.
`kept` is what the player put into its decisions. `recalled` gets no gradient, so that `again` is
for players without weights to learn in `read`.

The agents of `reinstate.rivals` take all steps in parallel, and keep the least they can recompute
from. The paper's agents keep their states, so that only gradients are left to compute: by
`outputs`, back-propagation through time for the episodic LSTM, written out for steps already taken.
"""

from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from reinstate.cell import EpisodicLSTMCell, LSTMState
from reinstate.memory import Memory
from reinstate.player import Again, Player
from reinstate.rollout import PAPER, Episode, EpochState, Options, Seen, play
from reinstate.tasks.base import World


def play_to_learn(
    world: World,
    player: Player,
    memory: Memory,
    state: EpochState,
    tasks: Any,
    keys: Array,
    options: Options = PAPER,
    fused: bool = True,
) -> tuple[EpochState, Episode]:
    """Play in every lane, as `reinstate.rollout.play`: logits and values have gradients.

    Lanes lead, but for tasks, (episodes, lanes, …). Unless `fused`, the play is differentiated.
    """
    again = player.again if fused else None
    if options.through_storage and player.remembers:
        again = None
    options = replace(options, keep=again is not None)

    def run(player: Player, state: EpochState) -> tuple[EpochState, Episode]:
        def one(state: EpochState, tasks: Any, key: Array) -> tuple[EpochState, Episode]:
            return play(world, player, memory, state, tasks, key, options)

        return jax.vmap(one, in_axes=(0, 1, 0))(state, tasks, keys)

    if again is None:
        return run(player, state)
    arrays, rest = eqx.partition((player, state), eqx.is_array)
    after, played = run(*eqx.combine(jax.lax.stop_gradient(arrays), rest))
    decide = _whole_segment if player.outlives_episodes else _each_episode
    start = state.player if player.outlives_episodes else player.initial_state()
    logits, value = (x[:, :, : world.episode_length] for x in decide(again, start, played))
    steps = played.steps._replace(logits=logits, value=value, seen=None)
    return after, Episode(steps, played.outcome)


def _whole_segment(again: Again, start: Any, played: Episode) -> tuple[Array, Array]:
    """Decide on a segment's steps in one sequence per lane, (lanes, episodes, steps + 1, …)."""
    steps = played.steps
    lanes, episodes, length = steps.action.shape
    seen = jax.tree.map(  # each episode, and its outcome
        lambda x, last: jnp.concatenate([x, last[:, :, None]], axis=2), steps.seen, played.seen
    )
    shown = lanes, episodes * (length + 1)
    seen = jax.tree.map(lambda x: x.reshape(*shown, *x.shape[3:]), seen)
    order = None if steps.played is None else jax.vmap(_order)(steps.played)
    if order is not None:
        seen = _along_time(seen, order)
    found = again(seen.inputs, seen.recalled, start, seen.kept)
    if order is not None:
        found = _along_time(found, jnp.argsort(order))
    logits, value = (x.reshape(lanes, episodes, length + 1, *x.shape[2:]) for x in found)
    return logits, value


def _each_episode(again: Again, start: Any, played: Episode) -> tuple[Array, Array]:
    """Decide on every episode by itself, (lanes, episodes, steps, …).

    The state after the outcome goes to the memory alone, where it has no gradient.
    """
    seen: Seen = played.steps.seen
    lanes, episodes = seen.inputs.last_action.shape[:2]
    rows = lanes * episodes
    seen = jax.tree.map(lambda x: x.reshape(rows, *x.shape[2:]), seen)
    start = jax.tree.map(lambda x: jnp.broadcast_to(x, (rows, *x.shape)), start)
    found = again(seen.inputs, seen.recalled, start, seen.kept)
    logits, value = (x.reshape(lanes, episodes, *x.shape[1:]) for x in found)
    return logits, value


def _along_time(tree: Any, order: Array) -> Any:
    """Reorder the steps of every lane."""
    return jax.tree.map(
        jax.vmap(lambda x, rows: x[rows]), tree, jax.tree.map(lambda _: order, tree)
    )


def _order(played: Array) -> Array:
    """Put steps that were not played last, where no other step can see them.

    An episode's outcome is always seen.
    """
    seen = jnp.concatenate([played, jnp.ones_like(played[:, :1])], axis=1)
    return jnp.argsort(~seen.reshape(-1), stable=True)


class _Taken(NamedTuple):
    """Steps, as the player took them: (steps, rows, hidden)."""

    c_ep: Array
    c: Array  # after the step
    h: Array


class _Kept(NamedTuple):
    """What the backward pass needs of the forward pass."""

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

    Whoever has played knows every state, so that only what depends on the future is left to compute
    step by step, backwards. With ∂x for the gradient of the loss with respect to x, and ∂c_t to
    start with what c_{t+1} passes on,

        ∂h_t  = ∂h_t of the heads + W_h ∂z_{t+1}
        ∂c_t += ∂h_t ∘ o ∘ (1 − tanh²(c_t))
        ∂z_t  = (∂c_t ∘ c_in ∘ i(1−i),  ∂c_t ∘ c_{t−1} ∘ f(1−f),  ∂h_t ∘ tanh(c_t) ∘ o(1−o),
                 ∂c_t ∘ i ∘ (1−c_in²),  ∂c_t ∘ c_ep ∘ r(1−r))
        ∂c_{t−1} = ∂c_t ∘ f

    That backward pass is one GPU kernel, and the gradient of the weights is one matrix product over
    all steps. Differentiating the play takes a dozen kernels per step; on a CPU, which has less use
    for large operations, it is no faster.
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
    gates = jnp.pad(gates, [(0, 0), (0, 0), (0, width_of(units) - units)])
    flat = gates.reshape(weight.shape[0], -1)
    z = (entered @ flat).reshape(*entered.shape[:-1], *gates.shape[1:])
    recurrent = gates[size : size + units]
    d_z, *d_start = go_back(recurrent, z, start.c, taken.c, taken.c_ep, d_h)
    d_z = d_z.reshape(*entered.shape[:-1], -1)
    d_gates = jnp.einsum("tri,trz->iz", entered, d_z).reshape(gates.shape)
    d_weight = d_gates[..., :units].reshape(weight.shape)
    return d_weight, d_z @ flat[:size].T, LSTMState(*d_start), None


_outputs.defvjp(_there, _back)


# The fastest of a few on an H200, with 50 units and the lanes of the paper presets; with ten times
# the lanes, 64 sequences and 8 warps were a tenth faster.
ROWS = 32  # sequences per program
WARPS = 4  # that share them
SMALLEST, LARGEST = 16, 64  # tiles that a program multiplies
TF32 = jax.lax.DotAlgorithmPreset.TF32_TF32_F32  # what GPUs multiply with unless told otherwise


def serves(units: int, dtype: Any) -> bool:
    """Tell whether this machine has the kernel, and the kernel is for such states.

    Who asks JAX for exact products (`jax_default_matmul_precision`) gets them elsewhere.
    """
    config: Any = jax.config
    usual = config.jax_default_matmul_precision in (None, "default", "tensorfloat32")
    return usual and dtype == jnp.float32 and units <= LARGEST and _available()


@cache
def _available() -> bool:
    """Tell whether programs run on an NVIDIA GPU, and JAX still has what this is written in."""
    if jax.default_backend() != "gpu":
        return False
    try:
        from jax.experimental.pallas import triton  # noqa: F401
    except ImportError:
        return False
    return "cuda" in jax.devices()[0].client.platform_version.lower()


def width_of(units: int) -> int:
    """Return how many places a gate has in the kernel's arrays, of which `units` are used."""
    return max(SMALLEST, 1 << (units - 1).bit_length())


def go_back(
    recurrent: Array,
    z: Array,
    start: Array,
    c: Array,
    c_ep: Array,
    d_h: Array,
    *,
    interpret: bool = False,
) -> tuple[Array, Array, Array]:
    """Return ∂z, (steps, rows, gates, width), and the gradient of the starting c and h.

    `recurrent` is W_h, (units, gates, width), and z has all gates of all steps, shaped like ∂z.
    The other arrays are (steps, rows, units), `start` without steps. `interpret` computes the same
    without a GPU, slowly.
    """
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    _, rows, units = c.shape
    gates, width = z.shape[-2:]
    # What ∂z of a gate passes back to h: (gates, of z, of h).
    passed = jnp.pad(recurrent.transpose(1, 2, 0), [(0, 0), (0, 0), (0, width - units)])
    like = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in (z, start, start)]
    d_z, d_c, d_h = pl.pallas_call(
        partial(_kernel, precision=None if interpret else TF32),
        out_shape=like,
        grid=(pl.cdiv(rows, ROWS),),
        compiler_params=triton.CompilerParams(num_warps=WARPS, num_stages=1),
        interpret=interpret,
        name="back_through_time",
    )(*(passed, z, start, c, d_h), *([c_ep] if gates == 5 else []))
    return d_z, d_c, d_h


def _kernel(passed: Any, z: Any, start: Any, c: Any, d_h: Any, *rest: Any, precision: Any) -> None:
    """Take ROWS sequences from their last step to the first. Arguments are references."""
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    *c_ep, d_z, d_start_c, d_start_h = rest
    steps, rows, units = c.shape
    row = (pl.program_id(0) * ROWS + jnp.arange(ROWS))[:, None]
    unit = jnp.arange(z.shape[-1])[None, :]
    there = jnp.broadcast_to(row < rows, (ROWS, unit.size))
    used = there & (unit < units)

    def load(ref: Any, *where: Any) -> Array:
        return triton.load(ref.at[(*where, row, unit)], mask=used, other=0.0)

    def gate(t: Any, number: int) -> Array:
        return triton.load(z.at[t, row, number, unit], mask=there, other=0.0)

    def send(t: Any, number: int, d: Array) -> Array:
        """Write a gate's ∂z, and return what it passes back to h."""
        triton.store(d_z.at[t, row, number, unit], d, mask=there)
        return jnp.dot(d, passed[number], precision=precision, preferred_element_type=jnp.float32)

    def step(
        t: Any, c_t: Array, c_before: Array, later_c: Array, later_h: Array
    ) -> tuple[Array, Array]:
        o, tanh_c = _sigmoid(gate(t, 2)), _tanh(c_t)
        d_h_t = load(d_h, t) + later_h
        d_c = later_c + d_h_t * o * (1 - tanh_c * tanh_c)
        back = send(t, 2, d_h_t * tanh_c * o * (1 - o))
        i, c_in = _sigmoid(gate(t, 0)), _tanh(gate(t, 3))
        back += send(t, 0, d_c * c_in * i * (1 - i))
        back += send(t, 3, d_c * i * (1 - c_in * c_in))
        if c_ep:
            r = _sigmoid(gate(t, 4))
            back += send(t, 4, d_c * load(c_ep[0], t) * r * (1 - r))
        f = _sigmoid(gate(t, 1))
        back += send(t, 1, d_c * c_before * f * (1 - f))
        return d_c * f, back

    def earlier(n: Any, carried: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        t, (c_t, *later) = steps - 1 - n, carried
        c_before = load(c, t - 1)
        return c_before, *step(t, c_t, c_before, *later)

    nothing = jnp.zeros((ROWS, unit.size), jnp.float32)
    last = load(c, steps - 1), nothing, nothing
    c_0, *later = jax.lax.fori_loop(0, steps - 1, earlier, last)
    for ref, d in zip((d_start_c, d_start_h), step(0, c_0, load(start), *later), strict=True):
        triton.store(ref.at[row, unit], d, mask=used)


def _sigmoid(x: Array) -> Array:
    """σ(x) by way of an exponential, for which GPUs have an instruction; tanh takes many."""
    return 1 / (1 + jnp.exp(-x))


def _tanh(x: Array) -> Array:
    return 2 * _sigmoid(2 * x) - 1
