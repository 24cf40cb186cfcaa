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
    def outlives_episodes(self) -> bool:
        """Whether its state is carried through an epoch; if not, every episode resets it."""

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
    retrieved: Array  # () the epoch's episode whose state came back; −1: none
    trace: Any  # what the world tells analyses of the step


class Episode(NamedTuple):
    steps: Step  # (steps, …)
    outcome: Gates  # at the step that sees the last reward, each the mean over units


class Life(NamedTuple):
    """What outlives an episode; an epoch starts with a new one."""

    memory: Memory
    mind: Any  # the agent's state, which a new episode resets unless the agent outlives episodes
    history: Any  # what the world keeps


class _Now(NamedTuple):
    state: Any  # the task's
    mind: Any  # the agent's
    action: Array
    reward: Array


def new_life(world: World, agent: Player, dnd: DND) -> Life:
    memory = dnd.empty(world.context_size, agent.value_size)
    return Life(memory, agent.initial_state(), world.new_history())


def new_lives(world: World, agent: Player, dnd: DND, lanes: int) -> Life:
    """One for every lane."""
    life = new_life(world, agent, dnd)
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (lanes, *x.shape)), life)


def play(
    world: World,
    agent: Player,
    dnd: DND,
    life: Life,
    tasks: Any,
    key: Array,
    unroll: int = 1,
    recall: Array | float = 1.0,
    through_storage: bool = False,
) -> tuple[Life, Episode]:
    """Play the episodes of `tasks` one after the other; steps come as (episodes, steps, …)."""

    def one(life: Life, episode: tuple[Any, Array]) -> tuple[Life, Episode]:
        return play_episode(
            world,
            agent,
            dnd,
            life,
            *episode,
            unroll=unroll,
            recall=recall,
            through_storage=through_storage,
        )

    num_episodes = jax.tree.leaves(tasks)[0].shape[0]
    return jax.lax.scan(one, life, (tasks, jax.random.split(key, num_episodes)))


def play_episode(
    world: World,
    agent: Player,
    dnd: DND,
    life: Life,
    task: Any,
    key: Array,
    unroll: int = 1,
    recall: Array | float = 1.0,
    through_storage: bool = False,
) -> tuple[Life, Episode]:
    """One episode. Unless the agent outlives episodes, it starts afresh but for the memory.

    What comes back is multiplied by `recall`: at 0 the memory is written, and read in vain. Stored
    states carry no gradient, as in the paper, unless `through_storage`.
    """
    task = world.in_view_of(life.history, task)
    contexts = world.contexts(task)  # (shown, context_size)
    memory, recalled = _recall(agent, dnd, life.memory, contexts)
    recalled = recalled._replace(c_ep=recall * recalled.c_ep)
    reset_key, action_key, steps_key = jax.random.split(key, 3)

    def sense(now: _Now) -> tuple[Any, Decision, _Recalled]:
        seen = world.observe(task, now.state)
        context, c_ep, distance, written = (
            jnp.where(seen.context < 0, nothing, rows[seen.context])
            for rows, nothing in zip((contexts, *recalled), (0.0, 0.0, jnp.inf, 0), strict=True)
        )
        mind, decision = agent(seen.features, context, now.action, now.reward, c_ep, now.mind)
        return mind, decision, _Recalled(c_ep, distance, written)

    def step(now: _Now, chance: tuple[Array, Array]) -> tuple[_Now, Step]:
        gumbel, step_key = chance
        mind, decision, found = sense(now)
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
            found.distance,
            (found.written - 1) // world.writes_per_episode,
            world.trace(task, now.state),
        )
        return _Now(state, mind, action, reward), taken

    nothing = jnp.full((), -1), jnp.zeros(())  # no action, no reward yet
    mind = life.mind if agent.outlives_episodes else agent.initial_state()
    now = _Now(world.reset(reset_key, task), mind, *nothing)
    length = world.episode_length
    # All of an episode's chance at once: random numbers are cheaper drawn in bulk.
    chance = (
        draws.gumbel(action_key, length, world.num_actions),
        draws.split(steps_key, length),
    )
    now, steps = jax.lax.scan(step, now, chance, unroll=unroll)
    # The last reward reaches the cell only as the next step's input: without one more step the
    # stored state would lack it.
    mind, decision, _ = sense(now)
    keys = [contexts[row] for row in world.stored_under(task, now.state)]
    life = Life(
        _store(agent, dnd, memory, keys, mind, through_storage),
        mind if agent.outlives_episodes else life.mind,
        world.log(life.history, task, now.state),
    )
    return life, Episode(steps, jax.tree.map(jnp.mean, decision.gates))


class _Recalled(NamedTuple):
    """What the memory gives for every context that an episode can show, (shown, …)."""

    c_ep: Array
    distance: Array  # infinite where the memory is empty
    written: Array  # the number of the write that stored it, from 1; 0 where the memory is empty


def _recall(agent: Player, dnd: DND, memory: Memory, contexts: Array) -> tuple[Memory, _Recalled]:
    if not agent.remembers:
        shown = contexts.shape[0]
        none = (
            jnp.zeros((shown, agent.value_size)),
            jnp.full(shown, jnp.inf),
            jnp.zeros(shown, jnp.int32),
        )
        return memory, _Recalled(*none)

    def look_up(memory: Memory, context: Array) -> tuple[Memory, _Recalled]:
        found, memory = dnd.read(memory, context)
        return memory, _Recalled(found.value, found.distances[0], found.written[0])

    memory, recalled = jax.lax.scan(look_up, memory, contexts)
    return memory, recalled


def _store(
    agent: Player, dnd: DND, memory: Memory, keys: list[Array], mind: Any, through_storage: bool
) -> Memory:
    """The memory with what the agent stores of its state under each of the keys."""
    if not agent.remembers:
        return memory
    value = agent.to_store(mind)
    value = value if through_storage else jax.lax.stop_gradient(value)
    for key in keys:
        memory = dnd.write(memory, key, value)
    return memory
