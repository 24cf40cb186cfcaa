"""Ω: which task comes next (section 2 of the paper).

A process draws *indices*: `indices[n] == i` says that episode n plays the i-th task drawn from the
base distribution 𝒟. What task i is belongs to the task's own file, so any 𝒟 goes with any process.
"""

import math
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array

from reinstate import draws
from reinstate.errors import UserError, require_finite, require_positive, require_within


@dataclass(frozen=True)
class Bag:
    """The hypergeometric process: a bag holds `repeats` copies of each task; draw until empty."""

    num_tasks: int
    repeats: int

    def __post_init__(self) -> None:
        require_positive(num_tasks=self.num_tasks, repeats=self.repeats)
        require_positive(episodes_per_epoch=self.num_episodes)

    @property
    def num_episodes(self) -> int:
        return self.num_tasks * self.repeats

    @property
    def max_tasks(self) -> int:
        """How many distinct tasks one epoch can need, at most."""
        return self.num_tasks

    def sample(self, key: Array) -> Array:
        """Draw the task index of each episode, (episodes,)."""
        copies = jnp.repeat(jnp.arange(self.num_tasks, dtype=jnp.int32), self.repeats)
        return draws.shuffle(key, copies)


def require_alpha(alpha: float) -> None:
    """Refuse a concentration of the urn that is not positive, or vanishes in float32."""
    require_finite(alpha=alpha)
    require_positive(alpha=alpha)
    require_within(1e-30, 1e30, alpha=alpha)


@dataclass(frozen=True)
class Urn:
    """The Blackwell–MacQueen urn: rich tasks get richer.

    t_{n+1} | t_1..t_n ~ (α 𝒟 + Σ δ_{t_i}) / (α + n)
    """

    num_episodes: int
    alpha: float

    def __post_init__(self) -> None:
        require_positive(episodes_per_epoch=self.num_episodes)
        require_alpha(self.alpha)

    @property
    def max_tasks(self) -> int:
        return self.num_episodes

    def sample(self, key: Array) -> Array:
        """Draw task indices (episodes,), numbered in the order of their first appearance."""
        fresh_key, copy_key = jax.random.split(key)
        n = jnp.arange(self.num_episodes, dtype=jnp.int32)  # draws made so far
        chance = jax.random.uniform(fresh_key, n.shape, jnp.float32)
        fresh = chance * (self.alpha + n) < self.alpha
        copied = jax.random.randint(copy_key, n.shape, 0, jnp.maximum(n, 1), jnp.int32)
        origin = jnp.where(fresh, n, copied)
        # Every draw points at an earlier one or at itself; doubling the jumps finds all roots in
        # log2(n) gathers, where following the definition would take n sequential steps.
        for _ in range(math.ceil(math.log2(max(self.num_episodes, 2)))):
            origin = origin[origin]
        return (jnp.cumsum(fresh, dtype=jnp.int32) - 1)[origin]


@dataclass(frozen=True)
class Zipf:
    """Tasks drawn with replacement, the i-th with a probability proportional to 1 / i^exponent."""

    num_tasks: int
    num_episodes: int
    exponent: float

    def __post_init__(self) -> None:
        require_positive(num_tasks=self.num_tasks, episodes_per_epoch=self.num_episodes)

    @property
    def max_tasks(self) -> int:
        return self.num_tasks

    def sample(self, key: Array) -> Array:
        """Draw the task index of each episode, (episodes,)."""
        logits = -self.exponent * jnp.log(1.0 + jnp.arange(self.num_tasks, dtype=jnp.float32))
        drawn = jax.random.categorical(key, logits, shape=(self.num_episodes,))
        return drawn.astype(jnp.int32)


Process = Bag | Urn | Zipf
ProcessName = Literal["bag", "urn"]


def make_process(name: str, num_tasks: int, repeats: int, alpha: float) -> Process:
    """Return the process called `name`, over an epoch of num_tasks × repeats episodes."""
    if name == "bag":
        return Bag(num_tasks, repeats)
    if name == "urn":
        return Urn(num_tasks * repeats, alpha)
    raise UserError(f"unknown process {name!r}: choose bag or urn")


def exposures(indices: Array) -> Array:
    """Count how often each episode's task was met before in the epoch, (episodes,).

    By sorting: that is each episode's distance from the first one of its task.
    """
    order = jnp.argsort(indices, stable=True)
    ranked, place = indices[order], jnp.arange(indices.shape[0], dtype=jnp.int32)
    starts = ranked != jnp.roll(ranked, 1)
    first = jax.lax.cummax(jnp.where(starts, place, 0))
    return jnp.zeros_like(place).at[order].set(place - first)
