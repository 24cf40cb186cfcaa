"""Gittins indices of Bernoulli arms with Beta(a, b) priors, discounted or with few pulls left.

The index is the best rate at which the arm can pay until a stopping time tau of our choosing,

    index(a, b) = max over tau >= 1 of  E[sum_{t < tau} gamma^t r_t] / E[sum_{t < tau} gamma^t],

with tau unbounded in the discounted case, and gamma = 1, tau <= n with n pulls left. It is found by
calibration: against a retirement arm that pays lambda per pull, continuing is worth

    W(a, b) = m - lambda + gamma (m max(0, W(a + 1, b)) + (1 - m) max(0, W(a, b + 1))),
    m = a / (a + b),

and the index is the lambda at which W = 0 (indifference). W is convex and piecewise linear in
lambda with slope -T, where T is the expected discounted number of pulls before retiring, so
Newton's step lambda <- lambda + W / T climbs to the root from below in a few rounds, without
bisection.
"""

import math

import numpy as np
from numpy.typing import NDArray

from reinstate.baselines.bandits import Array, check_size
from reinstate.errors import UserError, require_not_negative, require_positive

# Beta states visited in one backward pass over all requested indices: about 40 s on one core.
MAX_CELLS = 1e9
# States handled side by side: small enough for the arrays of one pass to stay in cache.
CHUNK_CELLS = 2**16


def discounted_table(
    pulls: int, a: float = 1.0, b: float = 1.0, discount: float = 0.9, tolerance: float = 1e-6
) -> Array:
    """Compute the index of every arm pulled at most `pulls` times: table[successes, failures].

    The recursion of the module runs over N further pulls, after which the posterior mean is taken
    as the truth. That loses at most gamma^N / (1 - gamma) times half a posterior standard
    deviation, which fixes N ~ log(1 / tolerance) / (1 - gamma): 117 at gamma = .9, 1,330 at .99.
    Each of the pulls^2 / 2 entries is calibrated separately: cost O(pulls^2 N^2) per round, memory
    O(pulls^2 + N). Entries with successes + failures > pulls are NaN. Raises TooLarge where the
    cost exceeds `MAX_CELLS`.
    """
    depth = _depth(discount, tolerance)
    _check_cells(pulls, 1, depth, "pulls or discount, or raise tolerance")
    within, a_after, b_after = _posteriors(pulls, a, b)
    index = a_after / (a_after + b_after)
    for horizon in (depth // 16 + 1, depth // 4 + 1, depth):
        # A shallow tree underestimates, and cheaply brings the deep one near its root.
        index = _calibrate(index, a_after, b_after, discount, horizon)
    table = np.full(within.shape, np.nan)
    table[within] = index
    return table


def finite_horizon_table(
    pulls_left: int, pulls: int | None = None, a: float = 1.0, b: float = 1.0
) -> Array:
    """Compute the indices of arms with n pulls left: table[n, successes, failures].

    Arms were pulled at most `pulls` times, by default `pulls_left`; a player that carries counts
    over exposures needs more. table[0] and entries with successes + failures > pulls are NaN. Cost
    O(pulls^2 pulls_left^3) per round, memory O(pulls^2 pulls_left). Raises TooLarge where that
    exceeds `MAX_CELLS`.
    """
    require_positive(pulls_left=pulls_left)
    pulls = pulls_left if pulls is None else pulls
    _check_cells(pulls, pulls_left, pulls_left, "pulls or pulls_left")
    within, a_after, b_after = _posteriors(pulls, a, b)
    table = np.full((pulls_left + 1, *within.shape), np.nan)
    index = a_after / (a_after + b_after)
    for n in range(1, pulls_left + 1):
        # The index grows with n, so the last one is a lower bound to climb from.
        index = _calibrate(index, a_after, b_after, 1.0, n)
        table[n, within] = index
    return table


def _depth(discount: float, tolerance: float) -> int:
    """Find an N, about the smallest, with gamma^N / (1 - gamma) / (4 sqrt(N)) <= tolerance.

    A Beta posterior after N pulls has a standard deviation of at most 1 / (2 sqrt(N)), and
    E[max(0, theta - lambda)] - max(0, E[theta] - lambda) is at most half of it.
    """
    if not 0 < discount < 1:
        raise UserError(f"discount must lie strictly between 0 and 1, got {discount}")
    require_positive(tolerance=tolerance)
    depth = 1
    while discount**depth / (1 - discount) / (4 * math.sqrt(depth)) > tolerance:
        depth += max(1, depth // 64)
    return depth


def _calibrate(index: Array, a: Array, b: Array, discount: float, horizon: int) -> Array:
    """Run Newton's method from the lower bounds `index`, over chunks of states."""
    index = index.copy()
    size = max(1, CHUNK_CELLS // (horizon + 1))
    for start in range(0, len(index), size):
        part = slice(start, start + size)
        while True:
            value, duration = _continue(index[part], a[part], b[part], discount, horizon)
            index[part] += value / duration
            if np.max(value / duration) < 1e-12:
                break
    return index


def _continue(
    retirement: Array, a: Array, b: Array, discount: float, horizon: int
) -> tuple[Array, Array]:
    """Compute W and T of the module's docstring at the root of each tree, given its lambda."""
    if discount < 1:
        m = _posterior_mean(a, b, horizon)  # (successes, states)
        value, duration = (m - retirement) / (1 - discount), np.full(m.shape, 1 / (1 - discount))
    else:
        value = duration = np.zeros((horizon + 1, len(a)))
    for depth in reversed(range(horizon)):
        go_on = value > 0
        value, duration = discount * value * go_on, discount * duration * go_on
        m = _posterior_mean(a, b, depth)
        value = m - retirement + value[:-1] + m * (value[1:] - value[:-1])
        duration = 1 + duration[:-1] + m * (duration[1:] - duration[:-1])
    return value[0], duration[0]


def _posterior_mean(a: Array, b: Array, depth: int) -> Array:
    successes = np.arange(depth + 1.0)[:, None]
    return np.asarray((a + successes) / (a + b + depth))


def _posteriors(pulls: int, a: float, b: float) -> tuple[NDArray[np.bool_], Array, Array]:
    """Return which [successes, failures] `pulls` pulls can reach, and the a and b after each."""
    require_positive(a=a, b=b)
    successes, failures = np.indices((pulls + 1, pulls + 1))
    within = successes + failures <= pulls
    return within, a + successes[within].astype(float), b + failures[within].astype(float)


def _check_cells(pulls: int, tables: int, horizon: int, settings: str) -> None:
    require_not_negative(pulls=pulls)
    # At least 50 cells per state: below that, memory is the limit.
    cells = tables * (pulls + 1) * (pulls + 2) / 2 * max(50, horizon * (horizon + 1) / 2)
    check_size("Gittins indices", cells, "states of the recursion", MAX_CELLS, settings)
