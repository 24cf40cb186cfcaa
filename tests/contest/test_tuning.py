"""Rates are tried in rounds, which are kept; the best of them is chosen."""

import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reinstate.errors import UserError
from reinstate.learner import Rates
from reinstate.runs.candidates import Scores
from reinstate.runs.loop import Stopped
from reinstate.settings import Settings
from reinstate_paper.contest.tuning import Tuning
from tiny import SILENT, TINY

OWN = TINY.learner.rates
CANDIDATES = [OWN._replace(entropy_cost=cost) for cost in (0.1, 0.2, 0.6, 0.3, 0.5, 0.4)]


class Rounds:
    """In place of a batch: a setting earns what its entropy cost is, other seeds nothing."""

    def __init__(self, settings: Settings, num_candidates: int, stops: int) -> None:
        self.settings, self.num_candidates, self.stops = settings, num_candidates, stops
        self.labels: list[str] = []

    def with_seeds(self, first_seed: int, seeds: int) -> "Rounds":
        assert first_seed == self.settings.first_seed + 1
        more = Rounds(replace(self.settings, seeds=seeds), self.num_candidates // seeds, 0)
        more.labels = self.labels
        return more

    def train(self, rates: list[Rates], reporter: Any, label: str, stop: list[int]) -> Scores:
        assert len(rates) == self.num_candidates
        self.labels.append(label)
        if len(self.labels) == self.stops:
            signal.raise_signal(signal.SIGTERM)
        reward = [[each.entropy_cost] + [0.0] * (self.settings.seeds - 1) for each in rates]
        return Scores(np.array(reward), 1.0, 0.0)


def tuned(path: Path, stops: int = 0, finalists: int = 2) -> tuple[Tuning, list[str]]:
    batch: Any = Rounds(replace(TINY, seeds=1, first_seed=4), 4, stops)
    tuning = Tuning("epl2rl", batch, path)
    tuning.run(CANDIDATES, finalists, SILENT)
    return tuning, batch.labels


def test_rounds_that_are_done_survive_a_stop(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    with pytest.raises(Stopped, match="the same command continues"):
        tuned(path, stops=1)
    found, labels = tuned(path)
    assert labels == ["epl2rl: settings 5 to 6 of 6", "epl2rl: the best 2 with 2 more seeds"]
    again = [t["rates"]["entropy_cost"] for t in found.trials if len(t["rewards"]) == 3]
    assert len(found.trials) == 6 and again == [0.6, 0.5]
    assert found.best()["entropy_cost"] == 0.6 and found.seconds == 3
    assert tuned(path)[1] == []  # all is done


def test_without_finalists_one_seed_decides(tmp_path: Path) -> None:
    found, labels = tuned(tmp_path / "tuning.json", finalists=0)
    assert len(labels) == 2 and all(len(trial["rewards"]) == 1 for trial in found.trials)


def test_the_best_setting_earns_most_and_did_not_fail(tmp_path: Path) -> None:
    def best(*rewards: list[float | None]) -> float:
        tuning = Tuning("epl2rl", Any, tmp_path / "none.json")  # type: ignore[arg-type]
        tuning.trials = [
            {"rates": {"entropy_cost": n}, "rewards": each} for n, each in enumerate(rewards)
        ]
        found: float = tuning.best()["entropy_cost"]
        return found

    assert best([1.0], [None], [2.0], [1.5]) == 2
    assert best([None], [-1.0]) == 1
    assert best([9.0], [2.0, 1.0], [3.0, 0.5], [4.0, None]) == 2  # a finalist, by the mean


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    tuned(path)
    content = json.loads(path.read_text())
    del content["checksum"]
    path.write_text(json.dumps({**content, "trials": [{"rates": {}, "reward": 1.0}]}))
    with pytest.raises(UserError, match="remove it, or choose another --out"):
        tuned(path)
