"""Experiment 3: bandits whose stimuli, one per arm, recur in new combinations."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from reinstate import draws
from reinstate.errors import (
    UserError,
    require_choices,
    require_not_negative,
    require_positive,
    require_probability,
    require_within,
)
from reinstate.processes import Bag, exposures
from reinstate.tasks.bandits import barcodes, check_barcodes
from reinstate.tasks.base import UNIT, Bounds, Observation, World
from reinstate.tasks.drawings import (
    EMBEDDING_SIZE,
    Classes,
    check_drawings,
    drawings_of,
    require_scale,
    require_split,
    split_classes,
)

HIGH, LOW = 0, 1  # rows of an episode's stimuli
MOST_EXCHANGES = 1000  # each is a part of the program


class CompositionalTask(NamedTuple):
    context_id: Array  # () the class of the high-paying stimulus
    exposure: Array  # () how often that class was met before
    classes: Array  # (2,) of both stimuli, high and low
    exposures: Array  # (2,) how often each was met before
    stimuli: Array  # (2, context_size) high and low
    others: Array  # (exchanges, 2, context_size) that replace them, one after the other
    exchange: Array  # () probability of an exchange before a trial


class Trial(NamedTuple):
    pulls: Array  # () done so far
    high_at: Array  # () the arm that shows the high-paying stimulus on this trial
    query: Array  # () HIGH or LOW: the stimulus that the memory is queried with
    exchanged: Array  # (2,) how often each stimulus has been replaced


class CompositionalTrace(NamedTuple):
    query: Array  # () HIGH or LOW
    classes: Array  # (2,) of the stimuli, high and low
    exposures: Array  # (2,) how often each was met before
    high_at: Array | None = None  # () the arm that shows the high-paying one


@dataclass(frozen=True)
class CompositionalBandits(World):
    """Compositional bandits, section 4.3.

    - actions: two arms
    - reward: 1 with probability p_high on the arm of the high-paying stimulus, p_low on the other
    - observation: both stimuli, in the places of their arms, which change on every trial at random
    - context: one of the two stimuli, drawn at random on every trial
    - episode: `pulls` trials with one high-paying and one low-paying class
    - epoch: each of num_classes classes, half of them high-paying, is met `repeats` times
    - curriculum, off by default: early in training, stimuli are replaced by others of their kind
      within an episode, and the memory is not queried with those. What is known of the stimulus
      that stays must then help with a new one, as when it comes back in another episode.
    """

    num_classes: int = 400
    """Classes per epoch, half of them high-paying."""
    repeats: int = 5
    """Episodes in which each class takes part."""
    pulls: int = 10
    """Trials per episode."""
    p_high: float = 0.9
    """Reward probability of the high-paying stimulus."""
    p_low: float = 0.1
    """Reward probability of the low-paying stimulus."""
    stimuli: Literal["omniglot", "barcodes"] = "omniglot"
    """What stimuli are: drawings, a different one each time a class comes back, or barcodes."""
    barcode_length: int = 10
    """Bits per barcode."""
    scale: float = 1.0
    """Norm of a drawing's embedding."""
    stored: Literal["queried", "both"] = "queried"
    """The keys under which an episode is stored: the last stimulus queried, or both."""
    query: Literal["random", "high", "low"] = "random"
    """The stimulus that the memory is queried with on a trial."""
    judged_classes: int = 0
    """Classes per epoch of evaluation; 0: as many as num_classes."""
    classes: Classes = "training"
    """The classes of drawings: agents learn on the first, are evaluated on the second."""
    trained_on: int = 0
    """Every n-th class of drawings is for training, the others for evaluation; 0: all for both."""
    exchange: float = 0.0
    """Curriculum: probability that a stimulus is replaced by another of its kind before a trial."""
    exchange_high: float = 0.9
    """Curriculum: share of exchanges that replace the high-paying stimulus."""
    exchanges: int = 5
    """Curriculum: how often one stimulus may be replaced in an episode."""
    exchange_until: float = 0.5
    """Curriculum: the share of training after which nothing is replaced."""

    num_actions = 2

    def __post_init__(self) -> None:
        require_choices(self)
        require_positive(num_classes=self.num_classes, repeats=self.repeats, pulls=self.pulls)
        require_positive(exchanges=self.exchanges)
        require_within(1, MOST_EXCHANGES, exchanges=self.exchanges)
        require_probability(p_high=self.p_high, p_low=self.p_low)
        require_probability(exchange=self.exchange, exchange_high=self.exchange_high)
        require_probability(exchange_until=self.exchange_until)
        require_not_negative(judged_classes=self.judged_classes)
        classes = {"num_classes": self.num_classes, "judged_classes": self.judged_classes}
        for name, number in classes.items():
            if number % 2:
                raise UserError(f"{name} must be even, half high and half low, not {number}")
        most = max(self.num_classes, self.judged_classes)
        require_positive(episodes_per_epoch=most // 2 * self.repeats)
        require_split(trained_on=self.trained_on)
        require_scale(self.scale)
        check_barcodes(most if self.stimuli == "barcodes" else 1, self.barcode_length)
        if self.stimuli == "omniglot":
            self._check_pools()

    def _check_pools(self) -> None:
        fewer = "lower num_classes" + (", or use trained_on 0" if self.trained_on else "")
        check_drawings(self.num_classes, self.repeats, len(self.pool), fewer)
        to_judge = len(split_classes(self.trained_on)[1])
        fewer = "lower judged_classes" + (", or raise trained_on" if self.trained_on else "")
        check_drawings(self.judged_classes, self.repeats, to_judge, fewer)

    @property
    def holds_out(self) -> bool:
        """Whether agents are evaluated on classes of drawings that they did not learn on."""
        return self.stimuli == "omniglot" and self.trained_on > 0

    @property
    def pool(self) -> np.ndarray:
        """The classes that drawings come from."""
        for_training, others = split_classes(self.trained_on)
        return others if self.classes == "evaluation" else for_training

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

    @property
    def writes_per_episode(self) -> int:
        return 2 if self.stored == "both" else 1

    def bounds(self) -> Bounds:
        stimuli = (-self.scale, self.scale) if self.stimuli == "omniglot" else UNIT
        return Bounds(stimuli, stimuli, UNIT)

    def for_evaluation(self) -> Self:
        """Return the world of judged_classes held-out classes, without the curriculum."""
        judged = self.judged_classes or self.num_classes
        classes: Classes = "evaluation" if self.holds_out else self.classes
        return replace(self, num_classes=judged, judged_classes=0, exchange=0.0, classes=classes)

    def sample_epoch(self, key: Array) -> CompositionalTask:
        return self.sample_training_epoch(key, jnp.ones(()))

    def sample_training_epoch(self, key: Array, progress: Array) -> CompositionalTask:
        order_key, class_key, drawing_key = jax.random.split(key, 3)
        half = self.num_classes // 2
        bag = Bag(half, self.repeats)
        first = jnp.array([[0], [half]], jnp.int32)  # class of each kind
        classes = jax.vmap(bag.sample)(jax.random.split(order_key)) + first
        met = jax.vmap(exposures)(classes)  # (2, episodes)
        if self.stimuli == "omniglot":
            which = draws.shuffle(class_key, jnp.asarray(self.pool))[: self.num_classes]
            shown = self.scale * drawings_of(drawing_key, which, classes, met)
        else:
            shown = barcodes(class_key, self.num_classes, self.barcode_length)[classes]
        stimuli = jnp.moveaxis(shown, 0, 1)  # (episodes, 2, context_size)
        # Replace stimuli by those of the episodes before: of the same epoch, and of their kind.
        steps = range(1, self.exchanges + 1 if self.exchange else 1)
        others = [jnp.roll(stimuli, step, axis=0) for step in steps]
        exchange = jnp.where(progress < self.exchange_until, self.exchange, 0.0)
        return CompositionalTask(
            classes[HIGH],
            met[HIGH],
            classes.T,
            met.T,
            stimuli,
            jnp.stack(others, axis=1) if others else stimuli[:, :0, None],
            jnp.broadcast_to(exchange.astype(jnp.float32), stimuli.shape[:1]),
        )

    def reset(self, key: Array, task: CompositionalTask) -> Trial:
        return self._shuffle(key, jnp.zeros((), jnp.int32), jnp.zeros(2, jnp.int32))

    def _shuffle(self, key: Array, pulls: Array, exchanged: Array) -> Trial:
        high_at, query = draws.integers(key, 2, 0, 2)
        if self.query != "random":
            query = jnp.full((), HIGH if self.query == "high" else LOW, jnp.int32)
        return Trial(pulls, high_at, query, exchanged)

    def contexts(self, task: CompositionalTask) -> Array:
        return task.stimuli

    def context_ids(self, task: CompositionalTask) -> Array:
        return task.classes

    def observe(self, task: CompositionalTask, state: Trial) -> Observation:
        stimuli, context = task.stimuli, state.query
        if self.exchange:
            series = jnp.concatenate([task.stimuli[None], task.others])
            stimuli = series[state.exchanged, jnp.array([HIGH, LOW])]
            context = jnp.where(state.exchanged[state.query] == 0, state.query, -1)
        in_place = jnp.where(state.high_at == 0, stimuli, stimuli[::-1])
        return Observation(in_place.ravel(), context)

    def keys_to_store(self, task: CompositionalTask, state: Trial) -> Array:
        return jnp.array([HIGH, LOW], jnp.int32) if self.stored == "both" else state.query[None]

    def step(
        self, key: Array, task: CompositionalTask, state: Trial, action: Array
    ) -> tuple[Trial, Array]:
        pay_key, next_key = jax.random.split(key)
        p_reward = jnp.where(action == state.high_at, self.p_high, self.p_low)
        reward = (jax.random.uniform(pay_key, dtype=jnp.float32) < p_reward).astype(jnp.float32)
        exchanged = state.exchanged
        if self.exchange:
            exchange_key, next_key = jax.random.split(next_key)
            exchanged = self._exchange(exchange_key, task, exchanged)
        return self._shuffle(next_key, state.pulls + 1, exchanged), reward

    def _exchange(self, key: Array, task: CompositionalTask, exchanged: Array) -> Array:
        happens, which = draws.uniform(key, 2)
        row = jnp.where(which < self.exchange_high, HIGH, LOW)
        more = (happens < task.exchange) & (exchanged[row] < self.exchanges)
        return exchanged.at[row].add(more)

    def trace(self, task: CompositionalTask, state: Trial) -> CompositionalTrace:
        return CompositionalTrace(state.query, task.classes, task.exposures, state.high_at)

    def expected_rewards(self, task: CompositionalTask, state: Trial) -> Array:
        high = jnp.arange(2) == state.high_at
        return jnp.where(high, self.p_high, self.p_low).astype(jnp.float32)
