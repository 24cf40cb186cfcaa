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
from jax.typing import ArrayLike

from reinstate.interop.lane import (
    NEW_EPOCH,
    NEXT_EPISODE,
    STAY,
    LaneState,
    Played,
    move_on,
    new_epoch,
    play,
)
from reinstate.tasks.base import UNIT, World

Per = Literal["epoch", "exposure"]
OF_STEPS = ("expected_reward", "best_expected_reward")  # what a reset has nothing to say of
Info = dict[str, Array]
EnvState = LaneState  # as gymnax calls it


class Discrete(NamedTuple):
    """Whole numbers from 0 to n − 1."""

    n: int
    shape: tuple[int, ...] = ()
    dtype: Any = jnp.int32


class Box(NamedTuple):
    """Arrays with bounds for each element."""

    low: np.ndarray
    high: np.ndarray
    shape: tuple[int, ...]
    dtype: Any = jnp.float32


@jax.tree_util.register_static
@dataclass(frozen=True)
class EnvParams:
    """What gymnax calls parameters; the settings of a world belong to the world."""

    max_steps_in_episode: int
    """Steps after which an episode is cut short (truncated); by default it never is."""

    def replace(self, **changes: Any) -> "EnvParams":
        """Return parameters with these changes."""
        return replace(self, **changes)


@dataclass(unsafe_hash=True)
class Environment:
    """A world as a functional environment, one lane of it.

    The how-to on JAX environments says what observations and `info` hold. With last_step, the first
    observation of an exposure also shows the action and the reward before it, within an epoch:
    nowhere else can an agent see what its last action paid. Expected rewards are NaN if the world
    cannot tell. Under `vmap`, epochs are sampled only at steps at which some lane starts one.
    """

    world: World
    per: Per = "epoch"
    """What an episode of the environment is: a whole epoch, or one exposure."""
    last_step: bool = False
    """Whether observations have the last action and reward, and say where an exposure starts."""

    def __post_init__(self) -> None:
        if not isinstance(self.world, World):
            raise TypeError(
                f"an environment is made of a World, such as BarcodeBandits(), not {self.world!r}"
            )
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
    def obs_shape(self) -> tuple[int]:
        """The shape of an observation."""
        return (list(self.layout.values())[-1].stop,)

    def action_space(self, params: EnvParams | None = None) -> Any:
        """Return the space of actions, of gymnax's class if gymnax is imported."""
        return _spaces().Discrete(self.num_actions)

    def observation_space(self, params: EnvParams | None = None) -> Any:
        """Return the space of observations, of gymnax's class if gymnax is imported."""
        parts = {"action": UNIT, "new_episode": UNIT, **self.world.bounds()._asdict()}
        low, high = np.zeros((2, *self.obs_shape), np.float32)
        for name, where in self.layout.items():
            low[where], high[where] = parts[name]
        return _spaces().Box(low, high, self.obs_shape, jnp.float32)

    def reset(self, key: Array, params: EnvParams | None = None) -> tuple[Array, EnvState]:
        """Start a new epoch; return its first observation and the state."""
        return _reset(self, key)

    reset_env = reset

    def next_exposure(self, key: Array, state: EnvState) -> tuple[Array, EnvState]:
        """Leave the current exposure for the epoch's next one, or after the last for a new epoch.

        Under per="exposure" it takes the place of `reset` as long as the memory is to live. Other
        APIs have no such call: there, `reset` starts everything again, and what an agent remembers
        across episodes of one epoch has no counterpart in the environment.
        """
        return _next_exposure(self, key, state)

    def step(
        self, key: Array, state: EnvState, action: ArrayLike, params: EnvParams | None = None
    ) -> tuple[Array, EnvState, Array, Array, Array, Info]:
        """Take one step; after the last one of an episode, start the next."""
        return _step(self, key, state, _whole(state, action), params or self.default_params)

    def step_env(
        self, key: Array, state: EnvState, action: ArrayLike, params: EnvParams | None = None
    ) -> tuple[Array, EnvState, Array, Array, Info]:
        """Take one step and start no new episode: observation, state, reward, terminated, info.

        `is_truncated(state, params)` tells whether it is cut short. A step after the end changes
        nothing and pays 0: `reset`, or `next_exposure` in its epoch, continues.
        """
        return _step_env(self, key, state, _whole(state, action))

    def get_obs(
        self, state: EnvState, params: EnvParams | None = None, key: Array | None = None
    ) -> Array:
        """Return what an agent sees in `state`."""
        shown = self.world.observe(state.task, state.task_state)
        parts = [shown.features, self._context(state)]
        if self.last_step:
            last = jax.nn.one_hot(state.action, self.num_actions, dtype=jnp.float32)
            parts += [last, state.reward[None], (state.step == 0)[None]]
        return jnp.concatenate([part.astype(jnp.float32) for part in parts])

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
        most = (params or self.default_params).max_steps_in_episode
        return ~state.over & (state.time >= most)

    def _context(self, state: EnvState) -> Array:
        row = self.world.observe(state.task, state.task_state).context
        return jnp.where(row < 0, 0.0, self.world.contexts(state.task)[row])


def _whole(state: EnvState, action: ArrayLike) -> Array:
    """Return the action of one lane."""
    number = action if isinstance(action, Array) else np.asarray(action)
    if number.shape or state.time.ndim or not jnp.issubdtype(number.dtype, jnp.integer):
        raise TypeError(
            f"an action is a whole number, not {number.dtype} of shape {number.shape}: for several"
            " lanes use jax.vmap(env.step)"
        )
    return jnp.asarray(number, jnp.int32)


def _spaces() -> Any:
    """Return the module of spaces that callers know: wrappers of gymnax accept only its own."""
    return sys.modules.get("gymnax.environments.spaces", sys.modules[__name__])


@partial(jax.jit, static_argnums=0)
def _reset(env: Environment, key: Array) -> tuple[Array, EnvState]:
    state = new_epoch(env.world, key)
    return env.get_obs(state), state


@partial(jax.jit, static_argnums=0)
def _next_exposure(env: Environment, key: Array, state: EnvState) -> tuple[Array, EnvState]:
    move = jnp.where(_last(env, state), NEW_EPOCH, NEXT_EPISODE)
    state = move_on(env.world, move, key, state)
    return env.get_obs(state), state


@partial(jax.jit, static_argnums=(0, 4))
def _step(
    env: Environment, key: Array, state: EnvState, action: Array, params: EnvParams
) -> tuple[Array, EnvState, Array, Array, Array, Info]:
    play_key, move_key = jax.random.split(key)
    played, move = _play(env, play_key, state, action)
    terminated, truncated = played.state.over, env.is_truncated(played.state, params)
    ended, final = terminated | truncated, env.get_obs(played.state)
    exhausted = env.per == "epoch" or _last(env, state)
    move = jnp.where(ended, jnp.where(exhausted, NEW_EPOCH, NEXT_EPISODE), move)
    state = move_on(env.world, move, move_key, played.state, keeps_on=env.per == "epoch")
    observation = env.get_obs(state)
    info = _info(env, played, state) | {
        "terminated": terminated,
        "truncated": truncated,
        "final_observation": jnp.where(ended, final, observation),
    }
    return observation, state, played.reward, terminated, truncated, info


@partial(jax.jit, static_argnums=0)
def _step_env(
    env: Environment, key: Array, state: EnvState, action: Array
) -> tuple[Array, EnvState, Array, Array, Info]:
    play_key, move_key = jax.random.split(key)
    played, move = _play(env, play_key, state, action)
    state = played.state
    if env.per == "epoch":
        state = move_on(env.world, move, move_key, state, keeps_on=True, within=True)
    return env.get_obs(state), state, played.reward, state.over, _info(env, played, state)


def _play(env: Environment, key: Array, state: EnvState, action: Array) -> tuple[Played, Array]:
    """Take one step; return also how to move on within the environment's episode."""
    played = play(env.world, key, state, action)
    ends = env.per == "exposure" or _last(env, state)
    move = jnp.where(played.ended & jnp.logical_not(ends), NEXT_EPISODE, STAY)
    return played._replace(state=played.state._replace(over=played.ended & ends)), move


def _last(env: Environment, state: EnvState) -> Array:
    return state.episode + 1 == env.world.episodes_per_epoch


def _info(env: Environment, played: Played, state: EnvState) -> Info:
    of_step = {name: getattr(played, name) for name in OF_STEPS}
    return of_step | env.info(state)
