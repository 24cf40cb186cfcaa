"""Learning over whole epochs: play without gradients, then decide again, all steps at once.

A player that lasts an epoch needs gradients through all of it. Differentiating the play itself
would go back step by step. A player with `unroll(inputs, state)` is shown again what it saw while
it acted, in one call that may use every step in parallel; with unchanged weights its decisions, and
so the gradient, are those of the play.

Memory grows with the steps of a segment, `A2C.episodes_per_update` of its episodes: fewer bound it,
and gradients then end at the segment's start, where the state is carried in. What `unroll` keeps
per step is its own affair; those of `reinstate.rivals` keep the least they can recompute from.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from reinstate.agent import Player
from reinstate.memory import Memory
from reinstate.rollout import Episode, EpochState, play, unrolls
from reinstate.tasks.base import World


def play_to_learn(
    world: World,
    player: Player,
    memory: Memory,
    state: EpochState,
    tasks: Any,
    key: Array,
    **how: Any,
) -> tuple[EpochState, Episode]:
    """Play as `reinstate.rollout.play`, for a loss: logits and values have gradients."""
    if not unrolls(player):
        return play(world, player, memory, state, tasks, key, **how)
    arrays, rest = eqx.partition((player, state), eqx.is_array)
    still, before = eqx.combine(jax.lax.stop_gradient(arrays), rest)
    after, played = play(world, still, memory, before, tasks, key, **how)
    return after, decide_again(player, state.player, played)


def decide_again(player: Any, start: Any, played: Episode) -> Episode:
    """Return episodes of one lane with logits and values by `unroll`, from the state `start`."""
    steps = played.steps
    episodes, length = steps.action.shape
    inputs = jax.tree.map(  # (episodes, steps + 1, …): each episode, and its outcome
        lambda x, last: jnp.concatenate([x, last[:, None]], axis=1), steps.inputs, played.inputs
    )
    shown = episodes * (length + 1)
    flat = jax.tree.map(lambda x: x.reshape(shown, *x.shape[2:]), inputs)
    order = None if steps.played is None else _order(steps.played)
    if order is not None:
        flat = jax.tree.map(lambda x: x[order], flat)
    decided = player.unroll(flat, start)
    found = decided.logits, decided.value
    if order is not None:
        back = jnp.argsort(order)
        found = jax.tree.map(lambda x: x[back], found)
    logits, value = (x.reshape(episodes, length + 1, *x.shape[1:])[:, :length] for x in found)
    return played._replace(steps=steps._replace(logits=logits, value=value))


def _order(played: Array) -> Array:
    """Put steps that were not played last, where no other step can see them.

    An episode's outcome is always seen.
    """
    seen = jnp.concatenate([played, jnp.ones_like(played[:, :1])], axis=1)
    return jnp.argsort(~seen.reshape(-1), stable=True)
