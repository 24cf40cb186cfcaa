"""The other way round: a gymnax-style environment becomes a world, which our agents can learn in.

    world = GymnaxWorld(env=CartPole(), steps=50, num_contexts=5, repeats=4)
    trained = reinstate.train(world, "epl2rl")

gymnax is needed only if the environment needs it.
"""

import abc
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from reinstate.errors import UserError, require_positive
from reinstate.interop.lane import where
from reinstate.tasks.bandits import BarcodeWorld
from reinstate.tasks.base import Observation


class Variant(NamedTuple):
    """One drawn variant of the environment, which a context stands for."""

    context_id: Array  # () which of the epoch's contexts
    exposure: Array  # () how often it was met before
    context: Array  # (context_size,)
    level: Array  # the raw key that an episode starts from, if each context has its own
    params: Any  # drawn for it; None if all share theirs


class Progress(NamedTuple):
    env_state: Any
    features: Array  # (observation_size,)
    over: Array  # () terminated or truncated


@dataclass(frozen=True)
class VariantWorld(BarcodeWorld):
    """Variants of an environment, which recur; a subclass says of which.

    - context: a barcode, which stands for one variant of the environment in an epoch: a level (all
      its episodes start alike), parameters that are drawn for it, or both
    - actions, reward: the environment's; the actions must be discrete
    - observation: the environment's, flattened
    - episode: until the environment terminates or truncates, `steps` steps at most
    - epoch: num_contexts × repeats episodes, in an order drawn by the process
    - regret: unknown (NaN), for an environment does not tell what actions are worth
    """

    levels: bool = True
    """Whether all episodes of a context start alike; otherwise each start is drawn."""
    steps: int = 100
    """Steps per episode, at most."""

    @property
    @abc.abstractmethod
    def environment(self) -> Any:
        """The environment: `reset_env` and `step_env`, as gymnax has them."""

    @property
    def shared_params(self) -> Any:
        """Its parameters where none are drawn."""
        return self.environment.default_params

    def draw_params(self, key: Array) -> Any:
        """Draw the parameters of a context; by default None: all contexts share theirs."""
        return None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(steps=self.steps)
        name = type(self.environment).__name__
        if not hasattr(self.environment.action_space(self.shared_params), "n"):
            raise UserError(f"{name} has no discrete actions: wrap it so that actions are numbered")
        if not self.levels and jax.eval_shape(self.draw_params, jax.random.key(0)) is None:
            raise UserError("contexts would mean nothing: draw parameters, or leave levels on")

    @property
    def num_actions(self) -> int:
        return int(self.environment.action_space(self.shared_params).n)

    @property
    def observation_size(self) -> int:
        return _observation_size(self.environment, self.shared_params)

    @property
    def episode_length(self) -> int:
        return self.steps

    def sample_epoch(self, key: Array) -> Variant:
        context_key, level_key, vary_key = jax.random.split(key, 3)
        index, exposure, context = self.sample_contexts(context_key)
        num = self.sequence.max_tasks
        level = jax.random.key_data(jax.random.split(level_key, num))
        params = jax.vmap(self.draw_params)(jax.random.split(vary_key, num))
        return Variant(
            index, exposure, context, level[index], jax.tree.map(lambda x: x[index], params)
        )

    def reset(self, key: Array, task: Variant) -> Progress:
        if self.levels:
            key = jax.random.wrap_key_data(task.level)
        observation, env_state = self.environment.reset_env(key, self._params(task))
        # Counters that start as a Python number have no dtype of their own yet.
        env_state = jax.tree.map(lambda x: jnp.asarray(x, jnp.asarray(x).dtype), env_state)
        return Progress(env_state, _flat(observation), jnp.zeros((), bool))

    def observe(self, task: Variant, state: Progress) -> Observation:
        return Observation(state.features, jnp.zeros((), jnp.int32))

    def step(
        self, key: Array, task: Variant, state: Progress, action: Array
    ) -> tuple[Progress, Array]:
        env, params = self.environment, self._params(task)
        # Never `step`, which would reset: to a level of its own, under the same context.
        observation, after, reward, over, _ = env.step_env(key, state.env_state, action, params)
        if hasattr(env, "is_truncated"):  # before gymnax 1.0, a time limit was an end like others
            over = over | env.is_truncated(after, params)
        after = jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), after, state.env_state)
        stepped = Progress(after, _flat(observation), jnp.asarray(over, bool))
        # Environments do not say what a step after the end would do.
        reward = jnp.where(state.over, 0.0, reward).astype(jnp.float32)
        return where(state.over, state, stepped), reward

    def done(self, task: Variant, state: Progress) -> Array:
        return state.over

    def expected_rewards(self, task: Variant, state: Progress) -> Array:
        return jnp.full(self.num_actions, jnp.nan, jnp.float32)

    def _params(self, task: Variant) -> Any:
        return self.shared_params if task.params is None else task.params


@dataclass(frozen=True)
class GymnaxWorld(VariantWorld):
    """Variants of an environment that is at hand.

    It can be trained in, but not saved: files know nothing of objects. For that, name a subclass of
    VariantWorld.
    """

    env: Any = field(kw_only=True)
    """The environment, in the convention of gymnax."""
    params: Any = None
    """Its parameters; by default its own default_params."""
    vary: Callable[[Array], Any] | None = None
    """Draws the parameters of a context from a key; by default all contexts share theirs."""

    @property
    def environment(self) -> Any:
        return self.env

    @property
    def shared_params(self) -> Any:
        return self.env.default_params if self.params is None else self.params

    def draw_params(self, key: Array) -> Any:
        return None if self.vary is None else self.vary(key)


@lru_cache
def _observation_size(env: Any, params: Any) -> int:
    observation, _ = jax.eval_shape(lambda key: env.reset_env(key, params), jax.random.key(0))
    return sum(leaf.size for leaf in jax.tree.leaves(observation))


def _flat(observation: Any) -> Array:
    leaves = [jnp.ravel(leaf).astype(jnp.float32) for leaf in jax.tree.leaves(observation)]
    return jnp.concatenate(leaves)
