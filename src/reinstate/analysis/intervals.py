"""What a handful of seeds can say: means, bootstrap intervals, permutation tests.

A bootstrap draws seeds with replacement from those that were run, so it knows of no others. Its
interval never leaves the range from the lowest seed to the highest, and of two or three seeds
it is exactly that range. It shows how far runs lie apart; the mean of all the runs that could have
been made lies outside more often than 95% says: for normal seeds, of three about one time in four,
of ten about one in ten. Nor can a permutation test of three seeds against three go under p = .05.
"""

import math
from functools import lru_cache
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy import stats

from reinstate.analysis.results import OverSeeds

MANY = 10_000  # resamples, where all of them would be too many
MOST_ENUMERATED = MANY - 1  # arrangements that are gone through one by one
TAILS = (0.025, 0.975)
COLUMNS = 500  # resampled at a time, so that a large array does not fill the memory
ALPHA = 0.05

Floats = np.ndarray[Any, np.dtype[np.float64]]


def over_seeds(per_seed: Any) -> OverSeeds:
    """Summarise the leading axis: mean and 95% percentile bootstrap, which a single seed lacks.

    Scalars also get their interquartile mean, which one stray seed cannot carry away.
    """
    values = np.asarray(per_seed, dtype=float)
    ci95 = None if len(values) < 2 else bootstrap(values).tolist()
    mean = values.mean(axis=0).tolist()
    found: OverSeeds = {"mean": mean, "ci95": ci95, "per_seed": values.tolist()}
    if values.ndim == 1:
        found["iqm"] = interquartile_mean(values)
    return found


def without_nan(value: Any) -> Any:
    """JSON has no NaN."""
    if isinstance(value, dict):
        return {name: without_nan(v) for name, v in value.items()}
    if isinstance(value, list):
        return [without_nan(v) for v in value]
    return None if isinstance(value, float) and np.isnan(value) else value


def bootstrap(values: Any) -> Floats:
    """Ends of the 95% interval of the mean over the leading axis, as the last axis, (…, 2)."""
    values = np.asarray(values, dtype=float)
    columns = values.reshape(len(values), -1)
    counts = _resamples(len(values))
    blocks = [columns[:, i : i + COLUMNS] for i in range(0, columns.shape[1], COLUMNS)]
    found = [_tails(counts @ block / len(values)) for block in blocks]
    ends = np.concatenate(found, axis=1) if found else np.zeros((2, 0))
    ends = np.clip(ends, columns.min(axis=0), columns.max(axis=0))  # sums are rounded
    return np.moveaxis(ends.reshape(2, *values.shape[1:]), 0, -1)


@lru_cache(maxsize=2)
def _resamples(n: int) -> Floats:
    """How often each seed occurs in each resample: all n**n, or MANY drawn, (resamples, n)."""
    if n**n <= MOST_ENUMERATED:
        drawn = np.array(list(product(range(n), repeat=n)))
        return (drawn[:, :, None] == np.arange(n)).sum(axis=1).astype(float)
    return np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), MANY).astype(float)


def _tails(means: Floats) -> Floats:
    """No interpolation: an end is the mean of a resample."""
    return np.quantile(means, TAILS, axis=0, method="inverted_cdf")


def interquartile_mean(values: Any) -> float:
    """Mean of the middle half; a seed that a quartile cuts through counts with its part inside.

    Three seeds weigh 1, 4, 1; four 0, 1, 1, 0; of ten, two and a half are left out on either side.
    """
    n = len(values)
    edges = np.clip(np.arange(n + 1) / n, 0.25, 0.75)
    return float(np.sort(np.asarray(values, dtype=float)) @ np.diff(edges) / 0.5)


def difference(a: Any, b: Any, paired: bool = False) -> tuple[float, list[float] | None]:
    """Mean of a − mean of b with its 95% bootstrap interval; none from a single seed a side."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    gap = float(a.mean() - b.mean())
    if max(len(a), len(b)) < 2:
        return gap, None
    if paired:
        return gap, bootstrap(a - b).tolist()
    means = [_resamples(len(side)) @ side / len(side) for side in (a, b)]
    if len(means[0]) * len(means[1]) > MOST_ENUMERATED:
        draw = np.random.default_rng(1)
        means = [draw.choice(side, MANY) for side in means]
        return gap, _tails(means[0] - means[1]).tolist()
    return gap, _tails(np.subtract.outer(*means).ravel()).tolist()


def permutation_test(a: Any, b: Any, paired: bool = False) -> float:
    """One-sided p: how often chance alone puts the mean of a as far above that of b, or further.

    Seeds are dealt to the two sides at random; paired ones keep their pair, and their difference
    may change its sign. All arrangements are tried, or MANY drawn ones where there are too many.
    """
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    values = a - b if paired else np.concatenate([a, b])
    sums = (_signs(len(a)) if paired else _sides(len(a), len(b))) @ values
    observed = values.sum() if paired else a.sum()
    as_far = np.sum(sums >= observed - 1e-9 * np.abs(values).max())  # sums are rounded
    drawn = len(sums) == MANY  # and then the observed arrangement counts as one more
    return float((as_far + drawn) / (len(sums) + drawn))


def _signs(n: int) -> Floats:
    """Signs that n differences may have, (arrangements, n)."""
    if 2**n <= MOST_ENUMERATED:
        return np.array(list(product((1.0, -1.0), repeat=n)))
    return np.random.default_rng(0).choice([1.0, -1.0], (MANY, n))


def _sides(n: int, m: int) -> Floats:
    """1 for those of n + m that are dealt to the first side, (arrangements, n + m)."""
    if math.comb(n + m, n) > MOST_ENUMERATED:
        first = np.tile(np.repeat([1.0, 0.0], [n, m]), (MANY, 1))
        return np.random.default_rng(0).permuted(first, axis=1)
    dealt = np.array(list(combinations(range(n + m), n)))
    return (dealt[:, :, None] == np.arange(n + m)).any(axis=1).astype(float)


def smallest_p(n: int, m: int, paired: bool = False) -> float:
    """The smallest p that so many seeds can give: 1 / 20 of 3 and 3, 1 / 8 of 3 pairs."""
    return 1 / min(2**n if paired else math.comb(n + m, n), MANY + 1)


def student(values: Any) -> list[float] | None:
    """The 95% interval of Student's t, to stand beside a t-test."""
    n = len(values)
    if n < 2:
        return None
    half = stats.t.ppf(0.975, n - 1) * np.std(values, ddof=1) / math.sqrt(n)
    return [float(np.mean(values) - half), float(np.mean(values) + half)]


def with_interval(summary: OverSeeds, number: str = ".2f") -> str:
    """Write a mean with its interval."""
    mean, ci95 = summary["mean"], summary["ci95"]
    interval = ", ".join(f"{end:{number}}" for end in ci95) if ci95 else "one seed"
    return f"{mean:{number}} [{interval}]"
