"""What is reachable in compositional bandits by pooling what is known of linked stimuli."""

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from reinstate.baselines.bandits import (
    MAX_OPERATIONS,
    Array,
    check_arms,
    check_size,
    compositional,
    interval,
)
from reinstate.errors import TooLarge, UserError
from reinstate.tasks.compositional import CompositionalBandits

TIE = 1e-9  # log odds this close to 0 are: equal evidence may be added up in another order


@dataclass(frozen=True)
class Pooled:
    """Simulated reward per pull, with the half width of its 95% interval."""

    mean: float
    half_width: float


@lru_cache(maxsize=8)  # recorded results of one task are read many times
def pooled(
    num_classes: int = 200,
    exposures: int = 5,
    pulls: int = 10,
    p_high: float = 0.9,
    p_low: float = 0.1,
    epochs: int | None = None,
    seed: int = 0,
) -> Pooled:
    """Simulate an observer who pools what is known of stimuli that were ever linked by a pair.

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
        return Pooled(bound.mean, 0.0)
    cost = float(epochs) * num_classes * exposures * (2 * num_classes + 20 * pulls)
    check_size("pooling", cost, "operations", MAX_OPERATIONS, "num_classes, exposures or pulls")
    rng = np.random.default_rng(seed)
    classes = np.arange(2 * num_classes).repeat(exposures).reshape(2, 1, -1)
    order = rng.permuted(classes.repeat(epochs, axis=1), axis=2)  # (kinds, epochs, episodes)
    mean, half_width = interval(_lost_by_epoch(rng, order, pulls, p_high, p_low))
    return Pooled(bound.mean - float(mean), float(half_width))


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
