"""Worlds by name, and lanes of them played from Python; equal settings are compiled once.

What is random comes from `chance`, a key that each lane carries with it. So a lane among others
sees the same numbers as the same lane alone.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, get_type_hints

import jax
import numpy as np
from jax import Array

from reinstate.errors import nearest
from reinstate.files import convert
from reinstate.interop.functional import Environment
from reinstate.interop.lane import LaneState, new_epoch, next_episode, where
from reinstate.tasks.bandits import BarcodeBandits, OmniglotBandits
from reinstate.tasks.base import World
from reinstate.tasks.compositional import CompositionalBandits
from reinstate.tasks.two_step import EpisodicTwoStep
from reinstate.tasks.water_maze import WaterMaze

Info = dict[str, Any]
# By the names of the paper's experiments.
WORLDS: dict[str, type[World]] = {
    "barcode-bandits": BarcodeBandits,
    "omniglot-bandits": OmniglotBandits,
    "compositional-bandits": CompositionalBandits,
    "water-maze": WaterMaze,
    "two-step": EpisodicTwoStep,
}
ARGUMENTS = ("per", "last_step", "evaluation", "render_mode")  # beside the settings of worlds


def make_world(world: World | type[World] | str, settings: Mapping[str, Any]) -> World:
    """Make a world of a name, a class or another world, with these of its settings changed.

    Names are those of the paper's experiments, or of what is registered. Unknown settings are a
    TypeError, as unknown arguments are.
    """
    kind = _find(world) if isinstance(world, str) else world
    maker = kind if inspect.isclass(kind) else type(kind)
    if not issubclass(maker, World):
        raise TypeError(
            f"an environment is made of a World, such as BarcodeBandits(), not {world!r}"
        )
    known = [name for name in inspect.signature(maker).parameters if name != "self"]
    for name in settings:
        if name not in known:
            raise TypeError(nearest("setting", name, [*known, *ARGUMENTS]))
    hints = get_type_hints(maker)
    pythons = {n: x.item() if isinstance(x, np.generic) else x for n, x in settings.items()}
    plain = {name: convert(hints.get(name, Any), x, name) for name, x in pythons.items()}
    if inspect.isclass(kind):
        made: World = kind(**plain)
        return made
    if not settings:
        return kind
    if not is_dataclass(kind):
        raise TypeError(f"{kind!r} is no dataclass: give it its settings when it is made")
    return replace(kind, **plain)


def _find(name: str) -> type[World]:
    if name in WORLDS:
        return WORLDS[name]
    from reinstate.runs.experiment import find_experiment  # slow, and only for others' worlds

    return find_experiment(name).world


class Lane(NamedTuple):
    """A lane between two steps, but for the tasks of its epoch: these are large, and stay."""

    chance: Any  # (2,) the raw key of all that is random from here on
    state: LaneState  # its `tasks` are ()


class Programs(NamedTuple):
    """What can happen to lanes, compiled; everything has a leading axis."""

    new_epoch: Callable[..., tuple[Any, Lane, Array, dict[str, Array]]]
    next_exposure: Callable[..., tuple[Lane, Array, dict[str, Array]]]
    step: Callable[..., tuple[Lane, Array, Array, Array, dict[str, Array]]]


@lru_cache(maxsize=64)
def programs(env: Environment) -> Programs:
    """Compile what lanes need: resets leave lanes alone whose `mask` is False."""

    def to_new_epoch(mask: Array, tasks: Any, lane: Lane) -> tuple[Any, Lane, Array, Info]:
        chance, key = _split(lane.chance)
        state = new_epoch(env.world, key)
        started = state.tasks, Lane(chance, state._replace(tasks=()))
        tasks, lane = where(mask, started, (tasks, lane))
        return tasks, lane, env.get_obs(lane.state), _info(env, lane.state)

    def to_next_exposure(mask: Array, tasks: Any, lane: Lane) -> tuple[Lane, Array, Info]:
        chance, key = _split(lane.chance)
        state = next_episode(env.world, key, lane.state._replace(tasks=tasks))
        lane = where(mask, Lane(chance, state._replace(tasks=())), lane)
        return lane, env.get_obs(lane.state), _info(env, lane.state)

    def step(tasks: Any, lane: Lane, action: Array) -> tuple[Lane, Array, Array, Array, Info]:
        chance, key = _split(lane.chance)
        before = lane.state._replace(tasks=tasks)
        seen, state, reward, over, info = env.step_env(key, before, action)
        lane = Lane(chance, state._replace(tasks=()))
        return lane, seen, reward, over, info | _info(env, state)

    return Programs(*(jax.jit(jax.vmap(f)) for f in (to_new_epoch, to_next_exposure, step)))


def _split(chance: Array) -> tuple[Array, Array]:
    chance, key = jax.random.split(jax.random.wrap_key_data(chance, impl="threefry2x32"))
    return jax.random.key_data(chance), key


def _info(env: Environment, state: LaneState) -> Info:
    return env.info(state) | {"new_epoch": (state.step == 0) & (state.episode == 0)}


class Lanes:
    """Lanes of an environment and where they are.

    All arrays that methods return are NumPy's and the caller's own.
    """

    def __init__(self, env: Environment, num: int) -> None:
        self.env, self.num = env, num
        state = jax.eval_shape(lambda: new_epoch(env.world, jax.random.key(0)))
        shapes = state.tasks, Lane(jax.ShapeDtypeStruct((2,), np.uint32), state._replace(tasks=()))
        self._tasks, self._lane = jax.tree.map(lambda x: np.zeros((num, *x.shape), x.dtype), shapes)

    def seed(self, chances: Sequence[np.ndarray | None]) -> None:
        """Give each lane its chance, which `draw_chance` draws; for None it keeps what it has."""
        kept = np.asarray(self._lane.chance)
        given = [old if new is None else new for old, new in zip(kept, chances, strict=True)]
        self._lane = self._lane._replace(chance=np.stack(given))

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
        return programs(self.env)


def draw_chance(generator: np.random.Generator) -> np.ndarray:
    """Draw a lane's first key, (2,)."""
    return generator.integers(2**32, size=2, dtype=np.uint32)


def _own(info: dict[str, Array]) -> Info:
    return {name: np.array(value) for name, value in info.items()}
