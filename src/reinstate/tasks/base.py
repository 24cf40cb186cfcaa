"""The contract every task keeps: a world of recurring tasks, as pure functions for one lane.

A world is a frozen dataclass of settings. It knows nothing of agents, memories or batches: callers
`vmap` over lanes. There is no auto-reset, so that the three clocks (step, episode, epoch) stay
visible to whoever drives it.
"""

import abc
from typing import Any, NamedTuple

from jax import Array


class Observation(NamedTuple):
    features: Array  # (observation_size,) what every agent sees besides its last action and reward
    context: Array  # () which row of `contexts(task)` is on show; −1: none


class World(abc.ABC):
    """A family of tasks and the way they recur; `task` is a sampled one, `state` its progress."""

    @property
    @abc.abstractmethod
    def num_actions(self) -> int: ...

    @property
    @abc.abstractmethod
    def observation_size(self) -> int: ...

    @property
    @abc.abstractmethod
    def context_size(self) -> int: ...

    @property
    @abc.abstractmethod
    def episode_length(self) -> int: ...

    @property
    @abc.abstractmethod
    def episodes_per_epoch(self) -> int: ...

    @property
    @abc.abstractmethod
    def max_exposures(self) -> int:
        """The most often one context can be shown in an epoch."""

    def unseen(self) -> "World":
        """The world in which agents are judged: by default this one, on epochs never seen."""
        return self

    @abc.abstractmethod
    def sample_epoch(self, key: Array) -> Any:
        """The tasks of one epoch: a NamedTuple of arrays whose leading axis is the episode.

        It has at least `context_id` and `exposure`, both (episodes,) integers.
        """

    def sample_while_learning(self, key: Array, done: Array) -> Any:
        """As `sample_epoch`, for an agent that has a share `done` of its training behind it.

        The place of a curriculum; agents are judged on what `sample_epoch` gives.
        """
        return self.sample_epoch(key)

    @abc.abstractmethod
    def reset(self, key: Array, task: Any) -> Any:
        """The state in which an episode starts."""

    @abc.abstractmethod
    def contexts(self, task: Any) -> Array:
        """Every context that this episode can show, (shown, context_size).

        They are fixed for the episode, as the memory is: one read per row serves all steps.
        """

    @abc.abstractmethod
    def observe(self, task: Any, state: Any) -> Observation: ...

    @property
    def writes_per_episode(self) -> int:
        """Under how many contexts an episode is remembered."""
        return 1

    def stored_under(self, task: Any, state: Any) -> Array:
        """The rows of `contexts(task)` under which an episode that ends in `state` is remembered.

        (writes_per_episode,) integers; by default the one on show.
        """
        return self.observe(task, state).context[None]

    @abc.abstractmethod
    def step(self, key: Array, task: Any, state: Any, action: Array) -> tuple[Any, Array]:
        """The next state and the reward."""

    def trace(self, task: Any, state: Any) -> Any:
        """What an analysis wants to know of a step besides action and reward; by default nothing.

        A NamedTuple of arrays, taken before the step; evaluations record it, agents never see it.
        """
        return ()

    def new_history(self) -> Any:
        """What the world itself keeps of an epoch, as it starts; by default nothing."""
        return ()

    def in_view_of(self, history: Any, task: Any) -> Any:
        """The task as what happened earlier in the epoch has made it; by default as sampled."""
        return task

    def log(self, history: Any, task: Any, state: Any) -> Any:
        """The history after an episode that ended in `state`."""
        return history

    @abc.abstractmethod
    def expected_rewards(self, task: Any, state: Any) -> Array:
        """The expected reward of each action now, (num_actions,); regret is measured from it."""
