"""The contract of whoever plays: what a player is shown, what it does, and what it may override."""

import abc
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
from jax import Array

from reinstate.memory import Found, Memory
from reinstate.tasks.base import World


class Decision(NamedTuple):
    """What a player does on one step."""

    logits: Array  # (num_actions,) actions are drawn from their softmax
    value: Array  # () the reward it expects from here on; only learners look at it
    report: Mapping[str, Array] = {}  # to be recorded by name, such as gates
    kept: Any = None  # what `Player.again` needs of the step


class Inputs(NamedTuple):
    """What a player is shown on one step, besides what its memory returns."""

    features: Array  # (observation_size,)
    context: Array  # (context_size,)
    last_action: Array  # () −1 on the first step of an episode
    last_reward: Array  # ()
    first_shown: Array  # () whether the episode shows this context for the first time


Again = Callable[[Inputs, Any, Any, Any], tuple[Array, Array]]


class Player(eqx.Module):
    """Whoever can play: an agent, a bandit algorithm, a program of yours.

    Everything is for one lane. A subclass writes what differs from what is here.
    """

    @property
    def remembers(self) -> bool:
        """Whether it has an episodic memory: whether `read` and `write` are called."""
        return False

    @property
    def outlives_episodes(self) -> bool:
        """Whether its state is carried through an epoch; if not, every episode resets it."""
        return False

    @property
    def value_size(self) -> int:
        """The size of what it stores."""
        return 0

    @property
    def again(self) -> Again | None:
        """A cheaper way to the gradient of steps already taken, as `reinstate.recompute` says."""
        return None

    def view(self, world: World) -> World:
        """Return the world as this player is shown it; by default as it is."""
        return world

    @abc.abstractmethod
    def initial_state(self) -> Any:
        """Return the state in which an episode starts, any tree of arrays."""

    def read(
        self, memory: Memory, contents: Any, context: Array, state: Any
    ) -> tuple[Any, Found, Any]:
        """Ask the memory about a context: what is recalled, what was found, contents after that.

        What is recalled may be any tree of arrays; by default it is the value that was found. An
        episode reads once for each context that it can show, in the state in which it starts.
        """
        found, contents = memory.read(contents, context)
        return found.value, found, contents

    @abc.abstractmethod
    def __call__(self, inputs: Inputs, recalled: Any, state: Any) -> tuple[Any, Decision]:
        """Take one step: return the new state, and what to do.

        `recalled` is what `read` gave for the context on show, and zeros where there is none.
        """

    def write(self, memory: Memory, contents: Any, context: Array, state: Any) -> Any:
        """Store what the player keeps of its last state, by default all; return the contents."""
        return memory.write(contents, context, state)
