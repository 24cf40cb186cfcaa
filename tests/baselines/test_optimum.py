"""The registry of optima: the reference values, in the units a user reads."""

from typing import Any

import pytest

from reinstate.baselines.optimum import OPTIMA, solve
from reinstate.errors import UserError
from reinstate.tasks.bandits import BarcodeBandits, OmniglotBandits
from reinstate.tasks.compositional import CompositionalBandits
from reinstate.tasks.two_step import EpisodicTwoStep
from reinstate.tasks.water_maze import WaterMaze


def test_barcode_bandits() -> None:
    values = solve("barcode-bandits", BarcodeBandits())
    assert values["chance"] == pytest.approx(1.8)
    assert values["without_memory"] == pytest.approx(4.436, abs=5e-4)
    assert values["own_memory"] == pytest.approx(8.44, abs=5e-3)
    assert values["own_memory_by_exposure"][:4] == pytest.approx([4.44, 8.15, 8.83, 8.97], abs=5e-3)
    assert values["elimination_simulated"]["mean"] == pytest.approx(8.71, abs=0.02)


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        ({"process": "urn"}, "own_memory"),
        ({"mapping": "independent"}, "elimination_simulated"),
        ({"num_contexts": 12}, "elimination_simulated"),
    ],
)
def test_what_does_not_apply_is_left_out(settings: dict[str, Any], missing: str) -> None:
    assert missing not in solve("barcode-bandits", BarcodeBandits(**settings))


def test_compositional_bandits() -> None:
    values = solve("compositional-bandits", CompositionalBandits())
    assert values["both_novel"] == pytest.approx(8.376, abs=5e-4)
    assert values["either_known"] == pytest.approx(9.0)
    assert values["mean_over_epoch"] == pytest.approx(8.93, abs=5e-3)


def test_omniglot_bandits_are_solved_as_if_every_class_were_recognised() -> None:
    small: dict[str, Any] = {"num_arms": 4, "num_contexts": 4, "repeats": 3, "pulls": 5}
    values = solve("omniglot-bandits", OmniglotBandits(**small))
    assert values == solve("barcode-bandits", BarcodeBandits(**small))


def test_water_maze() -> None:
    values = solve("water-maze", WaterMaze())
    assert values["without_memory"] == pytest.approx(5.54, abs=5e-3)
    assert values["goal_known"] == pytest.approx(7.44, abs=5e-3)


def test_two_step() -> None:
    values = solve("two-step", EpisodicTwoStep())
    assert values["uncued"] == pytest.approx(0.6505, abs=5e-5)
    assert values["episodic_cued"] == pytest.approx(0.725, abs=5e-4)
    assert values["with_memory"] == pytest.approx((0.6505 + 0.725) / 2, abs=5e-4)


def test_the_classic_two_step_task_has_no_cued_part() -> None:
    values = solve("two-step", EpisodicTwoStep(cued=0))
    assert values == {"uncued": pytest.approx(0.6505, abs=5e-5)}
    with pytest.raises(UserError, match="use cues uniform"):
        solve("two-step", EpisodicTwoStep(cues="once"))


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("water-maze", WaterMaze(height=8, width=8)),
        ("barcode-bandits", BarcodeBandits(pulls=60)),
        ("compositional-bandits", CompositionalBandits(pulls=100_000)),
    ],
)
def test_too_large_a_task_is_refused(name: str, task: Any) -> None:
    with pytest.raises(UserError, match=r"too large .*lower"):
        solve(name, task)


def test_unknown_experiment_offers_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean water-maze"):
        solve("watermaze", WaterMaze())
    assert set(OPTIMA) >= {"barcode-bandits", "compositional-bandits", "water-maze", "two-step"}
