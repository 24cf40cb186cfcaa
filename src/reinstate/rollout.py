"""Episodes played in a row: the only place that resets the player, reads and writes the memory.

Training and evaluation both go through `play`. Acting and learning are the same pass: the forward
pass that is differentiated samples the actions. Or the same steps are gone over again, by players
that have a cheaper way to their gradient: see `reinstate.recompute`.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from reinstate import draws
from reinstate.agent import Decision, Inputs, Player
from reinstate.memory import Memory
from reinstate.tasks.base import World


class Step(NamedTuple):
    """One time step; `play` stacks them over an episode's steps and over episodes."""

    logits: Array  # (num_actions,)
    value: Array  # ()
    action: Array  # ()
    reward: Array  # ()
    expected_reward: Array  # () of the action taken
    best_expected_reward: Array  # () of the best action
    report: dict[str, Array]  # what the player reports, each the mean over units
    distance: Array  # () from the context to the nearest key; infinite if there is none
    retrieved: Array  # () the epoch's episode whose state came back; −1: none
    trace: Any  # what the world tells analyses of the step
    played: Any = None  # () false after an episode's early end; None: all episodes are as long
    seen: Any = None  # a `Seen`, if the player is to decide again


class Episode(NamedTuple):
    steps: Step  # (steps, …)
    outcome: dict[str, Array]  # the report at the step that sees the last reward
    seen: Any = None  # at that step


class Seen(NamedTuple):
    """What `reinstate.recompute` needs of a step."""

    inputs: Inputs
    c_ep: Any  # what came back; like the next, None unless the player retraces
    state: Any  # the player's, after the step


class EpochState(NamedTuple):
    """What outlives an episode; every epoch starts with a new one."""

    memory: Any  # contents
    player: Any  # the player's state, which a new episode resets unless it outlives episodes
    history: Any  # what the world keeps


class _StepState(NamedTuple):
    task: Any  # the state of the task
    player: Any
    action: Array
    reward: Array
    seen: Array | None  # (shown,) contexts that were on show; only if memories come back once


class _Recalled(NamedTuple):
    """What the memory gives for every context that an episode can show, (shown, …)."""

    c_ep: Any  # or what the player makes of it: a tree
    distance: Array  # infinite where the memory is empty
    written: Array  # the number of the write that stored it, from 1; 0 where the memory is empty


def start_epoch(world: World, player: Player, memory: Memory) -> EpochState:
    """Return the state in which an epoch starts: an empty memory and no history."""
    contents = memory.empty(world.context_size, player.value_size)
    return EpochState(contents, player.initial_state(), world.new_history())


def start_lanes(world: World, player: Player, memory: Memory, lanes: int) -> EpochState:
    """Return such a state for every lane."""
    state = start_epoch(world, player, memory)
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (lanes, *x.shape)), state)


def play(
    world: World,
    player: Player,
    memory: Memory,
    state: EpochState,
    tasks: Any,
    key: Array,
    unroll: int = 1,
    recall: Array | float = 1.0,
    through_storage: bool = False,
    keep: bool = False,
) -> tuple[EpochState, Episode]:
    """Play the episodes of `tasks` one after the other; steps come as (episodes, steps, …).

    What the memory retrieves is multiplied by `recall`: at 0 it is written, and nothing comes back.
    Stored states carry no gradient, as in the paper, unless `through_storage`. With `keep`, steps
    carry what the player saw, so that it can decide again.
    """

    def one(state: EpochState, episode: tuple[Any, Array]) -> tuple[EpochState, Episode]:
        how: Any = unroll, recall, through_storage, keep
        return play_episode(world, player, memory, state, *episode, *how)

    num_episodes = jax.tree.leaves(tasks)[0].shape[0]
    return jax.lax.scan(one, state, (tasks, jax.random.split(key, num_episodes)))


def play_episode(
    world: World,
    player: Player,
    memory: Memory,
    state: EpochState,
    task: Any,
    key: Array,
    unroll: int = 1,
    recall: Array | float = 1.0,
    through_storage: bool = False,
    keep: bool = False,
) -> tuple[EpochState, Episode]:
    """Play one episode; only the memory reaches it from earlier ones, unless the player does."""
    task = world.update_task(state.history, task)
    contexts = world.contexts(task)  # (shown, context_size)
    memory_keys = _memory_keys(world, player, task, contexts)
    recalled, contents = _read(player, memory, state.memory, memory_keys)
    recalled = recalled._replace(c_ep=jax.tree.map(lambda x: recall * x, recalled.c_ep))
    exposure = _Exposure(world, player, task, contexts, recalled, keep)
    reset_key, action_key, steps_key = jax.random.split(key, 3)
    start = state.player if player.outlives_episodes else player.initial_state()
    nothing = jnp.full((), -1, jnp.int32), jnp.zeros((), jnp.float32)  # no action, no reward yet
    seen = jnp.zeros(contexts.shape[0], bool) if recalls_once(player) else None
    now = _StepState(world.reset(reset_key, task), start, *nothing, seen)
    length = world.episode_length
    # All of an episode's chance at once: random numbers are cheaper drawn in bulk.
    chance = draws.gumbel(action_key, length, world.num_actions), draws.split(steps_key, length)
    now, steps = jax.lax.scan(exposure.step, now, chance, unroll=unroll)
    # The last reward reaches the cell only as the next step's input: without one more step the
    # stored state would lack it.
    after, decision, _, last_seen = exposure.sense(now)
    keys = [memory_keys[row] for row in world.keys_to_store(task, now.task)]
    state = EpochState(
        _write(player, memory, contents, keys, after.player, through_storage),
        after.player if player.outlives_episodes else state.player,
        world.update_history(state.history, task, now.task),
    )
    return state, Episode(steps, _means(decision), last_seen)


class _Exposure(NamedTuple):
    """What stays constant while an episode is played."""

    world: World
    player: Player
    task: Any
    contexts: Array  # (shown, context_size)
    recalled: _Recalled
    keep: bool  # whether steps carry what the player saw

    def sense(self, now: _StepState) -> tuple[_StepState, Decision, _Recalled, Seen | None]:
        """Show the player where it is, and what comes back of the context on show."""
        shown = self.world.observe(self.task, now.task)
        row, distance, written = shown.context, self.recalled.distance, self.recalled.written
        context = jnp.where(row < 0, 0.0, self.contexts[row])
        comes = row >= 0 if now.seen is None else (row >= 0) & ~now.seen[row]
        c_ep = jax.tree.map(lambda x: jnp.where(comes, x[row], 0.0), self.recalled.c_ep)
        found = _Recalled(
            c_ep, jnp.where(row < 0, jnp.inf, distance[row]), jnp.where(row < 0, 0, written[row])
        )
        seen = None if now.seen is None else now.seen.at[row].set(now.seen[row] | (row >= 0))
        inputs = Inputs(shown.features, context, now.action, now.reward)
        after, decision = self.player(*inputs, c_ep, now.player)
        known = (c_ep, after) if retraces(self.player) else (None, None)
        kept = Seen(inputs, *known) if self.keep else None
        return now._replace(player=after, seen=seen), decision, found, kept

    def step(self, now: _StepState, chance: tuple[Array, Array]) -> tuple[_StepState, Step]:
        """Let the player act, and the world answer, unless the episode is over."""
        after, taken = self.act(now, chance)
        over = self.world.done(self.task, now.task)
        if over is None:
            return after, taken
        # What is left of the scan changes nothing: the last real step is what the memory stores.
        after = jax.tree.map(lambda old, new: jnp.where(over, old, new), now, after)
        return after, taken._replace(
            reward=jnp.where(over, 0.0, taken.reward),
            expected_reward=jnp.where(over, 0.0, taken.expected_reward),
            best_expected_reward=jnp.where(over, 0.0, taken.best_expected_reward),
            played=~over,
        )

    def act(self, now: _StepState, chance: tuple[Array, Array]) -> tuple[_StepState, Step]:
        """Let the player act, and the world answer."""
        world, task, (gumbel, step_key) = self.world, self.task, chance
        after, decision, found, kept = self.sense(now)
        # A draw from the softmax of the logits.
        action = jnp.argmax(decision.logits + gumbel).astype(jnp.int32)
        expected = world.expected_rewards(task, now.task)
        task_state, reward = world.step(step_key, task, now.task, action)
        taken = Step(
            decision.logits,
            decision.value,
            action,
            reward,
            expected[action],
            jnp.max(expected),
            _means(decision),
            found.distance,
            (found.written - 1) // world.writes_per_episode,
            world.trace(task, now.task),
            seen=kept,
        )
        return after._replace(task=task_state, action=action, reward=reward), taken


def recalls_once(player: Player) -> bool:
    """Tell whether memories come back to a player only when their context is first shown."""
    return getattr(player, "recalls_once", False)


def unrolls(player: Player) -> bool:
    """Tell whether a player can take the steps of an epoch at once: see `reinstate.recompute`."""
    return player.outlives_episodes and not player.remembers and hasattr(player, "unroll")


def retraces(player: Player) -> bool:
    """Tell whether a player can go back over steps that it took: see `reinstate.recompute`."""
    return getattr(player, "retraces", False)


def _memory_keys(world: World, player: Player, task: Any, contexts: Array) -> Array:
    """Return the keys of the contexts on show: as they look, or which they are, (shown, size)."""
    if not getattr(player, "told_contexts", False):
        return contexts
    ids = world.context_ids(task).astype(contexts.dtype)
    return jnp.broadcast_to(1 + ids[:, None], contexts.shape)


def _means(decision: Decision) -> dict[str, Array]:
    """Return the mean over units of each reported quantity."""
    return {name: jnp.mean(quantity) for name, quantity in decision.report.items()}


def _read(player: Player, memory: Memory, contents: Any, contexts: Array) -> tuple[_Recalled, Any]:
    """Read the memory once for each context: it is constant within an episode."""
    if not player.remembers:
        shown = contexts.shape[0]
        none = (
            jnp.zeros((shown, player.value_size)),
            jnp.full(shown, jnp.inf),
            jnp.zeros(shown, jnp.int32),
        )
        return _Recalled(*none), contents

    def look_up(contents: Any, context: Array) -> tuple[Any, _Recalled]:
        found, contents = memory.read(contents, context)
        c_ep = player.recall(found) if hasattr(player, "recall") else found.value
        return contents, _Recalled(c_ep, found.distances[0], found.written[0])

    contents, recalled = jax.lax.scan(look_up, contents, contexts)
    return recalled, contents


def _write(
    player: Player,
    memory: Memory,
    contents: Any,
    keys: list[Array],
    state: Any,
    through_storage: bool,
) -> Any:
    """Store what the player keeps of its state under each of the keys."""
    if not player.remembers:
        return contents
    value = player.to_store(state)
    value = value if through_storage else jax.lax.stop_gradient(value)
    for key in keys:
        contents = memory.write(contents, key, value)
    return contents
