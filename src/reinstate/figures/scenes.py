"""A moment of a world, drawn: one neutral scene, and two ways to show it, pixels and text.

`cells` says what a world looks like, as a grid of cells, of its trace: the same for a world that is
being played and for a recorded episode. Draw a world of your own by registering a function for its
class:

    @scenes.cells.register
    def _(world: MyWorld, trace, action): ...
"""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from reinstate.tasks.bandits import Bandits
from reinstate.tasks.base import World
from reinstate.tasks.compositional import CompositionalBandits
from reinstate.tasks.two_step import EpisodicTwoStep
from reinstate.tasks.water_maze import WaterMaze

SIDE, GAP, STRIP, BAR = 32, 4, 12, 6  # pixels: of cells, of what is between, above and below them
SHOWN = 32  # characters of a vector, at most
SHADES = ".:-=+*#"  # from nothing to the largest number of a vector; a barcode is of . and #
PAPER, CELL, GREY, INK = 255, (234, 238, 242), (110, 119, 129), (36, 41, 47)
# Okabe and Ito's colours, which colour-blind people can tell apart.
CHOSEN, BEST, PAID = (0, 114, 178), (0, 158, 115), (230, 159, 0)


class Cell(NamedTuple):
    """A place or a thing to choose."""

    text: str  # what it is called in text; pixels do without
    chosen: bool = False  # by the last action; in a maze: where the agent is
    best: bool = False  # what an agent would choose that knew everything


class Scene(NamedTuple):
    """What is drawn of a moment."""

    heading: str
    cells: list[list[Cell]]  # row by row
    done: float  # share of the episode
    reward: float | None  # of the last step, if there was one
    context: np.ndarray | None = None  # (context_size,) what is on show; zeros: nothing
    notes: Sequence[str] = ()  # further lines of text


@singledispatch
def cells(world: World, trace: Any, action: int | None) -> list[list[Cell]]:
    """Lay out a world as rows of cells; `action` is the episode's last one, if there was one."""
    return [[Cell(str(n), n == action) for n in range(world.num_actions)]]


@cells.register
def _(world: Bandits, trace: Any, action: int | None) -> list[list[Cell]]:
    good = int(trace.good_arm)
    return [[Cell(str(arm), arm == action, arm == good) for arm in range(world.num_arms)]]


@cells.register
def _(world: CompositionalBandits, trace: Any, action: int | None) -> list[list[Cell]]:
    # Stimuli change places between trials: the last choice was of an arm that showed another one.
    return [[Cell(str(arm), arm == action, arm == int(trace.high_at)) for arm in range(2)]]


@cells.register
def _(world: WaterMaze, trace: Any, action: int | None) -> list[list[Cell]]:
    here, goal = int(trace.cell), int(trace.goal)

    def cell(number: int) -> Cell:
        text = "A" if number == here else "G" if number == goal else "."
        return Cell(text, number == here, number == goal)

    return [
        [cell(row * world.width + column) for column in range(world.width)]
        for row in range(world.height)
    ]


@cells.register
def _(world: EpisodicTwoStep, trace: Any, action: int | None) -> list[list[Cell]]:
    reached, good = int(trace.state), int(trace.good_state)
    first = [Cell(f"action {n}", reached >= 0 and n == action) for n in range(2)]
    return [first, [Cell(f"state  {n}", n == reached, n == good) for n in range(2)]]


def text(scene: Scene) -> str:
    """Write a scene in ASCII characters: [chosen] and best*."""
    lines = [scene.heading]
    if scene.context is not None:
        lines.append(f"context |{_vector_text(scene.context)}|")
    lines += ["  ".join(_cell_text(cell) for cell in row).rstrip() for row in scene.cells]
    if scene.reward is not None:
        lines.append(f"reward {scene.reward:g}")
    return "\n".join([*lines, *scene.notes])


def _cell_text(cell: Cell) -> str:
    name = f"[{cell.text}]" if cell.chosen else f" {cell.text} "
    return name + ("*" if cell.best else " ")


def _vector_text(vector: np.ndarray) -> str:
    parts = np.array_split(_darkness(vector), min(SHOWN, len(vector)))
    levels = [round(float(part.mean()) * (len(SHADES) - 1)) for part in parts]
    return "".join(SHADES[level] for level in levels)


def _darkness(vector: np.ndarray) -> np.ndarray:
    """Scale numbers to 0 … 1, from the least one or 0 to the largest one or 0."""
    least, largest = min(0.0, float(vector.min())), max(0.0, float(vector.max()))
    return (vector - least) / max(largest - least, 1e-12)


def picture(scene: Scene) -> np.ndarray:
    """Draw a scene, (height, width, 3) bytes.

    The context is a strip on top, a disc is what was chosen, orange if it paid, and a frame what is
    best. The strip below shows how far the episode is.
    """
    paid = bool(scene.reward)
    rows = [_row([_cell_picture(cell, paid) for cell in row]) for row in scene.cells]
    context = np.zeros(1) if scene.context is None else scene.context
    width = max(*(row.shape[1] for row in rows), len(context) + 2 * GAP)
    inner = width - 2 * GAP
    done = np.arange(inner) < round(scene.done * inner)
    below = np.where(done[:, None], PAID if paid else GREY, CELL).astype(np.uint8)
    strips = (_vector_picture(context, STRIP, inner), np.broadcast_to(below, (BAR, inner, 3)))
    above, under = (_row([strip]) for strip in strips)
    parts = []
    for row in (above, *rows, under):
        left = (width - row.shape[1]) // 2
        parts.append(_framed(row, left=left, right=width - row.shape[1] - left))
    return _framed(np.concatenate(parts), below=GAP)


def _row(tiles: list[np.ndarray]) -> np.ndarray:
    """Put tiles beside each other, with gaps around them but for the one below."""
    return _framed(np.concatenate([_framed(t, above=GAP, left=GAP) for t in tiles], 1), right=GAP)


def _framed(
    part: np.ndarray, *, above: int = 0, below: int = 0, left: int = 0, right: int = 0
) -> np.ndarray:
    """Put paper around a part of the picture."""
    return np.pad(part, ((above, below), (left, right), (0, 0)), constant_values=PAPER)


def _cell_picture(cell: Cell, paid: bool) -> np.ndarray:
    tile = np.full((SIDE, SIDE, 3), CELL, np.uint8)
    if cell.best:
        tile[:3], tile[-3:], tile[:, :3], tile[:, -3:] = BEST, BEST, BEST, BEST
    if cell.chosen:
        y, x = np.mgrid[:SIDE, :SIDE] - (SIDE - 1) / 2
        tile[x**2 + y**2 < (SIDE / 4) ** 2] = PAID if paid else CHOSEN
    return tile


def _vector_picture(vector: np.ndarray, height: int, width: int) -> np.ndarray:
    """Draw a vector as bars from left to right, in several lines if it is long; 1 is dark."""
    lines = np.array_split(_darkness(vector), -(-len(vector) // width))
    dark = np.stack([line[np.arange(width) * len(line) // width] for line in lines])
    dark = dark[np.arange(height) * len(lines) // height, :, None]
    return np.round(dark * INK + (1 - dark) * CELL).astype(np.uint8)
