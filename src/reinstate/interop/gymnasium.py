"""Worlds as Gymnasium environments, one by one or many at once (extra `gym`).

    import gymnasium
    import reinstate.interop.gymnasium  # registers reinstate/BarcodeBandits-v0 and four more

    env = gymnasium.make("reinstate/BarcodeBandits-v0", num_arms=5, last_step=True)
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

`ReinstateEnv(world)` makes one of any world.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from numpy.typing import ArrayLike

from reinstate.figures import scenes
from reinstate.interop.functional import OF_STEPS, Environment, Per
from reinstate.interop.lanes import WORLDS, Lanes, draw_chance, make_world, scene
from reinstate.tasks.base import World

try:
    import gymnasium
    from gymnasium.error import Error, InvalidAction, ResetNeeded, UnsupportedMode
    from gymnasium.spaces import Box, Discrete
    from gymnasium.utils.seeding import np_random
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise ImportError(
        'the environments need Gymnasium 1.1 or later: pip install "reinstate[gym]"'
    ) from error

IDS = {f"reinstate/{name.title().replace('-', '')}-v0": name for name in WORLDS}
RENDER_MODES = ["rgb_array", "ansi", "human"]
METADATA: dict[str, Any] = {"render_modes": RENDER_MODES, "render_fps": 4}
NEW_EPOCH = "new_epoch"


class _Played:
    """Lanes of a world, which a single environment has one of and a vector environment many."""

    metadata = METADATA

    def _set_up(
        self,
        world: World | type[World] | str,
        lanes: int,
        *,
        per: Per = "epoch",
        last_step: bool = False,
        evaluation: bool = False,
        render_mode: str | None = None,
        **settings: Any,
    ) -> tuple[Box, Discrete]:
        """Make the lanes; return the spaces of a single one."""
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise UnsupportedMode(
                f"unknown render_mode {render_mode!r}: choose rgb_array, ansi or human"
            )
        made = make_world(world, settings)
        self.environment = Environment(
            made.for_evaluation() if evaluation else made, per, last_step
        )
        self.render_mode = render_mode
        self._lanes = Lanes(self.environment, lanes)
        self._info: dict[str, np.ndarray] = {}  # empty before the first reset
        bounds = self.environment.observation_space()
        box = Box(np.asarray(bounds.low), np.asarray(bounds.high), bounds.shape, np.float32)
        return box, Discrete(self.environment.num_actions)

    @property
    def world(self) -> World:
        """The world that is played."""
        return self.environment.world

    def _wants_new_epoch(self, options: Mapping[str, Any] | None) -> bool:
        """Read the options of a reset: whether a new epoch starts, or its next exposure."""
        options, always = options or {}, self.environment.per == "epoch"
        if options.keys() - {NEW_EPOCH} or (always and not options.get(NEW_EPOCH, True)):
            raise Error(f'the only option is new_epoch, with per="exposure": not {options}')
        return bool(options.get(NEW_EPOCH, always))

    def _require_started(self, call: str) -> None:
        if not self._info:
            raise ResetNeeded(f"the environment has not started: call reset() before {call}()")

    def _pictures(self) -> list[np.ndarray | str] | None:
        """Show the context, what can be chosen or where the agent is, and the last reward."""
        self._require_started("render")
        if self.render_mode is None:
            gymnasium.logger.warn('nothing is rendered: make it with render_mode="rgb_array"')
            return None
        show = scenes.picture if self.render_mode == "rgb_array" else scenes.text
        lanes = self._lanes.state, self._info
        each = (jax.tree.map(lambda x, i=i: x[i], lanes) for i in range(self._lanes.num))
        return [show(scene(self.world, *lane)) for lane in each]

    def _show_human(self) -> None:
        """Print what is to be seen, where a person watches: no window is needed."""
        if self.render_mode == "human":
            print(*self._pictures() or (), sep="\n\n", end="\n\n")


class ReinstateEnv(_Played, gymnasium.Env):
    """A world as a Gymnasium environment, on the compiled step of the functional one.

    - world: a World, its class, or the name of an experiment or of a registered task
    - per: what one episode of Gymnasium is, an epoch or an exposure. An epoch of exposures is
      left by reset(options={"new_epoch": True}), by reset(seed=…), or by its end.
    - last_step: whether observations show the last action, the last reward and an exposure's start
    - evaluation: whether it is the world that agents are evaluated in
    - render_mode: "rgb_array", "ansi" (text), "human" (prints that text at every step) or None
    - all others: settings of the world

    `spec.max_episode_steps` is the length of an episode in these settings.
    """

    def __init__(self, world: World | type[World] | str, **arguments: Any) -> None:
        self.observation_space, self.action_space = self._set_up(world, 1, **arguments)
        self.metadata = dict(self.metadata)  # vector environments of Gymnasium write into it
        self.spec = None
        self._over = False

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start a new epoch or, if episodes are exposures and nothing else is asked, the next one.

        Info says of the observation what it says after a step, but nothing of rewards.
        """
        new_epoch = self._wants_new_epoch(options)
        super().reset(seed=seed)
        if seed is not None or not self._info:
            self._lanes.seed([draw_chance(self.np_random)])
            new_epoch = True
        seen, self._info = self._lanes.reset(np.array([True]), np.array([new_epoch]))
        self._over = False
        self._show_human()
        return seen[0], _of_one(self._info)

    def step(
        self, action: int | np.integer | np.ndarray
    ) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take one step; after the end of an episode, reset is due."""
        self._require_started("step")
        if self._over:
            raise ResetNeeded("the episode is over: call reset() before the next step()")
        if not self.action_space.contains(action):
            last = self.environment.num_actions - 1
            raise InvalidAction(f"{action!r} is no action: choose a whole number from 0 to {last}")
        seen, self._info, reward, over = self._lanes.step(np.array(action, np.int32)[None])
        self._over = bool(over[0])
        self._show_human()
        return seen[0], float(reward[0]), self._over, False, _of_one(self._info)

    @property
    def spec(self) -> Any:
        """What it was made of; the limit is there to be read: episodes end by themselves."""
        return self._spec

    @spec.setter
    def spec(self, spec: Any) -> None:
        self._spec = copy.copy(spec)
        if spec is not None and spec.max_episode_steps is None:
            most = self.environment.default_params.max_steps_in_episode
            self._spec.max_episode_steps = most

    def render(self) -> np.ndarray | str | None:
        """Show where it is."""
        pictures = None if self.render_mode == "human" else self._pictures()
        return None if pictures is None else pictures[0]


def _of_one(info: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return the info of the only lane, with Python's numbers."""
    return {name: x[0] if x.ndim > 1 else x[0].item() for name, x in info.items()}


class ReinstateVectorEnv(_Played, gymnasium.vector.VectorEnv):
    """Lanes of a world, all stepped by one call; arguments are those of ReinstateEnv.

    Lane i sees what ReinstateEnv sees after reset(seed=seed + i). `autoreset_mode` says what
    follows the end of a lane's episode:

    - SAME_STEP: the lane is reset within the same step. The observation returned is the next
      episode's first, and `final_obs` and `final_info` tell how the last one ended.
    - NEXT_STEP: the lane is reset by the next step, which ignores its action and pays 0.
    """

    metadata = METADATA | {"autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(
        self,
        world: World | type[World] | str,
        num_envs: int = 1,
        *,
        autoreset_mode: "AutoresetMode | str" = AutoresetMode.SAME_STEP,
        **arguments: Any,
    ) -> None:
        self.num_envs = int(num_envs)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        if self.autoreset_mode is AutoresetMode.DISABLED:
            raise Error("lanes reset themselves: choose SAME_STEP or NEXT_STEP")
        self.metadata = self.metadata | {"autoreset_mode": self.autoreset_mode}
        spaces = self._set_up(world, self.num_envs, **arguments)
        self.single_observation_space, self.single_action_space = spaces
        self.observation_space, self.action_space = (batch_space(s, self.num_envs) for s in spaces)
        self._everyone = np.ones(self.num_envs, bool)
        self._over = ~self._everyone

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Reset all lanes, as ReinstateEnv does one; `seed` may be one for each."""
        new_epoch = self._wants_new_epoch(options) | self._seed(seed)
        seen, self._info = self._lanes.reset(self._everyone, new_epoch)
        self._over = ~self._everyone
        return seen, _masked(self._info, self._everyone)

    def _seed(self, seed: int | Sequence[int | None] | None) -> np.ndarray:
        """Seed lanes; return which, (num_envs,)."""
        super().reset(seed=seed if isinstance(seed, int) else None)
        seeds: list[int | None] = [None] * self.num_envs
        if seed is not None:
            seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else [*seed]
        if len(seeds) != self.num_envs:
            raise Error(f"{len(seeds)} seeds for {self.num_envs} environments: give one to each")
        if not self._info:  # what is not seeded starts by chance
            seeds = [int(self.np_random.integers(2**31)) if s is None else s for s in seeds]
        self._lanes.seed([None if s is None else draw_chance(np_random(s)[0]) for s in seeds])
        return np.array([s is not None for s in seeds])

    def step(
        self, actions: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Take one step in every lane, and reset those whose episode ends or has ended."""
        self._require_started("step")
        due, mode = self._over, self.autoreset_mode
        seen, self._info, reward, over = self._lanes.step(self._checked(actions))
        infos = _masked(self._info, self._everyone)
        if mode is AutoresetMode.SAME_STEP and over.any():
            final_obs = np.full(self.num_envs, None, dtype=object)
            for i in np.flatnonzero(over):
                final_obs[i] = seen[i]
            final = {"final_obs": final_obs, "final_info": _masked(self._info, over)}
            seen, infos = self._autoreset(over)
            infos |= final | {"_final_obs": over.copy(), "_final_info": over.copy()}
        elif mode is AutoresetMode.NEXT_STEP and due.any():  # nothing has happened in those lanes
            seen, infos = self._autoreset(due)
            over = over & ~due
        self._over = over & (mode is not AutoresetMode.SAME_STEP)
        return seen, reward.astype(np.float64), over, ~self._everyone, infos

    def _checked(self, given: ArrayLike) -> np.ndarray:
        actions, last = np.asarray(given), self.environment.num_actions - 1
        whole = actions.shape == (self.num_envs,) and np.issubdtype(actions.dtype, np.integer)
        if not whole or actions.min() < 0 or actions.max() > last:
            raise InvalidAction(
                f"pass one whole number from 0 to {last} per environment, of shape"
                f" ({self.num_envs},), not {given!r}"
            )
        return actions.astype(np.int32)

    def _autoreset(self, mask: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """Start the next episode in some lanes; info of the others is of their step."""
        last = self._info
        new_epoch = np.full(self.num_envs, self.environment.per == "epoch")
        seen, self._info = self._lanes.reset(mask, new_epoch)
        infos = _masked(self._info, self._everyone)
        if not mask.all():
            infos |= _masked({name: last[name] for name in OF_STEPS}, ~mask)
        return seen, infos

    def render(self) -> tuple[np.ndarray | str, ...] | None:
        """Show every lane."""
        pictures = self._pictures()
        return None if pictures is None else tuple(pictures)


def _masked(info: Mapping[str, np.ndarray], mask: np.ndarray) -> dict[str, Any]:
    """Put info as Gymnasium does: under `_name`, which lanes have it; others have zeros.

    Numbers are as wide as Python's.
    """
    infos: dict[str, Any] = {}
    for name, value in info.items():
        shown = np.where(mask.reshape(-1, *[1] * (value.ndim - 1)), value, np.zeros_like(value))
        wide = {"i": np.int64, "f": np.float64}.get(value.dtype.kind) if value.ndim == 1 else None
        infos[name], infos[f"_{name}"] = shown.astype(wide or value.dtype), mask.copy()
    return infos


for _id, _name in IDS.items():
    if _id not in gymnasium.registry:
        gymnasium.register(
            _id,
            entry_point=f"{__name__}:ReinstateEnv",
            vector_entry_point=f"{__name__}:ReinstateVectorEnv",
            kwargs={"world": _name},
        )
