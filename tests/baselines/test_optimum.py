"""The optimum of each task: reference values in the units a user reads, and what is refused."""

from typing import Any

import pytest

from reinstate.baselines import epoch_memory
from reinstate.baselines.bandits import bandit_optimum, omniglot_optimum, one_exposure
from reinstate.baselines.epoch_memory import compositional_optimum
from reinstate.baselines.two_step import two_step_optimum
from reinstate.baselines.water_maze import maze_optimum, water_maze_bounds
from reinstate.errors import TooLarge, Unsolvable
from reinstate.tasks.bandits import BarcodeBandits, NoisyBandits, OmniglotBandits
from reinstate.tasks.compositional import CompositionalBandits
from reinstate.tasks.two_step import EpisodicTwoStep
from reinstate.tasks.water_maze import WaterMaze


def test_barcode_bandits() -> None:
    values = bandit_optimum(BarcodeBandits())
    assert values["chance"] == pytest.approx(1.8)
    assert values["without_memory"] == pytest.approx(4.436, abs=5e-4)
    assert values["own_memory"] == pytest.approx(8.44, abs=5e-3)
    assert values["own_memory_by_exposure"][:4] == pytest.approx([4.44, 8.15, 8.83, 8.97], abs=5e-3)
    assert values["with_memory"] == pytest.approx(8.750, abs=5e-4)
    reached = values["elimination_simulated"]
    assert reached["mean"] == pytest.approx(8.71, abs=0.02)
    assert reached["mean"] + reached["half_width"] < values["with_memory"]


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        ({"process": "urn"}, "own_memory"),
        ({"mapping": "independent"}, "elimination_simulated"),
        ({"num_contexts": 12}, "elimination_simulated"),
        ({"process": "urn"}, "with_memory"),
    ],
)
def test_what_does_not_apply_is_left_out(settings: dict[str, Any], missing: str) -> None:
    assert missing not in bandit_optimum(BarcodeBandits(**settings))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"mapping": "independent"}, 8.4375),  # own memory
        ({"num_contexts": 12}, 8.7159),  # (10 x 6.504 + 2 x 4.436) / 12, then 9.0
        # An urn of 100 episodes and alpha 3 meets 3/3 + 3/4 + ... + 3/102 = 11.12 contexts.
        ({"mapping": "independent", "process": "urn"}, 9 - (9 - 4.4364) * 0.1112),
    ],
)
def test_the_ceiling_with_memory_fits_the_mapping(
    settings: dict[str, Any], expected: float
) -> None:
    values = bandit_optimum(BarcodeBandits(**settings))
    assert values["with_memory"] == pytest.approx(expected, abs=1e-3)


def test_a_ceiling_stands_where_what_is_reachable_takes_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def large(*args: Any, **kwargs: Any) -> None:
        raise TooLarge("too large")

    monkeypatch.setattr("reinstate.baselines.epoch_memory.elimination", large)
    monkeypatch.setattr(epoch_memory, "pooled", large)
    values = bandit_optimum(BarcodeBandits())
    assert "with_memory" in values and "elimination_simulated" not in values
    values = compositional_optimum(CompositionalBandits())
    assert "with_memory" in values and "pooled_simulated" not in values


def test_compositional_bandits() -> None:
    values = compositional_optimum(CompositionalBandits())
    assert values["chance"] == pytest.approx(5.0)
    assert values["without_memory"] == pytest.approx(8.376, abs=5e-4)
    assert values["either_known"] == pytest.approx(9.0)
    assert values["with_memory"] == pytest.approx(8.93058, abs=5e-5)
    reached = values["pooled_simulated"]
    assert reached["mean"] == pytest.approx(8.93050, abs=1e-4)
    assert reached["mean"] + reached["half_width"] < values["with_memory"]


def test_omniglot_bandits_are_solved_as_if_every_class_were_recognised() -> None:
    small: dict[str, Any] = {"num_arms": 4, "num_contexts": 4, "repeats": 3, "pulls": 5}
    values = omniglot_optimum(OmniglotBandits(**small))
    assert values == bandit_optimum(BarcodeBandits(**small))


def test_water_maze() -> None:
    values = maze_optimum(WaterMaze())
    assert values["without_memory"] == pytest.approx(5.54, abs=5e-3)
    assert values["goal_known"] == pytest.approx(7.44, abs=5e-3)
    assert values["chance"] == values["random_walk"] == pytest.approx(0.70, abs=5e-3)
    assert values["mean_over_exposures"] == pytest.approx(7.254, abs=5e-4)
    assert values["with_memory"] == pytest.approx(7.305, abs=2 * values["with_memory_half_width"])
    assert values["with_memory_half_width"] < 0.003


def test_independent_goals_tell_nothing_of_each_other() -> None:
    small: dict[str, Any] = {"height": 2, "width": 3, "steps": 6, "num_contexts": 3, "repeats": 2}
    distinct = maze_optimum(WaterMaze(**small))
    independent = maze_optimum(WaterMaze(**small, goals="independent"))
    assert independent["with_memory"] == independent["mean_over_exposures"]
    assert independent["with_memory_half_width"] == 0
    assert distinct["with_memory"] > distinct["mean_over_exposures"]


def test_a_maze_under_the_urn_counts_the_contexts_it_meets() -> None:
    # Of 6 episodes at alpha 3, 3/3 + ... + 3/8 = 3.653 have a new context.
    small: dict[str, Any] = {"height": 2, "width": 3, "steps": 6, "num_contexts": 3, "repeats": 2}
    values = maze_optimum(WaterMaze(**small, process="urn"))
    lost = values["goal_known"] - values["without_memory"]
    expected = values["goal_known"] - lost * 3.6535714 / 6
    assert values["mean_over_exposures"] == pytest.approx(expected)
    assert "with_memory" not in values


def test_a_maze_too_large_to_solve_has_bounds() -> None:
    values = maze_optimum(WaterMaze(height=8, width=8))
    bounds = water_maze_bounds(8, 8)
    assert values["without_memory"] == bounds["without_memory_upper"]
    assert values["mean_over_exposures"] < values["with_memory"] < values["goal_known"]
    assert values["bounds"] == bounds
    assert "steps_first_exposure" not in values


def test_two_step() -> None:
    values = two_step_optimum(EpisodicTwoStep())
    assert values["uncued"] == pytest.approx(0.6505, abs=5e-5)
    assert values["episodic_cued"] == pytest.approx(0.725, abs=5e-4)
    assert values["with_memory"] == pytest.approx((0.6505 + 0.725) / 2, abs=5e-4)
    assert values["without_memory"] == pytest.approx((0.6505 + 0.6376) / 2, abs=5e-4)
    assert values["chance"] == 0.5


def test_the_classic_two_step_task_has_no_cued_part() -> None:
    values = two_step_optimum(EpisodicTwoStep(cued=0))
    best = pytest.approx(0.6505, abs=5e-5)
    assert values == {"uncued": best, "with_memory": best, "without_memory": best, "chance": 0.5}


@pytest.mark.parametrize(
    ("solve", "task", "message"),
    [
        (two_step_optimum, EpisodicTwoStep(p_low=0.95), "p_low 0.95 exceeds p_high 0.9: swap"),
        (maze_optimum, WaterMaze(height=40, width=40), "too large even for bounds.*lower height"),
        (bandit_optimum, BarcodeBandits(pulls=60), r"too large .*lower"),
        (compositional_optimum, CompositionalBandits(pulls=100_000), r"too large .*lower"),
    ],
)
def test_a_task_that_cannot_be_solved_is_refused(solve: Any, task: Any, message: str) -> None:
    with pytest.raises(Unsolvable, match=message) as error:
        solve(task)
    assert isinstance(error.value, TooLarge) == ("too large" in message)


def test_under_zipfs_law_the_contexts_that_are_met_count() -> None:
    task = BarcodeBandits(num_arms=3, pulls=2, num_contexts=2, repeats=1, mapping="independent")
    first = 2 * one_exposure(3, 2, 0.9, 0.1)
    # Two episodes, of contexts with chances 2/3 and 1/3: 5/9 of the time both are the same.
    met = 2 * 4 / 9 + 5 / 9
    found = bandit_optimum(NoisyBandits.of(task, zipf=1.0))
    assert found["with_memory"] == pytest.approx((met * first + (2 - met) * 1.8) / 2)
    assert "own_memory" not in found
    assert bandit_optimum(NoisyBandits.of(task, noise=0.1)) == bandit_optimum(task)
