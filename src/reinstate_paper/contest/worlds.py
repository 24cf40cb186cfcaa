"""Bandits under strain: barcodes that change between exposures, contexts of unequal frequency.

Agents meet these worlds with frozen weights, after training in the plain one.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from reinstate.baselines.optimum import bandit_optimum
from reinstate.baselines.water_maze import exposure_mean
from reinstate.errors import UserError, require_not_negative, require_positive, require_probability
from reinstate.processes import Process
from reinstate.tasks.bandits import BarcodeBandits
from reinstate.tasks.barcodes import barcodes


@dataclass(frozen=True)
class Zipf:
    """Tasks drawn with replacement, the i-th with a probability proportional to 1 / i^exponent."""

    num_tasks: int
    num_episodes: int
    exponent: float

    @property
    def max_tasks(self) -> int:
        """How many distinct tasks one epoch can need, at most."""
        return self.num_tasks

    def sample(self, key: Array) -> Array:
        """Draw the task index of each episode, (episodes,)."""
        logits = -self.exponent * jnp.log(1.0 + jnp.arange(self.num_tasks, dtype=jnp.float32))
        drawn = jax.random.categorical(key, logits, shape=(self.num_episodes,))
        return drawn.astype(jnp.int32)


@dataclass(frozen=True)
class StrainedBandits(BarcodeBandits):
    """Barcode bandits whose contexts are harder to recognise, or of unequal frequency."""

    noise: float = 0.0
    """Probability that a bit of the barcode is flipped, at every exposure by itself."""
    redrawn: int = 0
    """Bits, the last ones of the barcode, that are drawn again at every exposure."""
    zipf: float = 0.0
    """Exponent of Zipf's law by which contexts are drawn; 0: the process draws them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_probability(noise=self.noise)
        require_not_negative(redrawn=self.redrawn, zipf=self.zipf)
        if self.redrawn >= self.barcode_length:
            raise UserError(
                f"redrawn = {self.redrawn} leaves nothing of {self.barcode_length} bits: lower it"
            )
        if self.zipf:
            require_positive(zipf=self.zipf)

    @property
    def sequence(self) -> Process:
        if not self.zipf:
            return super().sequence
        drawn: Process = Zipf(self.num_contexts, self.num_contexts * self.repeats, self.zipf)  # type: ignore[assignment]
        return drawn

    @property
    def max_exposures(self) -> int:
        return self.episodes_per_epoch if self.zipf else super().max_exposures

    def contexts_of(self, key: Array, index: Array, exposure: Array) -> Array:
        key, noise_key, other_key = jax.random.split(key, 3)
        shown = barcodes(key, self.sequence.max_tasks, self.barcode_length)[index]
        others = jax.random.bernoulli(other_key, 0.5, shown.shape).astype(shown.dtype)
        kept = jnp.arange(self.barcode_length) < self.barcode_length - self.redrawn
        shown = jnp.where(kept[None, :], shown, others)
        flipped = jax.random.bernoulli(noise_key, self.noise, shown.shape)
        return jnp.where(flipped, 1 - shown, shown)


def strained(world: BarcodeBandits, **changes: object) -> StrainedBandits:
    """Return a world of bandits under strain, otherwise as it is."""
    known = {name: getattr(world, name) for name in type(world).__dataclass_fields__}
    return StrainedBandits(**{**known, **changes})


def strained_optimum(world: BarcodeBandits) -> dict[str, Any]:
    """Return the optimum of bandits, as if every context were recognised: an upper bound.

    Under Zipf's law, with independent arms, with_memory counts an arm as known after one exposure:
    N / Σ_i (1 − (1 − p_i)^N) exposures per context that is met, as in `bandit_optimum` of the urn.
    """
    found: dict[str, Any] = bandit_optimum(world)
    if not getattr(world, "zipf", 0):
        return found
    values = {name: found[name] for name in ("chance", "without_memory")}
    if world.mapping == "independent":
        rank = 1.0 + np.arange(world.num_contexts)
        p = rank**-world.zipf / np.sum(rank**-world.zipf)  # type: ignore[attr-defined]
        episodes = world.episodes_per_epoch
        met = float(np.sum(1 - (1 - p) ** episodes))
        best = max(world.p_good, world.p_bad)
        without = values["without_memory"] / world.pulls
        values["with_memory"] = world.pulls * exposure_mean(without, best, episodes / met)
    return values
