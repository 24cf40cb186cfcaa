"""The optimum of each task: reference values in the units a user reads, and what is refused."""

from typing import Any

import pytest

from reinstate.baselines import optimum
from reinstate.baselines.optimum import (
    bandit_optimum,
    compositional_optimum,
    maze_optimum,
    omniglot_optimum,
    two_step_optimum,
)
from reinstate.baselines.water_maze import water_maze_bounds
from reinstate.errors import TooLarge, Unsolvable
from reinstate.tasks.bandits import BarcodeBandits, OmniglotBandits
from reinstate.tasks.compositional import CompositionalBandits
from reinstate.tasks.two_step import EpisodicTwoStep
from reinstate.tasks.water_maze import WaterMaze


def test_barcode_bandits() -> None:
    values = bandit_optimum(BarcodeBandits())
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
    assert missing not in bandit_optimum(BarcodeBandits(**settings))


def test_compositional_bandits() -> None:
    values = compositional_optimum(CompositionalBandits())
    assert values["both_novel"] == pytest.approx(8.376, abs=5e-4)
    assert values["either_known"] == pytest.approx(9.0)
    assert values["mean_over_epoch"] == pytest.approx(8.93, abs=5e-3)


def test_omniglot_bandits_are_solved_as_if_every_class_were_recognised() -> None:
    small: dict[str, Any] = {"num_arms": 4, "num_contexts": 4, "repeats": 3, "pulls": 5}
    values = omniglot_optimum(OmniglotBandits(**small))
    assert values == bandit_optimum(BarcodeBandits(**small))


def test_water_maze() -> None:
    values = maze_optimum(WaterMaze())
    assert values["without_memory"] == pytest.approx(5.54, abs=5e-3)
    assert values["goal_known"] == pytest.approx(7.44, abs=5e-3)


def test_a_maze_too_large_to_solve_has_bounds() -> None:
    values = maze_optimum(WaterMaze(height=8, width=8))
    bounds = water_maze_bounds(8, 8)
    assert values["without_memory"] == bounds.without_memory_upper
    assert values["bounds"]["without_memory_lower"] == bounds.without_memory_lower
    assert "steps_first_exposure" not in values


def test_two_step() -> None:
    values = two_step_optimum(EpisodicTwoStep())
    assert values["uncued"] == pytest.approx(0.6505, abs=5e-5)
    assert values["episodic_cued"] == pytest.approx(0.725, abs=5e-4)
    assert values["with_memory"] == pytest.approx((0.6505 + 0.725) / 2, abs=5e-4)


def test_the_classic_two_step_task_has_no_cued_part() -> None:
    values = two_step_optimum(EpisodicTwoStep(cued=0))
    assert values == {"uncued": pytest.approx(0.6505, abs=5e-5)}


@pytest.mark.parametrize(
    ("solve", "task", "message"),
    [
        (two_step_optimum, EpisodicTwoStep(cues="once"), "use cues uniform"),
        (two_step_optimum, EpisodicTwoStep(p_low=0.95), "p_low 0.95 exceeds p_high 0.9: swap"),
        (maze_optimum, WaterMaze(start="anywhere"), "use start elsewhere"),
        (maze_optimum, WaterMaze(height=40, width=40), "too large even for bounds.*lower height"),
        (bandit_optimum, BarcodeBandits(pulls=60), r"too large .*lower"),
        (compositional_optimum, CompositionalBandits(pulls=100_000), r"too large .*lower"),
    ],
)
def test_a_task_that_cannot_be_solved_is_refused(solve: Any, task: Any, message: str) -> None:
    with pytest.raises(Unsolvable, match=message) as error:
        solve(task)
    assert isinstance(error.value, TooLarge) == ("too large" in message)


def test_a_mistake_in_a_baseline_is_not_taken_for_a_large_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def mistaken(*args: int) -> None:
        raise ValueError("too large an index")

    monkeypatch.setattr(optimum, "water_maze_optimum", mistaken)
    with pytest.raises(ValueError, match="too large an index"):
        maze_optimum(WaterMaze())
