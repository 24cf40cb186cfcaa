"""Experiment 4's claims on numbers made up for them."""

from typing import Any

import pytest

from made_up import assert_all_supported_but, changed, columns, near
from reinstate.analysis.intervals import over_seeds
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
PLAIN, CONTEXT = "epl2rl outperforms l2rl ", "epl2rl outperforms l2rl-context "
EXCEEDS, EXPLORES = "epl2rl earns more than any agent", "epl2rl searches a new maze by a policy"
FEWER, CLOSE = "epl2rl takes far fewer steps", "epl2rl is close to optimal"
SHORTEST, CHANCE = "epl2rl takes a shortest path", "epl2rl-input is at chance"
GOALS = "epl2rl.by_exposure.reward"
STEPS, PATHS = "epl2rl.maze.steps_or_end", "epl2rl.maze.shortest"


def test_what_the_paper_shows_supports_all_claims() -> None:
    found = checks(AGENTS, OPTIMUM, {})
    assert_all_supported_but(found, {})
    counts = count_verdicts(with_verdicts([check.as_row() for check in found]))
    assert (counts["claims"], counts["supported"], counts["ours"]) == (8, 8, 0)
    assert {check.section for check in found} == {"4.4"}
    values = [check.evidence.value for check in found]
    expected = [1.67, 1.7, 1.66, 4.3, 1 - 2.8 / 9, 2.8 / 2.667, 0.96, 1.0]
    assert values == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("l2rl.reward", near(7.1), {PLAIN: "contradicted"}),
        ("l2rl.reward", near(6.8, 1.5), {PLAIN: "undecided"}),
        ("l2rl-context.reward", near(7.1), {CONTEXT: "contradicted"}),
        ("l2rl-context.reward", near(6.8, 1.5), {CONTEXT: "undecided"}),
        (
            "epl2rl.reward",
            near(5.6),  # a lead of .1 is no tenth of 1.76
            {PLAIN: "contradicted", CONTEXT: "contradicted", EXCEEDS: "contradicted"},
        ),
        (
            "epl2rl.reward",
            near(6.0, 2.0),
            {PLAIN: "undecided", CONTEXT: "undecided", EXCEEDS: "undecided"},
        ),
        (GOALS, columns(2.5, 7.3), {EXPLORES: "contradicted"}),  # less than half-way
        (GOALS, columns(3.4, 7.3, spread=2.0), {EXPLORES: "undecided"}),
        (STEPS, columns(5.0, 2.8, 2.75), {FEWER: "contradicted"}),  # more than half as many
        (STEPS, columns(6.0, 2.8, spread=0.9), {FEWER: "undecided", CLOSE: "undecided"}),
        (STEPS, columns(9.0, 3.0, 2.75), {CLOSE: "contradicted"}),
        (STEPS, columns(9.0, 2.85, spread=0.4), {CLOSE: "undecided"}),
        (PATHS, columns(0.2, 0.88, 0.97), {SHORTEST: "contradicted"}),
        (PATHS, columns(0.2, 0.92, 0.97, spread=0.1), {SHORTEST: "undecided"}),
        ("epl2rl-input.reward", near(4.6), {CHANCE: "contradicted"}),
        ("epl2rl-input.reward", over_seeds([0.8] * 11 + [4.6] * 9), {CHANCE: "undecided"}),
    ],
)
def test_every_claim_can_be_contradicted_and_undecided(
    path: str, value: Any, expected: dict[str, str]
) -> None:
    assert_all_supported_but(checks(changed(AGENTS, path, value), OPTIMUM, {}), expected)


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
