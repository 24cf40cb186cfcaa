"""What environments look like: every world in text, and the pixels that carry meaning."""

from typing import Any

import jax
import numpy as np

from reinstate.figures.scenes import (
    BEST,
    CELL,
    CHOSEN,
    GREY,
    INK,
    PAID,
    Cell,
    Scene,
    cells,
    picture,
    text,
)
from reinstate.interop.functional import Environment
from reinstate.interop.lanes import Lanes, scene
from reinstate.tasks.bandits import BarcodeBandits, OmniglotBandits
from reinstate.tasks.base import World
from reinstate.tasks.compositional import CompositionalBandits
from reinstate.tasks.two_step import EpisodicTwoStep
from reinstate.tasks.water_maze import WaterMaze

ALL = np.array([True])
SIZES: dict[str, Any] = {"num_contexts": 3, "repeats": 2}
CERTAIN: dict[str, Any] = {"p_common": 1.0, "p_high": 1.0, "p_low": 0.0, "p_reversal": 0.0}


def shown(world: World, *actions: int) -> Scene:
    """What is seen of a lane after these actions."""
    lanes = Lanes(Environment(world), 1)
    lanes.seed([np.array([0, 1], np.uint32)])
    _, info = lanes.reset(ALL, ALL)
    for action in actions:
        _, info, *_ = lanes.step(np.array([action], np.int32))
    return scene(world, *jax.tree.map(lambda x: x[0], (lanes.state, info)))


def colours(image: np.ndarray) -> set[tuple[int, ...]]:
    return {tuple(colour) for colour in image.reshape(-1, 3).tolist()}


def lines(world: World, *actions: int) -> list[str]:
    return text(shown(world, *actions)).splitlines()


BANDIT = BarcodeBandits(**SIZES, num_arms=3, pulls=4, barcode_length=4, p_good=1.0, p_bad=0.0)
MAZE = WaterMaze(**SIZES, height=2, width=3, steps=4, barcode_length=4)
TWO_STEP = EpisodicTwoStep(uncued=2, cued=2, barcode_length=4, **CERTAIN)


def test_bandits_show_the_last_pull_and_the_good_arm() -> None:
    heading = "context 1, exposure 0, step {} of 4"
    assert lines(BANDIT) == [heading.format(0), "context |##..|", " 0     1     2 *"]
    pulled = [heading.format(1), "context |##..|", " 0     1    [2]*", "reward 1"]
    assert lines(BANDIT, 2) == pulled
    new = ["context 2, exposure 0, step 0 of 4", "context |##.#|", " 0     1 *   2", "reward 0"]
    assert lines(BANDIT, 0, 1, 2, 0) == new  # the last pull was in another context


def test_drawings_are_shaded() -> None:
    world = OmniglotBandits(**SIZES, num_arms=3, pulls=4)
    assert lines(world)[1] == "context |-+++========+===----=+--=-===-=-|"


def test_mazes_show_the_agent_and_the_goal() -> None:
    assert lines(MAZE)[2:] == [" G *   .     .", "[A]    .     ."]
    assert lines(MAZE, 1)[2:] == [" G *   .     .", " .    [A]    .", "reward 0"]
    assert lines(MAZE, 2)[2:] == [" G *   .     .", " .     .    [A]", "reward 1"]  # respawned


def test_two_step_shows_both_stages() -> None:
    apart = [" action 0     action 1", " state  0     state  1 *"]
    assert lines(TWO_STEP)[1:] == ["context |....|", *apart]
    arrived = ["context |..#.|", " action 0    [action 1]", " state  0    [state  1]*", "reward 0"]
    assert lines(TWO_STEP, 1)[1:] == arrived
    assert lines(TWO_STEP, 1, 1)[1:] == ["context |....|", *apart, "reward 1"]


def test_compositional_bandits_show_which_arm_is_best() -> None:
    world = CompositionalBandits(
        num_classes=4, repeats=2, pulls=3, stimuli="barcodes", barcode_length=4
    )
    assert lines(world)[1:] == ["context |#..#|", " 0 *   1"]
    assert lines(world, 1)[2:] == [" 0 *  [1]", "reward 0"]


def test_pixels_say_the_same() -> None:
    before, missed, paid = (picture(shown(BANDIT, *actions)) for actions in ((), (0,), (2,)))
    assert before.shape == (66, 112, 3) and before.dtype == np.uint8
    np.testing.assert_array_equal(before, picture(shown(BANDIT)))
    marks = [colours(image) & {CHOSEN, PAID, GREY} for image in (before, missed, paid)]
    assert marks == [set(), {CHOSEN, GREY}, {PAID}]
    strip, middle = before[4:16], before[36]
    np.testing.assert_array_equal(strip[:, [5, 30]], np.full((12, 2, 3), INK))  # |##..|
    np.testing.assert_array_equal(strip[:, [80, 105]], np.full((12, 2, 3), CELL))
    framed = [tuple(middle[x]) for x in (4, 40, 76)]  # the left edge of each arm
    assert framed == [CELL, CELL, BEST]
    assert tuple(missed[36, 20]) == CHOSEN and tuple(paid[36, 92]) == PAID


def test_mazes_are_drawn_row_by_row() -> None:
    image = picture(shown(MAZE))
    assert tuple(image[72, 20]) == CHOSEN and tuple(image[22, 20]) == BEST
    assert image.shape == (102, 112, 3)


class Plain(BarcodeBandits):
    """A world of one's own."""


@cells.register
def _(world: Plain, trace: Any, action: int | None) -> list[list[Cell]]:
    return [[Cell("mine", chosen=action is not None)]]


def test_other_worlds_are_drawn_by_their_actions_or_as_they_say() -> None:
    anything = cells.dispatch(World)
    assert anything(BANDIT, None, 1) == [[Cell("0"), Cell("1", chosen=True), Cell("2")]]
    own = Plain(**SIZES, num_arms=3, pulls=4, barcode_length=4)
    assert lines(own, 0)[2:] == ["[mine]", lines(own, 0)[-1]]


def test_a_world_may_show_no_context_at_all() -> None:
    bare = shown(BANDIT)._replace(context=np.zeros(1))
    assert "context |.|" in text(bare) and INK not in colours(picture(bare))
