"""Experiment 5's claims on numbers made up for them, and its reproduction, as small as it gets."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_up import assert_all_supported_but, changed, columns, judged, near
from reinstate import cli, fit_choices
from reinstate.agent import Network
from reinstate.analysis.results import OverSeeds
from reinstate.analysis.verdicts import count_verdicts, over_seeds, with_verdicts
from reinstate.choices.model import STRATEGIES
from reinstate.evaluation import Evaluation
from reinstate.memory import DND
from reinstate.runs.conclusions import read_results
from reinstate.runs.reproduce import reproduce
from reinstate.settings import Settings
from reinstate.tasks.two_step import EpisodicTwoStep
from reinstate_paper.two_step import TWO_STEP, checks, milestone_scores
from tiny import SILENT

OPTIMUM = {
    "chance": 0.5,
    "without_memory": 0.644,
    "with_memory": 0.688,
    "counting_cued": 0.638,
    "episodic_cued": 0.726,
}


def weight(summary: OverSeeds) -> Any:
    """A weight of the choice model: seeds are participants."""
    return {**summary, "per_participant": summary["per_seed"]}


def weights(**values: float) -> dict[str, OverSeeds]:
    return {name: weight(near(value)) for name, value in values.items()}


AGENTS: dict[str, Any] = {
    "epl2rl": {
        "reward": near(0.686),
        "uncued": near(0.65),
        "cued": near(0.722),
        "choices": {
            "group": {
                "uncued": weights(IMF=0.3, IMB=1.2, bias=-9.0),
                "cued": weights(IMF=0.2, IMB=0.5, EMF=-0.1, EMB=1.5, bias=-9.0),
            },
            "model": "one-back",
            "stay": {},
        },
        "gates": {
            "stages": ["cue", "second stage", "outcome"],
            "uncued": columns(0.3, 0.2, 0.25, spread=1e-4),
            "cued": columns(0.36, 0.28, 0.31, spread=1e-4),
            "correct": near(0.365, 1e-4),
            "wrong": near(0.358, 1e-4),
        },
    },
    "l2rl": {"reward": near(0.64), "uncued": near(0.65), "cued": near(0.63)},
    "l2rl-context": {"reward": near(0.63), "uncued": near(0.64), "cued": near(0.62)},
    "epl2rl-input": {"reward": near(0.505), "uncued": near(0.51), "cued": near(0.5)},
}
RIGHT = "the r-gate is more open when the choice"
GATES = "epl2rl.gates"
CUED = "epl2rl.choices.group.cued"


def test_what_the_paper_shows_supports_all_claims() -> None:
    found = checks(AGENTS, OPTIMUM, {})
    assert_all_supported_but(found, {})
    counts = count_verdicts(with_verdicts([check.as_row() for check in found]))
    assert (counts["claims"], counts["supported"], counts["ours"]) == (12, 12, 2)
    assert {check.section for check in found} == {"4.5"}
    values = [check.evidence.value for check in found]
    shares = [0.25, 1, 0.2 / 1.5, 0.5 / 1.5, 1, -0.1 / 1.5]  # of the largest that is no bias
    gates = [0.06, 0.05, 0.007]
    expected = [0.046, 0.084, *shares, *gates, 1.0, 0.056, 1.0]
    assert values == pytest.approx(expected, abs=1e-4)


def test_only_agents_that_were_run_are_spoken_of() -> None:
    assert checks({}, OPTIMUM, {}) == checks({"l2rl": AGENTS["l2rl"]}, OPTIMUM, {}) == []
    memory = checks({"epl2rl": AGENTS["epl2rl"]}, OPTIMUM, {})
    assert len(memory) == 1 + 6 + 3 + 1 and not any("l2rl-" in check.claim for check in memory)
    gates = {name: each for name, each in AGENTS["epl2rl"]["gates"].items() if name != "correct"}
    unerring = checks(changed(AGENTS, GATES, gates), OPTIMUM, {})
    assert not any(check.claim.startswith(RIGHT) for check in unerring)


def test_weights_of_nothing_are_no_share_of_each_other() -> None:
    none = dict.fromkeys(STRATEGIES, weight(over_seeds([0.0] * 20)))
    found = judged(checks(changed(AGENTS, CUED, none), OPTIMUM, {}))
    share = "on cued episodes (weight, as a share of the largest)"
    assert found[f"epl2rl uses EMB {share}"] == "contradicted"
    assert found[f"epl2rl does not use EMF {share}"] == "supported"


def test_the_classic_task_makes_no_claim_about_cues() -> None:
    agents = copy.deepcopy(AGENTS)
    for agent in agents.values():
        del agent["cued"]
    assert checks(agents, {"uncued": 0.65, "with_memory": 0.65, "without_memory": 0.65}, {}) == []


TINY = Settings(
    task=EpisodicTwoStep(uncued=4, cued=4, barcode_length=4),
    seeds=2,
    network=Network(hidden_size=4, reset="epoch"),
    memory=DND(capacity=8),
    learner=replace(TWO_STEP.presets["quick"].learner, lanes=4, epochs=4, episodes_per_update=4),
    evaluation=Evaluation(epochs=3),
)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("two-step") / "out"
    undrawn = replace(TWO_STEP, charts={})
    reproduce(undrawn, "quick", ("epl2rl",), TINY, path, SILENT, command="x", checkpoint_every=1)
    return path


@pytest.fixture
def results(out: Path) -> dict[str, Any]:
    return {**read_results(out)}


def test_every_chart_finds_something_to_draw(results: Any) -> None:
    expected = {"training-curves", "choice-weights", "stay", "gates", "weights-in-training"}
    drawn = {name for name, draw in TWO_STEP.charts.items() if draw(results)}
    assert drawn == expected == TWO_STEP.charts.keys() - {"memory-as-input"}


def test_results_of_the_agent(results: dict[str, Any]) -> None:
    agent = results["agents"]["epl2rl"]
    parts = [np.array(agent[part]["per_seed"]) for part in ("uncued", "cued", "reward")]
    np.testing.assert_allclose((parts[0] + parts[1]) / 2, parts[2], atol=1e-6)  # six digits
    assert set(agent["choices"]) == {"model", "fits", "group", "warnings", "stay"}
    assert set(agent["choices"]["group"]) == {"uncued", "cued"}
    assert agent["gates"]["first_cued"] == 4
    assert np.shape(agent["gates"]["over_epoch"]) == (3, 8)
    assert "on_training_contexts" not in agent  # the task keeps nothing apart
    # 11 claims of one agent; fewer if a seed never chose wrongly, or never rightly.
    assert len(results["checks"]) in (10, 11)
    assert all(check["seeds"] == 2 and "verdict" in check for check in results["checks"])


def test_agents_are_judged_at_milestones_too(results: dict[str, Any]) -> None:
    agent = results["agents"]["epl2rl"]
    stones = agent["milestones"]
    assert [stone["epoch"] for stone in stones] == [1, 2, 3, 4]
    for stone in stones:
        assert set(stone) == {"epoch", "reward", "uncued", "cued", "weights"}
    # The last checkpoint is the trained agent, and is judged on the same epochs.
    assert stones[-1] == {"epoch": 4, **milestone_scores(agent)}
    assert stones[0]["weights"] != stones[-1]["weights"]


def test_an_agents_choices_are_fitted_like_peoples(
    out: Path, results: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "agent.csv"
    assert cli.main(["evaluate", str(out / "epl2rl"), "--choices", str(file)]) == 0
    found = fit_choices(file)
    judged = results["agents"]["epl2rl"]["choices"]
    stay = judged["stay"]["episodic"]["mean"]
    assert found["stay"]["episodic"]["mean"] == pytest.approx(stay, abs=1e-6)  # six digits
    seeds = {row["participant"] for row in found.participants}
    assert seeds == {"epl2rl-0", "epl2rl-1"}
    for name, weight in judged["group"]["uncued"].items():
        assert found["group"]["uncued"][name]["mean"] == pytest.approx(weight["mean"], abs=1e-5)
    assert cli.main(["evaluate", str(out / "epl2rl"), "--choices", str(file)]) == 2  # it exists
