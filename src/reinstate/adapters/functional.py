"""Worlds as functional JAX environments, in the convention of gymnax 1.0; gymnax is not needed.

    env = Environment(BarcodeBandits(), last_step=True)
    observation, state = env.reset(key)
    observation, state, reward, terminated, truncated, info = env.step(key, state, action)

Everything is a pure function for one lane: `jax.vmap` makes lanes, `jax.jit` and `jax.lax.scan`
make it fast.
"""

import sys
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.custom_batching import custom_vmap

from reinstate.tasks.base import World

Per = Literal["epoch", "exposure"]
Info = dict[str, Array]
STAY, NEXT_EPISODE, NEW_EPOCH = range(3)
MOST = float(np.finfo(np.float32).max)  # a bound that is finite, for what a world does not bound


@jax.tree_util.register_static
@dataclass(frozen=True)
class EnvParams:
    """What gymnax calls parameters; the settings of a world belong to the world."""

    max_steps_in_episode: int
    """Steps after which an episode is cut short (truncated); by default it never is."""

    def replace(self, **changes: Any) -> "EnvParams":
        return replace(self, **changes)


class EnvState(NamedTuple):
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


class Discrete(NamedTuple):
    """Whole numbers from 0 to n − 1."""

    n: int
    shape: tuple[int, ...] = ()
    dtype: Any = jnp.int32

    def sample(self, key: Array) -> Array:
        return jax.random.randint(key, (), 0, self.n, jnp.int32)

    def contains(self, x: Array) -> Array:
        return (jnp.asarray(x) >= 0) & (jnp.asarray(x) < self.n)


class Box(NamedTuple):
    """Arrays with bounds for each element."""

    low: np.ndarray
    high: np.ndarray
    shape: tuple[int, ...]
    dtype: Any = jnp.float32

    def sample(self, key: Array) -> Array:
        return jax.random.uniform(key, self.shape, self.dtype, self.low, self.high)

    def contains(self, x: Array) -> Array:
        return jnp.all((x >= self.low) & (x <= self.high))


@dataclass(unsafe_hash=True)
class Environment:
    """A world as a functional environment, one lane of it.

    - episode: one epoch of the world (per="epoch"), or one exposure (per="exposure"), after which
      `step` goes on to the epoch's next exposure and from its last one to a new epoch
    - end: an epoch and an exposure end where the task says, so that there is nothing to bootstrap:
      terminated. Truncated happens only if `params` ask for less.
    - observation: a flat float32 vector, whose parts `layout` names: `features`, then the `context`
      on show (zeros: none); with last_step also the last `action`, one-hot, the last `reward`, and
      1 under `new_episode` at the first step of an exposure. Within an epoch the last action and
      reward are also shown at the next exposure's first step: only there can an agent see what its
      last action paid.
    - actions: whole numbers below `num_actions`. One outside is refused if its value is known; in
      compiled code it is not, and pays NaN.
    - info of the step taken: `expected_reward` of the action, and `best_expected_reward` of the
      best one then; both NaN if the world cannot tell
    - info of the observation returned, which is the first of a new episode if the last one ended:
      `context`, `new_episode`, and of its episode `context_id` and `exposure`
    - info as in gymnax: `terminated`, `truncated`, and `final_observation`, which is what followed
      the action, before any reset

    Under `vmap` new epochs are sampled only in steps in which one starts in some lane.
    """

    world: World
    per: Per = "epoch"
    last_step: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.world, World):
            raise TypeError(f"an environment needs a World, such as BarcodeBandits(): {self.world}")
        if self.per not in get_args(Per):
            raise ValueError(f"unknown per {self.per!r}: choose epoch or exposure")

    @property
    def name(self) -> str:
        return type(self.world).__name__

    @property
    def num_actions(self) -> int:
        return self.world.num_actions

    @property
    def default_params(self) -> EnvParams:
        """Parameters under which nothing is cut short."""
        episodes = self.world.episodes_per_epoch if self.per == "epoch" else 1
        return EnvParams(episodes * self.world.episode_length)

    @property
    def layout(self) -> dict[str, slice]:
        """Where each part of an observation lies."""
        sizes = {"features": self.world.observation_size, "context": self.world.context_size}
        if self.last_step:
            sizes |= {"action": self.num_actions, "reward": 1, "new_episode": 1}
        ends = np.cumsum(list(sizes.values())).tolist()
        return {name: slice(end - sizes[name], end) for name, end in zip(sizes, ends, strict=True)}

    @property
    def observation_size(self) -> int:
        return list(self.layout.values())[-1].stop

    @property
    def obs_shape(self) -> tuple[int]:
        return (self.observation_size,)

    def action_space(self, params: EnvParams | None = None) -> Any:
        """Return the space of actions, of gymnax's class if gymnax is imported."""
        return _spaces().Discrete(self.num_actions)

    def observation_space(self, params: EnvParams | None = None) -> Any:
        """Return the space of observations, of gymnax's class if gymnax is imported."""
        low = np.full(self.obs_shape, -MOST, np.float32)
        for name in set(self.layout) & {"action", "new_episode"}:
            low[self.layout[name]] = 0
        high = np.where(low == 0, 1, MOST).astype(np.float32)
        return _spaces().Box(low, high, self.obs_shape, jnp.float32)

    def reset(self, key: Array, params: EnvParams | None = None) -> tuple[Array, EnvState]:
        """Start a new epoch; return its first observation and the state."""
        self._params(params)
        return _reset(self, key)

    def reset_env(self, key: Array, params: EnvParams | None = None) -> tuple[Array, EnvState]:
        """Do what `reset` does, as gymnax calls it."""
        return self.reset(key, params)

    def next_exposure(self, key: Array, state: EnvState) -> tuple[Array, EnvState]:
        """Leave the current exposure for the epoch's next one, or after the last for a new epoch.

        Under per="exposure" it takes the place of `reset` while the memory lives on.
        """
        self._require_one_lane(state)
        return _next_exposure(self, key, state)

    def step(
        self, key: Array, state: EnvState, action: Array | int, params: EnvParams | None = None
    ) -> tuple[Array, EnvState, Array, Array, Array, Info]:
        """Take one step; after the last one of an episode, start the next."""
        return _step(self, key, state, self._action(state, action), self._params(params))

    def step_env(
        self, key: Array, state: EnvState, action: Array | int, params: EnvParams | None = None
    ) -> tuple[Array, EnvState, Array, Array, Info]:
        """Take one step and start no new episode: observation, state, reward, terminated, info.

        Whether it was cut short says `is_truncated(state, params)`. A step after the end changes
        nothing and pays 0.
        """
        self._params(params)
        return _step_env(self, key, state, self._action(state, action))

    def observe(self, state: EnvState) -> Array:
        """Return what an agent sees in `state`."""
        shown = self.world.observe(state.task, state.task_state)
        parts = [shown.features, self._context(state)]
        if self.last_step:
            last = jax.nn.one_hot(state.action, self.num_actions, dtype=jnp.float32)
            parts += [last, state.reward[None], (state.step == 0)[None]]
        return jnp.concatenate([part.astype(jnp.float32) for part in parts])

    def get_obs(
        self, state: EnvState, params: EnvParams | None = None, key: Array | None = None
    ) -> Array:
        """Do what `observe` does, as gymnax calls it."""
        return self.observe(state)

    def info(self, state: EnvState) -> Info:
        """Return what `info` says of the observation in `state`; agents never see it."""
        return {
            "context": self._context(state),
            "context_id": state.task.context_id,
            "exposure": state.task.exposure,
            "new_episode": state.step == 0,
        }

    def is_terminated(self, state: EnvState, params: EnvParams | None = None) -> Array:
        """Tell whether the episode has ended."""
        return state.over

    def is_truncated(self, state: EnvState, params: EnvParams | None = None) -> Array:
        """Tell whether the episode is cut short."""
        return ~state.over & (state.time >= self._params(params).max_steps_in_episode)

    def _context(self, state: EnvState) -> Array:
        row = self.world.observe(state.task, state.task_state).context
        return jnp.where(row < 0, 0.0, self.world.contexts(state.task)[row])

    def _params(self, params: EnvParams | None) -> EnvParams:
        if params is None:
            return self.default_params
        if not isinstance(params, EnvParams):
            raise TypeError(f"params must be None or env.default_params, not {type(params)}")
        return params

    def _action(self, state: EnvState, action: Any) -> Array:
        """Return the action as an array, if it can be one of this environment's."""
        self._require_one_lane(state)
        action = action if isinstance(action, Array) else np.asarray(action)
        if not jnp.issubdtype(action.dtype, jnp.integer):
            raise TypeError(f"an action is an integer, not {action.dtype}")
        if action.shape:
            raise ValueError(
                f"an action is a single integer, not an array of shape {action.shape}:"
                " for several lanes use jax.vmap(env.step)"
            )
        known = not isinstance(action, jax.core.Tracer)
        if known and not 0 <= int(action) < self.num_actions:
            raise ValueError(f"action {action} is out of range: choose 0 to {self.num_actions - 1}")
        return action.astype(jnp.int32)

    def _require_one_lane(self, state: EnvState) -> None:
        if state.time.ndim:
            raise ValueError("the state is of several lanes: step them with jax.vmap(env.step)")


def _spaces() -> Any:
    """Return where Box and Discrete are: wrappers of gymnax know only its own."""
    return sys.modules.get("gymnax.environments.spaces", sys.modules[__name__])


@partial(jax.jit, static_argnums=0)
def _reset(env: Environment, key: Array) -> tuple[Array, EnvState]:
    state = _new_epoch(env, key)
    return env.observe(state), state


@partial(jax.jit, static_argnums=0)
def _next_exposure(env: Environment, key: Array, state: EnvState) -> tuple[Array, EnvState]:
    last = state.episode + 1 == env.world.episodes_per_epoch
    state = _move_on(env, jnp.where(last, NEW_EPOCH, NEXT_EPISODE), key, state)
    return env.observe(state), state


@partial(jax.jit, static_argnums=(0, 4))
def _step(
    env: Environment, key: Array, state: EnvState, action: Array, params: EnvParams
) -> tuple[Array, EnvState, Array, Array, Array, Info]:
    play_key, move_key = jax.random.split(key)
    state, move, info = _play(env, play_key, state, action)
    reward, terminated, truncated = state.reward, state.over, env.is_truncated(state, params)
    ended, final = terminated | truncated, env.observe(state)
    last = env.per == "epoch" or state.episode + 1 == env.world.episodes_per_epoch
    move = jnp.where(ended, jnp.where(last, NEW_EPOCH, NEXT_EPISODE), move)
    state = _move_on(env, move, move_key, state)
    observation = env.observe(state)
    info |= env.info(state) | {
        "terminated": terminated,
        "truncated": truncated,
        "final_observation": jnp.where(ended, final, observation),
    }
    return observation, state, reward, terminated, truncated, info


@partial(jax.jit, static_argnums=0)
def _step_env(
    env: Environment, key: Array, state: EnvState, action: Array
) -> tuple[Array, EnvState, Array, Array, Info]:
    play_key, move_key = jax.random.split(key)
    state, move, info = _play(env, play_key, state, action)
    reward = state.reward
    state = _move_on(env, move, move_key, state)
    return env.observe(state), state, reward, state.over, info | env.info(state)


def _play(
    env: Environment, key: Array, state: EnvState, action: Array
) -> tuple[EnvState, Array, Info]:
    """Take one step; return also how to move on within the environment's episode."""
    world, task = env.world, state.task
    over, ends_early = state.over, world.done(task, state.task_state)
    if ends_early is not None:  # possibly before the first step
        over = over | ends_early
    known = (action >= 0) & (action < env.num_actions)
    expected = world.expected_rewards(task, state.task_state)
    info = {
        "expected_reward": jnp.where(known, expected[action], jnp.nan),
        "best_expected_reward": jnp.max(expected),
    }
    task_state, reward = world.step(key, task, state.task_state, action)
    task_state = _where(over, state.task_state, task_state)
    reward = jnp.where(over, 0.0, jnp.where(known, reward, jnp.nan)).astype(jnp.float32)
    step = state.step + ~state.over
    ended = over | (step >= world.episode_length)
    if ends_early is not None:
        ended = ended | world.done(task, task_state)
    state = state._replace(
        task_state=task_state,
        step=step,
        time=state.time + ~state.over,
        action=action,
        reward=reward,
    )
    if env.per == "exposure":
        return state._replace(over=ended), jnp.full((), STAY), info
    last = state.episode + 1 == world.episodes_per_epoch
    move = jnp.where(ended & ~last, NEXT_EPISODE, STAY)
    return state._replace(over=ended & last), move, info


def _new_epoch(env: Environment, key: Array) -> EnvState:
    epoch_key, reset_key = jax.random.split(key)
    tasks, history = env.world.sample_epoch(epoch_key), env.world.new_history()
    return _start(env, reset_key, tasks, history, jnp.zeros((), jnp.int32))


def _next_episode(env: Environment, key: Array, state: EnvState) -> EnvState:
    history = env.world.update_history(state.history, state.task, state.task_state)
    started = _start(env, key, state.tasks, history, state.episode + 1)
    if env.per == "exposure":
        return started
    return started._replace(time=state.time, action=state.action, reward=state.reward)


def _start(env: Environment, key: Array, tasks: Any, history: Any, episode: Array) -> EnvState:
    task = env.world.update_task(history, jax.tree.map(lambda x: x[episode], tasks))
    none, zero = jnp.full((), -1, jnp.int32), jnp.zeros((), jnp.int32)
    return EnvState(
        tasks=tasks,
        history=history,
        task=task,
        task_state=env.world.reset(key, task),
        episode=episode,
        step=zero,
        time=zero,
        action=none,
        reward=jnp.zeros((), jnp.float32),
        over=jnp.zeros((), bool),
    )


def _move_on(env: Environment, move: Array, key: Array, state: EnvState) -> EnvState:
    """Stay, start the next episode, or start a new epoch.

    Under `vmap` a branch becomes a choice between results that are all computed: every step would
    sample an epoch. Here all lanes take the branch of the one that needs most, and most steps need
    nothing.
    """

    def stay(move: Array, key: Array, state: EnvState) -> EnvState:
        return state

    def next_episode(move: Array, key: Array, state: EnvState) -> EnvState:
        return _where(move == NEXT_EPISODE, _next_episode(env, key, state), state)

    def new_epoch(move: Array, key: Array, state: EnvState) -> EnvState:
        return _where(move == NEW_EPOCH, _new_epoch(env, key), next_episode(move, key, state))

    branches = [stay, next_episode, new_epoch]
    of_lanes = [jax.vmap(branch) for branch in branches]
    one = custom_vmap(lambda move, *args: jax.lax.switch(move, branches, move, *args))
    lanes = custom_vmap(lambda moves, *args: jax.lax.switch(jnp.max(moves), of_lanes, moves, *args))

    @one.def_vmap
    def _(size: int, batched: Any, *args: Any) -> tuple[EnvState, EnvState]:
        moved = lanes(*_with_axis(size, batched, args))
        return moved, jax.tree.map(lambda _: True, moved)

    @lanes.def_vmap
    def _(size: int, batched: Any, *args: Any) -> tuple[EnvState, EnvState]:
        args = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), _with_axis(size, batched, args))
        moved = jax.tree.map(lambda x: x.reshape(size, -1, *x.shape[1:]), lanes(*args))
        return moved, jax.tree.map(lambda _: True, moved)

    return one(move, key, state)


def _with_axis(size: int, batched: Any, args: Any) -> Any:
    """Give a leading axis to those arrays that have none."""
    return jax.tree.map(
        lambda has, x: x if has else jnp.broadcast_to(x, (size, *x.shape)), tuple(batched), args
    )


def _where(condition: Array, this: Any, that: Any) -> Any:
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), this, that)
