"""Episodes played in a row: the only place that resets the LSTM, reads and writes the memory.

Training and evaluation both go through `play`. Acting and learning are the same pass, because the
forward pass that is differentiated samples the actions.
"""

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import Array

from reinstate import draws
from reinstate.agent import Decision
from reinstate.cell import Gates
from reinstate.memory import DND, Memory
from reinstate.tasks.base import World


class Player(Protocol):
    """Whoever can play: an agent, or a bandit algorithm."""

    @property
    def remembers(self) -> bool:
        """Whether it reads and writes the memory."""

    @property
    def value_size(self) -> int:
        """The size of what it stores."""

    def initial_state(self) -> Any: ...

    def to_store(self, state: Any) -> Array:
        """What the memory keeps of a state."""

    def __call__(
        self,
        features: Array,
        context: Array,
        last_action: Array,
        last_reward: Array,
        c_ep: Array,
        state: Any,
    ) -> tuple[Any, Decision]:
        """One step: what it has become, and what it would do."""


class Step(NamedTuple):
    """One time step; stacked over an episode's steps and over episodes by `play`."""

    logits: Array  # (num_actions,)
    value: Array  # ()
    action: Array  # ()
    reward: Array  # ()
    expected_reward: Array  # () of the action taken
    best_expected_reward: Array  # () of the best action
    gates: Gates  # each the mean over units
    distance: Array  # () from the context to the nearest key; infinite if there is none
    trace: Any  # what the world tells analyses of the step


class _Now(NamedTuple):
    state: Any  # the task's
    mind: Any  # the agent's
    action: Array
    reward: Array


def empty_memories(world: World, value_size: int, dnd: DND, lanes: int) -> Memory:
    """The memory of every lane as an epoch starts."""
    empty = dnd.empty(world.context_size, value_size)
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (lanes, *x.shape)), empty)


def play(
    world: World, agent: Player, dnd: DND, memory: Memory, tasks: Any, key: Array, unroll: int = 1
) -> tuple[Memory, Step]:
    """Play the episodes of `tasks` one after the other; steps come as (episodes, steps, …)."""

    def one(memory: Memory, episode: tuple[Any, Array]) -> tuple[Memory, Step]:
        return play_episode(world, agent, dnd, memory, *episode, unroll=unroll)

    num_episodes = jax.tree.leaves(tasks)[0].shape[0]
    return jax.lax.scan(one, memory, (tasks, jax.random.split(key, num_episodes)))


def play_episode(
    world: World, agent: Player, dnd: DND, memory: Memory, task: Any, key: Array, unroll: int = 1
) -> tuple[Memory, Step]:
    """One episode: the LSTM starts afresh, and only the memory outlives it."""
    contexts = world.contexts(task)  # (shown, context_size)
    memory, c_ep, distance = _recall(agent, dnd, memory, contexts)
    reset_key, action_key, steps_key = jax.random.split(key, 3)

    def sense(now: _Now) -> tuple[Any, Decision, Array]:
        seen = world.observe(task, now.state)
        mind, decision = agent(
            seen.features,
            contexts[seen.context],
            now.action,
            now.reward,
            c_ep[seen.context],
            now.mind,
        )
        return mind, decision, seen.context

    def step(now: _Now, chance: tuple[Array, Array]) -> tuple[_Now, Step]:
        gumbel, step_key = chance
        mind, decision, shown = sense(now)
        action = jnp.argmax(decision.logits + gumbel)  # a draw from the softmax of the logits
        expected = world.expected_rewards(task, now.state)
        state, reward = world.step(step_key, task, now.state, action)
        taken = Step(
            decision.logits,
            decision.value,
            action,
            reward,
            expected[action],
            jnp.max(expected),
            jax.tree.map(jnp.mean, decision.gates),
            distance[shown],
            world.trace(task, now.state),
        )
        return _Now(state, mind, action, reward), taken

    nothing = jnp.full((), -1), jnp.zeros(())
    now = _Now(world.reset(reset_key, task), agent.initial_state(), *nothing)
    length = world.episode_length
    # All of an episode's chance at once: random numbers are cheaper drawn in bulk.
    chance = (
        draws.gumbel(action_key, length, world.num_actions),
        draws.split(steps_key, length),
    )
    now, steps = jax.lax.scan(step, now, chance, unroll=unroll)
    if agent.remembers:
        # The last reward reaches the cell only as the next step's input: without one more step the
        # stored state would lack it.
        mind, _, shown = sense(now)
        memory = dnd.write(memory, contexts[shown], jax.lax.stop_gradient(agent.to_store(mind)))
    return memory, steps


def _recall(
    agent: Player, dnd: DND, memory: Memory, contexts: Array
) -> tuple[Memory, Array, Array]:
    """c_ep and the distance to it for every context the episode can show, (shown, …)."""
    if not agent.remembers:
        shown = contexts.shape[0]
        return memory, jnp.zeros((shown, agent.value_size)), jnp.full(shown, jnp.inf)

    def look_up(memory: Memory, context: Array) -> tuple[Memory, tuple[Array, Array]]:
        retrieval, memory = dnd.read(memory, context)
        return memory, (retrieval.value, retrieval.distances[0])

    memory, (c_ep, distance) = jax.lax.scan(look_up, memory, contexts)
    return memory, c_ep, distance
