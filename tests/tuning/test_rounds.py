"""Rounds as jobs of workers: the same search as in one process, and what fails is told."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reinstate import devices
from reinstate.errors import UserError
from reinstate.learner import Rates
from reinstate.runs.loop import Stopped
from reinstate.runs.progress import Reporter
from reinstate.sweeps.crew import Supervisor
from reinstate.sweeps.executors import Crew
from reinstate.sweeps.worker import work
from reinstate.tuning import rounds
from reinstate.tuning import search as module
from reinstate.tuning.batch import CandidateBatch, Scores
from reinstate.tuning.search import Asked, Search, search
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from tiny import SILENT, TINY

ASKED = Asked(BARCODE_BANDITS, "quick", ("l2rl", "epl2rl"), TINY, Search(trials=3, rounds=2))
trained: list[str] = []


@pytest.fixture(autouse=True)
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rewards follow from the rates alone, and one of them is not finite."""

    def train(
        self: CandidateBatch, rates: Sequence[Rates], reporter: Reporter, label: str, stop: Any
    ) -> Scores:
        trained.append(label)
        reward = np.array([[each.learning_rate, each.entropy_cost] for each in rates], float)
        reward[1, 0] = np.nan
        return Scores(reward, 2.0, 1.0)

    def run(self: Supervisor, reporter: Reporter) -> None:
        queue, do = rounds.open_queue(self.folder, self.queue.retries)
        work(queue, "w", do, SILENT)

    trained.clear()
    monkeypatch.setattr(CandidateBatch, "train", train)
    monkeypatch.setattr(Supervisor, "run", run)
    monkeypatch.setattr(devices, "divide_cpu", lambda: None)
    monkeypatch.setattr(module, "_draw", lambda document, experiment, out: None)


def found(out: Path, crew: Crew | None) -> Any:
    return search(ASKED, out, SILENT, command="x", crew=crew)


def test_workers_find_what_one_process_does(tmp_path: Path) -> None:
    alone, together = found(tmp_path / "alone", None), found(tmp_path / "together", Crew())
    assert together == alone and len(alone["trials"]) == 6
    assert alone["seconds"] == {"train": 8.0, "compile": 4.0}
    assert len(trained) == 8 and trained[:4] == trained[4:]


def test_what_was_done_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search was stopped after three of four rounds, with none of them in search.json."""
    train: Callable[..., Scores] = CandidateBatch.train

    def stopping(self: CandidateBatch, *what: Any) -> Scores:
        if len(trained) == 3:
            raise Stopped("stopped")
        return train(self, *what)

    monkeypatch.setattr(CandidateBatch, "train", stopping)
    with pytest.raises(Stopped):
        found(tmp_path / "out", Crew())
    assert not (tmp_path / "out/search.json").exists()
    monkeypatch.setattr(CandidateBatch, "train", train)
    assert len(found(tmp_path / "out", Crew())["trials"]) == 6 and len(trained) == 4


def test_another_search_in_the_folder_is_refused(tmp_path: Path) -> None:
    found(tmp_path / "out", Crew())
    (tmp_path / "out/search.json").unlink()
    other = ASKED._replace(search=Search(trials=3, rounds=2, seed=1))
    with pytest.raises(UserError, match="cannot resume"):
        search(other, tmp_path / "out", SILENT, command="x", crew=Crew())


def test_a_round_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*what: Any) -> Scores:
        raise UserError("no room")

    monkeypatch.setattr(CandidateBatch, "train", failing)
    with pytest.raises(UserError, match="l2rl-round0 failed: no room"):
        found(tmp_path / "out", Crew())
