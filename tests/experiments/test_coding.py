"""The regression under three codings; and an observer without a model-free part as control."""

import numpy as np
import pytest

from reinstate.choices.fits import fit_choices
from reinstate.choices.model import simulate
from reinstate.tasks.two_step import EpisodicTwoStep
from reinstate_paper.coding import by_coding, observe, observers


def test_the_first_coding_is_that_of_the_choice_model() -> None:
    choices = simulate({"IMF": 0.5, "IMB": 1.0, "EMB": 1.5, "perseveration": 0.3}, 40, seed=1)
    weights, group = by_coding(choices)["±1"], fit_choices(choices)["group"]
    for part, own in weights.items():
        assert {n: w["mean"] for n, w in own.items()} == pytest.approx(
            {n: group[part][n]["mean"] for n in own}, abs=1e-6
        )


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
