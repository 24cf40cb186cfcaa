"""Learned keys: which part of a context says what it is, learned from reward alone.

The paper's memory compares contexts as they are, so that bits which say nothing count as much as
those which do. Here contexts are stored as they are, and embedded when the memory is read: stored
and shown ones alike, so that keys never go stale while their embedding is learned.
"""

from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from reinstate.errors import UserError, require_positive
from reinstate.memory import DND, Memory, Retrieval
from reinstate.memory.recognition import Recognition, Recognizer, Recollection
from reinstate.memory.search import FULL, distances_to, norm

CUES = Recognition(emptiness=True, sharpening=False)  # the largest cosine, and if there is any


@dataclass(frozen=True)
class Keys:
    """How an agent with learned keys looks its memories up."""

    size: int = 32
    """Dimensions of a learned key."""
    neighbours: int = 5
    """Entries that are combined; with 1 nothing is learned, since its weight is always 1."""
    sharpness: float = 10.0
    """β before learning."""
    sharpest: float = 100.0
    """The largest β: beyond it the best entry is recalled alone, and no gradient is left."""

    def __post_init__(self) -> None:
        require_positive(size=self.size, neighbours=self.neighbours)
        require_positive(sharpness=self.sharpness, sharpest=self.sharpest)

    def memory(self, memory: Memory) -> DND:
        """Return the memory of an agent that looks memories up by learned keys."""
        if not isinstance(memory, DND):
            raise UserError(
                f"learned keys need a memory of keys and values, not {type(memory).__name__}:"
                " use a DND"
            )
        return replace(memory, k=min(self.neighbours, memory.capacity), distance="cosine")


class Lookup(Recognizer):
    """Reads a dictionary by learned keys.

    key(x) = (W (x − m) + b) / ‖W (x − m) + b‖, of stored contexts x_i and of the one shown, x
    w_i = softmax_i(β key(x_i) · key(x) − ρ log(1 + age_i)), over the nearest entries
    c_ep = Σ_i w_i c_i

    The age of an entry is the number of writes since. m is the middle of the world's bounds, so
    that keys start out in all directions. Without an embedding, key(x) = (x − m) / ‖x − m‖.
    """

    embedding: eqx.nn.Linear | None
    log_sharpness: Array  # of β
    recency: Array  # ρ
    keys: Keys = eqx.field(static=True)
    middle: float = eqx.field(static=True)

    def __init__(
        self, keys: Keys, context_size: int, learned: bool, middle: float = 0.0, *, key: Array
    ) -> None:
        super().__init__(CUES)
        self.keys, self.middle = keys, middle
        self.embedding = eqx.nn.Linear(context_size, keys.size, key=key) if learned else None
        self.log_sharpness = jnp.log(jnp.array(keys.sharpness, jnp.float32))
        self.recency = jnp.zeros((), jnp.float32)

    def read(self, memory: Memory, contents: Any, context: Array) -> tuple[Retrieval, Any]:
        """Find the entries whose keys are nearest to the key of a context.

        Gradients reach the keys of those alone: the search needs none.
        """
        plain = jax.lax.stop_gradient(self)
        embedded, query = plain._embed(contents.keys), plain._embed(context[None]).squeeze(0)
        found: Any
        asked = contents._replace(keys=embedded, norms=norm(embedded))
        found, after = memory.read(asked, query)
        chosen, query = self._embed(contents.keys[found.slots]), self._embed(context[None])
        apart = distances_to(chosen, norm(chosen), query.squeeze(0), "cosine")
        found = found._replace(distances=jnp.where(found.written > 0, apart, jnp.inf))
        return found, after._replace(keys=contents.keys, norms=contents.norms)

    def _embed(self, contexts: Array) -> Array:
        """Return the keys of contexts, (rows, size), of any length: a cosine ignores it."""
        contexts = contexts - self.middle
        if self.embedding is None:
            return contexts
        w, b = self.embedding.weight, self.embedding.bias
        return jnp.matmul(contexts, w.T, precision=FULL) + jnp.expand_dims(b, 0)  # type: ignore[arg-type]

    def __call__(self, found: Retrieval) -> Recollection:
        """Combine the entries that were found."""
        there = found.written > 0
        cosines = jnp.where(there, 1 - jnp.where(there, found.distances, 0.0), 0.0)
        beta = jnp.exp(jnp.minimum(self.log_sharpness, jnp.log(self.keys.sharpest)))
        ages = jnp.where(there, found.writes - found.written, 0).astype(jnp.float32)
        logits = beta * cosines - self.recency * jnp.log1p(ages)
        # In an empty memory all logits are 0, and so are the values.
        weights = jax.nn.softmax(logits, where=there | ~jnp.any(there))
        c_ep = jnp.matmul(weights, found.values, precision=FULL)
        return Recollection(c_ep, self._cues(found, cosines[0]))
