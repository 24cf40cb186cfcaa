"""Means over seeds, with 95% intervals."""

from typing import Any

import numpy as np
from scipy import stats


def over_seeds(per_seed: Any) -> dict[str, Any]:
    """Mean and 95% interval (Student's t) over the leading axis; no interval from a single seed."""
    values = np.asarray(per_seed, dtype=float)
    half = half_width(values)
    mean = values.mean(axis=0)
    ci95 = None if half is None else np.stack([mean - half, mean + half], axis=-1).tolist()
    return {"mean": mean.tolist(), "ci95": ci95, "per_seed": values.tolist()}


def half_width(values: np.ndarray) -> np.ndarray | None:
    n = len(values)
    if n < 2:
        return None
    return stats.t.ppf(0.975, n - 1) * values.std(axis=0, ddof=1) / np.sqrt(n)


def mean_and_noise(summary: dict[str, Any]) -> tuple[float, float]:
    """The mean of `over_seeds` and the half width of its interval (0 from a single seed)."""
    low_high = summary["ci95"]
    return summary["mean"], (low_high[1] - low_high[0]) / 2 if low_high else 0.0


def difference(a: Any, b: Any) -> tuple[float, float]:
    """Mean of a − mean of b, and the half width of its 95% interval (Welch; 0 from one seed)."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    gap = float(a.mean() - b.mean())
    if len(a) < 2 or len(b) < 2:
        return gap, 0.0
    variances = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    total = sum(variances)
    if total == 0:
        return gap, 0.0
    freedom = total**2 / (variances[0] ** 2 / (len(a) - 1) + variances[1] ** 2 / (len(b) - 1))
    return gap, float(stats.t.ppf(0.975, freedom) * np.sqrt(total))
