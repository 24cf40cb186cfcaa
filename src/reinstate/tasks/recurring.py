"""Worlds whose tasks recur, each identified by one context."""

import abc
from dataclasses import dataclass
from typing import Any

import jax
from jax import Array

from reinstate.errors import require_choices, require_positive
from reinstate.processes import Process, ProcessName, exposures, make_process, require_alpha
from reinstate.tasks.base import World


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
