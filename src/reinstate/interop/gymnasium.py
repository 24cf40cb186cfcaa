"""Worlds as Gymnasium environments, one by one or many at once; Gymnasium 0.29, or 1.1 and later.

    import gymnasium
    import reinstate.interop.gymnasium  # registers reinstate/BarcodeBandits-v0 and four more

    env = gymnasium.make("reinstate/BarcodeBandits-v0", num_arms=5, last_step=True)
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

`ReinstateEnv(world)` makes one of any world.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from reinstate.interop import gymnasium_common as common
from reinstate.interop.functional import Per
from reinstate.interop.gymnasium_common import InvalidAction, ResetNeeded, gymnasium
from reinstate.interop.gymnasium_vector import ReinstateVectorEnv
from reinstate.interop.lanes import Lanes, draw_chance
from reinstate.interop.making import WORLDS
from reinstate.tasks.base import World

__all__ = ["IDS", "ReinstateEnv", "ReinstateVectorEnv"]

ALL = np.array(True)  # the mask of one lane


class ReinstateEnv(gymnasium.Env):
    """A world as a Gymnasium environment, on the compiled step of the functional one.

    - world: a World, its class, or the name of an experiment or of a registered task
    - per: what one episode of Gymnasium is, an epoch or an exposure. An epoch of exposures is
      left by reset(options={"new_epoch": True}), by reset(seed=…), or by its end.
    - last_step: whether observations show the last action, the last reward and an exposure's start
    - evaluation: whether it is the world that agents are judged in
    - settings: of the world
    """

    metadata = common.METADATA

    def __init__(
        self,
        world: World | type[World] | str,
        *,
        per: Per = "epoch",
        last_step: bool = False,
        evaluation: bool = False,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        common.require_render_mode(render_mode)
        self.environment = common.make_environment(world, per, last_step, evaluation, settings)
        self.observation_space, self.action_space = common.make_spaces(self.environment)
        self.render_mode = render_mode
        self.metadata = dict(self.metadata)  # vector environments of Gymnasium write into it
        self._lanes = Lanes(self.environment)
        self._info: dict[str, Any] = {}  # empty before the first reset
        self._over = False

    @property
    def world(self) -> World:
        """The world that is played."""
        return self.environment.world

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start a new epoch or, if episodes are exposures and nothing else is asked, the next one.

        Info says of the observation what it says after a step, but nothing of rewards.
        """
        new_epoch = common.wants_new_epoch(self.environment, options)
        super().reset(seed=seed)
        if seed is not None or not self._info:
            self._lanes.seed(ALL, draw_chance(self.np_random))
            new_epoch = True
        seen, info = self._lanes.reset(ALL, np.array(new_epoch))
        self._info, self._over = _scalars(info), False
        return seen, dict(self._info)

    def step(
        self, action: int | np.integer | np.ndarray
    ) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take one step; after the end of an episode, reset is due."""
        if not self._info or self._over:
            when = "the episode is over" if self._over else "the environment has not started"
            raise ResetNeeded(f"{when}: call reset() before the next step()")
        if not self.action_space.contains(action):
            last = self.environment.num_actions - 1
            raise InvalidAction(f"{action!r} is no action: choose a whole number from 0 to {last}")
        seen, reward, over, info = self._lanes.step(np.array(action, np.int32))
        self._info, self._over = _scalars(info), bool(over)
        return seen, float(reward), self._over, False, dict(self._info)

    def render(self) -> np.ndarray | str | None:
        """Show the context, what can be chosen or where the agent is, and the last reward."""
        if not self._info:
            raise ResetNeeded("there is nothing to show yet: call reset() before render()")
        if self.render_mode is None:
            gymnasium.logger.warn('nothing is rendered: make it with render_mode="rgb_array"')
            return None
        return common.render(self.environment, self.render_mode, self._lanes.state, self._info)


def _scalars(info: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Make arrays of one number Python's numbers."""
    return {name: value if value.ndim else value.item() for name, value in info.items()}


# Gymnasium 0.29 tells vector environments nothing of an id's own arguments: one maker per id.
BarcodeBanditsVectorEnv = partial(ReinstateVectorEnv, world="barcode-bandits")
OmniglotBanditsVectorEnv = partial(ReinstateVectorEnv, world="omniglot-bandits")
CompositionalBanditsVectorEnv = partial(ReinstateVectorEnv, world="compositional-bandits")
WaterMazeVectorEnv = partial(ReinstateVectorEnv, world="water-maze")
TwoStepVectorEnv = partial(ReinstateVectorEnv, world="two-step")

IDS = {f"reinstate/{name.title().replace('-', '')}-v0": name for name in WORLDS}


def _register() -> None:
    for id, name in IDS.items():
        if id not in gymnasium.registry:
            maker = id.removeprefix("reinstate/").removesuffix("-v0")
            gymnasium.register(
                id,
                entry_point=f"{__name__}:ReinstateEnv",
                vector_entry_point=f"{__name__}:{maker}VectorEnv",
                kwargs={"world": name},
            )


_register()
