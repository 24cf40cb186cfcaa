"""Verdicts on made-up seeds, and their p against scipy's tests; error rates are simulated apart."""

import math

import numpy as np
import pytest
from scipy import stats

from reinstate.analysis.results import CheckRow
from reinstate.analysis.verdicts import (
    Evidence,
    Region,
    count_verdicts,
    holm,
    in_words,
    judge_all,
    judge_mean,
    judge_rate,
    with_verdicts,
)
from reinstate.runs.experiment import Check

AT_LEAST, AT_MOST, WITHIN = Region(low=1.0), Region(high=1.0), Region(-1.0, 1.0)
RNG = np.random.default_rng(0)


def row(evidence: Evidence, region: Region, paper: str = "") -> CheckRow:
    return Check("a claim", evidence, region, "a bound", paper=paper).as_row()


def verdict(evidence: Evidence, region: Region) -> str:
    """The verdict on a claim that is judged alone."""
    (found,) = with_verdicts([row(evidence, region)])
    return found["verdict"]


# Means


def test_p_of_a_mean_is_that_of_the_t_test() -> None:
    for n, mean in ((2, 1.5), (3, 0.2), (10, 1.3), (30, -0.8)):
        values = RNG.normal(mean, 1, n)
        greater, less = (
            {end: float(stats.ttest_1samp(values, end, alternative=side).pvalue) for end in (-1, 1)}
            for side in ("greater", "less")
        )
        found = [judge_mean(values, region) for region in (AT_LEAST, AT_MOST, WITHIN)]
        assert [each.p_for for each in found] == pytest.approx(
            [greater[1], less[1], max(greater[-1], less[1])], rel=1e-9
        )
        assert [each.p_against for each in found] == pytest.approx(
            [less[1], greater[1], min(less[-1], greater[1])], rel=1e-9
        )
        both = float(stats.ttest_1samp(values, 1).pvalue)
        assert found[0].p == found[1].p == pytest.approx(both, rel=1e-9)
        assert found[0].value == pytest.approx(values.mean()) and found[0].seeds == n


@pytest.mark.parametrize(
    ("seeds", "at_least", "at_most", "within"),
    [
        ([2.0, 2.1, 2.2], "supported", "contradicted", "contradicted"),
        ([-2.0, -2.1, -2.2], "contradicted", "supported", "contradicted"),
        ([0.1, 0.0, -0.1], "contradicted", "supported", "supported"),
        ([0.9, 1.0, 1.1], "undecided", "undecided", "undecided"),
        ([-3.0, 0.0, 3.0], "undecided", "undecided", "undecided"),  # spread is no agreement
        ([-30.0, 0.0, 3.0], "undecided", "undecided", "undecided"),
        ([5.0, 1.0, 9.0], "undecided", "undecided", "undecided"),
        ([2.0], "undecided", "undecided", "undecided"),
        ([2.0] * 6, "supported", "contradicted", "contradicted"),  # equal: a sign test, 2 / 2**6
        ([0.1] * 6, "contradicted", "supported", "supported"),
        ([2.0] * 5, "undecided", "undecided", "undecided"),
        ([1.0, 1.0, 1.0], "undecided", "undecided", "undecided"),  # on neither side
        ([1.0 + 1e-15] * 3, "undecided", "undecided", "undecided"),  # rounding is no difference
        ([math.nan, 2.0, 2.0], "undecided", "undecided", "undecided"),
    ],
)
def test_verdicts_on_means(seeds: list[float], at_least: str, at_most: str, within: str) -> None:
    found = [verdict(judge_mean(seeds, region), region) for region in (AT_LEAST, AT_MOST, WITHIN)]
    assert found == [at_least, at_most, within]


def test_a_verdict_says_on_which_side_of_the_region_s_end_the_interval_lies() -> None:
    seen = set()
    for _ in range(200):
        values = RNG.normal(RNG.normal(), RNG.uniform(0.05, 1), RNG.integers(2, 12))
        for region in (AT_LEAST, AT_MOST, WITHIN):
            evidence = judge_mean(values, region)
            assert evidence.ci95
            low, high = evidence.ci95
            inside = region.low <= low and high <= region.high
            outside = high < region.low or region.high < low
            expected = "supported" if inside else "contradicted" if outside else "undecided"
            assert verdict(evidence, region) == expected
            seen.add((region, expected))
    assert len(seen) == 9


def test_a_single_seed_tells_nothing() -> None:
    assert judge_mean([5.0], AT_LEAST) == Evidence(5.0, None, 1.0, 1.0, 1)


# Rates


@pytest.mark.parametrize(("k", "n"), [(0, 3), (3, 3), (4, 10), (9, 10), (17, 20), (20, 20)])
def test_p_of_a_rate_is_that_of_the_binomial_test(k: int, n: int) -> None:
    greater, less = (
        {end: float(stats.binomtest(k, n, end, alternative=side).pvalue) for end in (0.2, 0.5, 0.9)}
        for side in ("greater", "less")
    )
    regions = Region(low=0.5), Region(high=0.5), Region(0.2, 0.9)
    found = [judge_rate([True] * k + [False] * (n - k), region) for region in regions]
    assert [each.p_for for each in found] == pytest.approx(
        [greater[0.5], less[0.5], max(greater[0.2], less[0.9])], rel=1e-9
    )
    assert [each.p_against for each in found] == pytest.approx(
        [less[0.5], greater[0.5], min(less[0.2], greater[0.9])], rel=1e-9
    )
    assert all((each.value, each.seeds) == (k / n, n) for each in found)


@pytest.mark.parametrize(
    ("hits", "seeds", "expected"),
    [
        (3, 3, "undecided"),  # p = 2 / 8
        (5, 5, "undecided"),  # 2 / 32
        (6, 6, "supported"),  # 2 / 64
        (20, 20, "supported"),
        (15, 20, "supported"),
        (14, 20, "undecided"),
        (6, 20, "undecided"),
        (5, 20, "contradicted"),
        (0, 6, "contradicted"),
        (0, 3, "undecided"),
    ],
)
def test_whether_most_seeds_do(hits: int, seeds: int, expected: str) -> None:
    region = Region(low=0.5)
    evidence = judge_rate([True] * hits + [False] * (seeds - hits), region)
    assert verdict(evidence, region) == expected
    assert evidence.ci95
    assert (evidence.ci95[0] >= 0.5) == (expected == "supported")
    assert (evidence.ci95[1] <= 0.5) == (expected == "contradicted")


# Several at once


def parts(*pairs: tuple[float, float]) -> list[Evidence]:
    return [Evidence(value, [value, value], p, 1 - p, 3) for value, p in pairs]


def test_of_several_the_weakest_is_shown_and_any_can_refute() -> None:
    found = judge_all(parts((2.0, 0.001), (1.5, 0.02), (1.8, 0.01)))
    assert (found.value, found.p_for, found.p) == (1.5, 0.02, 0.04)
    assert verdict(found, AT_LEAST) == "supported"
    refuted = judge_all(parts((2.0, 0.001), (0.5, 0.992), (1.8, 0.01)))
    assert refuted.value == 0.5 and refuted.p_against == pytest.approx(3 * 0.008)
    assert verdict(refuted, AT_LEAST) == "contradicted"
    hardly = judge_all(parts((2.0, 0.001), (0.5, 0.99), (1.8, 0.01)))  # .01 is one of three
    assert hardly.p_against == pytest.approx(0.03) and verdict(hardly, AT_LEAST) == "undecided"
    assert judge_all(parts((0.9, 0.6), (0.9, 0.6))).p_against == pytest.approx(0.8)
    assert judge_all(parts((1.0, 0.5), (1.0, 0.5), (1.0, 0.5))).p_against == 1.0


def test_the_surest_of_those_that_refute_is_shown() -> None:
    """Both p_for are 1 to all digits that there are."""
    surer, sure = (judge_mean(-far + np.linspace(-1, 1, 10), AT_LEAST) for far in (1e6, 1e5))
    assert sure.p_for == surer.p_for == 1.0
    assert judge_all([sure, surer]).value == judge_all([surer, sure]).value == -1e6


def test_holm_by_hand() -> None:
    """.005 × 4, .01 × 3, .03 × 2, and .04 × 1 may not fall below the .06 before it."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02] and holm([]) == []
    assert holm([0.0, 0.02, 0.02]) == [0.0, 0.04, 0.04]


def test_the_paper_s_claims_are_judged_together_and_ours_alone() -> None:
    def claimed(p: float, value: float, paper: str) -> CheckRow:
        return row(Evidence(value, None, p / 2, 1 - p / 2, 3), AT_LEAST, paper)

    rows = [
        claimed(0.02, 2.0, "so they say"),
        claimed(0.04, 2.0, ""),
        claimed(0.03, 2.0, "and so"),
        claimed(0.001, 0.0, "and this"),
    ]
    found = with_verdicts(rows)
    assert [each["p_holm"] for each in found] == pytest.approx([0.04, None, 0.04, 0.003])
    verdicts = ["supported", "supported", "supported", "contradicted"]
    assert [each["verdict"] for each in found] == verdicts
    more = with_verdicts([*rows, claimed(0.5, 0.9, "a fourth")])
    assert more[0]["verdict"] == more[2]["verdict"] == "undecided"  # .02 × 3 now
    assert with_verdicts(found) == found and "verdict" not in rows[0]
    counts = count_verdicts(more)
    expected = {"claims": 4, "supported": 0, "contradicted": 1, "undecided": 3, "ours": 1}
    assert counts == expected
    words = "0 of 4 claims of the paper supported, 1 contradicted, 3 undecided"
    assert in_words(counts) == words
    assert in_words({**counts, "contradicted": 0, "undecided": 0}) == words.partition(",")[0]
