"""What remembering the whole epoch is worth: observers that are simulated, and a bound.

In bandits whose contexts map to arms by a permutation, what is known of one context rules arms out
for the others. In compositional bandits, what is known of linked stimuli is pooled.
"""

from contextlib import suppress
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from reinstate.baselines.bandits import (
    MAX_OPERATIONS,
    Array,
    Indices,
    Simulated,
    check_arms,
    check_size,
    compositional,
    interval,
    one_exposure,
)
from reinstate.errors import TooLarge, UserError
from reinstate.tasks.compositional import CompositionalBandits


@lru_cache(maxsize=8)  # recorded results of one task are read many times
def elimination(
    num_arms: int = 10,
    pulls: int = 10,
    p_good: float = 0.9,
    p_bad: float = 0.1,
    exposures: int = 10,
    epochs: int = 400,
    seed: int = 0,
) -> Simulated:
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
    return Simulated(float(mean), float(half_width), reward.mean(axis=0))


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


TIE = 1e-9  # log odds this close to 0 are: equal evidence may be added up in another order


@lru_cache(maxsize=8)  # recorded results of one task are read many times
def pooled(
    num_classes: int = 200,
    exposures: int = 5,
    pulls: int = 10,
    p_high: float = 0.9,
    p_low: float = 0.1,
    epochs: int | None = None,
    seed: int = 0,
) -> Simulated:
    """Simulate an observer who pools what is known of stimuli that were ever linked by a pair.

    The reward is per pull.

    Every episode pairs a high-paying with a low-paying stimulus. A set of stimuli that pairs
    connect therefore has one binary unknown: the kinds are as they are, or all the other way round.
    With l_x the log likelihood ratio of the two for set x, all evidence is one number per set, and
    an episode that shows stimuli of sets a and b starts from the log odds

        l_a + l_b if a and b are two sets (one from now on),   l_a if they are one,

    to which each pull adds its own. The observer pulls greedily on them. It can be played, so its
    reward is reachable by an agent that recognises every stimulus; `compositional` is the bound.
    If p_high + p_low = 1, either arm tells as much, no choice buys information, and greedy pooling
    is optimal, but for one weak hint it ignores: exactly half of all classes are high-paying.

    Episodes of two novel stimuli earn what `compositional` has exactly, so only what is lost to
    doubt in the others is simulated, mean = bound - lost. A pull at log odds l loses
    `|p_high - p_low|` with the probability `1 / (1 + exp(|l|))` that it is on the wrong arm. Cost
    O(epochs episodes (num_classes + pulls)), memory O(epochs (episodes + num_classes)); `epochs`
    defaults to about 200,000 episodes. Raises TooLarge beyond `MAX_OPERATIONS`.
    """
    check_arms(2, pulls, p_high, p_low, num_classes=num_classes, exposures=exposures)
    epochs = 200_000 // (num_classes * exposures) + 2 if epochs is None else epochs
    if epochs < 2:
        raise UserError(f"epochs must be at least 2 for an interval, got {epochs}")
    bound = compositional(num_classes, exposures, pulls, p_high, p_low)
    if p_high == p_low:
        return Simulated(bound.mean, 0.0)
    cost = float(epochs) * num_classes * exposures * (2 * num_classes + 20 * pulls)
    check_size("pooling", cost, "operations", MAX_OPERATIONS, "num_classes, exposures or pulls")
    rng = np.random.default_rng(seed)
    classes = np.arange(2 * num_classes).repeat(exposures).reshape(2, 1, -1)
    order = rng.permuted(classes.repeat(epochs, axis=1), axis=2)  # (kinds, epochs, episodes)
    mean, half_width = interval(_lost_by_epoch(rng, order, pulls, p_high, p_low))
    return Simulated(bound.mean - float(mean), float(half_width))


def _lost_by_epoch(
    rng: np.random.Generator, order: NDArray[np.int64], pulls: int, p_high: float, p_low: float
) -> Array:
    """Return reward per pull lost to doubt in episodes with a stimulus met before, (epochs,)."""
    _, epochs, episodes = order.shape
    lanes, num_classes = np.arange(epochs), int(order.max()) + 1
    set_of = np.tile(np.arange(num_classes), (epochs, 1))
    met = np.zeros((epochs, num_classes), bool)
    evidence = np.zeros((epochs, num_classes))  # by set: log odds that its true kinds are true
    lost = np.zeros(epochs)
    for high, low in np.moveaxis(order, 2, 0):
        a, b = set_of[lanes, high], set_of[lanes, low]
        odds = evidence[lanes, a] + np.where(a == b, 0, evidence[lanes, b])
        evidence[lanes, a], wrong = _play(rng, odds, pulls, p_high, p_low)
        lost += np.where(met[lanes, high] | met[lanes, low], wrong * abs(p_high - p_low), 0)
        np.copyto(set_of, a[:, None], where=set_of == b[:, None])
        met[lanes, high] = met[lanes, low] = True
    return lost / episodes


def _play(
    rng: np.random.Generator, odds: Array, pulls: int, p_high: float, p_low: float
) -> tuple[Array, Array]:
    """Pull greedily from log odds of the truth; return those at the end, and P(wrong arm)."""
    pays = np.array([p_low, p_high])
    outcome = np.stack([1 - pays, pays], axis=1)  # (arm, paid)
    with np.errstate(divide="ignore"):  # what is impossible is never drawn
        told = np.log(outcome) - np.log(outcome[::-1])
    wrong = np.zeros(len(odds))
    for tie, luck in rng.random((pulls, 2, len(odds))):
        wrong += expit(-np.abs(odds)) / pulls
        believed = np.where(np.abs(odds) < TIE, tie < 0.5, odds > 0)
        high = (believed == (p_high > p_low)).astype(int)
        paid = (luck < pays[high]).astype(int)
        odds = odds + told[high, paid]
    return odds, wrong


def compositional_optimum(task: CompositionalBandits) -> dict[str, Any]:
    """Return what is best if both stimuli are novel, if either is known, and over an epoch.

    Exact: chance, without_memory (both stimuli are novel in every episode), either_known.
    with_memory and by_exposure count a stimulus as known after one exposure: bounds.
    pooled_simulated is reachable (`pooled`).
    """
    task = task.for_evaluation()
    half = task.num_classes // 2  # high-paying, and as many low-paying
    world = half, task.repeats, task.pulls, task.p_high, task.p_low
    found = compositional(*world)
    values: dict[str, Any] = {
        "chance": task.pulls * (task.p_high + task.p_low) / 2,
        "without_memory": task.pulls * found.novel,
        "either_known": task.pulls * found.known,
        "with_memory": task.pulls * found.mean,
        "by_exposure": (task.pulls * found.by_exposure).tolist(),
    }
    with suppress(TooLarge):  # the bound stands without it
        reached = pooled(*world)
        values["pooled_simulated"] = {
            "mean": task.pulls * reached.mean,
            "half_width": task.pulls * reached.half_width,
        }
    return values
