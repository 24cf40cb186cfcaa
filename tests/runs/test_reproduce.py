"""An experiment from end to end, as small as it gets."""

import json
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from reinstate import devices
from reinstate.baselines.bandits import one_exposure
from reinstate.errors import UserError
from reinstate.experiments import find_experiment
from reinstate.experiments.barcode_bandits import BARCODE_BANDITS
from reinstate.experiments.base import Experiment
from reinstate.experiments.water_maze import WATER_MAZE
from reinstate.learner import A2C
from reinstate.memory import DND
from reinstate.runs.judge import Evaluator
from reinstate.runs.progress import Bar
from reinstate.runs.reproduce import curve_of, reproduce
from reinstate.runs.run import open_run
from reinstate.runs.training import Stopped
from reinstate.settings import Settings, to_dict
from reinstate.tasks.water_maze import WaterMaze
from tiny import SILENT, TINY, contents, interrupt, new_run, trained_run

AGENTS = ("epl2rl", "l2rl")


def go(
    out: Path,
    agents: tuple[str, ...] = AGENTS,
    settings: Settings = TINY,
    resume: bool = False,
    experiment: Experiment = BARCODE_BANDITS,
) -> Any:
    command = f"reinstate reproduce {experiment.name}"
    return reproduce(
        experiment, "quick", agents, settings, out, SILENT, command=command, resume=resume
    )


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished reproduction. No test may write into it."""
    path = tmp_path_factory.mktemp("reproduction") / "out"
    go(path)
    return path


@pytest.fixture(autouse=True)
def untouched(out: Path) -> Iterator[None]:
    before = contents(out)
    yield
    assert contents(out) == before


@pytest.fixture
def results(out: Path) -> dict[str, Any]:
    return json.loads((out / "results.json").read_text())


def test_files(out: Path) -> None:
    found = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    figures = "training-curves", "by-exposure", "regret"
    ours = {"results.json"} | {f"{name}.{kind}" for name in figures for kind in ("png", "svg")}
    for agent in AGENTS:
        files = "config.json", "metrics.jsonl", "evaluation.json"
        ours |= {f"{agent}/{name}" for name in files}
        ours.add(f"{agent}/checkpoints/epoch-00004.safetensors")
    assert found == ours


def test_results_say_where_they_come_from(results: dict[str, Any]) -> None:
    assert set(results) == {
        "experiment", "preset", "command", "version", "commit", "jax", "device", "settings",
        "seconds", "agents", "optimum", "baselines", "reference_lines", "checks",
    }  # fmt: skip
    assert results["experiment"] == "barcode-bandits" and results["preset"] == "quick"
    assert results["command"] == "reinstate reproduce barcode-bandits"
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
    assert set(agent) == {
        "seeds", "train_steps", "steps_per_second", "reward", "by_exposure", "r_gate", "curve",
        "share_of_ceiling", "remembers",
    }  # fmt: skip
    assert agent["seeds"] == [0, 1] and agent["remembers"] is (name == "epl2rl")
    assert agent["train_steps"] == 4 * 4 * 6 * 3 * 2  # epochs, lanes, episodes, pulls, seeds
    assert agent["steps_per_second"] > 0
    reward = agent["reward"]
    assert set(reward) == {"mean", "ci95", "per_seed", "iqm"}
    low, high = reward["ci95"]
    assert low <= reward["mean"] <= high and len(reward["per_seed"]) == 2
    exposures = agent["by_exposure"]
    assert exposures["exposure"] == [1, 2] and exposures["episodes"] == [18, 18]
    for kind in ("reward", "regret"):
        assert np.shape(exposures[kind]["mean"]) == (2,)
        assert np.shape(exposures[kind]["ci95"]) == np.shape(exposures[kind]["per_seed"]) == (2, 2)
    assert np.mean(exposures["reward"]["mean"]) == pytest.approx(reward["mean"])
    assert agent["curve"]["episodes"] == [6, 12, 18, 24]
    assert agent["curve"]["steps"] == [144, 288, 432, 576]
    assert np.shape(agent["curve"]["reward"]["per_seed"]) == (2, 4)
    judged = json.loads((out / name / "evaluation.json").read_text())
    assert judged == {part: agent[part] for part in ("reward", "by_exposure", "r_gate")}
    assert (agent["r_gate"]["mean"] > 0) == (name == "epl2rl")


def test_results_carry_what_they_are_held_against(results: dict[str, Any]) -> None:
    optimum, agents = results["optimum"], results["agents"]
    assert optimum["without_memory"] == pytest.approx(3 * one_exposure(3, 3), rel=1e-6)
    assert results["reference_lines"]["chance"] == optimum["chance"]
    for name, key in (("l2rl", "without_memory"), ("epl2rl", "own_memory")):
        share = agents[name]["reward"]["mean"] / optimum[key]
        assert agents[name]["share_of_ceiling"] == pytest.approx(share)
    random = results["baselines"]["random"]
    assert random["reward"]["mean"] == pytest.approx(optimum["chance"], abs=0.5)
    assert random["by_exposure"]["exposure"] == [1, 2]
    assert "gittins with memory" in results["baselines"]


def test_checks_are_statements_with_value_and_bound(results: dict[str, Any]) -> None:
    fields = {"claim", "value", "bound", "holds", "section", "paper", "ci95", "share", "tried"}
    assert all(set(c) == fields and c["section"] == "4.1" for c in results["checks"])
    assert all(type(c["holds"]) is bool for c in results["checks"])
    claims = [check["claim"] for check in results["checks"]]
    for start in (
        "l2rl stays within the best",
        "epl2rl outperforms l2rl",
        "epl2rl earns more than any agent without episodic memory",
        "epl2rl exploits a context it has met once",
    ):
        assert sum(claim.startswith(start) for claim in claims) == 1


def test_no_claim_about_a_second_exposure_without_one(results: dict[str, Any]) -> None:
    agents = results["agents"]
    agents["epl2rl"]["by_exposure"]["regret"]["per_seed"] = [[1.2], [1.3]]
    claims = [check.claim for check in BARCODE_BANDITS.checks(agents, results["optimum"], {})]
    assert len(claims) == 3 and not any("exposure" in claim for claim in claims)


@pytest.mark.parametrize(("second", "holds"), [(0.4, True), (1.21, False)])
def test_regret_must_fall_in_every_seed(
    results: dict[str, Any], second: float, holds: bool
) -> None:
    agents = results["agents"]
    agents["epl2rl"]["by_exposure"]["regret"]["per_seed"] = [[1.2, second], [1.3, 0.2]]
    (check,) = [
        check
        for check in BARCODE_BANDITS.checks(agents, results["optimum"], {})
        if "exploits" in check.claim
    ]
    assert check.holds is holds


def test_a_finished_reproduction_is_not_done_again(out: Path, results: dict[str, Any]) -> None:
    assert go(out, resume=True) == results


def test_an_interrupted_reproduction_is_continued(
    out: Path, tmp_path: Path, results: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(out / "epl2rl", tmp_path / "x" / "epl2rl")  # the first agent is done
    update = Bar.update

    def stop_second_agent(self: Bar, done: int, news: str) -> None:
        update(self, done, news)
        if self.label == "l2rl" and done == 2:
            interrupt(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Bar, "update", stop_second_agent)
        with pytest.raises(Stopped, match="l2rl stopped after epoch 2 of 4"):
            go(tmp_path / "x", resume=True)
    assert not (tmp_path / "x" / "results.json").exists()
    with pytest.raises(UserError, match="x is not empty: add --resume to continue what is there"):
        go(tmp_path / "x")
    again = go(tmp_path / "x", resume=True)
    timed = {"steps_per_second"}
    for name in AGENTS:
        for part in results["agents"][name].keys() - timed:
            assert again["agents"][name][part] == results["agents"][name][part], part
    assert again["checks"] == results["checks"]


def test_results_of_other_settings_are_not_overwritten(out: Path) -> None:
    longer = replace(TINY, learner=replace(TINY.learner, epochs=5))
    with pytest.raises(UserError, match=r"other settings \(settings.learner.epochs: 4 → 5\)"):
        go(out, ("l2rl-context",), longer, resume=True)
    with pytest.raises(UserError, match="out is not empty: add --resume"):
        go(out)


def test_a_run_is_no_place_for_a_reproduction(tmp_path: Path) -> None:
    new_run(tmp_path / "x")
    before = contents(tmp_path)
    with pytest.raises(UserError, match="x holds a single run, not a reproduction"):
        go(tmp_path / "x", resume=True)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("text", ["[]", "{}", '{"agents'])
def test_foreign_results(tmp_path: Path, text: str) -> None:
    (tmp_path / "results.json").write_text(text)
    with pytest.raises(UserError, match=r"results\.json "):
        go(tmp_path, resume=True)
    assert (tmp_path / "results.json").read_text() == text


def test_whatever_can_be_refused_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown agent 'l2r': did you mean l2rl"):
        go(tmp_path / "x", ("epl2rl", "l2r"))
    assert list(tmp_path.iterdir()) == []


def test_a_task_too_large_to_solve_can_be_played_all_the_same(tmp_path: Path) -> None:
    # 10 pulls × 100 exposures with p_good + p_bad ≠ 1: the exact optimum would take hours.
    task = replace(TINY.task, pulls=10, repeats=100, p_bad=0.3)
    vast = replace(TINY, task=task, learner=replace(TINY.learner, epochs=1))
    results = go(tmp_path / "x", ("l2rl",), settings=vast)
    assert "too large to solve" in results["optimum"]["unavailable"]
    assert "lower pulls or repeats" in results["baselines"]["unavailable"]
    assert results["agents"]["l2rl"]["share_of_ceiling"] is None
    assert results["checks"] == [] and results["reference_lines"] == {}


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
    results = go(tmp_path / "x", ("epl2rl",), settings=settings, experiment=WATER_MAZE)
    found = {path.name for path in (tmp_path / "x").iterdir() if path.is_file()}
    figures = {"training-curves", "steps-to-goal", "trajectories"}
    assert found == {"results.json"} | {f"{n}.{kind}" for n in figures for kind in ("png", "svg")}
    assert np.shape(results["agents"]["epl2rl"]["maze"]["steps_or_end"]["mean"]) == (3,)
    assert "regret" not in results["agents"]["epl2rl"]["by_exposure"]
    claims = " ".join(check["claim"] for check in results["checks"])
    assert "finds a goal faster" in claims and "takes a shortest path" in claims
    assert WATER_MAZE.optimum
    bounds = WATER_MAZE.optimum(WaterMaze(height=8, width=8))
    assert bounds["without_memory"] == bounds["bounds"]["without_memory_upper"]


def test_what_an_older_version_recorded_can_be_continued(out: Path, tmp_path: Path) -> None:
    """Without settings that it did not know: they have their defaults."""
    copied = Path(shutil.copytree(out, tmp_path / "x"))
    for path in (copied / "results.json", copied / "epl2rl" / "config.json"):
        document = json.loads(path.read_text())
        del document.get("config", document)["settings"]["task"]["trial_input"]
        path.write_text(json.dumps(document))
    before = contents(copied)
    assert open_run(copied / "epl2rl") == (BARCODE_BANDITS, "epl2rl", TINY)
    assert go(copied, resume=True)["agents"].keys() == {*AGENTS}
    assert contents(copied) == before  # it was finished
    other = replace(TINY, task=replace(TINY.task, trial_input=True))
    with pytest.raises(UserError, match=r"settings\.task\.trial_input: False → True"):
        go(copied, settings=other, resume=True)


def test_open_run(tmp_path: Path) -> None:
    settings = replace(TINY, learner=A2C(lanes=3, optimizer="rmsprop"))
    new_run(tmp_path / "x", "l2rl", settings)
    assert open_run(tmp_path / "x") == (BARCODE_BANDITS, "l2rl", settings)


def test_find_experiment() -> None:
    assert find_experiment("barcode-bandits") is BARCODE_BANDITS
    with pytest.raises(UserError, match="unknown experiment 'barcodes': did you mean barcode-b"):
        find_experiment("barcodes")


def test_a_bug_in_a_baseline_is_not_taken_for_a_task_too_large(tmp_path: Path) -> None:
    """Any ValueError used to empty the claims, with exit status 0."""

    def broken(settings: Settings) -> Any:
        raise ValueError("operands could not be broadcast")

    with pytest.raises(ValueError, match="could not be broadcast"):
        go(tmp_path / "x", ("l2rl",), experiment=replace(BARCODE_BANDITS, baselines=broken))
    assert not (tmp_path / "x" / "results.json").exists()


def test_milestones_are_judged_by_the_program_that_judged_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One condition, one program: it used to be compiled a second time for the milestones."""
    run, made = trained_run(tmp_path / "x"), []
    spread = devices.over_seeds

    def counted(function: Any, *rest: Any) -> Any:
        made.append(function.__name__)
        return spread(function, *rest)

    monkeypatch.setattr(devices, "over_seeds", counted)
    evaluator = Evaluator(replace(BARCODE_BANDITS, milestones=(0.5, 1.0)), "epl2rl", TINY)
    verdict = evaluator.judge_run(run, evaluator.load(run))
    assert [milestone["epoch"] for milestone in verdict["milestones"]] == [2, 4]
    assert made.count("one_seed") == 1
