"""Experiment 3: bandits whose arms, each with a stimulus of its own, recur in new combinations."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from reinstate import draws
from reinstate.errors import UserError, require_positive, require_probability
from reinstate.processes import Bag, exposures
from reinstate.tasks.barcodes import barcodes, check_barcodes
from reinstate.tasks.base import Observation, World
from reinstate.tasks.drawings import EMBEDDING_SIZE, NUM_CLASSES, check_drawings, drawings_of

HIGH, LOW = 0, 1  # rows of an episode's stimuli


class CompositionalTask(NamedTuple):
    context_id: Array  # () the class of the high-paying stimulus
    exposure: Array  # () how often that class was met before
    exposures: Array  # (2,) the same of both stimuli, high and low
    stimuli: Array  # (2, context_size) high and low


class Trial(NamedTuple):
    pulls: Array  # () done so far
    high_at: Array  # () the arm that shows the high-paying stimulus on this trial
    query: Array  # () the stimulus that the memory is asked for


class CompositionalTrace(NamedTuple):
    query: Array  # () HIGH or LOW
    exposures: Array  # (2,) of the stimuli, high and low


@dataclass(frozen=True)
class CompositionalBandits(World):
    """Compositional bandits, section 4.3.

    - actions: two arms
    - reward: 1 with probability p_high on the arm of the high-paying stimulus, p_low on the other
    - observation: both stimuli, in the places of their arms, which change on every trial at random
    - context: one of the two stimuli, drawn anew on every trial
    - episode: `pulls` trials with one high-paying and one low-paying class
    - epoch: each of num_classes classes, half of them high-paying, comes back `repeats` times
    """

    num_classes: int = 400
    """Classes in an epoch, half of them high-paying."""
    repeats: int = 5
    """Episodes in which each class takes part."""
    pulls: int = 10
    """Trials in an episode."""
    p_high: float = 0.9
    """Reward probability of the high-paying stimulus."""
    p_low: float = 0.1
    """Reward probability of the low-paying stimulus."""
    stimuli: Literal["omniglot", "barcodes"] = "omniglot"
    """What stimuli are: drawings, another one each time a class comes back, or barcodes."""
    barcode_length: int = 10
    """Bits of a barcode."""
    scale: float = 1.0
    """Length of a drawing's embedding."""
    stored: Literal["queried", "both"] = "queried"
    """The keys under which an episode is stored: the last stimulus queried, or both."""

    def __post_init__(self) -> None:
        require_positive(num_classes=self.num_classes, repeats=self.repeats, pulls=self.pulls)
        require_probability(p_high=self.p_high, p_low=self.p_low)
        if self.num_classes % 2:
            raise UserError(f"num_classes must be even, half high and half low: {self.num_classes}")
        if self.stored not in ("queried", "both"):
            raise UserError(f"unknown stored {self.stored!r}: choose queried or both")
        if self.stimuli == "omniglot":
            check_drawings(self.num_classes, self.repeats)
        elif self.stimuli == "barcodes":
            check_barcodes(self.num_classes, self.barcode_length)
        else:
            raise UserError(f"unknown stimuli {self.stimuli!r}: choose omniglot or barcodes")

    @property
    def num_actions(self) -> int:
        return 2

    @property
    def observation_size(self) -> int:
        return 2 * self.context_size

    @property
    def context_size(self) -> int:
        return EMBEDDING_SIZE if self.stimuli == "omniglot" else self.barcode_length

    @property
    def episode_length(self) -> int:
        return self.pulls

    @property
    def episodes_per_epoch(self) -> int:
        return self.num_classes // 2 * self.repeats

    @property
    def max_exposures(self) -> int:
        return self.repeats

    def sample_epoch(self, key: Array) -> CompositionalTask:
        order_key, class_key, drawing_key = jax.random.split(key, 3)
        half = self.num_classes // 2
        bag = Bag(half, self.repeats)
        classes = jax.vmap(bag.sample)(jax.random.split(order_key)) + jnp.array([[0], [half]])
        met = jax.vmap(exposures)(classes)  # (2, episodes)
        if self.stimuli == "omniglot":
            which = draws.shuffle(class_key, jnp.arange(NUM_CLASSES))[: self.num_classes]
            shown = self.scale * drawings_of(drawing_key, which, classes, met)
        else:
            shown = barcodes(class_key, self.num_classes, self.barcode_length)[classes]
        return CompositionalTask(classes[HIGH], met[HIGH], met.T, jnp.moveaxis(shown, 0, 1))

    def reset(self, key: Array, task: CompositionalTask) -> Trial:
        return self._shuffle(key, jnp.zeros((), jnp.int32))

    def _shuffle(self, key: Array, pulls: Array) -> Trial:
        high_at, query = draws.integers(key, 2, 0, 2)
        return Trial(pulls, high_at, query)

    def contexts(self, task: CompositionalTask) -> Array:
        return task.stimuli

    def observe(self, task: CompositionalTask, state: Trial) -> Observation:
        in_place = jnp.where(state.high_at == 0, task.stimuli, task.stimuli[::-1])
        return Observation(in_place.ravel(), state.query)

    def stored_under(self, task: CompositionalTask, state: Trial) -> Array:
        return jnp.array([HIGH, LOW]) if self.stored == "both" else state.query[None]

    def step(
        self, key: Array, task: CompositionalTask, state: Trial, action: Array
    ) -> tuple[Trial, Array]:
        pay_key, next_key = jax.random.split(key)
        p_reward = jnp.where(action == state.high_at, self.p_high, self.p_low)
        reward = (jax.random.uniform(pay_key) < p_reward).astype(jnp.float32)
        return self._shuffle(next_key, state.pulls + 1), reward

    def trace(self, task: CompositionalTask, state: Trial) -> CompositionalTrace:
        return CompositionalTrace(state.query, task.exposures)

    def expected_rewards(self, task: CompositionalTask, state: Trial) -> Array:
        return jnp.where(jnp.arange(2) == state.high_at, self.p_high, self.p_low)
