"""Experiment 1's claims on numbers made up for them."""

from typing import Any

import pytest

from made_up import assert_all_supported_but, changed, columns, near
from reinstate.analysis.verdicts import count_verdicts, over_seeds, with_verdicts
from reinstate.tasks.bandits import BarcodeBandits
from reinstate_paper.barcode_bandits import BARCODE_BANDITS, checks

OPTIMUM = {"chance": 1.8, "without_memory": 4.436, "with_memory": 8.75}
AGENTS: dict[str, Any] = {
    "epl2rl": {"reward": near(8.2), "by_exposure": {"regret": columns(4.6, 1.2, 0.4)}},
    "l2rl": {"reward": near(4.43)},
    "l2rl-context": {"reward": near(4.42)},
    "epl2rl-input": {"reward": near(1.85)},
}
PLAIN, CONTEXT = "epl2rl widely outperforms l2rl ", "epl2rl widely outperforms l2rl-context "
EXCEEDS = "epl2rl earns more than any agent without"
EXPLOITS = "epl2rl exploits a context it has met"
REGRET = "epl2rl.by_exposure.regret"


def test_what_the_paper_shows_supports_all_claims() -> None:
    found = checks(AGENTS, OPTIMUM, {})
    assert_all_supported_but(found, {})
    counts = count_verdicts(with_verdicts([check.as_row() for check in found]))
    assert (counts["claims"], counts["supported"], counts["ours"]) == (3, 3, 3)
    assert {check.section for check in found} == {"4.1"}
    assert [check.region for check in found[:4]] == [
        (pytest.approx(0.5 * 4.314), float("inf")),  # widely: half of the gap
        (pytest.approx(0.5 * 4.314), float("inf")),
        (0.5, float("inf")),
        (-float("inf"), pytest.approx(0.1 * 4.314)),
    ]


def test_a_lead_too_small_to_count_supports_nothing() -> None:
    """Ever so sure: all twenty seeds are ahead by .0003."""
    agents = changed(AGENTS, "epl2rl.reward", over_seeds([4.4303] * 20))
    agents = changed(agents, "l2rl.reward", over_seeds([4.43] * 20))
    expected = {PLAIN: "contradicted", CONTEXT: "contradicted", EXCEEDS: "contradicted"}
    assert_all_supported_but(checks(agents, OPTIMUM, {}), expected)


def test_only_what_was_run_is_spoken_of() -> None:
    assert checks({}, OPTIMUM, {}) == []
    alone = checks({"epl2rl": AGENTS["epl2rl"]}, OPTIMUM, {})
    assert [check.claim.startswith((EXCEEDS, EXPLOITS)) for check in alone] == [True, True]
    once = changed(AGENTS, REGRET, columns(4.6))
    assert not any(check.claim.startswith(EXPLOITS) for check in checks(once, OPTIMUM, {}))


def test_where_the_worth_of_a_memory_is_not_known_nothing_is_claimed() -> None:
    solve = BARCODE_BANDITS.optimum
    assert solve is not None
    urn = solve(BarcodeBandits(num_arms=3, pulls=3, num_contexts=3, repeats=2, process="urn"))
    assert "with_memory" not in urn and checks(AGENTS, urn, {}) == []
