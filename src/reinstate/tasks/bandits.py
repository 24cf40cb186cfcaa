"""Experiments 1 and 2: bandits with one good arm, which a barcode or a drawing identifies."""

from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from reinstate import draws
from reinstate.errors import (
    UserError,
    require_not_negative,
    require_positive,
    require_probability,
    require_within,
)
from reinstate.processes import Process, Zipf
from reinstate.tasks.base import UNIT, Bounds, Observation, RecurringWorld
from reinstate.tasks.drawings import DrawingWorld

MAX_BARCODE_LENGTH = 30  # barcodes are drawn as int32 numbers
MAX_DISTRACTORS = 10_000


def check_barcodes(num: int, length: int) -> None:
    """Refuse a length that does not give `num` distinct barcodes."""
    if not 1 <= length <= MAX_BARCODE_LENGTH:
        raise UserError(f"barcode_length must be 1 to {MAX_BARCODE_LENGTH}, not {length}")
    if num > 2**length - 1:
        longer = num.bit_length()
        possible = longer <= MAX_BARCODE_LENGTH
        fix = f"raise barcode_length to {longer} or more" if possible else "lower that number"
        raise UserError(
            f"barcodes of length {length} give {2**length - 1} contexts and up to {num} are needed:"
            f" {fix}"
        )


def barcodes(key: Array, num: int, length: int) -> Array:
    """Draw `num` distinct binary strings, uniformly without replacement, (num, length).

    The all-zero string is left out: it has no direction, so cosine distance cannot find it.
    """
    numbers = 1 + distinct_integers(key, num, 2**length - 1)
    bits = (numbers[:, None] >> jnp.arange(length, dtype=jnp.int32)[None, :]) & 1
    return bits.astype(jnp.float32)


def distinct_integers(key: Array, num: int, limit: int) -> Array:
    """Draw `num` of range(limit), uniformly without replacement, by the Fisher-Yates shuffle.

    Step i swaps places i and j ≥ i of an array that starts as 0, 1, 2, … Only the places that a
    swap has touched are kept, so that the cost is num², whatever the limit.
    """

    def swap(moved: tuple[Array, Array], step: tuple[Array, Array]) -> tuple[Any, Array]:
        places, contents = moved
        i, j = step

        def look_up(place: Array) -> Array:
            touched = places == place
            last = num - 1 - jnp.argmax(touched[::-1])
            return jnp.where(jnp.any(touched), contents[last], place)

        drawn = look_up(j)
        return (places.at[i].set(j), contents.at[i].set(look_up(i))), drawn

    i = jnp.arange(num, dtype=jnp.int32)
    j = draws.integers(key, num, i, limit)
    untouched = jnp.full(num, -1, jnp.int32)
    _, drawn = jax.lax.scan(swap, (untouched, untouched), (i, j))
    return drawn


@dataclass(frozen=True)
class BarcodeWorld(RecurringWorld):
    """A world whose contexts are barcodes."""

    barcode_length: int = 10
    """Bits per context."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_barcodes(self.sequence.max_tasks, self.barcode_length)

    @property
    def context_size(self) -> int:
        return self.barcode_length

    def bounds(self) -> Bounds:
        return Bounds(context=UNIT)

    def contexts_of(self, key: Array, index: Array, exposure: Array) -> Array:
        return barcodes(key, self.sequence.max_tasks, self.barcode_length)[index]


class BanditTask(NamedTuple):
    context_id: Array  # () which of the epoch's contexts
    exposure: Array  # () how often it was met before
    context: Array  # (context_size,)
    good_arm: Array  # ()


class BanditTrace(NamedTuple):
    good_arm: Array  # ()


@dataclass(frozen=True)
class Bandits(RecurringWorld):
    """Bandits with one good arm.

    - actions: num_arms
    - reward: 1 with probability p_good on the good arm of the context, p_bad on any other
    - observation: nothing, or the share of pulls done if trial_input
    - context: the same on every pull
    - episode: `pulls` pulls in one context
    - epoch: num_contexts × repeats episodes, in an order drawn by the process
    """

    num_arms: int = 10
    """Arms of the bandit."""
    pulls: int = 10
    """Pulls per episode."""
    p_good: float = 0.9
    """Reward probability of the context's good arm."""
    p_bad: float = 0.1
    """Reward probability of every other arm."""
    mapping: Literal["permutation", "independent"] = "permutation"
    """How good arms are drawn: every arm for at least one context (the paper), or independently."""
    trial_input: bool = False
    """Whether the agent sees how far the episode has gone."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(num_arms=self.num_arms, pulls=self.pulls)
        require_probability(p_good=self.p_good, p_bad=self.p_bad)
        if self.mapping == "permutation" and self.sequence.max_tasks < self.num_arms:
            raise UserError(
                f"{self.num_contexts} contexts are too few for {self.num_arms} arms, each the good"
                " one of some context: raise num_contexts or use mapping independent"
            )

    @property
    def num_actions(self) -> int:
        return self.num_arms

    @property
    def observation_size(self) -> int:
        return int(self.trial_input)

    @property
    def episode_length(self) -> int:
        return self.pulls

    def bounds(self) -> Bounds:
        return super().bounds()._replace(features=UNIT, reward=UNIT)

    def sample_epoch(self, key: Array) -> BanditTask:
        context_key, arm_key = jax.random.split(key)
        index, exposure, context = self.sample_contexts(context_key)
        good_arm = self._good_arms(arm_key, self.sequence.max_tasks)
        return BanditTask(index, exposure, context, good_arm[index])

    def _good_arms(self, key: Array, num_tasks: int) -> Array:
        draw_key, order_key = jax.random.split(key)
        arms = draws.integers(draw_key, num_tasks, 0, self.num_arms)
        if self.mapping == "independent":
            return arms
        every_arm_once = arms.at[: self.num_arms].set(jnp.arange(self.num_arms, dtype=jnp.int32))
        return draws.shuffle(order_key, every_arm_once)

    def reset(self, key: Array, task: BanditTask) -> Array:
        return jnp.zeros((), jnp.int32)  # pulls done

    def observe(self, task: BanditTask, state: Array) -> Observation:
        progress = (state / self.pulls)[None] if self.trial_input else jnp.zeros(0, jnp.float32)
        return Observation(progress, jnp.zeros((), jnp.int32))

    def step(
        self, key: Array, task: BanditTask, state: Array, action: Array
    ) -> tuple[Array, Array]:
        p_reward = jnp.where(action == task.good_arm, self.p_good, self.p_bad)
        chance = jax.random.uniform(key, dtype=jnp.float32)
        return state + 1, (chance < p_reward).astype(jnp.float32)

    def trace(self, task: BanditTask, state: Array) -> BanditTrace:
        return BanditTrace(task.good_arm)

    def expected_rewards(self, task: BanditTask, state: Array) -> Array:
        good = jnp.arange(self.num_arms) == task.good_arm
        return jnp.where(good, self.p_good, self.p_bad).astype(jnp.float32)


@dataclass(frozen=True)
class BarcodeBandits(Bandits, BarcodeWorld):
    """Barcode bandits, section 4.1: a context is a barcode, and comes back exactly."""


@dataclass(frozen=True)
class NoisyBandits(BarcodeBandits):
    """Barcode bandits whose contexts are harder to recognise, or of unequal frequency."""

    noise: float = 0.0
    """Probability that a bit of the barcode is flipped, at every exposure by itself."""
    redrawn: int = 0
    """Bits, the last ones of the barcode, that are drawn again at every exposure."""
    distractors: int = 0
    """Bits behind the barcode that say nothing: they are drawn at every exposure by themselves."""
    codes: Literal["all", "training", "evaluation"] = "all"
    """Barcodes that contexts have: all, or the half for training, of which none is evaluated on."""
    zipf: float = 0.0
    """Exponent of Zipf's law by which contexts are drawn; 0: the process draws them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_probability(noise=self.noise)
        require_not_negative(redrawn=self.redrawn)
        require_within(0, MAX_DISTRACTORS, distractors=self.distractors)
        require_within(0, 100, zipf=self.zipf)
        if self.codes != "all":
            check_barcodes(self.sequence.max_tasks, self.barcode_length - 1)
        if self.redrawn >= self.barcode_length:
            raise UserError(
                f"redrawn = {self.redrawn} leaves nothing of {self.barcode_length} bits: lower it"
            )

    @classmethod
    def of(cls, world: BarcodeBandits, **changes: Any) -> "NoisyBandits":
        """Return a world of bandits with noise, otherwise as it is."""
        return cls(**{**{f.name: getattr(world, f.name) for f in fields(world)}, **changes})

    @property
    def context_size(self) -> int:
        return self.barcode_length + self.distractors

    def for_evaluation(self) -> "NoisyBandits":
        """Return the world whose barcodes are those of the other half, if they were halved."""
        return replace(self, codes="evaluation") if self.codes == "training" else self

    @property
    def sequence(self) -> Process:
        if not self.zipf:
            return super().sequence
        return Zipf(self.num_contexts, self.num_contexts * self.repeats, self.zipf)

    @property
    def max_exposures(self) -> int:
        return self.episodes_per_epoch if self.zipf else super().max_exposures

    def contexts_of(self, key: Array, index: Array, exposure: Array) -> Array:
        key, noise_key, other_key = jax.random.split(key, 3)
        shown = self._barcodes(key)[index]
        others = jax.random.bernoulli(other_key, 0.5, shown.shape).astype(shown.dtype)
        kept = jnp.arange(self.barcode_length) < self.barcode_length - self.redrawn
        shown = jnp.where(kept[None, :], shown, others)
        flipped = jax.random.bernoulli(noise_key, self.noise, shown.shape)
        shown = jnp.where(flipped, 1 - shown, shown)
        more = index.shape[0], self.distractors
        distractors = jax.random.bernoulli(jax.random.fold_in(other_key, 1), 0.5, more)
        return jnp.concatenate([shown, distractors.astype(shown.dtype)], axis=1)

    def _barcodes(self, key: Array) -> Array:
        """Draw an epoch's barcodes, all or those of one half, (contexts, barcode_length)."""
        num = self.sequence.max_tasks
        if self.codes == "all":
            return barcodes(key, num, self.barcode_length)
        free = barcodes(key, num, self.barcode_length - 1)
        # For each choice of the others, the last bit is 0 in one half and 1 in the other.
        places = jnp.arange(free.shape[1], dtype=jnp.uint32)
        number = jnp.sum(free.astype(jnp.uint32) << places[None, :], axis=1, dtype=jnp.uint32)
        mixed = number * jnp.uint32(0x9E3779B1)
        mixed = (mixed ^ (mixed >> 15)) * jnp.uint32(0x85EBCA6B)
        last = (mixed >> 31) ^ jnp.uint32(self.codes == "training")
        return jnp.concatenate([free, last.astype(free.dtype)[:, None]], axis=1)


@dataclass(frozen=True)
class OmniglotBandits(Bandits, DrawingWorld):
    """Omniglot bandits, section 4.2: a context is a class, and comes back as another drawing."""

    def with_barcodes(self) -> BarcodeBandits:
        """Return the same bandits with contexts that are always recognised."""
        shared = {f.name: getattr(self, f.name) for f in fields(Bandits)}
        return BarcodeBandits(**shared, barcode_length=MAX_BARCODE_LENGTH)
