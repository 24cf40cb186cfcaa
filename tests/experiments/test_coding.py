"""The regression under three codings; and an observer without a model-free part as control.

The control knows the task, believes by Bayes, and has no model-free part by construction: a coding
under which it shows IMF cannot tell whether an agent has any. It made the observers' part of
results/two-step/codings.json, with as many participants and sessions as its agents have.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from reinstate.choices.fits import fit_choices
from reinstate.choices.model import Choices, from_arrays, simulate
from reinstate.files import read_json
from reinstate.runs.experiment import EXPERIMENTS
from reinstate.tasks.two_step import EpisodicTwoStep
from reinstate_paper.two_step import by_coding

BETAS = (1.0, 3.0, 6.0)  # of the observer: how surely it follows its belief


def observers(
    task: EpisodicTwoStep, participants: int, sessions: int, seed: int = 0
) -> dict[str, Any]:
    """Fit the control under every coding, by how surely it follows its belief; uncued episodes."""
    return {
        f"{beta:g}": by_coding(observe(task, beta, participants, sessions, seed)) for beta in BETAS
    }


def observe(
    task: EpisodicTwoStep, beta: float, participants: int, sessions: int, seed: int | Sequence[int]
) -> Choices:
    """Play uncued episodes by belief alone: logit P(action 0) = β (P(s0 good) − P(s1 good))."""
    rng, shape = np.random.default_rng(seed), (participants, sessions)
    first = np.full(shape, 0.5)  # P(s0 good)
    good = rng.integers(2, size=shape)
    played = []
    for _ in range(task.uncued):
        good = good ^ (rng.random(shape) < task.p_reversal)
        p = 1 / (1 + np.exp(-beta * (2 * first - 1)))
        action = (rng.random(shape) >= p).astype(int)
        state = action ^ (rng.random(shape) >= task.p_common)
        pays = np.where(state == good, task.p_high, task.p_low)
        reward = (rng.random(shape) < pays).astype(int)
        played.append((action, state, reward))
        # Bayes: how probable this reward is if s0 is good, and if s1 is.
        chances = [np.where(state == s, task.p_high, task.p_low) for s in (0, 1)]
        likely = [np.where(reward == 1, chance, 1 - chance) for chance in chances]
        first = first * likely[0] / (first * likely[0] + (1 - first) * likely[1])
        first = first * (1 - task.p_reversal) + (1 - first) * task.p_reversal
    action, state, reward = (np.stack(column, axis=-1) for column in zip(*played, strict=True))
    uncued = np.zeros(action.shape, bool)
    return from_arrays(action, state, reward, uncued, np.full(action.shape, -1))


def test_the_first_coding_is_that_of_the_choice_model() -> None:
    choices = simulate({"IMF": 0.5, "IMB": 1.0, "EMB": 1.5, "perseveration": 0.3}, 40, seed=1)
    weights, group = by_coding(choices)["±1"], fit_choices(choices)["group"]
    for part, own in weights.items():
        assert {n: w["mean"] for n, w in own.items()} == pytest.approx(
            {n: group[part][n]["mean"] for n in own}, abs=1e-6
        )


def test_the_recorded_control_is_made_again() -> None:
    file = Path(__file__).parents[2] / "results" / "two-step" / "codings.json"
    recorded, task = read_json(file), EXPERIMENTS["two-step"].preset("paper").task
    made: Any = observers(task, len(recorded["seeds"]), 100)
    structures: list[Any] = [jax.tree.structure(each) for each in (recorded["observers"], made)]
    assert structures[0] == structures[1]
    found = jax.tree.leaves(recorded["observers"])  # rounded
    assert found == pytest.approx(jax.tree.leaves(made), rel=1e-5)


def test_values_of_zero_and_one_make_a_model_based_observer_look_model_free() -> None:
    for found in observers(EpisodicTwoStep(), participants=4, sessions=60).values():
        share = {
            coding: found[coding]["uncued"]["IMF"]["mean"] / found[coding]["uncued"]["IMB"]["mean"]
            for coding in found
        }
        assert abs(share["±1"]) < 0.1
        assert share["0/1"] > 0.2
        assert share["literal"] < -0.1


def test_the_observer_finds_the_good_state() -> None:
    task = EpisodicTwoStep()
    played = observe(task, 50.0, 1, 4000, seed=2)
    # With β so large it aims at the state that it believes in: the ideal observer's reward.
    assert np.mean(played.reward) == pytest.approx(0.6505, abs=0.004)
    assert not played.cued.any()
