"""Experiment 2's claims on numbers made up for them, and its reproduction, as small as it gets."""

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reinstate.analysis.intervals import over_seeds
from reinstate.baselines.bandits import one_exposure
from reinstate.experiments import omniglot_bandits
from reinstate.experiments.base import regret_columns
from reinstate.experiments.omniglot_bandits import OMNIGLOT_BANDITS, checks
from reinstate.runs.reproduce import reproduce
from reinstate.settings import Settings
from reinstate.tasks.bandits import OmniglotBandits
from tiny import SILENT
from tiny import TINY as BARCODES

OPTIMUM = {"without_memory": 4.436, "chance": 1.8}


def near(value: float) -> Any:
    """Three seeds about a value, which are the interval too."""
    return over_seeds([value - 0.001, value, value + 0.001])


def regret(*means: float) -> dict[str, Any]:
    return {
        "by_exposure": {"regret": over_seeds([[m + e for m in means] for e in (-0.001, 0, 0.001)])}
    }


AGENTS: dict[str, Any] = {
    "epl2rl": {"reward": near(8.0), **regret(4.61, 1.0, 0.3), "retrieval": near(0.97)},
    "l2rl": {"reward": near(4.3), **regret(4.61, 4.61, 4.61), "retrieval": None},
    "l2rl-context": {"reward": near(4.2), **regret(4.7, 4.7, 4.7), "retrieval": None},
}
RIVALS = {
    "gittins": regret(4.61, 4.61, 4.61),
    "ucb1": regret(7.2, 7.2, 7.2),
    "thompson": regret(6.5, 6.5, 6.5),
    "random": regret(7.2, 7.2, 7.2),
}
LATER = "epl2rl's regret stays below"


def changed(name: str, **parts: Any) -> dict[str, Any]:
    agents = copy.deepcopy(AGENTS)
    agents[name] |= parts
    return agents


def failing(agents: dict[str, Any], rivals: dict[str, Any] = RIVALS) -> list[str]:
    return [check.claim for check in checks(agents, OPTIMUM, rivals) if not check.holds]


def test_what_the_paper_shows_bears_all_claims_out() -> None:
    found = checks(AGENTS, OPTIMUM, RIVALS)
    assert len(found) == 5 + 1 + 3 + 1 + 3 + 1 + 4 and failing(AGENTS) == []
    assert all(type(check.holds) is bool and isinstance(check.value, float) for check in found)
    assert {check.section for check in found} == {"4.2"}
    assert sum(check.paper == "" for check in found) == 2  # the ceiling of the baselines is ours
    share = next(check for check in found if "as a share" in check.claim)
    assert share.value == pytest.approx(1 / 4.61, abs=1e-4)


@pytest.mark.parametrize(
    ("agents", "claims"),
    [
        (changed("l2rl", reward=near(4.6)), ["l2rl stays within"]),
        (
            changed("l2rl-context", reward=near(4.6)),
            ["l2rl-context stays within", "l2rl-context fails where l2rl does not"],
        ),
        (changed("l2rl-context", reward=near(4.2995)), ["l2rl-context fails where l2rl does not"]),
        (changed("l2rl", reward=near(8.1)), ["l2rl stays within", "epl2rl outperforms l2rl "]),
        (
            changed("epl2rl", reward=near(4.43)),
            ["epl2rl earns more than any agent without episodic memory"],
        ),
        (
            changed("epl2rl", **regret(4.61, 1.6, 0.3)),
            ["epl2rl's regret at exposure 2, as a share"],
        ),
        (
            changed("epl2rl", **regret(4.61, 1.0, 4.7)),  # late, but not from exposure 2 on
            ["epl2rl goes on where it left off", f"{LATER} gittins's"],
        ),
        (
            changed("epl2rl", **regret(4.61, 4.61, 0.3)),
            [
                "epl2rl exploits a class it has met once",
                "epl2rl's regret at exposure 2, as a share",
                f"{LATER} gittins's",
            ],
        ),
        (changed("epl2rl", **regret(7.3, 1.0, 0.3)), ["epl2rl's regret at exposure 1 is among"]),
        (changed("epl2rl", **regret(4.5, 1.0, 0.3)), ["epl2rl's regret at exposure 1 is among"]),
        (changed("epl2rl", retrieval=near(0.95)), ["the memory finds another drawing"]),
        (changed("l2rl", **regret(4.61, 4.6, 4.5)), ["l2rl's regret does not fall"]),
        (changed("l2rl", **regret(4.62, 4.62, 4.62)), ["l2rl's regret is no more than gittins's"]),
    ],
)
def test_every_claim_can_fail(agents: dict[str, Any], claims: list[str]) -> None:
    found = failing(agents)
    assert len(found) == len(claims), found
    assert all(f.startswith(c) for f, c in zip(found, claims, strict=True)), found


@pytest.mark.parametrize("rival", ["gittins", "ucb1", "thompson"])
def test_each_algorithm_is_a_rival_from_the_second_exposure_on(rival: str) -> None:
    better = {**RIVALS, rival: regret(9.0, 0.9, 9.0)}
    assert f"{LATER} {rival}'s from exposure 2 on (smallest difference)" in failing(AGENTS, better)
    free = failing(AGENTS, {**RIVALS, rival: regret(0.1, 1.1, 0.4)})  # the first is free
    assert not any(claim.startswith(LATER) for claim in free)


def test_a_lead_of_some_seeds_only_is_none() -> None:
    rival = RIVALS["gittins"]["by_exposure"]["regret"]
    uneven = over_seeds([[4.61, 1.0, 0.3], [4.61, 1.0, 0.3], [4.61, 4.7, 0.3]])
    agents = changed("epl2rl", by_exposure={"regret": uneven})
    assert np.mean(rival["mean"][1]) > uneven["mean"][1]
    assert f"{LATER} gittins's from exposure 2 on (smallest difference)" in failing(agents)


def test_only_what_was_run_is_spoken_of() -> None:
    assert checks({}, OPTIMUM, RIVALS) == []
    alone = checks({"epl2rl": AGENTS["epl2rl"]}, OPTIMUM, {"unavailable": "too large"})
    assert len(alone) == 1 + 3 + 1
    once = {"epl2rl": AGENTS["epl2rl"] | regret(4.61)}
    assert [c.claim for c in checks(once, OPTIMUM, RIVALS) if "exposure" in c.claim] == [
        "epl2rl's regret at exposure 1 is among the algorithms'"
    ]


def test_columns() -> None:
    found = OMNIGLOT_BANDITS.columns(AGENTS["epl2rl"])
    assert OMNIGLOT_BANDITS.columns is regret_columns
    expected = {"regret at exposure 1": 4.61, "2": 1.0, "3": 0.3}
    assert found == pytest.approx(expected)


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
    return json.loads((out / "results.json").read_text())


def test_every_chart_finds_something_to_draw(results: Any) -> None:
    assert set(OMNIGLOT_BANDITS.charts) == {"training-curves", "by-exposure", "regret"}
    assert all(draw(results) for draw in OMNIGLOT_BANDITS.charts.values())


def test_agents_are_judged_on_classes_they_learned_on_as_well(results: dict[str, Any]) -> None:
    agent = results["agents"]["epl2rl"]
    known = agent["on_training_contexts"]
    assert set(known) == {"reward", "by_exposure", "retrieval", "r_gate"}
    assert known["by_exposure"]["episodes"] == agent["by_exposure"]["episodes"] == [18, 18]
    # Drawings of one class are near each other, on either side.
    assert agent["retrieval"]["mean"] > 0.8 and known["retrieval"]["mean"] > 0.8
    assert "milestones" not in agent


def test_the_optimum_and_the_claims_are_those_of_the_bandits(results: dict[str, Any]) -> None:
    optimum = results["optimum"]
    assert optimum["without_memory"] == pytest.approx(3 * one_exposure(3, 3), rel=1e-6)
    assert optimum["own_memory"] > optimum["without_memory"]
    assert len(results["checks"]) == 1 + 2 + 1  # twice met, there is no later fall


def test_algorithms_are_told_the_class(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def listen(*words: Any) -> dict[str, Any]:
        asked.append(words)
        return {}

    monkeypatch.setattr(omniglot_bandits, "play_all", listen)
    assert OMNIGLOT_BANDITS.baselines(TINY) == {}
    assert asked == [(TINY.task.with_barcodes(), TINY.evaluation, range(2))]
