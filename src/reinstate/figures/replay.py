"""An episode of the water maze, step by step, and in a terminal; `replay_svg` draws it as SVG."""

import time
from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np
from rich.box import SQUARE
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from reinstate.errors import UserError, require_positive
from reinstate.evaluation import Record
from reinstate.tasks.water_maze import MOVES, WaterMaze

SAME = 1e-6  # a context this close to a key is that key, but for rounding
ARROWS = dict(zip(MOVES, ("←● ", " ●→", " ●↑", " ●↓"), strict=True))
OFFSETS = dict(zip(MOVES, ((-1, 0), (1, 0), (0, -1), (0, 1)), strict=True))
BAR = 20  # characters of a full gate
BESIDE = 8  # columns of the widest maze that leaves room for text beside it, in 80 characters


class Frame(NamedTuple):
    """One step. Cells are counted row by row; exposures and steps from 1."""

    step: int
    cell: int  # where the agent is before the move
    landed: int  # where the move leads: the goal, if it is reached, and not yet the respawn
    goal: int
    goals: int  # reached so far, this move's included
    reward: float  # of the move
    move: str
    r_gate: float  # mean over units
    exposure: int
    context: str  # its bits if the record has them, else its number in the epoch
    retrieved: int | None  # the exposure whose memory came back; none if not of this context
    distance: float  # to the nearest key; infinite if there is none
    trail: tuple[int, ...]  # the cells of the current search before this one


def replay(world: WaterMaze, record: Record, seed: int, epoch: int, episode: int) -> list[Frame]:
    """Return a recorded episode; `seed` counts along the record's first axis.

    What came back from memory is the nearest key's value: all of it for k = 1.
    """
    here, sizes = (seed, epoch, episode), record.context_id.shape
    for name, index, size in zip(("seed", "epoch", "episode"), here, sizes, strict=True):
        if not 0 <= index < size:
            raise UserError(f"{name} must be 0 to {size - 1}, not {index}")
    played = jax.tree.map(lambda leaf: np.asarray(leaf)[here], record)
    bits, number = getattr(played.trace, "context", None), f"#{played.context_id + 1}"
    frames: list[Frame] = []
    for t, cell in enumerate(played.trace.cell.tolist()):
        last = frames[-1] if frames else None
        # An episode overwrites its context's memory: what is there is of the exposure before.
        recalled = played.exposure > 0 and played.distance[t] <= SAME
        frame = Frame(
            step=t + 1,
            cell=cell,
            landed=_land(world, cell, MOVES[played.action[t]]),
            goal=int(played.trace.goal[t]),
            goals=int(played.reward[: t + 1].sum()),
            reward=float(played.reward[t]),
            move=MOVES[played.action[t]],
            r_gate=float(played.report["r"][t]) if "r" in played.report else 0.0,
            exposure=int(played.exposure) + 1,
            context=number if bits is None else "".join(f"{bit:.0f}" for bit in bits[t]),
            retrieved=int(played.exposure) if recalled else None,
            distance=float(played.distance[t]),
            trail=(*last.trail, last.cell) if last and last.reward == 0 else (),
        )
        frames.append(frame)
    return frames


def _land(world: WaterMaze, cell: int, move: str) -> int:
    x, y = cell % world.width + OFFSETS[move][0], cell // world.width + OFFSETS[move][1]
    return min(max(y, 0), world.height - 1) * world.width + min(max(x, 0), world.width - 1)


def memory_text(frame: Frame) -> str:
    """Say where the memory that came back is from."""
    if frame.retrieved is not None:
        return f"exposure {frame.retrieved} of this context"
    if np.isinf(frame.distance):
        return "nothing"
    return f"another context's, distance {frame.distance:.2f}"


def choose(record: Record, exposure: int | None = None, seed: int = 0) -> tuple[int, int]:
    """Choose an epoch and episode worth watching: by default a second exposure.

    The context is the one whose first search took longest and whose next was quickest, if possible
    from the same start. It is the same context for exposures 1 and 2.
    """
    wanted = 2 if exposure is None else exposure
    deepest = int(record.exposure[seed].max()) + 1
    if not 1 <= wanted <= deepest:
        raise UserError(f"exposure must be 1 to {deepest}, not {wanted}")
    starts = np.asarray(record.trace.cell)[seed, :, :, 0]
    found = np.asarray(record.reward)[seed] > 0  # (epochs, episodes, steps)
    never = found.shape[-1] + 1
    first_goal = np.where(found.any(axis=-1), found.argmax(axis=-1) + 1, never)

    def merit(context: tuple[int, np.ndarray]) -> tuple[bool, bool, int]:
        epoch, episodes = context
        before, after = first_goal[epoch, episodes[:2][[0, -1]]]
        shared = np.ptp(starts[epoch, episodes[:2]]) == 0 and after < before
        # A goal that was never found leaves nothing to remember.
        return bool(before < never), bool(shared), int(before - after)

    epochs = enumerate(np.asarray(record.context_id)[seed])
    contexts = [(n, np.flatnonzero(ids == i)) for n, ids in epochs for i in np.unique(ids)]
    needed = min(max(wanted, 2), deepest)  # a pair, unless nothing comes back
    epoch, episodes = max((c for c in contexts if len(c[1]) >= needed), key=merit)
    return epoch, int(episodes[wanted - 1])


def draw(world: WaterMaze, frame: Frame) -> RenderableType:
    """Draw the maze, and what the agent and its memory are doing; at most 80 characters wide."""
    filled = round(BAR * frame.r_gate)
    bar = Text("█" * filled, "cyan").append("░" * (BAR - filled), "dim")
    rows: dict[str, str | Text] = {
        "step": f"{frame.step} of {world.steps}",
        "context": f"{frame.context}, exposure {frame.exposure}",
        "retrieved": memory_text(frame),
        "r gate": bar.append(f" {frame.r_gate:.2f}", "default"),
        "move": Text(frame.move).append(", goal!" if frame.reward > 0 else "", "bold green"),
        "goals": Text(f"{frame.goals} so far ").append("★" * frame.goals, "green"),
    }
    facts = Table.grid(padding=(0, 2))
    for name, value in rows.items():
        facts.add_row(Text(name, "dim"), value)
    maze = Table(box=SQUARE, show_header=False, show_lines=True, padding=0)
    for start in range(0, world.num_cells, world.width):
        maze.add_row(*(_content(frame, cell) for cell in range(start, start + world.width)))
    legend = Text("● agent  ★ goal  · this search", "dim")
    if world.width > BESIDE:
        return Group(maze, facts, legend)
    both = Table.grid(padding=(0, 3))
    both.add_row(maze, Group(Text(), facts, Text(), legend))
    return both


def _content(frame: Frame, cell: int) -> Text:
    if cell == frame.cell:
        agent = "◉" if cell == frame.goal else "●"
        return Text(ARROWS[frame.move].replace("●", agent), "bold cyan")
    if cell == frame.goal:
        return Text(" ★ ", "bold green")
    return Text(" · " if cell in frame.trail else "   ", "yellow")


def show(frames: Sequence[Frame], world: WaterMaze, console: Console, speed: float) -> None:
    """Step through an episode, `speed` steps per second; without a terminal, print every frame."""
    require_positive(speed=speed)
    if not console.is_interactive:
        for frame in frames:
            console.print(Group(draw(world, frame), Text()))
        return
    with Live(console=console, auto_refresh=False) as live:
        for frame in frames:
            live.update(draw(world, frame), refresh=True)
            time.sleep(1 / speed)
