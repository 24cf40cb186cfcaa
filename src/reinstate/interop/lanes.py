"""Worlds by name, and lanes of them played from Python; equal settings are compiled once.

What is random comes from `chance`, a key that each lane carries with it. So a lane among others
sees the same numbers as the same lane alone.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from functools import partial
from typing import Any, NamedTuple, get_type_hints

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from reinstate.errors import nearest
from reinstate.figures.scenes import Scene, cells
from reinstate.files import convert
from reinstate.interop.functional import Environment
from reinstate.interop.lane import NEW_EPOCH, NEXT_EPISODE, STAY, LaneState, move_on, new_epoch
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
ARGUMENTS = (
    "per",
    "last_step",
    "evaluation",
    "render_mode",
)  # besides the settings of worlds


def make_world(world: World | type[World] | str, settings: Mapping[str, Any]) -> World:
    """Make a world of a name, a class or another world, with these of its settings changed.

    Names are those of the paper's experiments, or of what is registered. Unknown settings are a
    TypeError, as unknown arguments are.
    """
    if isinstance(world, str):
        if world not in WORLDS:
            from reinstate.runs.experiment import find_experiment  # slow, for others' worlds alone

            return make_world(find_experiment(world).world, settings)
        world = WORLDS[world]
    maker = world if inspect.isclass(world) else type(world)
    known = [name for name in inspect.signature(maker).parameters if name != "self"]
    for name in settings:
        if name not in known:
            raise TypeError(nearest("setting", name, [*known, *ARGUMENTS]))
    hints = get_type_hints(maker)
    pythons = {n: x.item() if isinstance(x, np.generic) else x for n, x in settings.items()}
    plain = {name: convert(hints.get(name, Any), x, name) for name, x in pythons.items()}
    if isinstance(world, World):
        return replace(world, **plain) if is_dataclass(world) and settings else world
    made: World = maker(**plain)
    return made


class Lane(NamedTuple):
    """A lane between two steps."""

    chance: Any  # (2,) the raw key of all that is random from here on
    state: LaneState


# Lanes are given away, so that their epochs are not copied.
@partial(jax.jit, static_argnums=0, donate_argnums=1)
@partial(jax.vmap, in_axes=(None, 0, 0))
def _reset(env: Environment, lane: Lane, move: Array) -> tuple[Lane, Array, Info]:
    chance, key = _split(lane.chance)
    chance = jnp.where(move == STAY, lane.chance, chance)
    return _seen(env, chance, move_on(env.world, move, key, lane.state))


@partial(jax.jit, static_argnums=0, donate_argnums=1)
@partial(jax.vmap, in_axes=(None, 0, 0))
def _step(env: Environment, lane: Lane, action: Array) -> tuple[Lane, Array, Info, Array, Array]:
    chance, key = _split(lane.chance)
    chance = jnp.where(lane.state.over, lane.chance, chance)  # nothing happens after the end
    _, state, reward, over, info = env.step_env(key, lane.state, action)
    lane, observation, more = _seen(env, chance, state)
    return lane, observation, info | more, reward, over


def _seen(env: Environment, chance: Array, state: LaneState) -> tuple[Lane, Array, Info]:
    new = {"new_epoch": (state.step == 0) & (state.episode == 0)}
    return Lane(chance, state), env.get_obs(state), env.info(state) | new


def _split(chance: Array) -> tuple[Array, Array]:
    chance, key = jax.random.split(jax.random.wrap_key_data(chance, impl="threefry2x32"))
    return jax.random.key_data(chance), key


class Lanes:
    """Lanes of an environment and where they are.

    All arrays that methods return are NumPy's and the caller's own.
    """

    def __init__(self, env: Environment, num: int) -> None:
        self.env, self.num = env, num
        state = jax.eval_shape(lambda: new_epoch(env.world, jax.random.key(0)))
        shapes = Lane(jax.ShapeDtypeStruct((2,), np.uint32), state)
        self._lane = jax.tree.map(lambda x: np.zeros((num, *x.shape), x.dtype), shapes)

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
        move = np.where(mask, np.where(new_epoch | last, NEW_EPOCH, NEXT_EPISODE), STAY)
        self._lane, *seen = _reset(self.env, self._lane, move)
        observation, info = _own(seen)
        return observation, info

    def step(self, action: np.ndarray) -> tuple[np.ndarray, Info, np.ndarray, np.ndarray]:
        """Take one step in every lane: observation, info, reward, whether the episode is over."""
        self._lane, *played = _step(self.env, self._lane, action)
        observation, info, reward, over = _own(played)
        return observation, info, reward, over

    @property
    def state(self) -> LaneState:
        """Where the lanes are, as NumPy arrays, without the epoch's tasks."""
        state: LaneState = jax.device_get(self._lane.state._replace(tasks=()))
        return state


def draw_chance(generator: np.random.Generator) -> np.ndarray:
    """Draw a lane's first key, (2,)."""
    return generator.integers(2**32, size=2, dtype=np.uint32)


def _own(results: Any) -> Any:
    return jax.tree.map(np.array, results)


def scene(world: World, state: LaneState, info: Mapping[str, Any]) -> Scene:
    """Describe where a lane is."""
    step, length = int(state.step), world.episode_length
    heading = f"context {info['context_id']}, exposure {info['exposure']}, step {step} of {length}"
    trace = world.trace(state.task, state.task_state)
    layout = cells(world, trace, int(state.action) if step else None)
    reward = float(state.reward) if int(state.time) else None
    context = np.asarray(info["context"])
    return Scene(heading, layout, step / length, reward, context if context.size else np.zeros(1))
