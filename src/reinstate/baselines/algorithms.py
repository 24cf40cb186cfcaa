"""Bandit algorithms that play through the same rollout as the agents, and give the same Record.

Each comes in two forms. The forgetful one starts every episode without counts, as in the paper. The
one with memory carries its counts over the exposures of a context, through the same DND as the
agents, and is a fair rival of an episodic agent.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jax import Array

from reinstate.baselines import gittins
from reinstate.devices import over_seeds
from reinstate.errors import TooLarge
from reinstate.evaluation import Evaluation, Record, evaluate
from reinstate.memory import DND, Memory
from reinstate.player import Decision, Inputs, Player
from reinstate.tasks.bandits import BarcodeBandits

INDEX_ALGORITHMS = ("random", "greedy", "ucb1", "gittins", "gittins-finite")
WITH_MEMORY = " with memory"
MAX_PULLS = 300  # of one arm: tables grow with its square, Thompson's with its cube


class Counts(NamedTuple):
    """The state of an algorithm."""

    successes: Array  # (arms,)
    failures: Array  # (arms,)
    pulls: Array  # () in this episode
    context: Array  # (context_size,) in which they were counted


class Tables(NamedTuple):
    """What an arm is worth after s successes and f failures under a Beta(1, 1) prior."""

    gittins: Array  # (s, f), discounted
    gittins_finite: Array  # (pulls left, s, f)
    pdf: Array  # (s, f, nodes) of the posterior, times the quadrature's weights
    cdf: Array  # (s, f, nodes)


def make_tables(num_arms: int, pulls: int, exposures: int, discount: float = 0.9) -> Tables:
    """Make tables for arms pulled up to n = pulls × exposures times, of n² and n³ / 2 numbers."""
    most = pulls * exposures
    if most > MAX_PULLS:
        raise TooLarge(
            f"bandit algorithms with memory need tables for {most} pulls of an arm and {MAX_PULLS}"
            " are feasible: lower pulls or repeats"
        )
    # P(arm a is the best) integrates a polynomial of degree most + num_arms: these nodes are exact.
    nodes, weights = np.polynomial.legendre.leggauss(-(-(most + num_arms + 1) // 2))
    x, weights = (nodes + 1) / 2, weights / 2
    s, f = np.meshgrid(np.arange(most + 1), np.arange(most + 1), indexing="ij")
    posterior = scipy.stats.beta(1 + s[..., None], 1 + f[..., None])
    return Tables(
        jnp.asarray(np.nan_to_num(gittins.discounted_table(most, discount=discount)), jnp.float32),
        jnp.asarray(np.nan_to_num(gittins.finite_horizon_table(pulls, most)), jnp.float32),
        jnp.asarray(posterior.pdf(x) * weights, jnp.float32),
        jnp.asarray(posterior.cdf(x), jnp.float32),
    )


class BanditAlgorithm(Player):
    """A bandit algorithm as a player.

    Which index it follows is an array, so that one compiled program serves all of them. Thompson
    sampling costs far more than an index and is compiled separately.
    """

    which: Array  # () its place in INDEX_ALGORITHMS
    carries: Array  # () whether counts outlive the episode
    tables: Tables
    thompson: bool = eqx.field(static=True)
    num_arms: int = eqx.field(static=True)
    episode_pulls: int = eqx.field(static=True)
    context_size: int = eqx.field(static=True)

    remembers = True

    @property
    def value_size(self) -> int:
        return 2 * self.num_arms + self.context_size

    def initial_state(self) -> Counts:
        none = jnp.zeros(self.num_arms)
        return Counts(none, none, jnp.zeros((), jnp.int32), jnp.zeros(self.context_size))

    def write(self, memory: Memory, contents: Any, context: Array, state: Counts) -> Any:
        value = jnp.concatenate([state.successes, state.failures, state.context])
        return memory.write(contents, context, value)

    def __call__(self, inputs: Inputs, recalled: Array, state: Counts) -> tuple[Counts, Decision]:
        first, reward = inputs.last_action < 0, inputs.last_reward
        successes, failures, origin = jnp.split(recalled, [self.num_arms, 2 * self.num_arms])
        # The nearest memory may be of another context: only its own counts.
        known = first & self.carries & jnp.all(origin == inputs.context)
        pulled = jax.nn.one_hot(inputs.last_action, self.num_arms)
        state = Counts(
            jnp.where(known, successes, state.successes) + pulled * reward,
            jnp.where(known, failures, state.failures) + pulled * (1 - reward),
            state.pulls + jnp.where(first, 0, 1),
            inputs.context,
        )
        return state, Decision(self._logits(state), jnp.zeros(()))

    def _logits(self, state: Counts) -> Array:
        s, f = state.successes.astype(jnp.int32), state.failures.astype(jnp.int32)
        if self.thompson:
            return self._log_p_best(s, f)
        tried, left = s + f, jnp.maximum(self.episode_pulls - state.pulls, 1)
        # Auer et al. 2002: x̄ + √(2 ln n / n_j), with every arm once before any arm twice.
        bonus = jnp.sqrt(2 * jnp.log(jnp.maximum(tried.sum(), 1)) / jnp.maximum(tried, 1))
        ucb = jnp.where(tried > 0, s / jnp.maximum(tried, 1) + bonus, jnp.inf)
        indices = {
            "random": jnp.zeros(self.num_arms),
            "greedy": (s + 1) / (tried + 2),
            "ucb1": ucb,
            "gittins": self.tables.gittins[s, f],
            "gittins-finite": self.tables.gittins_finite[left, s, f],
        }
        index = jnp.stack([indices[name] for name in INDEX_ALGORITHMS])[self.which]
        # The rollout samples the softmax of logits: uniformly among the arms of largest index.
        return jnp.where(index == jnp.max(index), 0.0, -jnp.inf)

    def _log_p_best(self, s: Array, f: Array) -> Array:
        """Compute log P(arm a's draw is the largest) = log ∫ p_a(x) Π_{b≠a} P_b(x) dx exactly.

        Sampling arms with these probabilities is Thompson sampling: one draw from each posterior,
        then the arm of the largest.
        """
        pdf, cdf = self.tables.pdf[s, f], self.tables.cdf[s, f]  # (arms, nodes)
        one = jnp.ones_like(cdf[:1])
        before = jnp.cumprod(jnp.concatenate([one, cdf[:-1]]), axis=0)
        after = jnp.cumprod(jnp.concatenate([one, cdf[:0:-1]]), axis=0)[::-1]
        return jnp.log(jnp.sum(pdf * before * after, axis=1))


def play_all(
    world: BarcodeBandits, settings: Evaluation, seeds: Sequence[int], discount: float = 0.9
) -> dict[str, Record]:
    """Play every algorithm in both forms; leaves of a Record are (seeds, …) NumPy arrays.

    `discount` is the γ of the discounted Gittins index.
    """
    tables = make_tables(world.num_arms, world.pulls, world.max_exposures, discount)
    dnd = DND(capacity=world.sequence.max_tasks)  # nothing is ever evicted
    sizes = world.num_arms, world.pulls, world.context_size
    found: dict[str, Record] = {}
    for names, thompson in ((INDEX_ALGORITHMS, False), (("thompson",), True)):
        forms = [(n, carries) for n in range(len(names)) for carries in (False, True)]

        def play(form: Array, seed: Array, thompson: bool = thompson) -> Record:
            player = BanditAlgorithm(form[0], form[1] > 0, tables, thompson, *sizes)
            return evaluate(world, player, dnd, settings, seed)

        play_forms = partial(jax.vmap(play, in_axes=(0, None)), jnp.array(forms, jnp.int32))
        record = jax.device_get(over_seeds(play_forms, len(seeds))(jnp.array(seeds)))
        for place, (n, carries) in enumerate(forms):
            name = names[n] + (WITH_MEMORY if carries else "")
            found[name] = jax.tree.map(lambda x, place=place: x[:, place], record)
    return found
