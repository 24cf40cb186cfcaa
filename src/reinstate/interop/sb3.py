"""Lanes of a world as a vector environment of Stable-Baselines3 and sb3-contrib.

    envs = ReinstateVecEnv("barcode-bandits", num_envs=16, per="exposure", last_step=True)
    RecurrentPPO("MlpLstmPolicy", VecMonitor(envs)).learn(100_000)

All lanes are stepped by one compiled call, where SB3's own vector environments step one by one.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from reinstate.interop.gymnasium import ReinstateVectorEnv
from reinstate.tasks.base import World

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise ImportError(
        "ReinstateVecEnv needs Stable-Baselines3: pip install stable-baselines3"
    ) from error


class ReinstateVecEnv(VecEnv):
    """What `DummyVecEnv` makes of ReinstateEnvs, faster; arguments are those of ReinstateEnv.

    What lanes have in common, such as `world`, is read by `get_attr`.
    """

    def __init__(
        self, world: World | type[World] | str, num_envs: int = 1, **arguments: Any
    ) -> None:
        self.lanes = lanes = ReinstateVectorEnv(world, num_envs, **arguments)
        super().__init__(num_envs, lanes.single_observation_space, lanes.single_action_space)

    def reset(self) -> np.ndarray:
        """Reset all lanes, by the seeds that `seed` has set and the options of the first lane."""
        seen, info = self.lanes.reset(seed=self._seeds, options=self._options[0])
        self.reset_infos = _by_lane(info)
        self._reset_seeds()
        self._reset_options()
        return seen

    def step_async(self, actions: np.ndarray) -> None:
        """Note the actions of the next step."""
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Take the step; a lane whose episode ends is reset, and its info is of the last one."""
        seen, reward, over, _, info = self.lanes.step(self._actions)
        infos = _by_lane(info)
        if over.any():
            last = _by_lane(info["final_info"])
            for i in np.flatnonzero(over):
                final = last[i] | {"terminal_observation": info["final_obs"][i]}
                self.reset_infos[i], infos[i] = infos[i], final
        return seen, reward.astype(np.float32), over, infos

    def get_images(self) -> Any:
        """Return a picture of each lane."""
        return self.lanes.render()

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return what all lanes have in common, once for each."""
        return [getattr(self.lanes, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuse: lanes differ in nothing that could be set."""
        raise AttributeError(f"lanes share {attr_name}: make a new environment to change it")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **how: Any) -> Any:
        """Call a method of the whole, and return its result once for each lane."""
        result = getattr(self.lanes, method_name)(*args, **how)
        return [result for _ in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return that no lane is wrapped: wrap the whole, as VecMonitor does."""
        return [False for _ in self._get_indices(indices)]


def _by_lane(info: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Take apart what Gymnasium says of all lanes; of a lane, only what it has."""
    own = {name: info[name] for name in info if isinstance(info.get(f"_{name}"), np.ndarray)}
    plain = {n: x.tolist() if x.ndim == 1 else x for n, x in own.items() if n[:6] != "final_"}
    some, *_ = plain.values()
    return [{n: x[i] for n, x in plain.items() if info[f"_{n}"][i]} for i in range(len(some))]
