"""How often verdicts are wrong, by simulation: with few seeds and many, normal and in two heaps.

A verdict is wrong if it supports a claim whose quantity lies outside its region, or contradicts one
whose quantity lies inside. Both are likeliest where the quantity lies at the region's end, so that
is what is simulated: each may happen 2.5 times in 100 there. (A region with two ends can be missed
on either side, so that contradictions approach 5 in 100 as the spread hides its width.)
"""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from reinstate.analysis.results import CheckRow
from reinstate.analysis.verdicts import (
    ALPHA,
    Evidence,
    Region,
    evaluation_error,
    holm,
    judge_all,
    judge_mean,
    judge_rate,
    over_seeds,
    with_verdicts,
)
from reinstate.runs import conclusions
from reinstate.runs.experiment import Check

REPETITIONS = 20_000
NOISE = 4 * math.sqrt(ALPHA / 2 / REPETITIONS)  # of a simulated error rate: .0045
LIMIT = ALPHA / 2 + NOISE
AT_LEAST, AT_MOST, WITHIN = Region(low=0.0), Region(high=0.0), Region(-1.0, 1.0)

every_n = pytest.mark.parametrize("n", [3, 5, 10, 30])


def normal(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


class Judged(NamedTuple):
    """Both p of many claims at once: a vectorised twin of what makes Evidence."""

    p_for: Any
    p_against: Any

    @property
    def p(self) -> Any:
        return np.minimum(1, 2 * np.minimum(self.p_for, self.p_against))

    @property
    def supported(self) -> Any:
        return (self.p <= ALPHA) & (self.p_for < self.p_against)

    @property
    def contradicted(self) -> Any:
        return (self.p <= ALPHA) & (self.p_against < self.p_for)


def judge_means(seeds: Any, region: Region) -> Judged:
    """Judge every column of (seeds, …)."""

    def p(end: float, side: str) -> Any:
        if math.isinf(end):
            return np.full(seeds.shape[1:], float((side == "greater") == (end > 0)))
        return stats.ttest_1samp(seeds, end, alternative=side).pvalue

    low, high = region
    p_for = np.maximum(p(low, "greater"), p(high, "less"))
    return Judged(p_for, np.minimum(p(low, "less"), p(high, "greater")))


def judge_together(columns: Any, region: Region) -> Judged:
    """Judge whether all of k columns lie in a region, (seeds, k, …)."""
    parts = judge_means(columns, region)
    p_against = np.minimum(1, columns.shape[1] * parts.p_against.min(axis=0))
    return Judged(parts.p_for.max(axis=0), p_against)


def verdict(evidence: Evidence, region: Region) -> str:
    row: CheckRow = Check("a claim", evidence, region, "a bound").as_row()
    return with_verdicts([row])[0]["verdict"]


@every_n
@pytest.mark.parametrize("region", [AT_LEAST, AT_MOST, WITHIN], ids=["least", "most", "within"])
def test_the_twin_says_what_the_rules_say(n: int, region: Region) -> None:
    def said(found: Judged, of: int) -> str:
        return (
            "supported"
            if found.supported[of]
            else ("contradicted" if found.contradicted[of] else "undecided")
        )

    seeds = 0.5 * normal(n, 2, 30) + np.linspace(-2, 2, 30)
    alone, together = judge_means(seeds[:, 0], region), judge_together(seeds, region)
    for of in range(30):
        parts = [judge_mean(column, region) for column in seeds[:, :, of].T]
        whole = judge_all(parts)
        assert parts[0].p == pytest.approx(alone.p[of], rel=1e-9)
        assert whole.p == pytest.approx(together.p[of], rel=1e-9)
        assert verdict(parts[0], region) == said(alone, of)
        assert verdict(whole, region) == said(together, of)


# One claim about normal seeds


@every_n
@pytest.mark.parametrize("region", [AT_LEAST, AT_MOST], ids=["at least", "at most"])
def test_at_the_end_of_the_region_either_error_is_made_in_one_of_forty(
    n: int, region: Region
) -> None:
    found = judge_means(normal(n, REPETITIONS), region)
    assert found.supported.mean() == pytest.approx(ALPHA / 2, abs=NOISE)
    assert found.contradicted.mean() == pytest.approx(ALPHA / 2, abs=NOISE)


@every_n
@pytest.mark.parametrize("end", [-1.0, 1.0])
@pytest.mark.parametrize(("spread", "most"), [(0.1, 0.025), (1, 0.025), (10, 0.05)])
def test_equivalence_at_either_margin(n: int, end: float, spread: float, most: float) -> None:
    found = judge_means(end + spread * normal(n, REPETITIONS), WITHIN)
    assert found.supported.mean() <= LIMIT
    assert found.contradicted.mean() <= most + NOISE


@pytest.mark.parametrize("n", [3, 5, 10])
def test_few_seeds_far_apart_support_no_equivalence(n: int) -> None:
    """Though the mean lies in the middle: at a spread of three margins the interval never fits."""
    assert judge_means(3 * normal(n, REPETITIONS), WITHIN).supported.mean() < 0.004


@pytest.mark.parametrize(
    ("region", "truth"),
    [(AT_LEAST, 1.5), (AT_MOST, -1.5), (WITHIN, 0.0), (WITHIN, 2.5), (AT_LEAST, -1.5)],
)
def test_with_more_seeds_a_clear_effect_is_undecided_no_more(region: Region, truth: float) -> None:
    inside = region.low <= truth <= region.high
    undecided = []
    for n in (3, 5, 10, 30):
        found = judge_means(truth + normal(n, REPETITIONS), region)
        wrong = found.contradicted if inside else found.supported
        undecided.append(1 - (found.supported | found.contradicted).mean())
        assert wrong.mean() < 0.002
    assert undecided == sorted(undecided, reverse=True)
    assert undecided[0] > 0.6 and undecided[-1] < 0.002


def test_too_small_an_effect_supports_nothing() -> None:
    """A lead of .0003, ever so sure: more than nothing, and less than what counts."""
    lead = 0.0003 + 0.00001 * normal(30)
    assert verdict(judge_mean(lead, Region(low=0.0)), Region(low=0.0)) == "supported"
    assert verdict(judge_mean(lead, Region(low=0.1)), Region(low=0.1)) == "contradicted"


# Seeds in two heaps


@pytest.mark.parametrize(("n", "error"), [(3, 0.71), (5, 0.59), (10, 0.35), (30, 0.09)])
def test_a_mean_over_two_heaps_is_supported_wrongly(n: int, error: float) -> None:
    """Nine in ten earn 7.8 and one 2.8. Where all of a few learn, they agree on too much."""
    learns = np.random.default_rng(1).uniform(size=(n, REPETITIONS)) < 0.9
    rewards = np.where(learns, 7.8, 2.8) + 0.1 * normal(n, REPETITIONS)
    found = judge_means(rewards, Region(low=0.9 * 7.8 + 0.1 * 2.8))
    assert found.supported.mean() == pytest.approx(error, abs=0.02)


@every_n
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_rates_keep_both_errors(n: int, rate: float) -> None:
    """Not simulated: all outcomes are gone through, with their probabilities."""
    for region in (Region(low=rate), Region(high=rate)):
        outcomes = [
            verdict(judge_rate([True] * k + [False] * (n - k), region), region)
            for k in range(n + 1)
        ]
        for wrong in ("supported", "contradicted"):
            those = np.array([each == wrong for each in outcomes])
            assert stats.binom.pmf(np.arange(n + 1), n, rate) @ those <= ALPHA / 2 + 1e-12


# Several at once


def stages(n: int, of: int, repetitions: int) -> Any:
    """Numbers of one agent, (seeds, of, …): a seed that is high in one is so in all."""
    return 0.6 * normal(n, 1, repetitions) + 0.8 * normal(n, of, repetitions, seed=1)


@every_n
def test_all_of_three_stages(n: int) -> None:
    at_the_end = stages(n, 3, REPETITIONS)
    inside = np.array([0.0, 9.0, 9.0])[:, None]
    for seeds in (at_the_end, at_the_end + inside):
        found = judge_together(seeds, AT_LEAST)
        assert found.supported.mean() <= LIMIT and found.contradicted.mean() <= LIMIT
    # Had each of them been free to refute, one would have done so more often.
    free = judge_means(at_the_end, AT_LEAST).contradicted.any(axis=0)
    assert free.mean() > 0.06


CLAIMS = 16  # as many as the paper makes of Experiment 2


@every_n
@pytest.mark.parametrize("true", [0, 8])
def test_holm_keeps_the_error_of_all_claims_together(n: int, true: int) -> None:
    """All at the end of their region, but for those that are true by far."""
    repetitions = REPETITIONS // 5
    truth = np.where(np.arange(CLAIMS) < true, 9.0, 0.0)
    p = judge_means(stages(n, CLAIMS, repetitions) + truth[:, None], AT_LEAST).p  # (claims, …)
    adjusted = np.array([holm(each) for each in p.T]).T
    at_least_one = [np.mean((each[true:] <= ALPHA).any(axis=0)) for each in (p, adjusted)]
    assert at_least_one[0] > 0.28  # each alone
    assert at_least_one[1] <= ALPHA + 4 * math.sqrt(ALPHA / repetitions)


@every_n
def test_false_alarms_are_rare_with_the_evaluation_s_own_error(n: int) -> None:
    """Agents that earn the very best on average, judged on ten epochs: all spread is luck."""
    epochs = 10
    rewards = normal(n, epochs, REPETITIONS)
    means = rewards.mean(axis=1)
    spread = means.std(axis=0, ddof=1) / math.sqrt(n)
    error = np.sqrt(np.sum(rewards.var(axis=1, ddof=1) / epochs, axis=0)) / n
    alarm = means.mean(axis=0) > conclusions.ALARM * np.maximum(spread, error)
    assert alarm.mean() < 0.0005
    if n == 3:  # judged by their spread alone, seeds that happen to agree would raise many
        many = np.mean(means.mean(axis=0) > conclusions.ALARM * spread)
        assert many == pytest.approx(0.029, abs=0.005)
    for each in [*np.flatnonzero(alarm), *range(20)]:
        one = rewards[:, :, each]
        summary: Any = over_seeds(one.mean(axis=1) + 5, evaluation_error(one))
        found = conclusions.alarms({"l2rl": {"reward": summary}}, {}, {"l2rl": 5.0})
        assert bool(found) == alarm[each]
