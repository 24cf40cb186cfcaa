"""Episodes played in a row: the only place that resets the player, reads and writes the memory.

Training and evaluation both go through `play`. Acting and learning are the same pass: the forward
pass that is differentiated samples the actions. Or the same steps are gone over again, by players
that have a cheaper way to their gradient: see `reinstate.recompute`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from reinstate import draws
from reinstate.memory import Memory
from reinstate.player import Decision, Inputs, Player
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
    """What `Player.again` needs of a step."""

    inputs: Inputs
    recalled: Any
    kept: Any  # of the decision


Report = Callable[[Any, Decision], Mapping[str, Array]]


@dataclass(frozen=True)
class Options:
    """How to play, whoever plays what."""

    unroll: int = 1
    """Steps of an episode that are compiled side by side."""
    recall: Array | float = 1.0
    """By what the memory's answers are multiplied: at 0 it is written, and nothing comes back."""
    through_storage: bool = False
    """Whether stored states carry a gradient; in the paper they do not."""
    keep: bool = False
    """Whether steps carry what the player saw, so that it can decide again."""
    report: Report | None = None
    """What is reported of a step that led to a state, in place of what the player reports."""


PAPER = Options()


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
    shown: Array  # (shown,) contexts that were on show


class _Recalled(NamedTuple):
    """What the memory gives for every context that an episode can show, (shown, …)."""

    recalled: Any
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
    options: Options = PAPER,
) -> tuple[EpochState, Episode]:
    """Play the episodes of `tasks` one after the other; steps come as (episodes, steps, …)."""

    def one(state: EpochState, episode: tuple[Any, Array]) -> tuple[EpochState, Episode]:
        return play_episode(world, player, memory, state, *episode, options)

    num_episodes = jax.tree.leaves(tasks)[0].shape[0]
    return jax.lax.scan(one, state, (tasks, jax.random.split(key, num_episodes)))


def play_episode(
    world: World,
    player: Player,
    memory: Memory,
    state: EpochState,
    task: Any,
    key: Array,
    options: Options = PAPER,
) -> tuple[EpochState, Episode]:
    """Play one episode; only the memory reaches it from earlier ones, unless the player does."""
    world = player.view(world)
    task = world.update_task(state.history, task)
    contexts = world.contexts(task)  # (shown, context_size)
    start = state.player if player.outlives_episodes else player.initial_state()
    read, contents = _read(player, memory, state.memory, contexts, start)
    read = read._replace(recalled=jax.tree.map(lambda x: options.recall * x, read.recalled))
    exposure = _Exposure(world, player, task, contexts, read, options)
    reset_key, action_key, steps_key = jax.random.split(key, 3)
    nothing = jnp.full((), -1, jnp.int32), jnp.zeros((), jnp.float32)  # no action, no reward yet
    shown = jnp.zeros(contexts.shape[0], bool)
    now = _StepState(world.reset(reset_key, task), start, *nothing, shown)
    length = world.episode_length
    # All of an episode's chance at once: random numbers are cheaper drawn in bulk.
    chance = draws.gumbel(action_key, length, world.num_actions), draws.split(steps_key, length)
    now, steps = jax.lax.scan(exposure.step, now, chance, unroll=options.unroll)
    # The last reward reaches the cell only as the next step's input: without one more step the
    # stored state would lack it.
    after, decision, _, last_seen = exposure.sense(now)
    if player.remembers:
        kept = after.player if options.through_storage else jax.lax.stop_gradient(after.player)
        for row in world.keys_to_store(task, now.task):
            contents = player.write(memory, contents, contexts[row], kept)
    state = EpochState(
        contents,
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
    read: _Recalled
    options: Options

    def sense(self, now: _StepState) -> tuple[_StepState, Decision, _Recalled, Seen | None]:
        """Show the player where it is, and what comes back of the context on show."""
        features, row = self.world.observe(self.task, now.task)
        there, options = row >= 0, self.options
        recalled, distance, written = self.read
        found = _Recalled(
            jax.tree.map(lambda x: jnp.where(there, x[row], 0.0), recalled),
            jnp.where(there, distance[row], jnp.inf),
            jnp.where(there, written[row], 0),
        )
        context = jnp.where(there, self.contexts[row], 0.0)
        inputs = Inputs(features, context, now.action, now.reward, there & ~now.shown[row])
        after, decision = self.player(inputs, found.recalled, now.player)
        kept = Seen(inputs, found.recalled, decision.kept) if options.keep else None
        if options.report is not None:
            decision = decision._replace(report=options.report(after, decision))
        shown = now.shown.at[row].set(now.shown[row] | there)
        return now._replace(player=after, shown=shown), decision, found, kept

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


def _means(decision: Decision) -> dict[str, Array]:
    """Return the mean over units of each reported quantity."""
    return {name: jnp.mean(quantity) for name, quantity in decision.report.items()}


def _read(
    player: Player, memory: Memory, contents: Any, contexts: Array, state: Any
) -> tuple[_Recalled, Any]:
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
        recalled, found, contents = player.read(memory, contents, context, state)
        return contents, _Recalled(recalled, found.distances[0], found.written[0])

    contents, read = jax.lax.scan(look_up, contents, contexts)
    return read, contents
