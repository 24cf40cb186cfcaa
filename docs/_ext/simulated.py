"""How often intervals cover and verdicts err, by the program's own rules: tables for the pages.

Made while the pages are built, from fixed random numbers. Nothing in here needs Sphinx.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from reinstate.analysis.intervals import exact_rate, student
from reinstate.analysis.verdicts import Region, judge_rate

SEEDS = (3, 5, 10, 30)
REPETITIONS = 20_000  # a simulated share is known to ±.003
LEARNED, FAILED, NOISE = 7.8, 2.8, 0.1  # rewards of two heaps, as memory as an input may have

Lines = tuple[list[str], list[list[str]]]


def coverage() -> Lines:
    """Show how often 95% intervals contain what they are about."""
    heaps = ("half of all runs learn", 0.5), ("nine in ten learn", 0.9)
    normal = [_covered(student(_normal(n)), 0.0) for n in SEEDS]
    rows = [["Student's *t*, mean", "normal", *map(_percent, normal)]]
    for name, share in heaps:
        truth = share * LEARNED + (1 - share) * FAILED
        found = [_covered(student(_heaps(n, share)), truth) for n in SEEDS]
        rows.append(["Student's *t*, mean", f"two heaps, {name}", *map(_percent, found)])
    for name, share in heaps:
        exact = [_covered_rate(n, share) for n in SEEDS]
        rows.append(["exact, share of runs that learn", name, *map(_percent, exact)])
    resampled = [_covered(_bootstrap(_normal(n)[:, :2000]), 0.0) for n in SEEDS]
    rows.append(["percentile bootstrap, mean (not used here)", "normal", *map(_percent, resampled)])
    return [
        "interval",
        "seeds",
        *(f"n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{n}" for n in SEEDS),
    ], rows


def verdict_rates() -> Lines:
    """Show how often single claims are supported and contradicted, by where the truth lies."""
    least, within = Region(low=0.0), Region(-1.0, 1.0)
    rows = []
    for what, region, truths in (
        ("mean at least *b*", least, {"at *b*": 0.0, "½ SD above": 0.5, "1 SD above": 1.0}),
        ("mean within ± 1 SD", within, {"at an end": 1.0, "½ SD inside": 0.5, "0": 0.0}),
    ):
        for name, truth in truths.items():
            cells = [_shares(*_by_interval(truth + _normal(n), region)) for n in SEEDS]
            rows.append([what, name, *cells])
    for rate in (0.5, 0.2, 0.05):
        cells = [_shares(*_by_rate(n, rate)) for n in SEEDS]
        rows.append(["share of runs at least ½", f"{rate:g}", *cells])
    return ["claim", "truth", *(f"n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{n}" for n in SEEDS)], rows


def _normal(n: int) -> Any:
    return np.random.default_rng(n).normal(size=(n, REPETITIONS))


def _heaps(n: int, share: float) -> Any:
    learn = np.random.default_rng(100 + n).uniform(size=(n, REPETITIONS)) < share
    return np.where(learn, LEARNED, FAILED) + NOISE * _normal(n)


def _covered(ends: Any, truth: float) -> float:
    return float(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])))


def _bootstrap(values: Any, resamples: int = 1000) -> Any:
    """Return what many report instead: quantiles of the means of seeds drawn with replacement."""
    rng, n = np.random.default_rng(0), len(values)
    means = [values[rng.integers(n, size=n)].mean(axis=0) for _ in range(resamples)]
    return np.quantile(means, [0.025, 0.975], axis=0).T


def _covered_rate(n: int, rate: float) -> float:
    """Return the coverage, not simulated: every number of hits with its probability."""
    return _over_hits(
        n, rate, lambda hits: exact_rate(hits, n)[0] <= rate <= exact_rate(hits, n)[1]
    )


def _by_interval(values: Any, region: Region) -> tuple[float, float]:
    """Return the shares of supported and contradicted, both ends at once: where the interval is."""
    ends = student(values)
    assert ends is not None
    inside = (ends[:, 0] >= region.low) & (ends[:, 1] <= region.high)
    outside = (ends[:, 1] < region.low) | (ends[:, 0] > region.high)
    return float(inside.mean()), float(outside.mean())


def _by_rate(n: int, rate: float) -> tuple[float, float]:
    def judged(hits: int, supported: bool) -> bool:
        found = judge_rate([True] * hits + [False] * (n - hits), Region(low=0.5))
        return found.p <= 0.05 and (found.value >= 0.5) is supported

    supported = _over_hits(n, rate, lambda hits: judged(hits, True))
    return supported, _over_hits(n, rate, lambda hits: judged(hits, False))


def _over_hits(n: int, rate: float, true_of: Callable[[int], bool]) -> float:
    chances = stats.binom.pmf(np.arange(n + 1), n, rate)
    return float(sum(p for hits, p in enumerate(chances) if true_of(hits)))


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"


def _shares(supported: float, contradicted: float) -> str:
    return f"{100 * supported:.1f} / {100 * contradicted:.1f}"
