"""The life-long memory of Kaiser et al. 2017, whose loss trains the embedder.

Keys are unit vectors, values are labels, ages count updates. `LifelongMemory` holds the settings,
`Slots` the contents; every method is pure and takes a whole batch of queries.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from reinstate.errors import require_not_negative, require_positive

EMPTY = -1  # the label of a slot that was never written
TINY = 1e-12


class Slots(NamedTuple):
    """The contents of the memory."""

    keys: Array  # (slots, key_size) unit vectors; zeros where empty
    labels: Array  # (slots,)
    ages: Array  # (slots,) updates since the slot was last written; empty slots age as well


@dataclass(frozen=True)
class LifelongMemory:
    """The memory's settings; the defaults are those of Kaiser et al. 2017."""

    slots: int = 8192
    """Slots of the memory."""
    neighbours: int = 256
    """Nearest neighbours that the loss searches for a right and a wrong one."""
    margin: float = 0.1
    """By how much the right neighbour should be more similar than the wrong one (cosine)."""
    age_noise: float = 8.0
    """Ages are blurred by up to this many updates when the oldest slot is looked for."""

    def __post_init__(self) -> None:
        require_positive(slots=self.slots, neighbours=self.neighbours, margin=self.margin)
        require_not_negative(age_noise=self.age_noise)

    def empty(self, key_size: int) -> Slots:
        """Return a memory without contents."""
        return Slots(
            keys=jnp.zeros((self.slots, key_size)),
            labels=jnp.full(self.slots, EMPTY),
            ages=jnp.zeros(self.slots, jnp.int32),
        )

    def query(self, memory: Slots, queries: Array) -> tuple[Array, Array]:
        """Find slot and label of the key most similar to each query; of equal ones, the first."""
        slots = jnp.argmax(_similarities(memory, queries), axis=1)
        return slots, memory.labels[slots]  # EMPTY while the memory is

    def loss(self, memory: Slots, queries: Array, labels: Array) -> Array:
        """Return relu(neg − pos + margin) − margin of each query; keys carry no gradient.

        pos is the similarity of the nearest key with the right label, if that is one of the
        nearest neighbours, else of the newest key with the right label; neg that of the nearest
        neighbour with a wrong label. What the memory does not hold counts as 0, like an empty key.
        """
        # No gradient through the search: only the two keys that are found matter.
        similarities = _similarities(memory, jax.lax.stop_gradient(queries))
        right = memory.labels[None, :] == labels[:, None]  # (batch, slots)
        wrong = ~right & (memory.labels != EMPTY)[None, :]
        near_right, right_is_near = self._nearest_of(similarities, right)
        near_wrong, wrong_is_near = self._nearest_of(similarities, wrong)
        newest = jnp.argmin(jnp.where(right, memory.ages[None, :], jnp.iinfo(jnp.int32).max), 1)
        positive = jnp.where(right_is_near, near_right, newest)
        pos = jnp.where(jnp.any(right, axis=1), _dots(memory.keys[positive], queries), 0.0)
        neg = jnp.where(wrong_is_near, _dots(memory.keys[near_wrong], queries), 0.0)
        return jax.nn.relu(neg - pos + self.margin) - self.margin

    def _nearest_of(self, similarities: Array, mask: Array) -> tuple[Array, Array]:
        """Find the nearest slot within a mask, and whether it is among the nearest neighbours.

        It is if fewer than `neighbours` keys are nearer, so the memory need not be sorted.
        """
        masked = jnp.where(mask, similarities, -jnp.inf)
        best = jnp.max(masked, axis=1)
        nearer = jnp.sum(similarities > best[:, None], axis=1)
        return jnp.argmax(masked, axis=1), (nearer < self.neighbours) & jnp.any(mask, axis=1)

    def update(self, memory: Slots, queries: Array, labels: Array, key: Array) -> Slots:
        """Store a batch of queries (unit vectors) and their true labels.

        Where the nearest key has the right label, the query is averaged into it; several queries
        with the same nearest key are all added before it is normalised. Each other query replaces
        another slot, in the order of age from the oldest; slots just averaged into are not
        replaced. Ages of all these slots become 0, the others grow by one.
        """
        nearest, found = self.query(memory, queries)
        is_right = found == labels
        nowhere = self.slots  # writes to this index are dropped
        met = jnp.where(is_right, nearest, nowhere)
        ages = (memory.ages + 1).at[met].set(0, mode="drop")
        keys = memory.keys.at[met].add(queries, mode="drop")
        merged = keys.at[met].get(mode="clip")
        norms = jnp.sqrt(jnp.maximum(jnp.sum(merged**2, axis=1), TINY))
        keys = keys.at[met].set(merged / norms[:, None], mode="drop")

        noise = jax.random.uniform(key, ages.shape, minval=-self.age_noise, maxval=self.age_noise)
        blurred = (ages + noise).at[met].set(-jnp.inf, mode="drop")
        _, oldest = jax.lax.top_k(blurred, len(queries))
        turn = jnp.cumsum(~is_right) - 1  # the n-th wrong query gets the n-th oldest slot
        new = jnp.where(is_right, nowhere, oldest[turn])
        return Slots(
            keys=keys.at[new].set(queries, mode="drop"),
            labels=memory.labels.at[new].set(labels, mode="drop"),
            ages=ages.at[new].set(0, mode="drop"),
        )


def _similarities(memory: Slots, queries: Array) -> Array:
    """Compute cosines, (batch, slots), in full precision to order near neighbours correctly."""
    products = jnp.matmul(queries, memory.keys.T, precision=jax.lax.Precision.HIGHEST)
    return jnp.where((memory.labels != EMPTY)[None, :], products, -jnp.inf)


def _dots(keys: Array, queries: Array) -> Array:
    return jnp.sum(jax.lax.stop_gradient(keys) * queries, axis=1)
