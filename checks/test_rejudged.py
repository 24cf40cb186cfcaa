"""Recorded results say what the rules of this version make of their seeds."""

import functools
from pathlib import Path
from typing import Any

import pytest

from older import spoilt
from reinstate.files import read_json
from reinstate.runs import rejudge as rejudging
from reinstate.runs.experiment import EXPERIMENTS, Experiment, find_experiment
from reinstate.runs.reproduce import conclude, optimum_of
from runs.test_rejudge import assert_alike

RESULTS = Path(__file__).parents[1] / "results"
RECORDED = {
    path.relative_to(RESULTS).as_posix(): path
    for path in sorted(RESULTS.rglob("*.json"))
    if {"experiment", "agents", "checks"} <= read_json(path).keys()
}


@functools.cache
def solved(name: str, task: Any) -> dict[str, Any]:
    """Compute each optimum once: results of several seeds are about the same task."""
    return optimum_of(find_experiment(name), task)


@pytest.fixture(autouse=True)
def solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def optimum(experiment: Experiment, task: Any) -> dict[str, Any]:
        return solved(experiment.name, task)

    monkeypatch.setattr(rejudging, "optimum_of", optimum)


def test_all_are_looked_at() -> None:
    for name in EXPERIMENTS:
        assert {f"{name}/results.json", f"replicate/{name}/results.json"} <= RECORDED.keys()


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_results_follow_the_rules_of_this_version(name: str) -> None:
    """If not: reinstate rejudge FILE, then reinstate reproduce all for summaries, make tables."""
    document = read_json(RECORDED[name])
    parts = {part: spoilt(document[part]) for part in ("agents", "baselines")}
    found: Any = rejudging.rejudge(document | parts | {"checks": [], "alarms": []})
    for each in (found, document):
        each.pop("rejudged", None)
    assert_alike(found, document)


@pytest.mark.parametrize("name", RECORDED)
def test_claims_rest_on_single_seeds(name: str) -> None:
    """Means are rounded when recorded, and made again when judged: no verdict may hang on that."""
    document = read_json(RECORDED[name])
    experiment = find_experiment(document["experiment"])
    parts = {part: spoilt(document[part]) for part in ("agents", "baselines")}
    found, known = (conclude(experiment, each) for each in (document | parts, document))
    assert found["checks"] == known["checks"] and found["alarms"] == known["alarms"]


@pytest.mark.parametrize("name", RECORDED)
def test_nothing_is_above_what_is_possible(name: str) -> None:
    """An alarm is a bug in the task, the agent or the optimum."""
    assert read_json(RECORDED[name])["alarms"] == []
