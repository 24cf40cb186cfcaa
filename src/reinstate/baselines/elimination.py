"""What remembering the whole epoch is worth, if contexts map to arms by a permutation."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from reinstate.baselines.bandits import (
    MAX_OPERATIONS,
    Array,
    Indices,
    check_arms,
    check_size,
    interval,
    one_exposure,
)
from reinstate.errors import UserError


@dataclass(frozen=True)
class Elimination:
    """Simulated reward per pull, with the half widths of its 95% intervals."""

    mean: float
    half_width: float
    by_exposure: Array  # (exposures,)
    by_exposure_half_width: Array  # (exposures,)


@lru_cache(maxsize=8)  # recorded results of one task are read many times
def elimination(
    num_arms: int = 10,
    pulls: int = 10,
    p_good: float = 0.9,
    p_bad: float = 0.1,
    exposures: int = 10,
    epochs: int = 400,
    seed: int = 0,
) -> Elimination:
    """Simulate an observer of a permutation of contexts to arms who remembers the whole epoch.

    Not an exact value: `epochs` epochs, each a shuffled bag of num_arms contexts with `exposures`
    episodes each, scored by the chosen arms' true probabilities. The observer's posterior is
    exact: with L[c, a] the likelihood of context c's pulls if a is its good arm,

        P(context c has arm a) = L[c, a] sum over bijections of the other contexts to the other arms
                                 of the product of their L,

    the sum by recursion over subsets of arms. It pulls greedily on that posterior, which maximises
    the reward of the current episode; exploring for the sake of other contexts could earn more. So
    the value is reachable, and `elimination_bound` is what no agent exceeds.
    Cost O(epochs exposures num_arms^2 (2^num_arms + pulls)), memory O(epochs (2^num_arms +
    exposures num_arms)). Raises TooLarge beyond `MAX_OPERATIONS`.
    """
    check_arms(num_arms, pulls, p_good, p_bad, exposures=exposures)
    if epochs < 2:
        raise UserError(f"epochs must be at least 2 for an interval, got {epochs}")
    subset_cost = num_arms * 2.0 ** min(num_arms - 1, 500)
    cost = float(epochs) * exposures * num_arms * (subset_cost + 8 * num_arms * pulls)
    cost += 500 * subset_cost  # listing the subsets, in plain Python
    check_size("elimination", cost, "operations", MAX_OPERATIONS, "num_arms, pulls or epochs")
    rng, lanes = np.random.default_rng(seed), np.arange(epochs)
    good = rng.permuted(np.tile(np.arange(num_arms), (epochs, 1)), axis=1)  # (epochs, contexts)
    bag = np.tile(np.arange(num_arms).repeat(exposures), (epochs, 1))
    likelihood = np.ones((num_arms, epochs, num_arms))  # (contexts, epochs, arms)
    exposure, reward = np.zeros((num_arms, epochs), int), np.zeros((epochs, exposures))
    subsets = list_subsets(num_arms)
    for context in rng.permuted(bag, axis=1).T:
        others = (context + np.arange(1, num_arms)[:, None]) % num_arms
        prior = sum_assignments(likelihood[others, lanes].swapaxes(1, 2), subsets).T
        own, now = likelihood[context, lanes], (lanes, exposure[context, lanes])
        for _ in range(pulls):
            p_arm, update = _pull(rng, prior * own, good[lanes, context], p_good, p_bad)
            own *= update
            own /= own.max(axis=1, keepdims=True)
            reward[now] += p_arm / (num_arms * pulls)
        likelihood[context, lanes] = own
        exposure[context, lanes] += 1
    (mean,), (half_width,) = interval(reward.mean(axis=1, keepdims=True))
    return Elimination(float(mean), float(half_width), *interval(reward))


def elimination_bound(
    num_arms: int = 10,
    pulls: int = 10,
    p_good: float = 0.9,
    p_bad: float = 0.1,
    exposures: int = 10,
    num_contexts: int | None = None,
) -> Array:
    """Bound reward per pull at exposures 1, 2, ... for every agent that remembers the whole epoch.

    An upper bound, by relaxation: reveal the good arm of a context at the end of its first episode.
    An agent may ignore what it is told, so its best reward is no less than before. Now nothing it
    does in an episode changes what it knows in later ones, so each episode is solved by itself.
    From the second exposure on every pull is on a best arm. Where the j-th context is first met,
    the arms of the j - 1 earlier ones are known to be bad for it, and its own is uniform over the
    m = num_arms - j + 1 others:

    - p_good > p_bad: a known bad arm pays least and tells nothing, so it is never worth a pull, and
      the episode is `one_exposure` with m arms;
    - p_good < p_bad: a known bad arm pays most, so from j = 2 on every pull is on one.

    If there are more contexts than arms, num_arms of them, drawn at random, have all arms, and the
    others have independent ones. Reveal, too, which are which: the former are as above, the latter
    are `one_exposure` with all arms. Each exposure's value is a bound, and so is their mean. It is
    attained where a first episode leaves no doubt, as with p_good = 1, p_bad = 0 and two arms.
    """
    check_arms(num_arms, pulls, p_good, p_bad, exposures=exposures)
    contexts = num_arms if num_contexts is None else num_contexts
    if contexts < num_arms:
        raise UserError(f"{contexts} contexts are too few for {num_arms} arms: raise num_contexts")
    unaided = one_exposure(num_arms, pulls, p_good, p_bad)
    best = max(p_good, p_bad) if num_arms > 1 else p_good
    if p_good > p_bad:
        aided = [one_exposure(m, pulls, p_good, p_bad) for m in range(1, num_arms)]
    else:
        aided = [best] * (num_arms - 1)
    by_exposure = np.full(exposures, best)
    by_exposure[0] = (sum(aided) + (contexts - num_arms + 1) * unaided) / contexts
    return by_exposure


def list_subsets(num_arms: int) -> list[tuple[Indices, Indices]]:
    """List, for subsets of 1, 2, ... num_arms - 1 arms, each arm and the subset without it."""
    layers = []
    smaller: dict[tuple[int, ...], int] = {(): 0}
    for size in range(1, num_arms):
        members = list(combinations(range(num_arms), size))
        left = [[smaller[s[:j] + s[j + 1 :]] for j in range(size)] for s in members]
        layers.append((np.array(members), np.array(left)))
        smaller = {s: i for i, s in enumerate(members)}
    return layers


def sum_assignments(rows: Array, subsets: list[tuple[Indices, Indices]]) -> Array:
    """Sum over bijections of contexts to all arms but one of the product of rows[context, arm].

    F_0({}) = 1,  F_k(S) = sum_{a in S} rows[k - 1, a] F_{k-1}(S without a).
    """
    total = np.ones((1, rows.shape[2]))  # (subsets, epochs)
    for row, (arms, left) in zip(np.ascontiguousarray(rows), subsets, strict=True):
        total = sum(row[a] * total[b] for a, b in zip(arms.T, left.T, strict=True))
    return total[::-1]  # the subset without arm 0 comes last: (arm left out, epochs)


def _pull(
    rng: np.random.Generator, posterior: Array, good: Indices, p_good: float, p_bad: float
) -> tuple[Array, Array]:
    """Pull greedily in each epoch; return expected rewards and outcome likelihoods by good arm."""
    arm = (posterior if p_good > p_bad else -posterior).argmax(axis=1)
    p_arm = np.where(arm == good, p_good, p_bad)
    paid = rng.random(len(arm)) < p_arm
    pays = np.where(np.arange(posterior.shape[1]) == arm[:, None], p_good, p_bad)
    return p_arm, np.where(paid[:, None], pays, 1 - pays)
