"""Many lanes of a world as one vector environment of Gymnasium, on one compiled step."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import jax
import numpy as np
from numpy.typing import ArrayLike

from reinstate.interop import gymnasium_common as common
from reinstate.interop.functional import Per
from reinstate.interop.gymnasium_common import Error, InvalidAction, ResetNeeded, gymnasium
from reinstate.interop.lanes import Lanes, draw_chance
from reinstate.tasks.base import World

batch_space, np_random = gymnasium.vector.utils.batch_space, gymnasium.utils.seeding.np_random
NEW_API = hasattr(gymnasium.vector, "AutoresetMode")  # 1.1 and later
vector: Any = gymnasium.vector if NEW_API else import_module("gymnasium.experimental.vector")
# In 0.29, as the word is spelled later.
SAME_STEP: Any = vector.AutoresetMode.SAME_STEP if NEW_API else "SameStep"

METADATA = {**common.METADATA, "autoreset_mode": SAME_STEP}
OF_STEPS = ("expected_reward", "best_expected_reward")  # what a reset has nothing to say of


class ReinstateVectorEnv(vector.VectorEnv):
    """Lanes of a world, all stepped by one call; arguments are those of ReinstateEnv.

    A lane whose episode ends is reset within the same step: the observation returned is the next
    episode's first, and `final_obs` and `final_info` tell how the last one ended (in Gymnasium
    0.29, `final_observation`). Lane i sees what ReinstateEnv sees after reset(seed=seed + i).
    """

    metadata = METADATA

    def __init__(
        self,
        world: World | type[World] | str,
        num_envs: int = 1,
        *,
        per: Per = "epoch",
        last_step: bool = False,
        evaluation: bool = False,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        **settings: Any,
    ) -> None:
        if max_episode_steps is not None:
            raise TypeError("max_episode_steps is fixed by the world: change its own settings")
        if not isinstance(num_envs, int | np.integer) or num_envs < 1:
            raise ValueError(f"num_envs must be a whole number from 1, not {num_envs!r}")
        common.require_render_mode(render_mode)
        self.environment = common.make_environment(world, per, last_step, evaluation, settings)
        single = common.make_spaces(self.environment)
        self.num_envs, self.render_mode = int(num_envs), render_mode
        self.single_observation_space, self.single_action_space = single
        self.observation_space, self.action_space = (batch_space(s, self.num_envs) for s in single)
        self._lanes = Lanes(self.environment, self.num_envs)
        self._info: dict[str, np.ndarray] = {}  # empty before the first reset

    @property
    def world(self) -> World:
        """The world that is played."""
        return self.environment.world

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Reset all lanes, as ReinstateEnv does one; `seed` may be one for each."""
        new_epoch = common.wants_new_epoch(self.environment, options)
        seeded = self._seed(seed)
        new, everyone = new_epoch | seeded, np.ones(self.num_envs, bool)
        seen, self._info = self._lanes.reset(everyone, new)
        return seen, _masked(self._info, everyone)

    def _seed(self, seed: int | Sequence[int | None] | None) -> np.ndarray:
        """Seed lanes; return which, (num_envs,)."""
        super().reset(seed=seed if isinstance(seed, int) else None)
        seeds: list[int | None] = [None] * self.num_envs
        if isinstance(seed, int):
            seeds = [seed + i for i in range(self.num_envs)]
        elif seed is not None:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise Error(f"{len(seeds)} seeds for {self.num_envs} environments: give one to each")
        if not self._info:  # what is not seeded starts by chance
            seeds = [int(self.np_random.integers(2**31)) if s is None else s for s in seeds]
        seeded = np.array([s is not None for s in seeds])
        generators = [np_random(s)[0] for s in seeds]
        self._lanes.seed(seeded, np.stack([draw_chance(g) for g in generators]))
        return seeded

    def step(
        self, actions: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Take one step in every lane, and reset those whose episode ends."""
        if not self._info:
            raise ResetNeeded("the environment has not started: call reset() before step()")
        seen, reward, over, self._info = self._lanes.step(self._checked(actions))
        infos = _masked(self._info, np.ones(self.num_envs, bool))
        if over.any():
            seen, infos = self._autoreset(seen, over)
        return seen, reward.astype(np.float64), over, np.zeros(self.num_envs, bool), infos

    def _checked(self, given: ArrayLike) -> np.ndarray:
        actions, num = np.asarray(given), self.environment.num_actions
        if actions.shape != (self.num_envs,) or not np.issubdtype(actions.dtype, np.integer):
            raise InvalidAction(
                f"actions are {actions.dtype} of shape {actions.shape}: pass one whole number per"
                f" environment, of shape ({self.num_envs},)"
            )
        if actions.min() < 0 or actions.max() >= num:
            wrong = int(np.flatnonzero((actions < 0) | (actions >= num))[0])
            raise InvalidAction(
                f"{actions[wrong]} is no action (environment {wrong}): choose a whole number from"
                f" 0 to {num - 1}"
            )
        return actions.astype(np.int32)

    def _autoreset(self, seen: np.ndarray, over: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """Reset the lanes that are over; what they ended with goes into info."""
        last = self._info
        new_epoch = np.full(self.num_envs, self.environment.per == "epoch")
        first, self._info = self._lanes.reset(over, new_epoch)
        infos = _masked(self._info, np.ones(self.num_envs, bool))
        if not over.all():
            infos |= _masked({name: last[name] for name in OF_STEPS}, ~over)
        final_obs = _per_lane(over, seen)
        if NEW_API:
            infos |= {"final_obs": final_obs, "final_info": _masked(last, over)}
            return first, infos | {"_final_obs": over.copy(), "_final_info": over.copy()}
        dicts = [{name: value[i] for name, value in last.items()} for i in range(self.num_envs)]
        infos |= {"final_observation": final_obs, "final_info": _per_lane(over, dicts)}
        return first, infos | {"_final_observation": over.copy(), "_final_info": over.copy()}

    def render(self) -> tuple[np.ndarray | str, ...] | None:
        """Show every lane."""
        if not self._info:
            raise ResetNeeded("there is nothing to show yet: call reset() before render()")
        if self.render_mode is None:
            gymnasium.logger.warn('nothing is rendered: make it with render_mode="rgb_array"')
            return None
        lanes = self._lanes.state, self._info
        return tuple(
            common.render(
                self.environment, self.render_mode, *jax.tree.map(lambda x, i=i: x[i], lanes)
            )
            for i in range(self.num_envs)
        )


def _masked(info: Mapping[str, np.ndarray], mask: np.ndarray) -> dict[str, Any]:
    """Put info as Gymnasium does: under `_name`, which lanes have it; others have zeros.

    Numbers are as wide as Python's.
    """
    infos: dict[str, Any] = {}
    everyone = bool(mask.all())
    for name, value in info.items():
        shown = value
        if not everyone:
            shown = np.where(mask.reshape(-1, *[1] * (value.ndim - 1)), value, np.zeros_like(value))
        wide = {"i": np.int64, "f": np.float64}.get(value.dtype.kind) if value.ndim == 1 else None
        infos[name], infos[f"_{name}"] = shown.astype(wide or value.dtype), mask.copy()
    return infos


def _per_lane(mask: np.ndarray, values: Any) -> np.ndarray:
    """Put values of the lanes of a mask into an array of objects; others have None."""
    found = np.full(len(mask), None, dtype=object)
    for i in np.flatnonzero(mask):
        found[i] = values[i]
    return found
