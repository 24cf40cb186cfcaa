"""Experiment 4's claims on numbers made up for them."""

from typing import Any

import pytest

from made_up import assert_all_supported_but, changed, columns, near
from reinstate.analysis.verdicts import count_verdicts, with_verdicts
from reinstate_paper.water_maze import checks

OPTIMUM = {
    "chance": 0.7,
    "without_memory": 5.54,
    "with_memory": 7.3,
    "steps_goal_known": 2.667,
}
AGENTS: dict[str, Any] = {
    "epl2rl": {
        "reward": near(7.2),
        "by_exposure": {"reward": columns(5.0, 7.3, 7.4)},
        "maze": {
            "steps_or_end": columns(9.0, 2.8, 2.75),
            "shortest": columns(0.2, 0.96, 0.97),
        },
    },
    "l2rl": {"reward": near(5.53)},
    "l2rl-context": {"reward": near(5.5)},
    "epl2rl-input": {"reward": near(0.9)},
}
CLOSE = "epl2rl is close to optimal"


def test_what_the_paper_shows_supports_all_claims() -> None:
    found = checks(AGENTS, OPTIMUM, {})
    assert_all_supported_but(found, {})
    counts = count_verdicts(with_verdicts([check.as_row() for check in found]))
    assert (counts["claims"], counts["supported"], counts["ours"]) == (8, 8, 0)
    assert {check.section for check in found} == {"4.4"}
    values = [check.evidence.value for check in found]
    expected = [1.67, 1.7, 1.66, 4.3, 1 - 2.8 / 9, 2.8 / 2.667, 0.96, 1.0]
    assert values == pytest.approx(expected, abs=1e-4)


def test_a_maze_met_once() -> None:
    alone: Any = {"epl2rl": changed(AGENTS["epl2rl"], "maze.steps_or_end", columns(9.0))}
    assert [check.claim.partition(" (")[0] for check in checks(alone, OPTIMUM, {})] == [
        "epl2rl earns more than any agent without episodic memory can",
        "epl2rl searches a new maze by a policy",
    ]


def test_a_maze_that_is_too_large_or_of_an_urn() -> None:
    assert checks({}, OPTIMUM, {}) == []
    bounded = {name: OPTIMUM[name] for name in ("chance", "without_memory", "with_memory")}
    found = checks(AGENTS, bounded, {})
    assert len(found) == 7 and not any(check.claim.startswith(CLOSE) for check in found)
    urn = {name: OPTIMUM[name] for name in OPTIMUM if name != "with_memory"}
    assert checks(AGENTS, urn, {}) == []
