"""The contract of every task: a world of recurring tasks, as pure functions for one lane.

A world is a frozen dataclass of settings. It knows nothing of agents, memories or batches: callers
`vmap` over lanes. There is no auto-reset, so that the three clocks (step, episode, epoch) stay
visible to the caller. Integers are int32 and floats float32, also under jax_enable_x64.
"""

import abc
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from reinstate.errors import require_choices, require_positive
from reinstate.processes import Process, ProcessName, exposures, make_process, require_alpha

Range = tuple[float, float]
MOST = float(np.finfo(np.float32).max)  # a finite bound for what a world does not bound
ANY: Range = (-MOST, MOST)
UNIT: Range = (0.0, 1.0)


class Observation(NamedTuple):
    """What an agent sees."""

    features: Array  # (observation_size,) what every agent sees besides its last action and reward
    context: Array  # () the row of `contexts(task)` that is shown; −1: none


class Bounds(NamedTuple):
    """The least and the largest number of each part of what an agent is shown."""

    features: Range = ANY
    context: Range = ANY
    reward: Range = ANY


class World(abc.ABC):
    """A family of tasks and how they recur; `task` is a sampled one, `state` its progress."""

    @property
    @abc.abstractmethod
    def num_actions(self) -> int:
        """Number of actions."""

    @property
    @abc.abstractmethod
    def observation_size(self) -> int:
        """Size of the features that every agent sees."""

    @property
    @abc.abstractmethod
    def context_size(self) -> int:
        """Size of a context, which is a key of the memory."""

    @property
    @abc.abstractmethod
    def episode_length(self) -> int:
        """Steps per episode; if `done` ends some early, the most there can be."""

    @property
    @abc.abstractmethod
    def episodes_per_epoch(self) -> int:
        """Episodes per epoch."""

    @property
    @abc.abstractmethod
    def max_exposures(self) -> int:
        """How often one context can be met in an epoch, at most."""

    def bounds(self) -> Bounds:
        """Return what observations and rewards lie between, for spaces; by default anything."""
        return Bounds()

    def for_evaluation(self) -> "World":
        """Return the world that agents are evaluated in; by default the one they learn in."""
        return self

    @abc.abstractmethod
    def sample_epoch(self, key: Array) -> Any:
        """Draw the tasks of one epoch: a NamedTuple of arrays whose leading axis is the episode.

        It has at least `context_id` and `exposure`, both (episodes,) integers.
        """

    def sample_training_epoch(self, key: Array, progress: Array) -> Any:
        """Draw an epoch to learn from, when the share `progress` of training is done.

        Override it for a curriculum; evaluations call `sample_epoch`.
        """
        return self.sample_epoch(key)

    @abc.abstractmethod
    def reset(self, key: Array, task: Any) -> Any:
        """Return the state in which an episode starts."""

    @abc.abstractmethod
    def contexts(self, task: Any) -> Array:
        """Return every context that this episode can show, (shown, context_size).

        They are fixed during the episode, as the memory is: one read per row serves all steps.
        """

    def context_ids(self, task: Any) -> Array:
        """Return which of the epoch's contexts each row of `contexts(task)` is, (shown,) integers.

        Agents never see it. By default every row is `context_id`.
        """
        return jnp.broadcast_to(task.context_id, self.contexts(task).shape[:1])

    @abc.abstractmethod
    def observe(self, task: Any, state: Any) -> Observation:
        """Return what an agent sees in `state`."""

    @property
    def writes_per_episode(self) -> int:
        """How many contexts an episode is stored under."""
        return 1

    def keys_to_store(self, task: Any, state: Any) -> Array:
        """Return the rows of `contexts(task)` to store an episode under that ends in `state`.

        (writes_per_episode,) integers; by default the one that is shown.
        """
        return self.observe(task, state).context[None]

    @abc.abstractmethod
    def step(self, key: Array, task: Any, state: Any, action: Array) -> tuple[Any, Array]:
        """Return the next state and the reward."""

    def done(self, task: Any, state: Any) -> Array | None:
        """Tell whether an episode is over in `state`, before `episode_length` steps are done.

        By default None: episodes have a fixed length, and nothing is computed for it. No step is
        taken after the end, which may be in the state that `reset` returns.
        """
        return None

    def trace(self, task: Any, state: Any) -> Any:
        """Return what analyses need of a step besides action and reward; by default nothing.

        A NamedTuple of arrays, taken before the step; evaluations record it, agents never see it.
        """
        return ()

    def new_history(self) -> Any:
        """Return what the world keeps of an epoch, at its start; by default nothing."""
        return ()

    def update_task(self, history: Any, task: Any) -> Any:
        """Update a task from what happened earlier in the epoch; by default leave it as sampled."""
        return task

    def update_history(self, history: Any, task: Any, state: Any) -> Any:
        """Return the history after an episode that ended in `state`."""
        return history

    @abc.abstractmethod
    def expected_rewards(self, task: Any, state: Any) -> Array:
        """Return the expected reward of each action now, (num_actions,), which defines regret."""


@dataclass(frozen=True)
class RecurringWorld(World):
    """A world of num_contexts contexts whose order a process draws.

    Its tasks are NamedTuples with `context_id`, `exposure` and `context`.
    """

    num_contexts: int = 10
    """Distinct contexts per epoch (under the urn: only a factor of the epoch's length)."""
    repeats: int = 10
    """Episodes per context and epoch."""
    process: ProcessName = "bag"
    """How contexts recur: bag (without replacement, the paper) or urn (the rich get richer)."""
    alpha: float = 3.0
    """The urn's concentration: how often it draws a new task."""

    def __post_init__(self) -> None:
        require_positive(num_contexts=self.num_contexts, repeats=self.repeats)
        require_choices(self)
        require_alpha(self.alpha)

    @property
    def sequence(self) -> Process:
        """The process that draws the order of contexts."""
        return make_process(self.process, self.num_contexts, self.repeats, self.alpha)

    @property
    def episodes_per_epoch(self) -> int:
        return self.sequence.num_episodes

    @property
    def max_exposures(self) -> int:
        return self.repeats if self.process == "bag" else self.episodes_per_epoch

    @abc.abstractmethod
    def contexts_of(self, key: Array, index: Array, exposure: Array) -> Array:
        """Return the context shown in each episode, given its task index and exposure."""

    def sample_contexts(self, key: Array) -> tuple[Array, Array, Array]:
        """Draw the task index, exposure and context of each episode of an epoch."""
        order_key, context_key = jax.random.split(key)
        index = self.sequence.sample(order_key)
        exposure = exposures(index)
        return index, exposure, self.contexts_of(context_key, index, exposure)

    def contexts(self, task: Any) -> Array:
        return task.context[None, :]
