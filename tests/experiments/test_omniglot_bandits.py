"""Experiment 2's claims on numbers made up for them, and its reproduction, as small as it gets."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from made_up import assert_all_supported_but, changed, columns, near
from reinstate.analysis.verdicts import count_verdicts, over_seeds, with_verdicts
from reinstate.baselines.bandits import one_exposure
from reinstate.runs.conclusions import read_results
from reinstate.runs.reproduce import reproduce
from reinstate.settings import Settings
from reinstate.tasks.bandits import OmniglotBandits
from reinstate_paper.omniglot_bandits import OMNIGLOT_BANDITS, checks
from tiny import SILENT
from tiny import TINY as BARCODES

OPTIMUM = {"chance": 1.8, "without_memory": 4.436, "with_memory": 8.75}


def scores(reward: float, *regret: float) -> dict[str, Any]:
    return {"reward": near(reward), "by_exposure": {"regret": columns(*regret)}}


def rival(*regret: float) -> dict[str, Any]:
    return {"by_exposure": {"regret": columns(*regret)}}


AGENTS: dict[str, Any] = {
    "epl2rl": {**scores(8.0, 4.62, 1.0, 0.3), "retrieval": near(0.97)},
    "l2rl": {**scores(4.3, 4.63, 4.61, 4.62), "retrieval": None},
    "l2rl-context": {"reward": near(1.9)},
    "epl2rl-input": {"reward": near(1.85)},
}
RIVALS = {
    "gittins": rival(4.6, 4.59, 4.61),
    "ucb1": rival(7.2, 7.21, 7.19),
    "thompson": rival(6.5, 6.49, 6.51),
    "random": rival(7.2, 7.18, 7.22),  # no rival of the paper's
}
REGRET = "epl2rl.by_exposure.regret"
FAILS = "l2rl-context fails where l2rl does not"
FALLS, FURTHER = "epl2rl's regret falls from", "epl2rl's regret falls further"
LIKE, BELOW = "epl2rl's regret at exposure 1 is like", "epl2rl's regret is below"
ON_PAR = "l2rl's regret is no more than"
EXCEEDS, FINDS = "epl2rl earns more than any agent without", "the memory finds another drawing"


# Algorithms so unlike each other: whoever plays like one does not play like the others.
UNLIKE = {f"{LIKE} {name}'s": "contradicted" for name in ("ucb1", "thompson")}


def test_what_the_paper_shows_supports_all_claims_that_can_go_together() -> None:
    found = checks(AGENTS, OPTIMUM, RIVALS)
    assert_all_supported_but(found, UNLIKE)
    counts = count_verdicts(with_verdicts([check.as_row() for check in found]))
    assert (counts["claims"], counts["supported"], counts["ours"]) == (16, 14, 2)
    notes = {check.claim: check.note for check in found if check.note}
    assert "random play" in notes[f"{LIKE} ucb1's (excess)"]
    assert {check.section for check in found} == {"4.2"}
    values = {check.claim.partition(" (")[0]: check.evidence.value for check in found}
    assert values["epl2rl's regret falls from exposure 1 to 2"] == pytest.approx(1 - 1 / 4.62)
    assert values[f"{FURTHER} from exposure 2 to the last"] == pytest.approx(0.7)
    assert values[f"{BELOW} ucb1's from exposure 2 on"] == pytest.approx(7.2 - 0.65)
    assert values[FAILS] == pytest.approx(0.1 / 2.5, abs=1e-4)


def test_nobody_fails_where_nobody_learns() -> None:
    """A share of nothing: where L2RL itself learns nothing, L2RL+Context has not failed."""
    nothing = changed(AGENTS, "l2rl.reward", over_seeds([1.8] * 20))
    expected = {FAILS: "contradicted", **UNLIKE}
    assert_all_supported_but(checks(nothing, OPTIMUM, RIVALS), expected)


def test_only_what_was_run_is_spoken_of() -> None:
    assert checks({}, OPTIMUM, RIVALS) == []
    assert checks(AGENTS, {"chance": 1.8, "without_memory": 4.436}, RIVALS) == []  # an urn's
    alone = checks({"epl2rl": AGENTS["epl2rl"]}, OPTIMUM, {"unavailable": "too large"})
    starts = FALLS, FURTHER, EXCEEDS, FINDS
    assert [check.claim.startswith(s) for check, s in zip(alone, starts, strict=True)] == [True] * 4
    once: Any = {"epl2rl": {**AGENTS["epl2rl"], "by_exposure": {"regret": columns(4.6)}}}
    said = [check.claim for check in checks(once, OPTIMUM, RIVALS) if "exposure" in check.claim]
    assert said == [f"{LIKE} {name}'s (excess)" for name in ("gittins", "ucb1", "thompson")]


TINY = Settings(
    task=OmniglotBandits(num_arms=3, pulls=3, num_contexts=3, repeats=2),
    seeds=2,
    network=BARCODES.network,
    memory=BARCODES.memory,
    learner=replace(BARCODES.learner, epochs=1),
    evaluation=BARCODES.evaluation,
)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("omniglot-bandits") / "out"
    # Without the algorithms: their tests are elsewhere, and they take as long as all else here.
    experiment = replace(OMNIGLOT_BANDITS, baselines=lambda settings: {}, charts={})
    reproduce(experiment, "quick", ("epl2rl",), TINY, path, SILENT, command="x")
    return path


@pytest.fixture
def results(out: Path) -> dict[str, Any]:
    return {**read_results(out)}


def test_every_chart_finds_something_to_draw(results: Any) -> None:
    drawn = {name for name, draw in OMNIGLOT_BANDITS.charts.items() if draw(results)}
    assert drawn == {"training-curves", "by-exposure", "regret", "familiarity", "elimination"}


def test_agents_are_judged_on_classes_they_learned_on_as_well(results: dict[str, Any]) -> None:
    agent = results["agents"]["epl2rl"]
    known = agent["on_training_contexts"]
    assert set(known) == {"reward", "by_exposure", "elimination", "retrieval", "r_gate"}
    assert known["by_exposure"]["episodes"] == agent["by_exposure"]["episodes"] == [18, 18]
    # Drawings of one class are near each other, on either side.
    assert agent["retrieval"]["mean"] > 0.8 and known["retrieval"]["mean"] > 0.8
    assert "milestones" not in agent


def test_the_optimum_and_the_claims_are_those_of_the_bandits(results: dict[str, Any]) -> None:
    optimum = results["optimum"]
    assert optimum["without_memory"] == pytest.approx(3 * one_exposure(3, 3), rel=1e-6)
    assert optimum["own_memory"] > optimum["without_memory"]
    claimed = [check["claim"] for check in results["checks"]]
    starts = FALLS, EXCEEDS, FINDS  # twice met, there is no later fall
    assert [c.startswith(s) for c, s in zip(claimed, starts, strict=True)] == [True] * 3
    assert results["checks"][0]["seeds"] == 2 and results["alarms"] == []


def test_algorithms_are_told_the_class(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def listen(*words: Any) -> dict[str, Any]:
        asked.append(words)
        return {}

    monkeypatch.setattr("reinstate.baselines.algorithms.play_all", listen)
    assert OMNIGLOT_BANDITS.baselines(TINY) == {}
    assert asked == [(TINY.task.with_barcodes(), TINY.evaluation, range(2))]
