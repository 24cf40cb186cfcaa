"""An agent whose memory is read by Bayes' rule: how well flipped barcodes can be told apart at all.

It is told which context each entry was stored in, and how often bits are flipped; of the context on
show it sees what others see.
"""

from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from reinstate.agent import Agent, Maker, Network, Wiring
from reinstate.errors import UserError
from reinstate.memory import Memory
from reinstate.memory.keys import CUES
from reinstate.rivals.oracle import ByNumber
from reinstate.tasks.base import World

TOLD = 2.0  # a barcode's first bit carries the context's number, times this: bits are below it


class Numbered(ByNumber):
    """A world whose barcodes carry the number of their context, from 1, for the memory alone."""

    def contexts(self, task: Any) -> Array:
        shown = self.world.contexts(task)
        return shown.at[:, 0].add(TOLD * (1 + self.world.context_ids(task)))


class PosteriorAgent(Agent):
    """The paper's agent, which gets back the newest state of each context as probable as it is."""

    flips: float = eqx.field(static=True)
    bits: int = eqx.field(static=True)
    contexts: int = eqx.field(static=True)
    exposures: int = eqx.field(static=True)

    def __init__(self, world: Any, network: Network, *, key: Array) -> None:
        wiring = Wiring("", route="gate", recognises=True)
        super().__init__(world, wiring, replace(network, recognition=CUES), key=key)
        self.flips, self.bits = world.noise, world.barcode_length
        self.contexts, self.exposures = world.num_contexts, world.repeats

    def view(self, world: World) -> World:
        shown: Any = Numbered(world)
        return shown

    def read(
        self, memory: Memory, contents: Any, context: Array, state: Any
    ) -> tuple[Any, Any, Any]:
        """Recall the posterior mean of the newest states, a new context's being 0."""
        found: Any
        found, after = memory.read(contents, context)
        posterior = self.posterior(contents, context)  # of contexts, (contexts,)
        number = (contents.keys[:, 0] // TOLD).astype(jnp.int32)  # of each entry; 0: none
        own = number[None, :] == 1 + jnp.arange(self.contexts)[:, None]  # (contexts, capacity)
        written = jnp.where(own, contents.written[None, :], 0)
        newest = jnp.argmax(written, axis=1)
        known = jnp.where(jnp.any(own, axis=1), posterior, 0.0)
        c_ep = jnp.matmul(known, contents.values[newest], precision=jax.lax.Precision.HIGHEST)
        best = jnp.argmax(known)
        told = found._replace(
            written=found.written.at[0].set(jnp.max(written[best])),
            distances=found.distances.at[0].set(1 - known[best]),
        )
        lookup: Any = self.recognizer
        return lookup(told)._replace(c_ep=c_ep), told, after

    def posterior(self, contents: Any, context: Array) -> Array:
        """Return the probability of each context, given the bits shown and all that is stored.

        A bit is 0 or 1 with equal chance, and each exposure flips it with probability p. With n_1
        ones and n_0 zeros seen, the odds of a clean 1 are ((1 − p) / p)^(n_1 − n_0). In a bag, a
        context met n times comes next with a chance proportional to repeats − n.
        """
        bits, number = contents.keys[:, : self.bits] % TOLD, contents.keys[:, 0] // TOLD
        own = number[None, :] == 1 + jnp.arange(self.contexts)[:, None]
        signs = jnp.matmul(own.astype(jnp.float32), 2 * bits - 1)  # n_1 − n_0: (contexts, bits)
        clean = jax.nn.sigmoid(signs * jnp.log((1 - self.flips) / self.flips))
        one = clean * (1 - self.flips) + (1 - clean) * self.flips  # shows 1
        asked = context[: self.bits] % TOLD
        chance = jnp.where(asked[None, :] > 0, one, 1 - one)
        left = self.exposures - jnp.sum(own, axis=1)
        prior = jnp.where(left > 0, jnp.log(jnp.maximum(left, 1)), -jnp.inf)
        return jax.nn.softmax(jnp.sum(jnp.log(chance), axis=1) + prior)


@dataclass(frozen=True)
class PosteriorMaker(Maker):
    """Makes agents that are told how contexts are confused."""

    def __call__(self, world: World, network: Network, *, key: Array) -> PosteriorAgent:
        """Make an agent."""
        if not 0 < getattr(world, "noise", 0) < 1:
            raise UserError("epl2rl-posterior needs a world whose barcodes are flipped")
        return PosteriorAgent(world, network, key=key)


POSTERIOR = PosteriorMaker(
    "episodic LSTM told the exact posterior of contexts whose bits are flipped: a bound",
    "epL2RL, posterior",
    "#6A994E",
)
