"""An experiment from end to end, as small as it gets."""

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from reinstate import devices
from reinstate.analysis.results import CheckRow
from reinstate.analysis.verdicts import VERDICTS
from reinstate.baselines.bandits import one_exposure
from reinstate.files import read_json
from reinstate.memory import DND
from reinstate.runs.conclusions import read_results
from reinstate.runs.evaluator import Evaluator
from reinstate.runs.reproduce import curve_of, rounded
from reinstate.settings import Settings, to_dict
from reinstate.tasks.water_maze import WaterMaze
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from reinstate_paper.water_maze import WATER_MAZE
from tiny import AGENTS, TINY, reproduced, reproduction, trained_run


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished reproduction."""
    return reproduced(tmp_path_factory.mktemp("reproduction") / "out")


@pytest.fixture
def results(out: Path) -> dict[str, Any]:
    return {**read_results(out)}


def test_files(out: Path) -> None:
    found = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    figures = "training-curves", "by-exposure", "regret", "familiarity", "elimination"
    ours = {"results.json"} | {f"{name}.{kind}" for name in figures for kind in ("png", "svg")}
    for agent in AGENTS:
        files = "README.md", "config.json", "metrics.jsonl", "evaluation.json"
        ours |= {f"{agent}/{name}" for name in files}
        ours.add(f"{agent}/checkpoints/epoch-00004.safetensors")
    assert found == ours


def test_results_say_where_they_come_from(results: dict[str, Any]) -> None:
    assert set(results) == {
        "rules", "experiment", "preset", "command", "version", "commit", "jax", "device",
        "settings", "seconds", "agents", "optimum", "baselines", "reference_lines", "checks",
        "alarms", "date",
    }  # fmt: skip
    assert results["experiment"] == "barcode-bandits" and results["preset"] == "quick"
    assert results["command"] == "reinstate reproduce barcode-bandits"
    assert date.fromisoformat(results["date"]) >= date(2018, 7, 10)  # when the paper came out
    assert results["version"] and results["jax"] == jax.__version__
    assert results["device"] == "cpu × 2"
    assert results["settings"] == to_dict(TINY)
    seconds = results["seconds"]
    assert set(seconds) == {"total", "compile", "train", "evaluate"}
    assert all(value > 0 for value in seconds.values())
    assert seconds["total"] >= seconds["compile"] + seconds["train"] + seconds["evaluate"]


@pytest.mark.parametrize("name", AGENTS)
def test_results_of_an_agent(results: dict[str, Any], out: Path, name: str) -> None:
    agent = results["agents"][name]
    judged = {"reward", "by_exposure", "r_gate", "reward_by_epoch", "elimination"}
    judged |= {"stored", "slots_used", "familiarity"} if name == "epl2rl" else set()
    trained = {"seeds", "train_steps", "steps_per_second", "curve", "remembers"}
    assert set(agent) == judged | trained | {"share_of_ceiling"}
    assert agent["seeds"] == [0, 1] and agent["remembers"] is (name == "epl2rl")
    assert agent["train_steps"] == 4 * 4 * 6 * 3 * 2  # epochs, lanes, episodes, pulls, seeds
    assert agent["steps_per_second"] > 0
    reward = agent["reward"]
    assert set(reward) == {"mean", "ci95", "per_seed", "error"} and reward["error"] > 0
    low, high = reward["ci95"]
    assert low <= reward["mean"] <= high and len(reward["per_seed"]) == 2
    by_epoch = np.array(agent["reward_by_epoch"])
    assert by_epoch.shape == (2, 3)  # seeds, epochs of the evaluation
    assert by_epoch.mean(axis=1) == pytest.approx(reward["per_seed"], abs=1e-4)
    exposures = agent["by_exposure"]
    assert exposures["exposure"] == [1, 2] and exposures["episodes"] == [18, 18]
    for kind in ("reward", "regret"):
        assert np.shape(exposures[kind]["mean"]) == (2,)
        assert np.shape(exposures[kind]["ci95"]) == np.shape(exposures[kind]["per_seed"]) == (2, 2)
    assert np.mean(exposures["reward"]["mean"]) == pytest.approx(reward["mean"], rel=1e-5)
    assert agent["curve"]["episodes"] == [6, 12, 18, 24]
    assert agent["curve"]["steps"] == [144, 288, 432, 576]
    assert np.shape(agent["curve"]["reward"]["per_seed"]) == (2, 4)
    verdict = read_json(out / name / "evaluation.json")
    assert rounded(verdict) == {part: agent[part] for part in judged}
    assert (agent["r_gate"]["mean"] > 0) == (name == "epl2rl")


def test_results_carry_what_they_are_held_against(results: dict[str, Any]) -> None:
    optimum, agents = results["optimum"], results["agents"]
    assert optimum["without_memory"] == pytest.approx(3 * one_exposure(3, 3), rel=1e-6)
    assert results["reference_lines"]["chance"] == optimum["chance"]
    for name, key in (("l2rl", "without_memory"), ("epl2rl", "with_memory")):
        share = agents[name]["reward"]["mean"] / optimum[key]
        assert agents[name]["share_of_ceiling"] == pytest.approx(share)
    random = results["baselines"]["random"]
    assert random["reward"]["mean"] == pytest.approx(optimum["chance"], abs=0.5)
    assert random["by_exposure"]["exposure"] == [1, 2]
    assert "gittins with memory" in results["baselines"]


def test_checks_are_claims_with_a_region_and_a_verdict(results: dict[str, Any]) -> None:
    checks = results["checks"]
    fields = CheckRow.__annotations__.keys()
    assert all(check.keys() == fields - {"note"} and check["section"] == "4.1" for check in checks)
    assert [(check["claim"].partition(" (")[0], bool(check["paper"])) for check in checks] == [
        ("epl2rl widely outperforms l2rl", True),
        ("epl2rl earns more than any agent without episodic memory can", False),
        ("epl2rl exploits a context it has met once", False),
    ]
    optimum = results["optimum"]
    gap = optimum["with_memory"] - optimum["without_memory"]
    assert checks[0]["region"] == [pytest.approx(gap / 2), None]
    rewards = [np.array(results["agents"][name]["reward"]["per_seed"]) for name in AGENTS]
    assert checks[0]["value"] == pytest.approx(np.mean(rewards[0] - rewards[1]))
    assert all(check["seeds"] == 2 and check["verdict"] in VERDICTS for check in checks)
    assert checks[0]["p_holm"] == checks[0]["p"]  # the only one of the paper's
    assert checks[1]["p_holm"] is checks[2]["p_holm"] is None
    assert results["alarms"] == []


def test_recorded_numbers_have_six_digits(out: Path) -> None:
    """Files are small, and whoever reads them comes to the same conclusions."""
    kept = read_json(out / "results.json")
    for part in ("agents", "baselines"):
        assert rounded(kept[part]) == kept[part]


def test_rounding() -> None:
    value = {"a": [1.23456789, -0.000123456789, None, 12345678, True], "b": {"c": 1e-9}, "d": "1.0"}
    assert rounded(value) == {
        "a": [1.23457, -0.000123457, None, 12345678, True],
        "b": {"c": 1e-9},
        "d": "1.0",
    }


def test_a_task_too_large_to_solve_can_be_played_all_the_same(tmp_path: Path) -> None:
    # 10 pulls × 100 exposures with p_good + p_bad ≠ 1: the exact optimum would take hours.
    task = replace(TINY.task, pulls=10, repeats=100, p_bad=0.3)
    vast = replace(TINY, task=task, learner=replace(TINY.learner, epochs=1))
    results = reproduction(tmp_path / "x", ("l2rl",), settings=vast)
    assert "too large to solve" in results["optimum"]["unavailable"]
    assert "lower pulls or repeats" in results["baselines"]["unavailable"]
    assert results["agents"]["l2rl"]["share_of_ceiling"] is None
    assert results["checks"] == results["alarms"] == [] and results["reference_lines"] == {}


def test_a_long_curve_is_thinned_to_a_hundred_points() -> None:
    metrics = [{"epoch": n, "steps": 10 * n, "reward": [n, 2 * n]} for n in range(1, 251)]
    curve = curve_of(metrics, episodes_per_epoch=6)
    assert [len(curve[name]) for name in ("episodes", "steps")] == [100, 100]
    assert curve["episodes"][0] == 3 * 6 and curve["episodes"][-1] == 250 * 6
    assert curve["reward"]["per_seed"][0][0] == 2  # epochs 1 to 3
    assert curve["reward"]["mean"][-1] == pytest.approx(1.5 * 249.5)  # epochs 249 and 250
    mean = np.average(curve["reward"]["per_seed"][1], weights=[3] * 50 + [2] * 50)
    assert mean == pytest.approx(251)


def test_water_maze(tmp_path: Path) -> None:
    """The maze has scores, figures and claims of its own; larger ones are held against bounds."""
    task = WaterMaze(height=3, width=4, steps=6, num_contexts=3, repeats=3, barcode_length=4)
    settings: Settings[WaterMaze, DND] = Settings(
        task=task,
        seeds=2,
        network=TINY.network,
        learner=replace(TINY.learner, epochs=1),
        evaluation=TINY.evaluation,
    )
    results = reproduction(tmp_path / "x", ("epl2rl",), settings=settings, experiment=WATER_MAZE)
    found = {path.name for path in (tmp_path / "x").iterdir() if path.is_file()}
    figures = {"training-curves", "steps-to-goal", "trajectories", "familiarity"}
    assert found == {"results.json"} | {f"{n}.{kind}" for n in figures for kind in ("png", "svg")}
    assert np.shape(results["agents"]["epl2rl"]["maze"]["steps_or_end"]["mean"]) == (3,)
    assert "regret" not in results["agents"]["epl2rl"]["by_exposure"]
    claims = " ".join(check["claim"] for check in results["checks"])
    assert "takes far fewer steps once it has met" in claims and "a shortest path" in claims
    assert WATER_MAZE.optimum
    bounds = WATER_MAZE.optimum(WaterMaze(height=8, width=8))
    assert bounds["without_memory"] == bounds["bounds"]["without_memory_upper"]


def test_a_bug_in_a_baseline_is_not_taken_for_a_task_too_large(tmp_path: Path) -> None:
    """Any ValueError used to empty the claims, with exit status 0."""

    def broken(settings: Settings) -> Any:
        raise ValueError("operands could not be broadcast")

    with pytest.raises(ValueError, match="could not be broadcast"):
        reproduction(
            tmp_path / "x", ("l2rl",), experiment=replace(BARCODE_BANDITS, baselines=broken)
        )
    assert not (tmp_path / "x" / "results.json").exists()


def test_milestones_are_judged_by_the_program_that_judged_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One condition, one program: it used to be compiled a second time for the milestones."""
    run, made = trained_run(tmp_path / "x"), []
    spread = devices.over_seeds

    def counted(function: Any, *rest: Any, **how: Any) -> Any:
        made.append(function.__name__)
        return spread(function, *rest, **how)

    monkeypatch.setattr(devices, "over_seeds", counted)
    evaluator = Evaluator(replace(BARCODE_BANDITS, milestones=(0.5, 1.0)), "epl2rl", TINY)
    state = evaluator.load(run)
    for epoch in (2, 4):
        run.save_milestone(state.params, epoch)
    verdict = evaluator.evaluate_run(run, state)
    assert [milestone["epoch"] for milestone in verdict["milestones"]] == [2, 4]
    assert made.count("one_seed") == 1
