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
`reinstate.through_time`.
"""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

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
