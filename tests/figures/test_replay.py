"""A replay tells what the record holds, and every way of showing it tells the replay."""

import functools
import io
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from rich.console import Console

from reinstate.agent import Network, make_agent
from reinstate.errors import UserError
from reinstate.evaluation import Evaluation, Record, evaluate
from reinstate.figures.replay import Frame, choose, draw, memory_text, replay, show
from reinstate.figures.replay_svg import animated_svg
from reinstate.memory import DND
from reinstate.tasks.water_maze import MOVES, MazeTrace, WaterMaze

MAZE = WaterMaze(height=3, width=3, steps=6, num_contexts=3, repeats=2, barcode_length=4)
SVG = "{http://www.w3.org/2000/svg}"


@functools.cache
def played(name: str = "epl2rl") -> Record:
    """An untrained agent's record, of one seed."""
    agent = make_agent(name, MAZE, Network(hidden_size=4), key=jax.random.key(0))
    one = functools.partial(evaluate, MAZE, agent, DND(capacity=6), Evaluation(epochs=2))
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(one))(np.arange(1)))


class TraceWithContext(NamedTuple):
    cell: Any
    goal: Any
    context: Any


def a_record(
    context_id: list[int],
    exposure: list[int],
    cells: list[list[int]],
    moves: list[list[str]],
    distance: float = 0.0,
) -> Record:
    """One seed and epoch, by hand. The goal is the last cell: a move into it is rewarded."""
    cell: Any = np.array([[cells]])
    action: Any = np.array([[[[MOVES.index(move) for move in row] for row in moves]]])
    reward: Any = (cell + np.array([-1, 1, -3, 3])[action] == 8).astype(np.float32)
    gate: Any = np.full(cell.shape, 0.25)
    ids: Any = np.array([[context_id]])
    met: Any = np.array([[exposure]])
    far: Any = np.full(cell.shape, distance)
    trace = MazeTrace(cell, np.full_like(cell, 8))
    report = {"r": gate}
    return Record(ids, met, action, reward, reward, reward, report, report, far, met, trace)


def twice(distance: float = 0.0) -> Record:
    """A context met twice: the first search takes three moves, the second one."""
    cells = [[3, 4, 5, 0], [5, 1, 1, 4]]
    moves = [["right", "right", "down", "up"], ["down", "up", "down", "right"]]
    return a_record([0, 0], [0, 1], cells, moves, distance=distance)


def text_of(frames: list[Frame], world: WaterMaze = MAZE, **options: Any) -> str:
    console = Console(file=io.StringIO(), width=80, **options)
    show(frames, world, console, speed=1000)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_frames_agree_with_the_record() -> None:
    record = played()
    for epoch, episode in np.ndindex(record.context_id.shape[1:]):
        here = (0, epoch, episode)
        frames = replay(MAZE, record, *here)
        assert [f.step for f in frames] == [1, 2, 3, 4, 5, 6]
        np.testing.assert_array_equal([f.cell for f in frames], record.trace.cell[here])
        np.testing.assert_array_equal([f.goal for f in frames], record.trace.goal[here])
        np.testing.assert_array_equal([f.reward for f in frames], record.reward[here])
        np.testing.assert_array_equal([f.goals for f in frames], record.reward[here].cumsum())
        np.testing.assert_array_equal([MOVES.index(f.move) for f in frames], record.action[here])
        np.testing.assert_allclose([f.r_gate for f in frames], record.report["r"][here])
        assert {f.exposure for f in frames} == {int(record.exposure[here]) + 1}


def test_moves_lead_where_the_world_says() -> None:
    rewarded = 0
    for epoch, episode in np.ndindex(played().context_id.shape[1:]):
        frames = replay(MAZE, played(), 0, epoch, episode)
        for now, following in pairwise(frames):
            rewarded += now.reward > 0
            assert now.landed == (now.goal if now.reward > 0 else following.cell)
            assert following.trail == (() if now.reward > 0 else (*now.trail, now.cell))
    assert rewarded


def test_what_is_retrieved() -> None:
    record = played()
    for epoch, episode in np.ndindex(record.context_id.shape[1:]):
        frame = replay(MAZE, record, 0, epoch, episode)[0]
        if frame.exposure == 2:
            assert memory_text(frame) == "exposure 1 of this context"
        elif episode == 0:
            assert memory_text(frame) == "nothing"
        else:
            assert re.fullmatch(r"another context's, distance 0\.\d\d", memory_text(frame))


def test_the_latest_exposure_is_the_one_retrieved() -> None:
    cells, moves = [[0]] * 5, [["up"]] * 5
    record = a_record([0, 1, 0, 1, 0], [0, 0, 1, 1, 2], cells, moves)
    assert [replay(MAZE, record, 0, 0, n)[0].retrieved for n in (2, 3, 4)] == [1, 1, 2]


def test_an_agent_without_memory_retrieves_nothing() -> None:
    frame = replay(MAZE, twice(distance=np.inf), 0, 0, 1)[0]
    assert frame.exposure == 2 and frame.retrieved is None and memory_text(frame) == "nothing"


def test_an_evicted_memory_is_not_claimed() -> None:
    frame = replay(MAZE, twice(distance=0.5), 0, 0, 1)[0]
    assert memory_text(frame) == "another context's, distance 0.50"


def test_context_bits_are_shown_where_the_record_has_them() -> None:
    assert replay(MAZE, twice(), 0, 0, 0)[0].context == "#1"

    bits = np.tile(np.array([1.0, 0.0, 1.0, 1.0]), (1, 1, 2, 4, 1))
    record = twice()._replace(trace=TraceWithContext(twice().trace.cell, twice().trace.goal, bits))
    assert replay(MAZE, record, 0, 0, 0)[0].context == "1011"


@pytest.mark.parametrize("place", [(1, 0, 0), (0, 2, 0), (0, 0, 6), (0, 0, -1)])
def test_places_outside_the_record_are_refused(place: tuple[int, int, int]) -> None:
    with pytest.raises(UserError, match=r"must be 0 to \d, not -?\d"):
        replay(MAZE, played(), *place)


def test_choose_takes_a_pair_of_one_context() -> None:
    record = played()
    (epoch, first), (again, second) = choose(record, 1), choose(record, 2)
    assert epoch == again and first < second
    assert record.context_id[0, epoch, first] == record.context_id[0, epoch, second]
    assert choose(record) == choose(record, None) == (again, second)
    assert record.exposure[0, epoch, second] == 1


def searching(wait: int, start: int = 5) -> tuple[list[int], list[str]]:
    """Six steps that reach the goal below cell 5 after bumping into the wall `wait` times."""
    cells = [start, *[5] * 5]
    return cells, ["right"] * wait + ["down"] * (wait < 6) + ["right"] * (5 - wait)


def test_choose_prefers_long_first_and_short_second_searches() -> None:
    def place(*pairs: tuple[int, int, int]) -> tuple[int, int]:
        """Of contexts with these waits, first and second, and starts of the second."""
        firsts = [searching(first) for first, _, _ in pairs]
        seconds = [searching(second, start) for _, second, start in pairs]
        cells, moves = zip(*firsts, *seconds, strict=True)
        num = len(pairs)
        ids, met = [*range(num)] * 2, [0] * num + [1] * num
        record = a_record(ids, met, list(cells), list(moves))
        first, second = choose(record, 1), choose(record)
        assert second == (0, first[1] + num)
        return first

    assert place((1, 1, 5), (3, 1, 5), (2, 1, 5)) == (0, 1)  # the most gained
    assert place((3, 2, 5), (4, 1, 2)) == (0, 0)  # rather from the same start
    assert place((2, 2, 5), (4, 1, 2)) == (0, 1)  # but only if something is gained
    assert place((6, 0, 5), (1, 0, 5)) == (0, 1)  # a goal never found cannot be remembered


@pytest.mark.parametrize("exposure", [0, 3])
def test_choose_refuses_exposures_there_are_not(exposure: int) -> None:
    with pytest.raises(UserError, match=f"exposure must be 1 to 2, not {exposure}"):
        choose(played(), exposure)


FRAME = """\
┌───┬───┬───┐
│   │   │   │   step       3 of 6
├───┼───┼───┤   context    #1, exposure 1
│ · │ · │ ●↓│   retrieved  nothing
├───┼───┼───┤   r gate     █████░░░░░░░░░░░░░░░ 0.25
│   │   │ ★ │   move       down, goal!
└───┴───┴───┘   goals      1 so far ★

                ● agent  ★ goal  · this search
"""


def test_a_frame_in_full() -> None:
    frames = replay(MAZE, twice(distance=np.inf), 0, 0, 0)
    lines = [line.rstrip() for line in text_of(frames[2:3]).splitlines()]
    assert lines == [*FRAME.splitlines(), ""]


def test_without_a_terminal_there_is_a_block_a_step() -> None:
    frames = replay(MAZE, played(), 0, 0, 0)
    text = text_of(frames)
    assert "\x1b" not in text and max(map(len, text.splitlines())) <= 80
    assert re.findall(r"step +(\d) of 6", text) == ["1", "2", "3", "4", "5", "6"]
    assert text.count("┌") == text.count("└") == 6


def test_in_a_terminal_frames_replace_each_other() -> None:
    frames = replay(MAZE, played(), 0, 0, 0)
    text = text_of(frames, force_terminal=True, force_interactive=True, height=40)
    assert "\x1b[1A" in text  # the cursor goes back up
    with pytest.raises(UserError, match="speed must be positive"):
        show(frames, MAZE, Console(file=io.StringIO()), speed=0)


@pytest.mark.parametrize("width", [4, 8, 10, 12])
def test_wide_mazes_fit(width: int) -> None:
    world = WaterMaze(width=width, height=3, steps=6)
    frame = replay(MAZE, twice(distance=0.5), 0, 0, 1)[0]._replace(goals=8)
    console = Console(file=io.StringIO(), width=80)
    with console.capture() as capture:
        console.print(draw(world, frame))
    assert "another context's, distance 0.50" in capture.get()
    assert f"┌{'┬'.join(['───'] * width)}┐" in capture.get()


def test_the_svg_moves_one_agent_an_episode() -> None:
    episodes = [replay(MAZE, twice(), 0, 0, n) for n in (0, 1)]
    text = animated_svg(MAZE, episodes)
    assert len(text) < 60_000 and "<script" not in text
    root = ET.fromstring(text)
    agents = [e for e in root.iter() if "agent" in e.get("class", "").split()]
    assert len(agents) == 2
    moving = [e for e in root.iter() if "moving" in e.get("class", "").split()]
    names = [e.get("style", "").removeprefix("animation-name:") for e in moving]
    assert sorted(names) == sorted(re.findall(r"@keyframes (\w+)\{", text))
    captions = [e.text for e in root.iter(f"{SVG}text") if e.get("class") == "caption"]
    assert captions == ["first exposure", "second exposure"]


def test_the_svg_keyframes_follow_the_agent() -> None:
    frames = replay(MAZE, twice(), 0, 0, 0)
    text = animated_svg(MAZE, [frames])
    agent = next(e for e in ET.fromstring(text).iter() if "agent" in e.get("class", ""))
    name = agent.get("style", "").removeprefix("animation-name:")
    body = text.split(f"@keyframes {name}{{")[1].split("}}")[0]
    stages = re.findall(r"([\d.]+)%\{transform:translate\(([\d.]+)px,([\d.]+)px\)", body)
    times = [float(time) for time, _, _ in stages]
    assert times == sorted(times) and times[0] == 0 and times[-1] == 100
    side = 240 // 3
    cells = [int(float(x) // side + 3 * ((float(y) - 62) // side)) for _, x, y in stages]
    # Before the move, after it, and as it ends; then the pause.
    assert cells == [3, 4, 4, 4, 5, 5, 5, 8, 8, 0, 0, 0, 0]


def test_the_svg_of_a_full_episode_is_small() -> None:
    world = WaterMaze()
    frames = [
        Frame(n + 1, n % 15, n % 15 + 1, 15, 0, 0.0, "right", 0.5, 1, "#1", None, np.inf, (0,) * n)
        for n in range(20)
    ]
    assert len(animated_svg(world, [frames, frames, frames])) < 60_000
