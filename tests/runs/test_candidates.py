"""Candidates trained at once are compiled once, however many rounds there are."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np
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


def test_other_seeds_take_the_places_of_candidates() -> None:
    candidates = CandidateBatch("epl2rl", replace(TINY, seeds=1), 4)
    again = candidates.with_seeds(7, 2)
    rates = [rates_of(preset_candidate(TINY.learner), TINY.learner)] * 2
    each, state = again.start([rates[0], rates[1]._replace(learning_rate=0.5)])
    assert np.asarray(each.learning_rate).tolist() == pytest.approx([0.01, 0.01, 0.5, 0.5])
    expected = [jax.random.split(jax.random.key(seed))[1] for seed in (7, 8, 7, 8)]
    assert jax.random.key_data(state.key).tolist() == [
        jax.random.key_data(key).tolist() for key in expected
    ]
    with pytest.raises(ValueError, match="3 seeds do not divide 4"):
        candidates.with_seeds(7, 3)
