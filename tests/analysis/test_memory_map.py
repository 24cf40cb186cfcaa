"""Maps of stored states: what was stored, where it lies, and what its neighbours say."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reinstate.analysis.memory_map import (
    Stored,
    memory_map,
    principal_axes,
    readable,
    stored_states,
)
from reinstate.errors import UserError
from reinstate.evaluation import Condition, Evaluation, evaluate_in
from reinstate.memory import DND
from reinstate.player import Decision, Inputs, Player
from reinstate.tasks.bandits import BarcodeBandits
from reinstate.tasks.compositional import CompositionalBandits
from reinstate.tasks.water_maze import WaterMaze


class Counter(Player):
    """Counts its steps in a context, from what it remembers of it; one unit is twice the other."""

    actions: int

    remembers, value_size = True, 2

    def initial_state(self) -> Any:
        return jnp.zeros(2)

    def __call__(self, inputs: Inputs, recalled: Any, state: Any) -> tuple[Any, Decision]:
        after = jnp.where(inputs.last_action < 0, recalled, state) + jnp.array([1.0, 2.0])
        return after, Decision(jnp.zeros(self.actions), jnp.zeros(()))


class Forgetful(Counter):
    """Remembers nothing."""

    remembers = False


ONE = BarcodeBandits(
    num_arms=2, pulls=3, num_contexts=1, repeats=4, barcode_length=4, mapping="independent"
)
TWO_EPOCHS = Evaluation(epochs=2, seed=5)


def test_every_state_that_was_stored_is_there() -> None:
    condition, player = Condition(ONE, DND(capacity=4), recall=0.5), Counter(2)
    found = stored_states(condition, player, TWO_EPOCHS, seed=3)
    # Three pulls, and the step that sees the last reward; half of the count comes back.
    counted = [[[c, 2 * c] for c in (4, 6, 7, 7.5)]] * 2
    assert found.state.tolist() == counted and found.labels == "good arm"
    record = jax.jit(lambda seed: evaluate_in(condition, player, TWO_EPOCHS, seed))(3)
    np.testing.assert_array_equal(found.exposure, record.exposure)
    np.testing.assert_array_equal(found.label, record.trace.good_arm[..., 0])


SMALL_MAZE: Any = {"height": 3, "width": 4, "steps": 2, "num_contexts": 12, "repeats": 1}


class Untold(WaterMaze):
    """A maze of which a trace does not tell the goal."""

    def trace(self, task: Any, state: Any) -> Any:
        return state


def test_states_of_a_maze_are_told_apart_by_its_goal() -> None:
    condition = Condition(WaterMaze(**SMALL_MAZE), DND())
    found = stored_states(condition, Counter(4), TWO_EPOCHS, seed=0)
    record = jax.jit(lambda seed: evaluate_in(condition, Counter(4), TWO_EPOCHS, seed))(0)
    assert found.state.shape == (2, 12, 2) and found.labels == "goal"
    np.testing.assert_array_equal(found.label, record.trace.goal[..., 0])
    # Contexts of different epochs are different ones.
    assert found.context is not None
    assert sorted(found.context.ravel().tolist()) == list(range(24))


def test_where_nothing_is_told_the_contexts_of_one_epoch_are_told_apart() -> None:
    found = stored_states(Condition(Untold(**SMALL_MAZE), DND()), Counter(4), TWO_EPOCHS, seed=0)
    assert found.state.shape == (1, 10, 2) and found.labels == "context"
    assert sorted(found.label.ravel().tolist()) == list(range(10))  # two are left out


def test_what_has_no_map() -> None:
    with pytest.raises(UserError, match="without memory has none"):
        stored_states(Condition(ONE, DND()), Forgetful(2), TWO_EPOCHS, seed=0)
    pairs = CompositionalBandits(num_classes=4, repeats=2, stimuli="barcodes")
    with pytest.raises(UserError, match="CompositionalBandits has neither"):
        stored_states(Condition(pairs, DND()), Counter(2), TWO_EPOCHS, seed=0)


# One epoch of two contexts, met alternately; tanh of the state is what is placed.
TANH = np.array([[0.0, 0, 0.8], [0, 0.2, -0.8], [0, 0, 0.9], [0, -0.2, -0.9]])
STORED = Stored(
    np.arctanh(TANH)[None],
    np.array([[0, 0, 1, 1]]),
    np.array([[0, 1, 0, 1]]),
    "good arm",
    np.array([[0, 1, 0, 1]]),
)


def test_states_lie_along_the_directions_of_largest_variance_of_all_panels() -> None:
    found = memory_map(STORED)
    first, last = found["panels"]  # nobody is met ten times
    assert (first["exposure"], last["exposure"]) == (1, 2)
    assert first["label"] == last["label"] == [0, 1]
    # The third unit varies most, then the second, whose mean over panels is 0. They are not
    # correlated within a panel as they are here: the axes are tilted a little.
    everything = np.array([first["x"] + last["x"], first["y"] + last["y"]]).T
    centred = TANH - TANH.mean(axis=0)
    np.testing.assert_allclose(everything @ everything.T, centred @ centred.T, atol=2e-3)
    np.testing.assert_allclose(everything[:, 0], centred[:, 2], atol=0.02)
    assert first["readable"] is None  # every arm is there once
    one, two = found["explained"]
    assert one > two and one + two == pytest.approx(1, abs=1e-3)


def test_panels_are_of_single_exposures() -> None:
    met = np.arange(20)[None]
    found = memory_map(Stored(np.zeros((1, 20, 3)), met, met % 2, "good arm", met))
    assert [panel["exposure"] for panel in found["panels"]] == [1, 2, 3, 10]
    assert [len(panel["label"]) for panel in found["panels"]] == [1] * 4
    assert found["explained"] == [0, 0]  # of what does not vary


def test_the_sign_of_an_axis_is_always_the_same() -> None:
    states = np.random.default_rng(0).normal(size=(9, 4))
    for sign in (1, -1):
        axes, _ = principal_axes(sign * states)
        assert np.all(axes.max(axis=1) == np.abs(axes).max(axis=1))
    axes, explained = principal_axes(np.array([[1.0], [-1.0]]))  # a single unit
    assert axes.tolist() == [[1], [0]] and explained.tolist() == [1, 0]


def test_neighbours_agree() -> None:
    states = np.array([[0.0], [1.0], [1.4], [5.0], [5.1]])
    # 0 → 1, 1 → 1.4, 1.4 → 1, and the last two each other.
    assert readable(states, np.array([0, 0, 0, 1, 1])) == 1.0
    assert readable(states, np.array([0, 0, 1, 1, 1])) == 0.6
    assert readable(states, np.arange(5)) is None


def a_map(labels: int) -> Any:
    places, told = np.arange(2.0 * labels), np.arange(labels).repeat(2).tolist()
    panels: Any = [
        {"exposure": e, "readable": share, "x": e * places, "y": places, "label": told}
        for e, share in ((1, None), (10, 0.5))
    ]
    named: Any = {"experiment": "", "agent": "", "labels": "good arm", "explained": [0.6, 0.2]}
    return {**named, "panels": panels}
