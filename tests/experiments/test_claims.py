"""What claims are made of: numbers per seed, regions, words; and alarms, where theory rules out."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import reinstate_paper
from made_up import columns, judged, near
from reinstate.analysis.verdicts import Region, over_seeds
from reinstate.runs import conclusions
from reinstate.runs.conclusions import conclude
from reinstate.runs.experiment import EXPERIMENTS, Check, no_checks
from reinstate_paper import claims, margins

OPTIMUM = {"chance": 1.8, "without_memory": 4.4, "with_memory": 8.4}


def verdict(check: Check) -> str:
    return judged([check])[check.claim]


def agents(**rewards: Any) -> Any:
    return {name.replace("_", "-"): {"reward": each} for name, each in rewards.items()}


# Numbers per seed


def test_agents_are_compared_seed_by_seed() -> None:
    """They are judged on the same tasks: what is hard for one is hard for the other."""
    tasks = np.array([-3.0, -1.0, 0.0, 1.0, 3.0])
    lead = np.array([1.0, 1.1, 0.9, 1.05, 0.95])
    both = agents(a=over_seeds(6 + tasks + lead), b=over_seeds(6 + tasks))
    check = claims.outperforms(both, "a", "b", OPTIMUM)
    assert check.evidence.value == pytest.approx(1.0)
    assert check.evidence.ci95 == pytest.approx([0.902, 1.098], abs=1e-3)
    assert check.claim == "a outperforms b (lead in reward per episode)"
    assert verdict(check) == "supported"
    assert verdict(claims.no_better(both, "a", "b", OPTIMUM)) == "contradicted"
    assert verdict(claims.no_better(both, "b", "a", OPTIMUM)) == "supported"


def with_seeds(seeds: list[int], rewards: Any, **more: Any) -> Any:
    return {"seeds": seeds, "reward": over_seeds(rewards), **more}


def test_agents_are_paired_by_the_seeds_that_both_have() -> None:
    """In whichever order each of them has its own."""
    both = {
        "a": with_seeds([7, 3, 5, 4], [6.7, 6.3, 9.9, 6.4]),
        "b": with_seeds([3, 4, 6, 7], [5.3, 5.3, 0.0, 5.8]),
    }
    np.testing.assert_allclose(claims.lead(both, "a", "b"), [0.9, 1.0, 1.1])  # of 7, 3 and 4
    np.testing.assert_allclose(claims.lead(both, "b", "a"), [-1.0, -1.1, -0.9])
    check = claims.outperforms(both, "a", "b", OPTIMUM)
    assert check.evidence.value == pytest.approx(1.0) and check.evidence.seeds == 3


def test_agents_that_share_no_seed_are_not_compared() -> None:
    apart = {"a": with_seeds([0, 1], [8.0, 8.1]), "b": with_seeds([2, 3], [4.0, 4.1])}
    compared = [
        claims.outperforms(apart, "a", "b", OPTIMUM),
        claims.no_better(apart, "a", "b", OPTIMUM),
        claims.exceeds(apart, "a", OPTIMUM),
    ]
    (alone,) = claims.of_section("4.9", compared)
    assert alone.claim.startswith("a earns more than any agent without")


def test_falls_are_relative_and_of_each_seed() -> None:
    regret = over_seeds([[1.0, 0.5, 0.4], [5.0, 2.4, 2.4], [9.0, 4.6, 0.0]])
    (fall,) = claims.falls("a fall", regret)
    falls = [0.5, 0.52, 1 - 4.6 / 9]
    assert fall.evidence.value == pytest.approx(np.mean(falls)) and fall.region.low == 0.1
    assert verdict(fall) == "supported"
    (last,) = claims.falls("a fall", regret, 2, -1, margins.MUCH)
    assert last.evidence.value == pytest.approx(np.mean([0.2, 0, 1])) and last.region.low == 0.5
    (never,) = claims.does_not_fall("no fall", regret)
    assert never.evidence.value == pytest.approx(np.mean([0.6, 0.52, 1]))
    assert never.region == Region(high=0.1) and verdict(never) == "undecided"
    (throughout,) = claims.falls_throughout("falls", regret)
    assert throughout.evidence.value == last.evidence.value and verdict(throughout) == "undecided"


def test_what_was_not_met_cannot_fall() -> None:
    once, twice = over_seeds([[1.0], [2.0]]), over_seeds([[1.0, 0.5]] * 2)
    assert claims.falls("a fall", once) == claims.does_not_fall("no fall", once) == []
    assert claims.falls("a fall", twice, 2, -1) == claims.falls_throughout("falls", once) == []
    (nothing,) = claims.falls("a fall", over_seeds([[0.0, 0.0], [0.0, 0.0]]))
    assert nothing.evidence.value == 0.0


@pytest.mark.parametrize(
    ("excess", "expected"),
    [
        ([0.74, 0.75, 0.76], "contradicted"),
        ([0.2, 0.75, 1.3], "undecided"),
        ([0.0, 0.01, -0.01], "supported"),
        ([-3.0, -3.1, -2.9], "supported"),  # better is no failure
    ],
)
def test_three_seeds_that_play_worse_than_an_algorithm(excess: Any, expected: str) -> None:
    both = 4.6 + np.array(excess), [4.6] * 3
    check = claims.on_par("no worse than Gittins", *both, OPTIMUM)
    assert check.region == pytest.approx((-math.inf, 0.26)) and verdict(check) == expected


@pytest.mark.parametrize(
    ("excess", "expected"),
    [
        ([0.74, 0.75, 0.76], "contradicted"),
        ([-0.74, -0.75, -0.76], "contradicted"),  # better is unlike too
        ([-0.2, -0.75, -1.3], "undecided"),
        ([-0.02, -0.04, -0.03], "supported"),
    ],
)
def test_three_seeds_that_play_like_an_algorithm(excess: Any, expected: str) -> None:
    both = 4.6 + np.array(excess), [4.6] * 3
    check = claims.plays_like("like Gittins", *both, OPTIMUM)
    assert check.region == pytest.approx((-0.26, 0.26)) and verdict(check) == expected
    assert check.bound.startswith("within ± 0.260: a tenth of")


@pytest.mark.parametrize(
    ("seeds", "share", "expected"),
    [
        ([1.79, 7.9, 8.0], 1 / 3, "undecided"),
        ([1.81, 1.82, 1.83], 1.0, "undecided"),
        ([1.82] * 20, 1.0, "supported"),
        ([0.5] * 20, 1.0, "supported"),  # below chance is not above it
        ([1.82] * 3 + [7.9] * 17, 0.15, "contradicted"),
        ([2.0] * 20, 1.0, "supported"),
        ([2.1] * 20, 0.0, "contradicted"),  # a tenth of the way is at 2.06
    ],
)
def test_at_chance_counts_seeds(seeds: list[float], share: float, expected: str) -> None:
    (check,) = claims.memory_as_input(agents(epl2rl_input=over_seeds(seeds)), OPTIMUM)
    assert check.evidence.value == pytest.approx(share) and verdict(check) == expected
    assert check.paper and check.bound.startswith("at least half, with reward 2.060 or less")
    assert claims.memory_as_input(agents(epl2rl=over_seeds(seeds)), OPTIMUM) == []


@pytest.mark.parametrize(
    ("seeds", "lacks", "expected"),
    [
        ([8.08, 8.12], 0.0, "supported"),
        ([4.1, 4.3], 0.975, "contradicted"),
        ([8.1], 0.0, "undecided"),
    ],
)
def test_a_compressed_memory_may_do_as_well(
    seeds: list[float], lacks: float, expected: str
) -> None:
    """Of what epL2RL gains over the better agent without a memory, 8.1 − 4.1, it lacks a tenth."""
    rewards = {"l2rl": [3.9, 4.1], "l2rl-context": [4.0, 4.2], "epl2rl": [8.0, 8.2]}
    rewards["epl2rl-input-4"] = seeds
    found: Any = {name: {"reward": over_seeds(each)} for name, each in rewards.items()}
    (check,) = claims.memory_as_input(found, OPTIMUM)
    assert check.claim == "epl2rl-input-4 does as well as the r-gate (lacks)" and not check.paper
    assert check.evidence.value == pytest.approx(lacks) and verdict(check) == expected
    for missing in (("epl2rl",), ("l2rl", "l2rl-context")):
        kept = {name: agent for name, agent in found.items() if name not in missing}
        assert claims.memory_as_input(kept, OPTIMUM) == []


# Recognition: our own claims


def recognising(lead: float = 0.3, area: float = 0.8, spread: float = 0.001) -> Any:
    """The paper's agent, and one that earns more and whose gate has this area under the ROC."""

    def agent(reward: float, area: float) -> Any:
        exposures = {"reward": columns(reward - 3.4, 9.0)}
        told = {"r_gate": {"auc": near(area, spread)}}
        return {"reward": near(reward, spread), "by_exposure": exposures, "familiarity": told}

    return {"epl2rl": agent(8.0, 0.5), "epl2rl-recognition": agent(8.0 + lead, area)}


LEAD = "epl2rl-recognition earns more than epl2rl (lead in reward per episode)"
TELLS = "epl2rl-recognition's r-gate tells known contexts from new ones (area under the ROC)"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (recognising(), ["supported", "supported"]),
        (recognising(lead=0.05, area=0.76), ["supported", "supported"]),
        (recognising(lead=0.03, area=0.74), ["contradicted", "contradicted"]),  # of .04 and .75
        (recognising(spread=3.0), ["undecided", "undecided"]),
    ],
)
def test_what_recognition_is_worth_and_whether_its_gate_tells(found: Any, expected: Any) -> None:
    checks = claims.recognition(found, OPTIMUM)
    assert judged(checks) == dict(zip([LEAD, TELLS], expected, strict=True))
    assert [check.region.low for check in checks] == pytest.approx([0.04, 0.75])
    assert [check.bound for check in checks] == [
        "at least 0.040: a hundredth of the gap between the best possible with and without"
        " episodic memory",
        "at least 0.75: half of the way from chance (.5) to certainty (1)",
    ]
    assert not any(check.paper for check in checks)


def test_recognition_is_spoken_of_where_it_was_run() -> None:
    found = recognising()
    paper, own = found["epl2rl"], found["epl2rl-recognition"]
    for claimed in (claims.recognition, claims.no_worse, claims.rules_out):
        assert claimed({"epl2rl": paper}, OPTIMUM) == []
    alone = {"epl2rl-recognition": own}
    assert [*judged(claims.recognition(alone, OPTIMUM))] == [TELLS]
    assert claims.no_worse(alone, OPTIMUM) == []
    # Of an agent that was judged before gates were, reward alone is known.
    tellings: list[Any] = [None, {"similarity": {}}]
    for told in tellings:
        judged_before = {"reward": own["reward"], "familiarity": told}
        before = {"epl2rl": paper, "epl2rl-recognition": judged_before}
        assert [*judged(claims.recognition(before, OPTIMUM))] == [LEAD]


@pytest.mark.parametrize(
    ("lead", "expected"), [(0.3, "supported"), (-0.03, "supported"), (-0.05, "contradicted")]
)
def test_no_worse_by_more_than_a_hundredth_of_the_gap(lead: float, expected: str) -> None:
    (check,) = claims.no_worse(recognising(lead), OPTIMUM)
    assert check.region == pytest.approx((-0.04, np.inf)) and verdict(check) == expected
    assert (
        check.claim == "epl2rl-recognition earns no less than epl2rl (lead in reward per episode)"
    )
    assert check.bound.startswith("at least -0.0400: a hundredth of the gap")


@pytest.mark.parametrize(
    ("lead", "first", "expected"),
    [(0.0, 4.6, "supported"), (-0.15, 4.45, "supported"), (-0.17, 4.43, "contradicted")],
)
def test_arms_of_other_contexts_are_ruled_out(lead: float, first: float, expected: str) -> None:
    """On first exposures nobody without a memory earns more than 4.4."""
    (check,) = claims.rules_out(recognising(lead), OPTIMUM)
    assert check.evidence.value == pytest.approx(first - 4.4) and verdict(check) == expected
    assert check.region == pytest.approx((0.04, np.inf))
    assert check.claim.startswith("epl2rl-recognition earns more on first exposures than any agent")


# Margins and words


@pytest.mark.parametrize(
    ("reward", "alarmed"),
    [
        (over_seeds([4.5, 4.6, 4.7]), False),  # .2 above, with a standard error of .058
        (over_seeds([4.6, 4.65, 4.7]), True),  # .25 above, with one of .029
        (over_seeds([4.6, 4.65, 4.7], error=0.07), False),  # which its evaluation alone exceeds
        (over_seeds([4.6, 4.65, 4.7], error=0.06), True),
        (over_seeds([4.65], error=0.06), True),
        (over_seeds([4.65]), False),  # who knows
        (over_seeds([4.3, 4.3, 4.4]), False),
    ],
)
def test_more_than_is_possible_by_four_standard_errors(reward: Any, alarmed: bool) -> None:
    found = conclusions.alarms(agents(l2rl=reward), OPTIMUM, {"l2rl": 4.4})
    assert bool(found) == alarmed
    assert conclusions.alarms(agents(l2rl=reward), OPTIMUM, {"l2rl": None}) == []
    assert conclusions.alarms(agents(l2rl=reward), OPTIMUM, {}) == []


@pytest.mark.parametrize("name", reinstate_paper.PAPER_EXPERIMENTS)
def test_every_experiment_alarms_of_what_each_kind_of_agent_cannot_earn(name: str) -> None:
    """Whoever remembers may earn more than is possible without, and nobody more than with."""
    found = agents(epl2rl=near(7.9), epl2rl_input=near(8.1), l2rl=near(4.1), l2rl_context=near(3.9))
    measured: Any = {
        "agents": {n: {**a, "remembers": n.startswith("epl2rl")} for n, a in found.items()},
        "optimum": {"without_memory": 4.0, "with_memory": 8.0, "own_memory": 6.0},
        "baselines": {},
    }
    found = conclude(replace(EXPERIMENTS[name], checks=no_checks), measured)
    assert [alarm.partition(" ")[0] for alarm in found["alarms"]] == ["epl2rl-input", "l2rl"]
    shares = {n: agent["share_of_ceiling"] for n, agent in found["agents"].items()}
    expected = {"epl2rl": 7.9 / 8, "epl2rl-input": 8.1 / 8, "l2rl": 4.1 / 4, "l2rl-context": 0.975}
    assert shares == pytest.approx(expected)


def test_without_an_optimum_nothing_is_claimed() -> None:
    cued = {"reward": near(0.7), "cued": near(0.7), "remembers": False}
    measured: Any = {
        "agents": {"l2rl-context": cued, "epl2rl-input": dict(cued)},
        "optimum": {"unavailable": "cues are not drawn uniformly"},
        "baselines": {},
    }
    found = conclude(EXPERIMENTS["two-step"], measured)
    assert not found["checks"] and not found["alarms"]
    assert found["agents"]["l2rl-context"]["share_of_ceiling"] is None
