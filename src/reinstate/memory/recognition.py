"""Recognition: what tells an agent whether a memory belongs to the context on show.

The paper's agent gets the state of the nearest stored context whether or not it fits. Here the
match is assessed as well: how similar it is, and whether it stands out, reaches the cell as inputs,
and a memory that fits badly is recalled otherwise than one that fits.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from reinstate.errors import (
    LARGEST_NUMBER,
    UserError,
    require_choices,
    require_finite,
    require_positive,
    require_within,
)
from reinstate.memory import DND, Consolidating, Memory, Retrieval
from reinstate.tasks.base import World

STRANGERS = 0.01  # of new contexts may find another context within reach
KNOWN = 0.999  # of known contexts: farther out, no context comes back
SAMPLED_EPOCHS = 20
AGE_SCALE = 3.0  # log(1 + age) of the oldest of a hundred memories is 4.6
SHARPEST = 20.0  # log p: far beyond where the best match is recalled alone, and κ^p still a number
LARGEST_POWER = 1e6  # of a, b and null at the start: e^SHARPEST times that is still a number


@dataclass(frozen=True)
class Recognition:
    """What a recognising agent makes of a match; the paper's agents do without."""

    similarity: bool = True
    """Cue: the cosine similarity of the nearest neighbour, 1 − distance; 0 if there is none."""
    margin: bool = False
    """Cue: how much farther away the second neighbour is than the nearest."""
    age: bool = False
    """Cue: log(1 + the writes since the nearest neighbour was stored), divided by 3."""
    emptiness: bool = False
    """Cue: 1 if there is anything to recall, 0 if the memory is empty."""
    gain: float = 3.0
    """By what cues are multiplied before they enter the cell."""
    sharpening: bool = True
    """Whether neighbours are combined by κ^p, p = exp(a + b · similarity), with a and b learned:
    a good match is recalled alone, a bad one among its neighbours. If not, p = 1 (the paper)."""
    a: float = -0.9
    """a before learning."""
    b: float = 4.0
    """b before learning."""
    null_slot: bool = False
    """Whether a learned constant stands in the kernel's sum, so that recall fades with distance."""
    null: float = 1.0
    """The logarithm of that constant before learning."""
    once: bool = True
    """Whether a memory comes back only on the step that first shows its context, or on each."""
    neighbours: int = 10
    """Neighbours that are combined, in place of the memory's own k."""
    merge: Literal["none", "replace", "mean"] = "mean"
    """What a write does to a stored key within reach: see `reinstate.memory.Consolidating`."""
    reach: float = -1.0
    """The reach of merging; −1: measured on the contexts that agents are trained on."""
    recall: Literal["nearest", "newest"] = "nearest"
    """Which of the neighbours within reach comes first: see `reinstate.memory.Consolidating`."""

    def __post_init__(self) -> None:
        require_choices(self)
        require_finite(a=self.a, b=self.b, null=self.null, gain=self.gain)
        require_positive(gain=self.gain, neighbours=self.neighbours)
        require_within(-LARGEST_POWER, LARGEST_POWER, a=self.a, b=self.b, null=self.null)
        if not (self.reach == -1 or 0 <= self.reach <= LARGEST_NUMBER):
            raise UserError(f"reach must be 0 or more, or −1 to measure it, not {self.reach}")

    @property
    def num_cues(self) -> int:
        """How many inputs the cell gains."""
        return self.similarity + self.margin + self.age + self.emptiness

    def memory(self, memory: Memory, world: World) -> Memory:
        """Return the memory of a recognising agent, in place of the paper's."""
        if type(memory) is not DND:
            return memory  # somebody chose another kind
        reach = measured_reach(world, memory.distance) if self.reach == -1 else self.reach
        wanted = max(self.neighbours, 2) if self.margin else self.neighbours
        k = min(wanted, memory.capacity)
        return Consolidating(
            memory.capacity, k, memory.distance, memory.delta, self.merge, reach, self.recall
        )


class Recollection(NamedTuple):
    """What comes back, and how well it fits."""

    c_ep: Array  # (value_size,)
    cues: Array  # (num_cues,)


class Recognizer(eqx.Module):
    """Turns what a dictionary finds into a recollection.

    w_i = κ_i^p / (κ_0^p + Σ_j κ_j^p),  p = exp(a + b s),  s = similarity of the nearest
    c_ep = Σ_i w_i c_i

    κ_0 is the null slot's; without one it is 0. With a = b = 0 that is the paper's kernel.
    """

    sharpness: Array | None  # a and b
    log_null: Array | None  # of κ_0
    settings: Recognition = eqx.field(static=True)

    def __init__(self, settings: Recognition) -> None:
        self.settings = settings
        start = jnp.array([settings.a, settings.b], jnp.float32)
        self.sharpness = start if settings.sharpening else None
        self.log_null = jnp.array(settings.null, jnp.float32) if settings.null_slot else None

    def __call__(self, found: Any) -> Recollection:
        """Combine the neighbours of a `Retrieval`, or of what has the same fields."""
        there = found.written > 0  # (k,), of which margin may want one more than is combined
        similarity = jnp.where(there[0], 1 - jnp.where(there[0], found.distances[0], 0.0), 0.0)
        combined = there & (jnp.arange(there.size) < self.settings.neighbours)
        weights = self._weights(found.kernel, combined, similarity)
        c_ep = jnp.matmul(weights, found.values, precision=jax.lax.Precision.HIGHEST)
        return Recollection(c_ep, self._cues(found, similarity))

    def _weights(self, kernel: Array, there: Array, similarity: Array) -> Array:
        power = jnp.ones(())
        if self.sharpness is not None:
            a, b = self.sharpness
            power = jnp.exp(jnp.minimum(a + b * similarity, SHARPEST))
        logs = jnp.where(there, power * jnp.log(jnp.where(there, kernel, 1.0)), -jnp.inf)
        null = -jnp.inf if self.log_null is None else power * self.log_null
        # In an empty memory every logarithm is −∞: the largest is then taken to be 0.
        largest = jnp.maximum(jnp.max(logs), null)
        largest = jax.lax.stop_gradient(jnp.where(jnp.isfinite(largest), largest, 0.0))
        shares = jnp.where(there, jnp.exp(jnp.where(there, logs, 0.0) - largest), 0.0)
        return shares / jnp.maximum(jnp.sum(shares) + jnp.exp(null - largest), 1e-30)

    def _cues(self, found: Retrieval, similarity: Array) -> Array:
        s, some, cues = self.settings, found.written[0] > 0, []
        if s.similarity:
            cues.append(similarity)
        if s.margin:
            # Where there is no second, it is taken to be as far away as contexts usually are.
            second = jnp.append(found.distances, jnp.inf)[1]
            second = jnp.where(jnp.isfinite(second), second, 1.0)
            cues.append(jnp.where(some, second - (1 - similarity), 0.0))
        if s.age:
            age = (found.writes - found.written[0]).astype(jnp.float32)
            cues.append(jnp.where(some, jnp.log1p(age) / AGE_SCALE, 0.0))
        if s.emptiness:
            cues.append(some.astype(jnp.float32))
        return s.gain * jnp.stack(cues) if cues else jnp.zeros(0)


@cache
def measured_reach(world: World, distance: Literal["cosine", "euclidean"] = "cosine") -> float:
    """Measure how far keys may lie apart that are taken for one context.

    As far as exposures of one context do, but no farther than leaves STRANGERS of new contexts with
    another context within reach. Distances are those between contexts that agents are trained on;
    of the world that they are evaluated in, only the number of contexts counts.
    """
    met = len(np.unique(_sample(world.for_evaluation(), 1)[1]))
    contexts, names = _sample(world, SAMPLED_EPOCHS)
    apart = np.stack([_distances(each, distance) for each in contexts])  # (epochs, rows, rows)
    same = names[:, :, None] == names[:, None, :]
    earlier = np.tri(same.shape[1], k=-1, dtype=bool)
    own = np.where(same & earlier, apart, np.inf).min(axis=-1)  # to the nearest earlier exposure
    others = apart[~same]
    own = own[np.isfinite(own)]
    if not (own.size and others.size):
        return 0.0
    strangers = 1 - (1 - STRANGERS) ** (1 / met)  # of pairs, so that STRANGERS of contexts meet one
    return float(min(np.quantile(own, KNOWN), np.quantile(others, strangers, method="lower")))


def _sample(world: World, epochs: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw the contexts that epochs can show, (epochs, rows, size), and which ones they are."""

    @jax.jit
    @jax.vmap
    def draw(key: Array) -> tuple[Array, Array]:
        tasks = world.sample_epoch(key)
        return jax.vmap(world.contexts)(tasks), jax.vmap(world.context_ids)(tasks)

    contexts, names = map(np.asarray, draw(jax.random.split(jax.random.key(0), epochs)))
    return contexts.reshape(epochs, -1, contexts.shape[-1]), names.reshape(epochs, -1)


def _distances(contexts: np.ndarray, distance: str) -> np.ndarray:
    dots = contexts @ contexts.T
    squares = np.diagonal(dots)
    if distance == "euclidean":
        return np.maximum(squares[:, None] + squares[None, :] - 2 * dots, 0.0)
    norms = np.sqrt(np.maximum(squares, 1e-12))
    return np.maximum(1 - dots / np.outer(norms, norms), 0.0)
