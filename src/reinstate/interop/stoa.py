"""Worlds as environments of Stoa, which Stoix trains on (extra `stoa`).

training, evaluation = for_stoix(Environment(BarcodeBandits(), last_step=True))
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from reinstate.interop.functional import Environment, EnvParams
from reinstate.tasks.base import MOST

try:
    import stoa
    from stoa.core_wrappers.vmap import VmapWrapper
    from stoa.env_adapters.base import AdapterStateWithKey
except ImportError as missing:
    raise ImportError(f'{missing}: pip install "reinstate[stoa]"') from None

NEXT_OBSERVATION = "next_obs"  # where Stoa's wrappers leave what followed the last action
GYMNAX_ONLY = ("terminated", "truncated", "final_observation")  # Stoa tells these its own way


class StoaEnvironment(stoa.Environment):
    """A functional environment in Stoa's interface, one lane of it.

    `extras` holds what the environment's `info` tells, under the same names after `reset` as after
    `step`; what is said of the step taken is NaN as long as none was.

    By default an episode is over when it is over, and a wrapper of Stoa has to start the next. With
    auto_reset the environment does so itself, and leaves what followed the last action in
    `extras["next_obs"]`, as Stoa's AutoResetWrapper does. That is cheaper, since Stoa's wrapper
    samples an epoch at every step of every lane, and the only way to play per="exposure": a wrapper
    would start a new epoch each time.
    """

    def __init__(self, env: Environment, auto_reset: bool = False) -> None:
        if env.per == "exposure" and not auto_reset:
            raise ValueError(
                'per="exposure" needs auto_reset=True: otherwise each reset starts a new epoch'
            )
        self._env, self._auto_reset = env, auto_reset

    def reset(
        self, rng_key: Array, env_params: EnvParams | None = None
    ) -> tuple[Any, stoa.TimeStep]:
        """Start a new epoch."""
        reset_key, key = jax.random.split(rng_key)
        observation, state = self._env.reset(reset_key, env_params)
        none = jnp.full((), jnp.nan, jnp.float32)
        extras = self._env.info(state) | {"expected_reward": none, "best_expected_reward": none}
        if self._auto_reset:
            extras[NEXT_OBSERVATION] = observation
        first = stoa.TimeStep(
            step_type=stoa.StepType.FIRST,
            reward=jnp.zeros((), jnp.float32),
            discount=jnp.ones((), jnp.float32),
            observation=observation,
            extras=extras,
        )
        return AdapterStateWithKey(base_env_state=state, rng_key=key), first

    def step(
        self, state: Any, action: ArrayLike, env_params: EnvParams | None = None
    ) -> tuple[Any, stoa.TimeStep]:
        """Take one step."""
        step_key, key = jax.random.split(state.rng_key)
        args = step_key, state.base_env_state, action, env_params
        if self._auto_reset:
            observation, after, reward, terminated, truncated, info = self._env.step(*args)
            extras = {n: x for n, x in info.items() if n not in GYMNAX_ONLY}
            extras[NEXT_OBSERVATION] = info["final_observation"]
        else:
            observation, after, reward, terminated, extras = self._env.step_env(*args)
            truncated = self._env.is_truncated(after, env_params)
        kind = jnp.where(truncated, stoa.StepType.TRUNCATED, stoa.StepType.MID)
        timestep = stoa.TimeStep(
            step_type=jnp.where(terminated, stoa.StepType.TERMINATED, kind),
            reward=reward,
            discount=1 - terminated.astype(jnp.float32),
            observation=observation,
            extras=extras,
        )
        return AdapterStateWithKey(base_env_state=after, rng_key=key), timestep

    def observation_space(self, env_params: EnvParams | None = None) -> stoa.ArraySpace:
        space = self._env.observation_space(env_params)
        low, high = np.asarray(space.low), np.asarray(space.high)
        if np.any(low <= -MOST) or np.any(high >= MOST):
            return stoa.ArraySpace(space.shape, jnp.float32, "observation")
        return stoa.BoundedArraySpace(space.shape, jnp.float32, low, high, "observation")

    def action_space(self, env_params: EnvParams | None = None) -> stoa.DiscreteSpace:
        return stoa.DiscreteSpace(self._env.num_actions, jnp.int32, "action")

    def state_space(self, env_params: EnvParams | None = None) -> stoa.Space:
        raise NotImplementedError("a world's state has no space: use observation_space")


def for_stoix(env: Environment) -> tuple[stoa.Environment, StoaEnvironment]:
    """Return environments as Stoix's systems use them: for training in lanes, for evaluation."""
    if env.per != "epoch":
        raise ValueError('Stoix resets its agents after every episode: choose per="epoch"')
    alone = StoaEnvironment(env, auto_reset=True)
    return VmapWrapper(stoa.RecordEpisodeMetrics(alone)), StoaEnvironment(env)
