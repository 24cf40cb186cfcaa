"""Tests that share programs get none that was made of other settings or other code."""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import pytest

from reinstate import devices, learner, rollout
from reinstate.devices import Division
from reinstate.memory import DND
from reinstate.runs.evaluator import Evaluator
from reinstate.tasks.bandits import BarcodeBandits
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from tiny import TINY


def test_equal_settings_share_a_learner() -> None:
    found = TINY.make_learner("epl2rl")
    assert TINY.make_learner("epl2rl") is found
    assert replace(TINY, seeds=3).make_learner("epl2rl") is found  # a learner is of one seed
    steeper = replace(TINY, learner=replace(TINY.learner, discount=0.123))
    narrower = replace(TINY, memory=replace(TINY.memory, capacity=5))
    for settings, agent in ((steeper, "epl2rl"), (narrower, "epl2rl"), (TINY, "l2rl")):
        assert settings.make_learner(agent) is not found
    of_one, of_true = (replace(TINY, task=replace(TINY.task, p_good=p)) for p in (1, 1.0))
    assert of_one == of_true
    assert of_one.make_learner("l2rl") is not of_true.make_learner("l2rl")


@pytest.mark.parametrize(
    ("where", "name"),
    [(learner, "a2c_loss"), (rollout, "play"), (BarcodeBandits, "step"), (DND, "read")],
)
def test_other_code_shares_nothing(where: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = TINY.make_learner("epl2rl")
    with monkeypatch.context() as patch:
        patch.setattr(where, name, lambda *_: None)
        assert TINY.make_learner("epl2rl") is not found
    assert TINY.make_learner("epl2rl") is found


def test_a_program_is_of_one_method_of_one_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = TINY.make_learner("epl2rl"), TINY.make_learner("l2rl")
    division = Division(1, 2)
    mesh = devices.SPREAD.mesh(division)
    shared = devices.over_mesh(one.init, 2, division, mesh)
    assert devices.over_mesh(one.init, 2, division, mesh) is shared
    for method in (one.train_epoch, other.init, lambda seed: seed):
        assert devices.over_mesh(method, 2, division, mesh) is not shared
    assert devices.over_mesh(one.init, 1, division, mesh) is not shared
    assert devices.over_mesh(one.init, 2, division, mesh, lanes=64) is not shared
    monkeypatch.setattr(learner, "a2c_loss", lambda *_: None)
    assert devices.over_mesh(one.init, 2, division, mesh) is not shared


def test_judging_sees_code_that_was_replaced_since(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def over_seeds(one_seed: Any, seeds: int, **how: Any) -> Any:
        made.append(one_seed)
        return lambda *_: (jnp.zeros(1), None)

    monkeypatch.setattr(devices, "over_seeds", over_seeds)
    evaluator = Evaluator(BARCODE_BANDITS, "l2rl", TINY)
    state: Any = type("State", (), {"params": None})
    evaluator._play(state, evaluator.condition)
    Evaluator(BARCODE_BANDITS, "l2rl", TINY)._play(state, evaluator.condition)
    assert len(made) == 1
    monkeypatch.setattr(rollout, "play", lambda *_: None)
    evaluator._play(state, evaluator.condition)
    assert len(made) == 2
