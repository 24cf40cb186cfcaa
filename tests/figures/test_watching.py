"""What is watched is what the record holds, and the animation follows the agent."""

import functools
import io
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from rich.console import Console

from reinstate.agent import Network, make_agent
from reinstate.errors import UserError
from reinstate.evaluation import Evaluation, Record, evaluate
from reinstate.figures.film import film
from reinstate.figures.scenes import text
from reinstate.figures.style import CONTRAST, TEXT_CONTRAST, contrast
from reinstate.figures.watching import _merit_of_cue, exposures_of, retrieved, scenes_of, show, walk
from reinstate.memory import DND
from reinstate.tasks.bandits import BanditTrace, BarcodeBandits
from reinstate.tasks.compositional import CompositionalBandits
from reinstate.tasks.two_step import EpisodicTwoStep, TwoStepTrace
from reinstate.tasks.water_maze import MOVES, MazeTrace, WaterMaze

MAZE = WaterMaze(height=3, width=3, steps=6, num_contexts=3, repeats=2, barcode_length=4)
BANDIT = BarcodeBandits(num_arms=3, pulls=2, num_contexts=3, repeats=2, barcode_length=4)
SVG = "{http://www.w3.org/2000/svg}"


def played(world: Any = MAZE, epochs: int = 2) -> Record:
    """An untrained agent's record, of one seed."""
    agent = make_agent("epl2rl", world, Network(hidden_size=4), key=jax.random.key(0))
    one = functools.partial(evaluate, world, agent, DND(capacity=6), Evaluation(epochs=epochs))
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(one))(np.arange(1)))


def a_record(trace: Any, actions: list, rewards: list, ids: list, met: list, back: list) -> Record:
    """One seed and epoch, by hand; each argument is a list over its episodes."""

    def lane(values: list, kind: Any) -> Any:
        return np.array([[values]], kind)

    action, reward = lane(actions, int), lane(rewards, float)
    source = lane(back, int)
    gates: Any = {"r": np.full(reward.shape, 0.5)}
    distance: Any = np.where(source < 0, np.inf, 0.25)
    return Record(
        lane(ids, int), lane(met, int), action, reward, reward, reward, gates, {}, distance,
        source, trace,
    )  # fmt: skip


def pulled() -> Record:
    """Contexts 0, 1, 0; the good arms are 2, 0, 2; the second context recalls the first's state."""
    good: Any = np.array([[[[2, 2], [0, 0], [2, 2]]]])
    rewards = [[0, 1], [0, 0], [1, 1]]
    back = [[-1, -1], [0, 0], [0, 0]]
    return a_record(
        BanditTrace(good), [[0, 2], [1, 1], [2, 2]], rewards, [0, 1, 0], [0, 0, 1], back
    )


def lines(world: Any, record: Record, *exposures: int, **how: Any) -> list[list[str]]:
    found = exposures_of(world, record, exposures, **how)
    return [text(scene).splitlines() for each in found for scene in scenes_of(each)]


def test_bandits_in_full() -> None:
    first, second, *again = lines(BANDIT, pulled(), 1, 2)
    gate = "r gate ██████████░░░░░░░░░░ 0.50"
    heading = "context 1, exposure 1, step 1 of 2"
    assert first == [heading, "[0]    1     2 *", "reward 0", "retrieved nothing", gate, "so far 0"]
    assert second[1:3] == [" 0     1    [2]*", "reward 1"] and second[-1] == "so far 1"
    assert again[0][3] == "retrieved exposure 1 of this context" and again[1][-1] == "so far 2"
    (other, _) = lines(BANDIT, pulled(), 1, context=2)
    assert other[3] == "retrieved another context's, distance 0.25"


def test_the_two_step_task_says_where_choices_led_and_what_the_cue_paid() -> None:
    world = EpisodicTwoStep(uncued=1, cued=1, barcode_length=4)
    state, cue = [[[[-1, 1], [-1, 0]]]], [[[[-1, -1], [0, 0]]]]
    lanes: Any = [
        np.array(each) for each in (cue, state, [[[[1, 1], [1, 1]]]], [[[[0, 0], [0, 0]]]])
    ]
    trace = TwoStepTrace(*lanes)
    back = [[-1, -1], [0, 0]]
    record = a_record(trace, [[1, 0], [1, 0]], [[0, 1], [0, 0]], [0, 0], [0, 1], back)
    first, _, cued, _ = lines(world, record, 1, 2)
    assert first[1:5] == [
        " action 0    [action 1]",
        " state  0    [state  1]*",
        "reward 0",
        "no cue",
    ]
    assert cued[2] == "[state  0]    state  1 *"
    assert cued[4] == "cue: episode 1, state 1 paid 1"


@pytest.mark.parametrize(
    "world",
    [
        MAZE,
        CompositionalBandits(
            num_classes=4, repeats=2, pulls=3, stimuli="barcodes", barcode_length=4
        ),
    ],
)
def test_what_an_agent_played_can_be_watched(world: Any) -> None:
    record = played(world)
    for exposure in exposures_of(world, record, [1, 2]):
        scenes = [*scenes_of(exposure)]
        assert len(scenes) == world.episode_length and scenes[-1].done == 1
        assert exposure.reward == sum(scene.reward or 0.0 for scene in scenes)
        chosen = [[cell.chosen for row in scene.cells for cell in row] for scene in scenes]
        assert all(sum(each) == 1 for each in chosen)


def a_search(*rows: tuple[list[int], list[str]], met: list[int], ids: list[int]) -> Record:
    """Episodes in a maze whose goal is cell 8: a move into it is rewarded."""
    cell: Any = np.array([[[cells for cells, _ in rows]]])
    actions = [[MOVES.index(move) for move in moves] for _, moves in rows]
    rewards = (cell[0, 0] + np.array([-1, 1, -3, 3])[np.array(actions)] == 8).astype(float)
    back = np.where(np.array(met) > 0, 0, -1)[:, None].repeat(cell.shape[-1], 1)
    trace = MazeTrace(cell, np.full_like(cell, 8))
    return a_record(trace, actions, rewards.tolist(), ids, met, back.tolist())


def twice() -> Record:
    """A context met twice: the first search takes three moves, the second one."""
    first = [3, 4, 5, 0], ["right", "right", "down", "up"]
    second = [5, 1, 1, 4], ["down", "up", "down", "right"]
    return a_search(first, second, met=[0, 1], ids=[0, 0])


def test_moves_lead_where_the_world_says() -> None:
    first, second = (walk(each) for each in exposures_of(MAZE, twice(), [1, 2]))
    assert first.moves == [(3, 4, False), (4, 5, False), (5, 8, True), (0, 0, False)]  # a wall
    assert [len(search) for search in first.searches()] == [3, 1]
    assert first.said == "4 steps; the maze is new to it."
    assert second.said == "4 steps; it remembers this maze."
    record = played()
    for exposure in exposures_of(MAZE, record, [1, 2]):
        for now, following in pairwise(walk(exposure).moves):
            assert now.landed == 8 if now.there else now.landed == following.here or now.there


def searching(wait: int, start: int = 5) -> tuple[list[int], list[str]]:
    """Six steps that reach the goal below cell 5 after bumping into the wall `wait` times."""
    cells = [start, *[5] * 5]
    return cells, ["right"] * wait + ["down"] * (wait < 6) + ["right"] * (5 - wait)


def test_a_long_first_and_a_quick_second_search_are_worth_watching() -> None:
    def place(*pairs: tuple[int, int, int]) -> int:
        """Of contexts with these waits, first and second, and starts of the second."""
        firsts = [searching(first) for first, _, _ in pairs]
        seconds = [searching(second, start) for _, second, start in pairs]
        met = [0] * len(pairs) + [1] * len(pairs)
        record = a_search(*firsts, *seconds, met=met, ids=[*range(len(pairs))] * 2)
        first, second = exposures_of(MAZE, record, [1, 2])
        assert first.played.context_id == second.played.context_id
        return int(exposures_of(MAZE, record, [1])[0].played.context_id)

    assert place((1, 1, 5), (3, 1, 5), (2, 1, 5)) == 1  # the most gained
    assert place((3, 2, 5), (4, 1, 2)) == 0  # rather from the same start
    assert place((2, 2, 5), (4, 1, 2)) == 1  # but only if something is gained
    assert place((6, 0, 5), (1, 0, 5)) == 1  # a goal never found cannot be remembered


def test_what_there_is_not_is_refused() -> None:
    for exposures in ([0], [1, 3]):
        with pytest.raises(UserError, match="exposure must be 1 to 2, not"):
            exposures_of(BANDIT, pulled(), exposures)
    with pytest.raises(UserError, match="context must be 1 to 1, not 2"):
        exposures_of(BANDIT, pulled(), [2], context=2)


def test_without_a_terminal_there_is_a_block_a_step() -> None:
    found = exposures_of(MAZE, twice(), [1])
    console = Console(file=io.StringIO(), width=80)
    with console.capture() as capture:
        show(found, console, speed=1000)
    assert re.findall(r"step (\d) of 4", capture.get()) == ["1", "2", "3", "4"]
    assert "[A]" in capture.get() and retrieved(found[0]) == "nothing"
    live = Console(file=io.StringIO(), force_terminal=True, force_interactive=True, height=40)
    show(found, live, speed=1000)
    assert isinstance(live.file, io.StringIO) and "\x1b[1A" in live.file.getvalue()
    with pytest.raises(UserError, match="speed must be positive"):
        show(found, console, speed=0)


def test_the_animation_follows_the_agent() -> None:
    drawn = film(3, 3, [walk(each) for each in exposures_of(MAZE, twice(), [1, 2])], "a maze")
    assert len(drawn) < 60_000 and "<script" not in drawn
    root = ET.fromstring(drawn)
    moving = [e for e in root.iter() if "moving" in e.get("class", "").split()]
    names = [e.get("style", "").removeprefix("animation-name:") for e in moving]
    assert sorted(names) == sorted(re.findall(r"@keyframes (\w+)\{", drawn))
    captions = [e.text for e in root.iter(f"{SVG}text") if e.get("class") == "caption"]
    assert captions == ["First visit: 1 goal", "Second visit: 1 goal"]
    agent, _ = (e for e in moving if "agent" in e.get("class", ""))
    name = agent.get("style", "").removeprefix("animation-name:")
    body = drawn.split(f"@keyframes {name}{{")[1].split("}}")[0]
    stages = re.findall(r"([\d.]+)%\{transform:translate\(([\d.]+)px,([\d.]+)px\)", body)
    times = [float(time) for time, _, _ in stages]
    assert times == sorted(times) and times[0] == 0 and times[-1] == 100
    side = 240 // 3
    cells = [int(float(x) // side + 3 * ((float(y) - 44) // side)) for _, x, y in stages]
    # Before the move, after it, and as it ends; then the pause.
    assert cells == [3, 4, 4, 4, 5, 5, 5, 8, 8, 0, 0, 0, 0]


def test_the_picture_stands_still_at_first_and_has_colours_for_both_schemes() -> None:
    """A preview shows the first frame: both searches, and how many goals were reached."""
    drawn = film(3, 3, [walk(each) for each in exposures_of(MAZE, twice(), [1, 2])], "a maze")
    assert re.search(r"animation:[\d.]+s linear 3s infinite", drawn)
    root = ET.fromstring(drawn)
    trails = [e for e in root.iter(f"{SVG}path") if "trail" in e.get("class", "")]
    assert [e.get("opacity") for e in trails] == ["1"] * 3 + ["0"] + ["1"] + ["0"] * 3
    light, dark = drawn.split("prefers-color-scheme:dark")[:2]
    for scheme in (light, dark):
        colours = dict(
            re.findall(r"(?:^|[}{\n])\.?(paper|text|agent|t\d)\{(?:fill|stroke):(#\w+)", scheme)
        )
        assert contrast(colours.pop("text"), paper := colours.pop("paper")) >= TEXT_CONTRAST
        assert all(contrast(each, paper) >= CONTRAST for each in colours.values())
        assert len(colours) == 9


def test_the_cue_worth_watching_brings_back_what_it_paid() -> None:
    """Of three cues, met in episodes 0 to 2 and shown again in 3 to 5, the second one tells."""
    reward = np.array([[0, 0], [0, 1], [0, 1], [0, 1], [0, 1], [0, 1]], float)
    record: Any = SimpleNamespace(
        context_id=np.array([[[7, 8, 9, 7, 8, 9]]]),
        retrieved=np.array([[[-1, 0, 1, 0, 1, 0]]])[..., None],
        reward=reward[None, None],
    )
    merits = [_merit_of_cue(record, 0, 0, np.array([n, n + 3])) for n in range(3)]
    assert merits == [(True, False, True), (True, True, True), (False, True, True)]
