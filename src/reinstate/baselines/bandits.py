"""Bayes-optimal reward per pull of the bandits of Experiments 1-3.

One good arm: one of `num_arms` arms, each equally likely, pays with probability p_good, the others
with p_bad. The sufficient statistic is the posterior w, with w_i the probability that arm i is the
good one; arm i pays with probability z_i = w_i p_good + (1 - w_i) p_bad and moves w by Bayes' rule.

The greedy policy (pull the arm of largest z_i) is optimal. Under the law Q in which every
arm is bad, the likelihood ratio x_i of "arm i is good" is multiplied by an independent factor at
every pull of arm i, and the expected number of pulls of the good arm is proportional to
E_Q[sum_t x_{a_t}]: a bandit of independent arms that pay x_i. Its Gittins index is x_i times a
constant that all arms share, so following the index is being greedy (also if p_good < p_bad, with
the order reversed). That settles every geometric horizon. For a fixed number of pulls Feldman
(1962) settles two arms; for more, tests compare greedy to `one_exposure`, which assumes nothing.
"""

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reinstate.errors import TooLarge, require_positive, require_probability
from reinstate.processes import Bag, Urn
from reinstate.tasks.bandits import BarcodeBandits, OmniglotBandits
from reinstate.tasks.base import RecurringWorld

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

MAX_BELIEF_CELLS = 4e6  # beliefs times arms that `one_exposure` may hold: about 3 s, 0.5 GB
MAX_OPERATIONS = 1e10  # of `own_memory` and `elimination`: about a minute
BELIEF_DIGITS = 12  # beliefs that agree to so many are one; values are then off by pulls as much


@dataclass(frozen=True)
class Simulated:
    """What a simulation found, with half the width of its 95% interval."""

    mean: float
    half_width: float
    by_exposure: Any = None  # (exposures,) means, where they were asked


@dataclass(frozen=True)
class Compositional:
    """Reward per pull in compositional bandits; `by_exposure` counts those of either stimulus."""

    novel: float  # exact
    known: float  # exact
    mean: float  # a bound, and so is by_exposure
    by_exposure: Array  # (exposures,)


def one_exposure(
    num_arms: int = 10, pulls: int = 10, p_good: float = 0.9, p_bad: float = 0.1
) -> float:
    """Solve one episode: Bayes-optimal reward per pull, the ceiling of agents without memory.

        V_n(w) = max_i  z_i (1 + V_{n-1}(w after i paid)) + (1 - z_i) V_{n-1}(w after i did not),

    over every reachable multiset w of posterior probabilities, whatever the policy. There are at
    most as many as multisets of per-arm (successes, failures), or of successes - failures if
    p_good + p_bad = 1: exp(O(pulls^(2/3))), or exp(O(pulls^(1/2))), until num_arms bounds them to a
    power of pulls. Cost and memory O(beliefs num_arms): 10 arms and 10 pulls take 20 ms. Raises
    TooLarge beyond `MAX_BELIEF_CELLS`; `own_memory` reaches further.
    """
    check_arms(num_arms, pulls, p_good, p_bad)
    if num_arms == 1 or p_good == p_bad:
        return p_good
    cells = num_arms * count_beliefs(num_arms, pulls - 1, math.isclose(p_good + p_bad, 1))
    unit = "or more beliefs times arms"
    check_size("one exposure", cells, unit, MAX_BELIEF_CELLS, "pulls or num_arms")
    levels, beliefs = [], np.full((1, num_arms), 1 / num_arms)  # (beliefs, arms), rows sorted
    for _ in range(pulls - 1):
        level, beliefs = expand_beliefs(beliefs, p_good, p_bad)
        levels.append(level)
    value = np.max(beliefs * p_good + (1 - beliefs) * p_bad, axis=1)
    for belief, z, paid, unpaid in reversed(levels):
        q = z * (1 + value[paid]) + (1 - z) * value[unpaid]
        value = np.full(belief[-1] + 1, -np.inf)
        np.maximum.at(value, belief, q)
    return float(value[0]) / pulls


def expand_beliefs(
    beliefs: Array, p_good: float, p_bad: float
) -> tuple[tuple[Indices, Array, Indices, Indices], Array]:
    """List distinct pulls as (belief, z, next belief if paid, if not), and the next beliefs."""
    distinct = np.diff(beliefs.round(BELIEF_DIGITS), axis=1, prepend=-1) > 0
    belief, arm = np.nonzero(distinct)  # arms of equal belief are exchangeable: pull one of them
    pull = np.arange(len(belief))
    w = beliefs[belief]
    w_arm = w[pull, arm]
    z = w_arm * p_good + (1 - w_arm) * p_bad
    after = []
    for if_good, if_bad in ((p_good, p_bad), (1 - p_good, 1 - p_bad)):
        posterior = w * if_bad
        posterior[pull, arm] = w_arm * if_good
        evidence = posterior.sum(axis=1, keepdims=True)
        # An outcome that cannot happen leaves a row of zeros, whose value counts zero times.
        posterior /= np.where(evidence > 0, evidence, 1)
        after.append(np.sort(posterior, axis=1))
    following = np.concatenate(after)
    _, first, inverse = np.unique(
        following.round(BELIEF_DIGITS), axis=0, return_index=True, return_inverse=True
    )
    paid, unpaid = inverse.reshape(2, -1)
    return (belief, z, paid, unpaid), following[first]


def count_beliefs(num_arms: int, pulls: int, symmetric: bool) -> float:
    """Count multisets of per-arm counts within `pulls` pulls, until past the limit."""
    arms, pulls = min(num_arms, pulls, 400), min(pulls, 400)  # two arms pass the limit before 400
    counts = np.zeros((arms + 1, pulls + 1))  # (arms pulled, pulls)
    counts[0, 0] = 1
    # Success and failure of one arm cancel if symmetric, so each multiset recurs 2 pulls later.
    recurrences = (pulls - np.arange(pulls + 1)) // 2 + 1 if symmetric else np.ones(pulls + 1)
    for k in range(1, pulls + 1):
        kinds = 2 if symmetric else k + 1  # counts that k pulls of one arm can leave
        grown = counts.copy()
        for m in range(1, min(arms, pulls // k) + 1):  # m arms of k pulls each
            grown[m:, m * k :] += math.comb(kinds + m - 1, m) * counts[:-m, : -m * k]
        counts = grown
        if num_arms * (counts @ recurrences).sum() > MAX_BELIEF_CELLS:
            break
    return float((counts @ recurrences).sum())


def own_memory(
    num_arms: int = 10,
    pulls: int = 10,
    p_good: float = 0.9,
    p_bad: float = 0.1,
    exposures: int = 10,
) -> Array:
    """Solve exactly for reward per pull at exposures 1, 2, ... with memory of the current context.

    The posterior at the end of an exposure is the prior of the next, and every pull is greedy. As
    greedy is optimal for every number of pulls, this maximises both each exposure's reward, given
    what is known at its start, and the sum over all exposures.

    Greedy pulls the arm of largest log likelihood ratio I. Let M(k) be the lowest I of an arm over
    its first k pulls; then all pulls happen in descending order of the M they start from, ties in a
    random order of arms. The good arm's pull from M = m therefore waits for the N_j pulls that bad
    arm j makes until it first falls below m (or to m, if it comes later in the order), and

        P(pull t is on the good arm) = sum_{k, m} P_good(M(k) = m) P(sum_j N_j = t - k)

    with independent N_j. With T = pulls exposures there are T levels m if p_good + p_bad = 1, at
    most T^2 / 4 otherwise; cost O(levels T (T + num_arms^2)), memory O(levels T). Raises TooLarge
    beyond `MAX_OPERATIONS`: at 10 arms, T = 350 is within it, and 1,700 if p_good + p_bad = 1.
    """
    check_arms(num_arms, pulls, p_good, p_bad, exposures=exposures)
    total = pulls * exposures
    if num_arms == 1 or p_good == p_bad:
        return np.full(exposures, p_good)
    levels = total if math.isclose(p_good + p_bad, 1) else total**2 / 4
    cost = levels * total * (2.0 * total + num_arms**2)
    check_size("memory", cost, "operations", MAX_OPERATIONS, "pulls, exposures or num_arms")
    on_good = _pulls_on_good_arm(num_arms, total, p_good, p_bad)
    return (p_bad + (p_good - p_bad) * on_good).reshape(exposures, pulls).mean(axis=1)


def _pulls_on_good_arm(num_arms: int, total: int, p_good: float, p_bad: float) -> Array:
    """Compute P(pull t is on the good arm) under greedy play, for t < total."""
    index = _indices(total, p_good, p_bad)
    levels = np.unique(index[index <= 0])[::-1, None]
    survive_good = _survival(levels, index, p_good)
    survive_bad = _survival(levels, index, p_bad)
    start = np.diff(survive_good[:, :-1], axis=0, prepend=0)  # P_good(M(k) = m)
    below = -np.diff(survive_bad, axis=1, prepend=1)  # P(first below m after k pulls)
    at_most = np.concatenate([np.eye(1, total + 1), below[:-1]])  # first at m or below
    size = 2 ** math.ceil(math.log2(num_arms * total + 1))  # no wrap-around in the convolutions
    spectrum = np.zeros(size // 2 + 1, complex)
    for part in range(0, len(levels), 64):
        rows = slice(part, part + 64)
        x, y = np.fft.rfft(below[rows], size), np.fft.rfft(at_most[rows], size)
        # Of the other arms, j come earlier in the order, j uniform: sum_j x^j y^(num_arms - 1 - j).
        waits = power = np.ones_like(x)
        for _ in range(num_arms - 1):
            power = power * y
            waits = x * waits + power
        spectrum += np.sum(np.fft.rfft(start[rows], size) * waits, axis=0) / num_arms
    return np.fft.irfft(spectrum, size)[:total]


def _indices(total: int, p_good: float, p_bad: float) -> Array:
    """Compute log likelihood ratios for pulling: index[successes, failures], NaN past `total`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.log([p_good, 1 - p_good]) - np.log([p_bad, 1 - p_bad])
        counts = np.arange(total + 1)
        success, failure = (np.where(counts > 0, counts * step, 0) for step in steps)
        index = success[:, None] + failure  # inf - inf: cannot happen
    index[counts[:, None] + counts > total] = np.nan
    # Rounded, so that equal evidence by different routes is a tie.
    return np.asarray((index if p_good > p_bad else -index).round(9))


def _survival(levels: Array, index: Array, p: float) -> Array:
    """Compute P(M(k) >= m) of an arm that pays with probability p: (levels, pulls k)."""
    total = len(index) - 1
    alive = np.zeros((len(levels), total + 1))  # (levels, successes)
    alive[:, 0] = 1
    survival = np.ones((len(levels), total + 1))
    for k in range(1, total + 1):
        paid = alive[:, :k] * p
        alive[:, :k] *= 1 - p
        alive[:, 1 : k + 1] += paid
        successes = np.arange(k + 1)
        alive[:, : k + 1] *= index[successes, k - successes] >= levels
        survival[:, k] = alive.sum(axis=1)
    return survival


def compositional(
    num_classes: int = 200,
    exposures: int = 5,
    pulls: int = 10,
    p_high: float = 0.9,
    p_low: float = 0.1,
) -> Compositional:
    """Bound reward per pull with two visible stimuli, one high-paying, one low-paying.

    Shuffled positions change nothing for an observer who sees the stimuli, so an episode of two
    novel stimuli is a one-good-arm bandit of two arms, solved exactly. The mean over an epoch is an
    upper bound, by relaxation: reveal at the end of an episode which stimulus was which. An agent
    may ignore what it is told, so its best reward is no less than before. Now nothing it does
    changes what it knows in later episodes, and knowing either stimulus is enough; `pooled` says
    what is reachable. Each bag holds num_classes classes `exposures` times and is emptied over N =
    num_classes exposures episodes, so episode t shows a class for the first time with probability
    u_t = u_{t-1} (N - t + 1 - (exposures - 1)) / (N - t + 1), u_1 = 1, independently in the two
    bags, and

        mean = known - (known - novel) mean_t u_t^2,
        first exposure = known - (known - novel) sum_t u_t^2 / sum_t u_t,   later ones = known.

    Cost O(N) and that of `own_memory` with one exposure, which also raises its TooLarge.
    """
    check_arms(2, pulls, p_high, p_low, num_classes=num_classes, exposures=exposures)
    novel = float(own_memory(2, pulls, p_high, p_low, exposures=1)[0])
    known = max(p_high, p_low)
    left = np.arange(num_classes * exposures, 1, -1) - 1.0
    u = np.cumprod(np.concatenate([[1], np.maximum(left - (exposures - 1), 0) / left]))
    by_exposure = np.full(exposures, known)
    by_exposure[0] -= (known - novel) * np.sum(u**2) / np.sum(u)
    mean = known - (known - novel) * float(np.mean(u**2))
    return Compositional(novel, known, mean, by_exposure)


def check_arms(num_arms: int, pulls: int, p_good: float, p_bad: float, **counts: int) -> None:
    """Refuse arguments that describe no bandit."""
    require_positive(num_arms=num_arms, pulls=pulls, **counts)
    require_probability(p_good=p_good, p_bad=p_bad)


def check_size(what: str, size: float, unit: str, limit: float, settings: str) -> None:
    """Refuse a problem that is larger than the limit."""
    if size > limit:
        raise TooLarge(
            f"{what}: too large to solve, {size:.1e} {unit} (limit {limit:.0e}); lower {settings}"
        )


def interval(samples: Array) -> tuple[Array, Array]:
    """Return the mean over epochs, and half the width of its 95% interval."""
    return samples.mean(axis=0), 1.96 * samples.std(axis=0) / math.sqrt(len(samples) - 1)


def exposure_mean(first: float, later: float, exposures: float) -> float:
    """Return the mean over exposures, of which there may be a fraction on average."""
    require_positive(exposures=exposures)
    return (first + (exposures - 1) * later) / exposures


def exposures_of(task: RecurringWorld) -> float:
    """Return episodes per context that is met, on average.

    Of the urn it is N / sum_{n < N} alpha / (alpha + n); of Zipf's law N / sum_i 1 - (1 - p_i)^N.
    """
    episodes, process = task.episodes_per_epoch, task.sequence
    if isinstance(process, Bag):
        return process.repeats
    if isinstance(process, Urn):
        return episodes / sum(task.alpha / (task.alpha + n) for n in range(episodes))
    weight = (1.0 + np.arange(process.num_tasks)) ** -process.exponent
    return episodes / float(np.sum(1 - (1 - weight / weight.sum()) ** episodes))


def bandit_optimum(task: BarcodeBandits) -> dict[str, Any]:
    """Return what is best without memory, with memory of the current context, and of all contexts.

    Exact: chance, without_memory, own_memory. with_memory is own_memory, hence exact, if contexts'
    arms are independent, and a bound (`elimination_bound`) if they share out the arms; then
    elimination_simulated is reachable. Under the urn and Zipf's law, with_memory counts an arm as
    known after one exposure, a bound, and is left out where contexts share out the arms. Contexts
    count as recognised whatever their noise.
    """
    from reinstate.baselines.epoch_memory import elimination, elimination_bound

    arms = task.num_arms, task.pulls, task.p_good, task.p_bad
    chance = (task.p_good + (task.num_arms - 1) * task.p_bad) / task.num_arms
    without = one_exposure(*arms)
    values: dict[str, Any] = {"chance": task.pulls * chance, "without_memory": task.pulls * without}
    if not isinstance(task.sequence, Bag):  # no fixed number of exposures per context
        if task.mapping == "independent":
            best = max(task.p_good, task.p_bad) if task.num_arms > 1 else task.p_good
            values["with_memory"] = task.pulls * exposure_mean(without, best, exposures_of(task))
        return values
    by_exposure = task.pulls * own_memory(*arms, exposures=task.repeats)
    values["own_memory"] = values["with_memory"] = float(np.mean(by_exposure))
    values["own_memory_by_exposure"] = by_exposure.tolist()
    if task.mapping == "permutation":
        bound = elimination_bound(*arms, task.repeats, task.num_contexts)
        values["with_memory"] = task.pulls * float(np.mean(bound))
    if task.mapping == "permutation" and task.num_contexts == task.num_arms:
        with suppress(TooLarge):  # the bound stands without it
            simulated = elimination(*arms, exposures=task.repeats)
            values["elimination_simulated"] = {
                "mean": task.pulls * simulated.mean,
                "half_width": task.pulls * simulated.half_width,
                "by_exposure": (task.pulls * simulated.by_exposure).tolist(),
            }
    return values


def omniglot_optimum(task: OmniglotBandits) -> dict[str, Any]:
    """Return the optimum if every class is recognised, an upper bound: failures only cost."""
    return bandit_optimum(task.with_barcodes())
