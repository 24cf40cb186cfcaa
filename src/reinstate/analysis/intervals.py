"""What a handful of seeds can say: means with Student's t intervals, rates with exact ones.

A seed is a training run; the runs that could have been made are the population. For normally
distributed seeds the interval of Student's t contains their true mean 95 times in 100, whether
there are three or thirty. Where seeds fall into two heaps (some runs learn, others do not) it does
not, and a mean says little: such runs are counted, and the rate gets an exact interval.
"""

import math
from typing import Any

import numpy as np
import scipy  # scipy.stats, which takes long to import, is loaded when it is used

from reinstate.analysis.results import ChoiceWeight, OverSeeds

CONFIDENCE = 0.95
NORMAL = 1.959963984540054  # standard deviations to either side that hold CONFIDENCE

Floats = np.ndarray[Any, np.dtype[np.float64]]


def over_seeds(per_seed: Any, error: float | None = None) -> OverSeeds:
    """Summarise the leading axis: mean and 95% interval, which a single seed lacks.

    `error` is the standard error that the mean has from a finite evaluation alone. No interval is
    narrower than that error allows, however close together a few seeds may happen to lie.
    """
    values = np.asarray(per_seed, dtype=float)
    ends = student(values)
    found: OverSeeds = {
        "mean": values.mean(axis=0).tolist(),
        "ci95": None if ends is None else ends.tolist(),
        "per_seed": values.tolist(),
    }
    if error is not None:
        found["error"] = error
        if ends is not None:
            half = max(float(ends[1] - ends[0]) / 2, NORMAL * error)
            found["ci95"] = [float(values.mean()) - half, float(values.mean()) + half]
    return found


def ends_of(per_seed: Any) -> list[Any] | None:
    """Return only the ends of the intervals over seeds, of curves whose seeds would fill pages."""
    ends = student(per_seed)
    return None if ends is None else ends.tolist()


def student(values: Any) -> Floats | None:
    """Ends of Student's t interval of the mean over the leading axis, as the last axis, (…, 2)."""
    values = np.asarray(values, dtype=float)
    n = len(values)
    if n < 2:
        return None
    half = (
        scipy.stats.t.ppf((1 + CONFIDENCE) / 2, n - 1) * values.std(axis=0, ddof=1) / math.sqrt(n)
    )
    return np.stack([values.mean(axis=0) - half, values.mean(axis=0) + half], axis=-1)


def exact_rate(hits: int, seeds: int) -> list[float]:
    """Ends of Clopper and Pearson's interval of a rate, which covers it 95 times in 100 or more."""
    low, high = scipy.stats.binomtest(hits, seeds).proportion_ci(CONFIDENCE, method="exact")
    return [float(low), float(high)]


def evaluation_error(by_epoch: Any) -> float | None:
    """Return the standard error of the mean over seeds that finite evaluation alone makes.

    `by_epoch` is (seeds, epochs): epochs of one seed are independent plays of the same weights, so
    their spread is the evaluation's own, √(Σ_seeds var / epochs) / seeds. One epoch tells nothing.
    """
    by_epoch = np.asarray(by_epoch, dtype=float)
    seeds, epochs = by_epoch.shape
    if epochs < 2:
        return None
    return float(np.sqrt(np.sum(by_epoch.var(axis=1, ddof=1) / epochs)) / seeds)


def without_nan(value: Any) -> Any:
    """JSON has no NaN."""
    if isinstance(value, dict):
        return {name: without_nan(v) for name, v in value.items()}
    if isinstance(value, list):
        return [without_nan(v) for v in value]
    return None if isinstance(value, float) and np.isnan(value) else value


def with_interval(summary: OverSeeds | ChoiceWeight, number: str = ".2f") -> str:
    """Write a mean with its interval."""
    mean, ci95 = summary["mean"], summary["ci95"]
    interval = ", ".join(f"{end:{number}}" for end in ci95) if ci95 else "one seed"
    return f"{mean:{number}} [{interval}]"
