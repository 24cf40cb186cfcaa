"""One lane or many, played from Python: compiled once for all environments of equal settings.

What is random comes from `chance`, a key that each lane carries with it. So a lane among others
sees the same numbers as the same lane alone.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array

from reinstate.interop.functional import Environment
from reinstate.interop.lane import LaneState, new_epoch, next_episode, where

Info = dict[str, Any]


class Lane(NamedTuple):
    """A lane between two steps, but for the tasks of its epoch: these are large, and stay."""

    chance: Any  # (2,) the raw key of all that is random from here on
    state: LaneState  # its `tasks` are ()


class Programs(NamedTuple):
    """What can happen to a lane, compiled."""

    new_epoch: Callable[..., tuple[Any, Lane, Array, dict[str, Array]]]
    next_exposure: Callable[..., tuple[Lane, Array, dict[str, Array]]]
    step: Callable[..., tuple[Lane, Array, Array, Array, dict[str, Array]]]


@lru_cache(maxsize=64)
def programs(env: Environment, many: bool) -> Programs:
    """Compile what lanes need; with `many`, everything has a leading axis.

    `new_epoch` and `next_exposure` leave lanes alone whose `mask` is False.
    """

    def to_new_epoch(mask: Array, tasks: Any, lane: Lane) -> tuple[Any, Lane, Array, Info]:
        chance, key = _split(lane.chance)
        state = new_epoch(env.world, key)
        started = state.tasks, Lane(chance, state._replace(tasks=()))
        tasks, lane = where(mask, started, (tasks, lane))
        return tasks, lane, *_seen(env, lane.state)

    def to_next_exposure(mask: Array, tasks: Any, lane: Lane) -> tuple[Lane, Array, Info]:
        chance, key = _split(lane.chance)
        state = next_episode(env.world, key, lane.state._replace(tasks=tasks))
        lane = where(mask, Lane(chance, state._replace(tasks=())), lane)
        return lane, *_seen(env, lane.state)

    def step(tasks: Any, lane: Lane, action: Array) -> tuple[Lane, Array, Array, Array, Info]:
        chance, key = _split(lane.chance)
        seen, state, reward, over, info = env.step_env(
            key, lane.state._replace(tasks=tasks), action
        )
        lane = Lane(chance, state._replace(tasks=()))
        return lane, seen, reward, over, info | _started(state)

    batched = jax.vmap if many else lambda program: program
    return Programs(*(jax.jit(batched(f)) for f in (to_new_epoch, to_next_exposure, step)))


def _split(chance: Array) -> tuple[Array, Array]:
    chance, key = jax.random.split(jax.random.wrap_key_data(chance, impl="threefry2x32"))
    return jax.random.key_data(chance), key


def _seen(env: Environment, state: LaneState) -> tuple[Array, dict[str, Array]]:
    return env.get_obs(state), env.info(state) | _started(state)


def _started(state: LaneState) -> dict[str, Array]:
    return {"new_epoch": (state.step == 0) & (state.episode == 0)}


class Lanes:
    """Lanes of an environment and where they are; one lane without an axis if `num` is None.

    All arrays that methods return are NumPy's and the caller's own.
    """

    def __init__(self, env: Environment, num: int | None = None) -> None:
        self.env, self.num = env, num
        self._tasks, self._lane = _nowhere(env, num)

    def seed(self, mask: np.ndarray, chance: np.ndarray) -> None:
        """Give the lanes of the mask their chance; draw it with `draw_chance`."""
        kept = np.asarray(self._lane.chance)
        self._lane = self._lane._replace(chance=np.where(mask[..., None], chance, kept))

    def reset(self, mask: np.ndarray, new_epoch: np.ndarray) -> tuple[np.ndarray, Info]:
        """Start a new epoch in some of the mask's lanes and the next exposure in the others.

        Where the last exposure is over, a new epoch follows in any case.
        """
        last = np.asarray(self._lane.state.episode) + 1 == self.env.world.episodes_per_epoch
        new, onward = mask & (new_epoch | last), mask & ~(new_epoch | last)
        if onward.any():
            self._lane, seen, info = self._programs.next_exposure(onward, self._tasks, self._lane)
        if new.any():
            self._tasks, self._lane, seen, info = self._programs.new_epoch(
                new, self._tasks, self._lane
            )
        return np.array(seen), _own(info)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Info]:
        """Take one step in every lane: observation, reward, whether the episode is over, info."""
        played = self._programs.step(self._tasks, self._lane, action)
        self._lane, seen, reward, over, info = played
        return np.array(seen), np.array(reward), np.array(over), _own(info)

    @property
    def state(self) -> LaneState:
        """Where the lanes are, as NumPy arrays, without the epoch's tasks."""
        state: LaneState = jax.device_get(self._lane.state)
        return state

    @property
    def _programs(self) -> Programs:
        # Looked up each time: compiled programs can be neither copied nor pickled.
        return programs(self.env, self.num is not None)


def draw_chance(generator: np.random.Generator) -> np.ndarray:
    """Draw a lane's first key, (2,)."""
    return generator.integers(2**32, size=2, dtype=np.uint32)


def _nowhere(env: Environment, num: int | None) -> tuple[Any, Lane]:
    """Return lanes that have not started: zeros throughout."""
    state = jax.eval_shape(lambda: new_epoch(env.world, jax.random.key(0)))
    shapes = state.tasks, Lane(jax.ShapeDtypeStruct((2,), np.uint32), state._replace(tasks=()))
    axis = () if num is None else (num,)
    zeros: tuple[Any, Lane] = jax.tree.map(lambda x: np.zeros((*axis, *x.shape), x.dtype), shapes)
    return zeros


def _own(info: dict[str, Array]) -> Info:
    return {name: np.array(value) for name, value in info.items()}
