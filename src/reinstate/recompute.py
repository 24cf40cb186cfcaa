"""Learning in two passes: play without gradients, then decide again, all steps at once.

Differentiating the play itself goes back step by step, through all that a step computes. Two kinds
of players do without that; with unchanged weights their decisions, and so the gradient, are those
of the play.

A player with `unroll(inputs, state)` lasts an epoch and has no episodic memory. It is shown again
what it saw while it acted, in one call that may use every step in parallel. Memory grows with the
steps of a segment, `A2C.episodes_per_update` of its episodes: fewer bound it, and gradients then
end at the segment's start, where the state is carried in. What `unroll` keeps per step is its own
affair; those of `reinstate.rivals` keep the least they can recompute from.

A player with `retrace(inputs, c_ep, start, taken)` is also given the states that it was in, so that
only gradients are left to compute: the paper's agents, by `reinstate.through_time`.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from reinstate.agent import Player
from reinstate.memory import Memory
from reinstate.rollout import Episode, EpochState, Seen, play, retraces, unrolls
from reinstate.tasks.base import World


def play_to_learn(
    world: World,
    player: Player,
    memory: Memory,
    state: EpochState,
    tasks: Any,
    keys: Array,
    *,
    through_storage: bool = False,
    fused: bool = True,
    **how: Any,
) -> tuple[EpochState, Episode]:
    """Play in every lane, as `reinstate.rollout.play`: logits and values have gradients.

    Lanes lead, but for tasks, (episodes, lanes, …).
    """
    twice = unrolls(player) or (retraces(player) and fused and not through_storage)

    def run(player: Any, state: EpochState) -> tuple[EpochState, Episode]:
        def one(state: EpochState, tasks: Any, key: Array) -> tuple[EpochState, Episode]:
            now: Any = {"keep": twice, "through_storage": through_storage, **how}
            return play(world, player, memory, state, tasks, key, **now)

        return jax.vmap(one, in_axes=(0, 1, 0))(state, tasks, keys)

    if not twice:
        return run(player, state)
    arrays, rest = eqx.partition((player, state), eqx.is_array)
    after, played = run(*eqx.combine(jax.lax.stop_gradient(arrays), rest))
    return after, decide_again(player, state.player, played)


def decide_again(player: Any, start: Any, played: Episode) -> Episode:
    """Return the episodes of all lanes with logits and values that have gradients.

    `start` is the state in which each lane's segment starts.
    """
    steps = played.steps
    length = steps.action.shape[-1]
    if player.outlives_episodes:
        found = _whole_segment(player, start, played)
    else:
        found = _each_episode(player, steps.seen)
    logits, value = (x[:, :, :length] for x in found)
    steps = steps._replace(logits=logits, value=value, seen=None)
    return played._replace(steps=steps, seen=None)


def _whole_segment(player: Any, start: Any, played: Episode) -> tuple[Array, Array]:
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
    if unrolls(player):
        decided = jax.vmap(player.unroll)(seen.inputs, start)
        found = decided.logits, decided.value
    else:
        found = _retraced(player, seen, start)
    if order is not None:
        found = _along_time(found, jnp.argsort(order))
    logits, value = (x.reshape(lanes, episodes, length + 1, *x.shape[2:]) for x in found)
    return logits, value


def _each_episode(player: Any, seen: Seen) -> tuple[Array, Array]:
    """Decide on every episode by itself, (lanes, episodes, steps, …).

    The state after the outcome goes to the memory alone, where it has no gradient.
    """
    lanes, episodes = seen.inputs.last_action.shape[:2]
    rows = lanes * episodes
    seen = jax.tree.map(lambda x: x.reshape(rows, *x.shape[2:]), seen)
    start = jax.tree.map(lambda x: jnp.broadcast_to(x, (rows, *x.shape)), player.initial_state())
    found = _retraced(player, seen, start)
    logits, value = (x.reshape(lanes, episodes, *x.shape[1:]) for x in found)
    return logits, value


def _retraced(player: Any, seen: Seen, start: Any) -> tuple[Array, Array]:
    """Let the player go back over its steps, (rows, steps, …); it wants time to lead."""
    inputs, c_ep, taken = jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), seen)
    logits, value = player.retrace(inputs, c_ep, start, taken)
    return jnp.swapaxes(logits, 0, 1), jnp.swapaxes(value, 0, 1)


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
