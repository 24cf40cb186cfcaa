"""One lane of a world, step by step: from step to step, episode to episode and epoch to epoch.

All adapters play by these functions: the functional environment maps them over lanes, and what
Gymnasium steps from Python is that environment, compiled.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_batching import custom_vmap

from reinstate.tasks.base import World

STAY, NEXT_EPISODE, NEW_EPOCH = range(3)


class LaneState(NamedTuple):
    """Where one lane is."""

    tasks: Any  # of the epoch, as sampled, (episodes, …)
    history: Any  # what the world keeps of the epoch
    task: Any  # the one being played
    task_state: Any
    episode: Array  # () its place in the epoch
    step: Array  # () steps done in it
    time: Array  # () steps done since the environment's episode began
    action: Array  # () the last one; −1: none since the environment's episode began
    reward: Array  # () the last one
    over: Array  # () whether the environment's episode has ended


class Played(NamedTuple):
    """What one step gave."""

    state: LaneState
    reward: Array  # ()
    ended: Array  # () whether the exposure has
    expected_reward: Array  # () of the action
    best_expected_reward: Array  # () of the best action then


def play(world: World, key: Array, state: LaneState, action: Array) -> Played:
    """Take one step of an episode; nothing happens after its end.

    An action that does not exist pays NaN, which no learner overlooks.
    """
    task, before = state.task, state.task_state
    exists = (action >= 0) & (action < world.num_actions)
    expected = world.expected_rewards(task, before)
    after, reward = world.step(key, task, before, action)
    reward = jnp.where(exists, reward, jnp.nan).astype(jnp.float32)
    step = state.step + 1
    ended = step >= world.episode_length
    if (done := world.done(task, before)) is not None:  # an episode may end before its first step
        after, reward = where(done, (before, jnp.zeros((), jnp.float32)), (after, reward))
        ended = ended | jnp.asarray(world.done(task, after))
    moved = state._replace(
        task_state=after, step=step, time=state.time + 1, action=action, reward=reward
    )
    return Played(
        where(state.over, state, moved),
        jnp.where(state.over, 0.0, reward),
        state.over | ended,
        jnp.where(exists, expected[action], jnp.nan),
        jnp.max(expected),
    )


def new_epoch(world: World, key: Array) -> LaneState:
    """Sample an epoch and start its first episode."""
    epoch_key, reset_key = jax.random.split(key)
    tasks, first = world.sample_epoch(epoch_key), jnp.zeros((), jnp.int32)
    return _start(world, reset_key, tasks, world.new_history(), first)


def _next_episode(world: World, key: Array, state: LaneState) -> LaneState:
    history = world.update_history(state.history, state.task, state.task_state)
    return _start(world, key, state.tasks, history, state.episode + 1)


def _start(world: World, key: Array, tasks: Any, history: Any, episode: Array) -> LaneState:
    task = world.update_task(history, jax.tree.map(lambda x: x[episode], tasks))
    zero = jnp.zeros((), jnp.int32)
    return LaneState(
        tasks=tasks,
        history=history,
        task=task,
        task_state=world.reset(key, task),
        episode=episode,
        step=zero,
        time=zero,
        action=zero - 1,
        reward=jnp.zeros((), jnp.float32),
        over=jnp.zeros((), bool),
    )


def move_on(
    world: World,
    move: Array,
    key: Array,
    state: LaneState,
    keeps_on: bool = False,
    within: bool = False,
) -> LaneState:
    """Stay, start the next episode or start a new epoch, as `move` says.

    If `keeps_on`, the environment's episode continues in the next episode, which sees what happened
    last. If `within`, `move` is never a new epoch.
    """

    def stay(move: Array, key: Array, state: LaneState) -> LaneState:
        return state

    def to_next(move: Array, key: Array, state: LaneState) -> LaneState:
        started = _next_episode(world, key, state)
        if keeps_on:
            last = {"time": state.time, "action": state.action, "reward": state.reward}
            started = started._replace(**last)
        return where(move == NEXT_EPISODE, started, state)

    def to_new(move: Array, key: Array, state: LaneState) -> LaneState:
        return where(move == NEW_EPOCH, new_epoch(world, key), to_next(move, key, state))

    if not within:
        return _switch(move, [stay, to_next, to_new], key, state)
    # What a branch returns is copied, and the epoch's tasks can be large.
    small = [lambda *args, go=go: go(*args)._replace(tasks=()) for go in (stay, to_next)]
    return _switch(move, small, key, state)._replace(tasks=state.tasks)


def where(condition: Array, this: Any, that: Any) -> Any:
    """Choose between two trees of the same structure."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), this, that)


def _switch(index: Array, branches: Sequence[Callable[..., Any]], *args: Any) -> Any:
    """Call `branches[index](index, *args)`.

    Under `vmap`, `jax.lax.switch` computes all branches for all lanes and chooses. Here all lanes,
    of nested `vmap` too, take the branch of the largest index among them. So a branch must also do
    right by lanes of a smaller index, which it is told.
    """
    one = custom_vmap(lambda index, *args: jax.lax.switch(jnp.max(index), branches, index, *args))

    @one.def_vmap
    def _(size: int, batched: Sequence[Any], *args: Any) -> tuple[Any, Any]:
        lanes: Any = jax.tree.map(
            lambda has, x: x if has else jnp.broadcast_to(x, (size, *x.shape)), tuple(batched), args
        )
        results = _switch(lanes[0], [jax.vmap(branch) for branch in branches], *lanes[1:])
        return results, jax.tree.map(lambda _: True, results)

    return one(index, *args)
