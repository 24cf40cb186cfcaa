"""What a handful of seeds can say: intervals, and three verdicts on a claim.

A seed is a training run; the runs that could have been made are the population. For normally
distributed seeds the interval of Student's t contains their true mean 95 times in 100, whether
there are three or thirty. Where seeds fall into two heaps (some runs learn, others do not) it does
not, and a mean says little: such runs are counted, and the rate gets an exact interval.

Supported, contradicted, undecided:

A claim says that a quantity lies in a region: above the smallest effect of interest, below it, or
between two margins. The population mean θ of the quantity over seeds is tested against the region's
ends, one test per end and direction:

    p_for      a test of "θ is outside", the larger of both ends' (two one-sided tests)
    p_against  a test of "θ is inside", the smaller of both ends'

p = 2 min(p_for, p_against) is below .05 exactly if the 95% interval of θ lies on one side of the
region's end. What is neither shown nor refuted stays undecided: too few seeds never support "no
difference", nor does a difference too small to matter support "more".
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy  # scipy.stats, which takes long to import, is loaded when it is used

from reinstate.analysis.results import CheckRow, ChoiceWeight, OverSeeds, Verdict

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


def tolerance(values: Any, share: float = 0.9) -> Floats | None:
    """Return the range that holds a share of single runs, with 95% confidence; none of one seed.

    For normally distributed runs, x̄ ± k s with Howe's (1969) factor,
    k = z_((1 + share) / 2) √((n − 1)(1 + 1/n) / χ²), χ² the 5% quantile with n − 1 degrees.
    """
    values = np.asarray(values, dtype=float)
    n = len(values)
    if n < 2:
        return None
    spread = (n - 1) * (1 + 1 / n) / scipy.stats.chi2.ppf(1 - CONFIDENCE, n - 1)
    half = scipy.stats.norm.ppf((1 + share) / 2) * math.sqrt(spread) * values.std(axis=0, ddof=1)
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


ALPHA = 0.05
VERDICTS: tuple[Verdict, ...] = ("supported", "contradicted", "undecided")


class Region(NamedTuple):
    """Where a claim says that a quantity lies."""

    low: float = -math.inf
    high: float = math.inf


class Evidence(NamedTuple):
    """What seeds say of a claim."""

    value: float
    ci95: list[float] | None  # none of a single seed
    p_for: float  # small: the quantity lies in the region
    p_against: float  # small: it lies outside
    seeds: int

    @property
    def p(self) -> float:
        """Two-sided p against the end of the region that matters."""
        return min(1.0, 2 * min(self.p_for, self.p_against))


def judge_mean(per_seed: Any, region: Region) -> Evidence:
    """Test the mean over seeds by Student's t; differences between agents come seed by seed."""
    values = np.asarray(per_seed, dtype=float)
    if values.ndim != 1:
        raise ValueError(f"a claim is about one number per seed, not about {list(values.shape)}")
    ends = student(values)
    if ends is None or not np.isfinite(values).all():  # what a seed lacks decides nothing
        return Evidence(float(values.mean()), None, 1.0, 1.0, len(values))
    p = _weighed(region, lambda end: _against(values, end))
    return Evidence(float(values.mean()), ends.tolist(), *p, len(values))


def _weighed(
    region: Region, against: Callable[[float], tuple[float, float]]
) -> tuple[float, float]:
    """Return p_for and p_against, of a test of each end of the region in both directions."""
    above_low, below_low = (0.0, 1.0) if math.isinf(region.low) else against(region.low)
    above_high, below_high = (1.0, 0.0) if math.isinf(region.high) else against(region.high)
    return max(above_low, below_high), min(below_low, above_high)


def _against(values: Any, end: float) -> tuple[float, float]:
    """Return p of two tests: that the mean is not above `end`, and that it is not below."""
    n, apart = len(values), float(values.mean()) - end
    error = float(values.std(ddof=1)) / math.sqrt(n)
    if error > 1e-12 * max(abs(end), 1.0):
        return float(scipy.stats.t.sf(apart / error, n - 1)), float(
            scipy.stats.t.cdf(apart / error, n - 1)
        )
    if abs(apart) < 1e-9:
        return 0.5, 0.5
    # Equal seeds have no spread for t: that all lie on one side is a sign test.
    one_side = 0.5**n
    return (one_side, 1 - one_side) if apart > 0 else (1 - one_side, one_side)


def judge_rate(hits: Sequence[bool], region: Region) -> Evidence:
    """Test the share of seeds that hit, by the exact binomial test."""
    k, n = sum(map(bool, hits)), len(hits)

    def against(end: float) -> tuple[float, float]:
        return float(scipy.stats.binom.sf(k - 1, n, end)), float(scipy.stats.binom.cdf(k, n, end))

    return Evidence(k / n, exact_rate(k, n), *_weighed(region, against), n)


def judge_all(parts: Sequence[Evidence]) -> Evidence:
    """Test whether every one of several quantities lies in its region; show the weakest.

    All of them have to be shown for it, at no cost; to refute one of k costs a factor k.
    """
    weakest = max(parts, key=lambda part: (part.p_for, -part.p_against))
    p_against = min(1.0, len(parts) * min(part.p_against for part in parts))
    return weakest._replace(p_against=p_against)


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p for being one of several, after Holm (1979).

    The i-th smallest of m is multiplied by m − i + 1, and none may fall below the one before.
    """
    adjusted, largest = [0.0] * len(p), 0.0
    for rank, place in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        largest = max(largest, min(1.0, (len(p) - rank) * p[place]))
        adjusted[place] = largest
    return adjusted


def with_verdicts(rows: Sequence[CheckRow]) -> list[CheckRow]:
    """Add verdicts to rows that are tested together.

    Of the paper's claims Holm's adjusted p decides; ours are each tested alone.
    """
    adjusted = iter(holm([row["p"] for row in rows if row["paper"]]))
    found: list[CheckRow] = []
    for row in rows:
        p_holm = next(adjusted) if row["paper"] else None
        p = row["p"] if p_holm is None else p_holm
        found.append({**row, "p_holm": p_holm, "verdict": _verdict(p, row)})
    return found


def _verdict(p: float, row: CheckRow) -> Verdict:
    if p > ALPHA:
        return "undecided"
    low, high = row["region"]
    inside = (low is None or row["value"] >= low) and (high is None or row["value"] <= high)
    return "supported" if inside else "contradicted"


def count_verdicts(rows: Sequence[CheckRow]) -> dict[str, int]:
    """Count the paper's claims, and how many got each verdict; ours are only counted."""
    paper = [row for row in rows if row["paper"]]
    counts: dict[str, int] = {
        each: sum(row["verdict"] == each for row in paper) for each in VERDICTS
    }
    return {"claims": len(paper), **counts, "ours": len(rows) - len(paper)}


def in_words(counts: Mapping[str, float]) -> str:
    """Say how the paper's claims fared: `38 of 42 claims of the paper supported, 3 …`."""
    if not counts["claims"]:
        return "no claim of the paper tested"
    supported, *others = ((counts[each], each) for each in VERDICTS)
    rest = "".join(f", {number} {each}" for number, each in others if number)
    return f"{supported[0]} of {counts['claims']} claims of the paper supported{rest}"
