"""How claims are decided: by what a handful of seeds can say, and in words that say so."""

import json
from typing import Any

import numpy as np
import pytest

from reinstate.analysis.intervals import over_seeds
from reinstate.cli.tables import print_checks
from reinstate.experiments import claims
from reinstate.experiments.barcode_bandits import BARCODE_BANDITS
from reinstate.experiments.base import Check
from reinstate.experiments.water_maze import WATER_MAZE

LOW, HIGH = [0.0, 1.0, 2.0], [3.0, 4.0, 5.0]


@pytest.mark.parametrize(
    ("a", "b", "paired", "holds", "how"),
    [
        (HIGH, LOW, False, True, "p = .05 (permutation of 3 and 3 seeds, the smallest possible)"),
        (HIGH, LOW, True, True, "p = .125 (sign flips of 3 seeds, the smallest possible)"),
        # One seed of three on the wrong side: 2 of 20 deals do as well, or 2 of 8 flips.
        ([1.9, 4, 5], LOW, False, False, "p = .1 (permutation of 3 and 3 seeds)"),
        ([-0.5, 4, 5], LOW, True, False, "p = .25 (sign flips of 3 seeds)"),
        ([5.0] * 5, [1.0] * 5, False, True, "p = .004 (permutation of 5 and 5 seeds, the small"),
        (np.arange(10.0) + 3, np.arange(10.0), False, True, "p = .02"),
        (np.arange(10.0) + 1, np.arange(10.0), False, False, "p = .25"),
        (np.arange(10.0) + 30, np.arange(10.0), False, True, "p < .001 (permutation of 10 and 10"),
        (LOW, HIGH, False, False, "p = 1 (permutation of 3 and 3 seeds)"),
        ([2.0], [1.0], False, True, "(one seed a side cannot tell)"),
        ([1.0], [2.0], True, False, "(one seed a side cannot tell)"),
        ([1.0], [1.0], False, False, "(one seed a side cannot tell)"),
    ],
)
def test_more(a: Any, b: Any, paired: bool, holds: bool, how: str) -> None:
    check = claims.more("a claim", a, b, paired=paired, section="4.9", paper="so they say")
    assert check.holds is holds and check.value == pytest.approx(np.mean(a) - np.mean(b))
    assert check.bound.startswith("> 0") and how in check.bound
    assert (check.section, check.paper, check.share) == ("4.9", "so they say", None)
    assert (check.ci95 is None) == (len(a) == 1)
    opposite = claims.no_more("a claim", a, b, paired=paired)
    assert opposite.holds is not holds and opposite.bound.startswith("<= 0 but for chance")
    json.dumps([check._asdict(), opposite._asdict()], allow_nan=False)


@pytest.mark.parametrize(
    ("seeds", "above", "within", "at_least", "at_most"),
    [
        ([2.1, 2.2, 2.3], True, False, True, False),
        ([2.0, 2.2, 2.3], False, True, True, False),
        ([1.9, 2.2, 2.3], False, True, False, False),  # what lies above may be noise
        ([1.8, 1.9, 2.0], False, True, False, True),
        ([2.1], True, False, True, False),
        ([1.9], False, True, False, True),
    ],
)
def test_against_a_constant(
    seeds: list[float], above: bool, within: bool, at_least: bool, at_most: bool
) -> None:
    found = [
        make("a claim", over_seeds(seeds), 2.0)
        for make in (claims.above, claims.within, claims.at_least, claims.at_most)
    ]
    assert [check.holds for check in found] == [above, within, at_least, at_most]
    assert all(type(check.holds) is bool and type(check.value) is float for check in found)
    if len(seeds) == 1:
        assert all(c.ci95 is None and "one seed cannot tell" in c.bound for c in found)
    else:
        assert all(c.ci95 == [min(seeds), max(seeds)] for c in found)
        assert found[0].bound == "> 2.000 for the low end (bootstrap of 3 seeds)"
        assert found[3].bound == "<= 2.000 for the high end (bootstrap of 3 seeds)"


def test_recorded_seeds_decide_and_not_the_interval_recorded_beside_them() -> None:
    """So results of an earlier version, whose intervals were others, can be judged again."""
    summary = over_seeds([2.1, 2.2, 2.3]) | {"ci95": [1.0, 3.4]}
    assert claims.above("a claim", summary, 2.0).holds


@pytest.mark.parametrize(
    ("p", "text"), [(1, "p = 1"), (0.05, "p = .05"), (0.1, "p = .1"), (0.0123, "p = .012"),
                    (0.001, "p = .001"), (1e-9, "p < .001")]
)  # fmt: skip
def test_p_in_words(p: float, text: str) -> None:
    assert claims.written(p) == text


def test_falls_compares_each_seed_with_itself() -> None:
    apart = over_seeds([[1.0, 0.9, 0.5], [5.0, 4.9, 5.5], [9.0, 8.9, 9.5]])
    (fall,) = claims.falls("a fall", apart)
    assert fall.holds and fall.value == pytest.approx(0.1) and "sign flips" in fall.bound
    falling = over_seeds([[1.0, 0.9], [5.0, 4.9], [9.0, 8.9]])
    assert claims.does_not_fall("no fall", falling)[0].holds is False
    (last,) = claims.falls("a fall", apart, 2, -1)
    assert not last.holds and claims.does_not_fall("no fall", apart)[0].holds
    once = over_seeds([[1.0], [2.0]])
    assert claims.falls("a fall", once) == claims.does_not_fall("no fall", once) == []
    assert claims.falls("a fall", over_seeds([[1.0, 0.5]] * 2), 2, -1) == []


def seeds(*values: float) -> dict[str, Any]:
    return {"reward": over_seeds(values), "share_of_ceiling": 0.9}


AGENTS: dict[str, Any] = {
    "epl2rl": {
        **seeds(8.0, 8.1, 8.2),
        "by_exposure": {"regret": over_seeds([[5.0, 1.0], [5.1, 1.1], [5.2, 1.2]])},
    },
    "l2rl": seeds(4.40, 4.41, 4.45),
    "l2rl-context": seeds(4.39, 4.42, 4.43),
    "epl2rl-input": seeds(1.79, 1.9, 2.1),
}
OPTIMUM = {"without_memory": 4.44, "chance": 1.8}


def failing(checks: list[Check]) -> list[str]:
    assert all(check.section for check in checks)
    return [check.claim for check in checks if not check.holds]


def barcodes(**changes: Any) -> list[str]:
    return failing(BARCODE_BANDITS.checks({**AGENTS, **changes}, OPTIMUM, {}))


def test_statements_of_section_4_1() -> None:
    found = BARCODE_BANDITS.checks(AGENTS, OPTIMUM, {})
    assert len(found) == 5 + 1 + 1 + 1 and failing(found) == []
    assert {check.section for check in found} == {"4.1"}
    shares = [check.claim.partition(" ")[0] for check in found if check.share == 0.9]
    assert shares == ["l2rl", "l2rl-context", "epl2rl", "epl2rl-input"]
    assert sum(check.paper == "" for check in found) == 3  # what is said of the baselines is ours


def test_statements_of_section_4_1_can_fail() -> None:
    better = {"l2rl-context": seeds(4.48, 4.49, 4.50)}
    assert barcodes(**better) == [
        "l2rl-context stays within the best that is possible without episodic memory",
        "l2rl-context earns no more than l2rl (difference in reward per episode)",
    ]
    assert barcodes(**{"epl2rl-input": seeds(1.81, 1.9, 2.1)}) == [
        "epl2rl-input is at chance (reward per episode)"
    ]
    overlapping = {**AGENTS["epl2rl"], **seeds(4.3, 8.1, 8.2)}  # by far more, but for one seed
    assert barcodes(epl2rl=overlapping) == [
        "epl2rl outperforms l2rl (difference in reward per episode)",
        "epl2rl outperforms l2rl-context (difference in reward per episode)",
        "epl2rl earns more than any agent without episodic memory can",
    ]


def maze(goals: float, first: float, second: float, shortest: float) -> dict[str, Any]:
    beside = np.array([[-0.01], [0], [0.01]])
    return {
        "epl2rl": {
            **seeds(7.0, 7.1, 7.2),
            "by_exposure": {"reward": over_seeds(np.array([[goals, 7.4]]) + beside)},
            "maze": {
                "steps_or_end": over_seeds(np.array([[first, second]]) + beside * [-1, 1]),
                "shortest": over_seeds(np.array([[0.2, shortest]]) + beside),
            },
        }
    }


MAZE = {"without_memory": 5.5, "random_walk": 0.7, "steps_goal_known": 2.667}


@pytest.mark.parametrize(
    ("numbers", "claim"),
    [
        ((5.0, 9.0, 2.8, 0.97), None),
        ((0.705, 9.0, 2.8, 0.97), "epl2rl searches a new maze better than a random walk"),
        ((5.0, 2.8, 2.8, 0.97), "epl2rl finds a goal faster once it has met the context"),
        ((5.0, 9.0, 2.93, 0.97), "epl2rl is close to optimal after one exposure"),
        ((5.0, 9.0, 2.8, 0.905), "epl2rl takes a shortest path on second exposures"),
    ],
)
def test_statements_of_section_4_4(numbers: Any, claim: str | None) -> None:
    checks = WATER_MAZE.checks(maze(*numbers), MAZE, {})
    assert len(checks) == 1 + 4 and all(check.paper for check in checks)
    found = failing(checks)
    assert len(found) == (claim is not None) and all(f.startswith(str(claim)) for f in found)


def test_a_maze_met_once_and_one_too_large_to_solve() -> None:
    once = maze(5.0, 9.0, 2.8, 0.97)
    steps = once["epl2rl"]["maze"]["steps_or_end"]
    steps["per_seed"] = [row[:1] for row in steps["per_seed"]]
    assert len(WATER_MAZE.checks(once, MAZE, {})) == 2
    bounded = {name: MAZE[name] for name in ("without_memory", "random_walk")}
    assert len(WATER_MAZE.checks(maze(5.0, 9.0, 2.8, 0.97), bounded, {})) == 4


def test_checks_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    old: Any = {"claim": "an old one", "value": 2.0, "bound": "> 1", "holds": True}
    new = Check("a new one", 2.0, "> 3", False, "4.2", "they say", [1.5, 2.5]).as_row()
    print_checks([old, new, {**new, "ci95": None}])
    assert capsys.readouterr().out.splitlines() == [
        "holds: an old one: 2.000, > 1",
        "section 4.2",
        "FAILS: a new one: 2.000 [1.500, 2.500], > 3",
        "FAILS: a new one: 2.000, > 3",
    ]
