"""Candidates trained at once are compiled once, however many rounds there are."""

from typing import Any

import pytest

from reinstate.runs import candidates as batch
from reinstate.runs.candidates import CandidateBatch, preset_candidate, rates_of
from stubbed import Program
from tiny import SILENT, TINY


def test_a_second_round_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def over_seeds(function: Any, num_seeds: int) -> Program:
        made.append(function.__name__)
        return Program(function, num_seeds)

    monkeypatch.setattr(batch, "over_seeds", over_seeds)
    candidates = CandidateBatch("epl2rl", TINY, 2)
    rates = [rates_of(preset_candidate(TINY.learner), TINY.learner)] * 2
    for number in (1, 2):
        candidates.train(rates, SILENT, f"round {number}", [])
    assert sorted(made) == ["init", "train_epoch"]
