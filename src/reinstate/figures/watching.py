"""Recorded episodes, step by step: scenes in a terminal, ways for an animation."""

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from reinstate.errors import UserError, require_positive
from reinstate.evaluation import Record
from reinstate.figures.film import Move, Walk
from reinstate.figures.scenes import Scene, cells, text
from reinstate.tasks.base import World
from reinstate.tasks.two_step import NO_CUE, EpisodicTwoStep
from reinstate.tasks.water_maze import MOVES, WaterMaze

OFFSETS = dict(zip(MOVES, ((-1, 0), (1, 0), (0, -1), (0, 1)), strict=True))
BAR = 20  # characters of a full gate


class Exposure(NamedTuple):
    """One recorded episode: numpy arrays with an axis of steps, and those of its whole epoch."""

    world: World
    epoch: Record
    played: Record
    steps: int

    @property
    def reward(self) -> float:
        """What it earned."""
        return float(self.played.reward[: self.steps].sum())


def exposures_of(
    world: World,
    record: Record,
    exposures: Sequence[int],
    seed: int = 0,
    context: int | None = None,
) -> list[Exposure]:
    """Return episodes of one context; `context` and exposures count from 1, `seed` from 0.

    Contexts are those met often enough, in the order in which they appear, epoch after epoch. By
    default it is the first one; in the maze and the two-step task, one worth watching.
    """
    ids, met = np.asarray(record.context_id)[seed], np.asarray(record.exposure)[seed]
    deepest = int(met.max()) + 1
    if not 1 <= min(exposures) <= max(exposures) <= deepest:
        raise UserError(f"exposure must be 1 to {deepest}, not {max(exposures)}")
    needed = max(exposures)
    merit = _merit_of_cue if isinstance(world, EpisodicTwoStep) else _merit
    chosen = context is None and isinstance(world, WaterMaze | EpisodicTwoStep)
    if chosen:
        needed = min(max(needed, 2), deepest)  # a pair, unless nothing comes back
    every = [
        (int(epoch), np.flatnonzero(ids[epoch] == ids[epoch, episode]))
        for epoch, episode in np.argwhere(met == needed - 1)
    ]
    if not 1 <= (context or 1) <= len(every):
        raise UserError(f"context must be 1 to {len(every)}, not {context}")
    if chosen:
        epoch, episodes = max(every, key=lambda each: merit(record, seed, *each))
    else:
        epoch, episodes = every[(context or 1) - 1]
    whole = jax.tree.map(lambda leaf: np.asarray(leaf)[seed, epoch], record)
    found = []
    for exposure in exposures:
        played = jax.tree.map(lambda leaf, n=int(episodes[exposure - 1]): leaf[n], whole)
        steps = len(played.action) if played.played is None else int(played.played.sum())
        found.append(Exposure(world, whole, played, steps))
    return found


def _merit(record: Record, seed: int, epoch: int, episodes: np.ndarray) -> tuple[bool, bool, int]:
    """Rank contexts of a maze: the first search long, the next one quick, if possible from there.

    A goal that was never found leaves nothing to remember.
    """
    starts = np.asarray(record.trace.cell)[seed, epoch, episodes[:2], 0]
    found = np.asarray(record.reward)[seed, epoch, episodes[:2]] > 0  # (2, steps)
    never = found.shape[-1] + 1
    first_goal = np.where(found.any(axis=-1), found.argmax(axis=-1) + 1, never)
    before, after = first_goal[[0, -1]]
    shared = np.ptp(starts) == 0 and after < before
    return bool(before < never), bool(shared), int(before - after)


def _merit_of_cue(record: Record, seed: int, epoch: int, episodes: np.ndarray) -> tuple[bool, ...]:
    """Rank cues: what is retrieved is of the cue, which paid, and what is chosen now pays too."""
    ids, source = (
        record.context_id[seed, epoch],
        int(record.retrieved[seed, epoch, episodes[-1], 0]),
    )
    own = source >= 0 and ids[source] == ids[episodes[0]]
    paid = np.asarray(record.reward)[seed, epoch, episodes].sum(axis=-1) > 0
    return bool(own), bool(paid[0]), bool(paid[-1])


def scenes_of(exposure: Exposure) -> Iterator[Scene]:
    """Describe an episode, step by step, and what the agent recalls of it."""
    world, _, played, steps = exposure
    two_step = isinstance(world, EpisodicTwoStep)
    for t in range(steps):
        # The two-step task's first action decides; where it led is known one step later.
        moment, action = (steps - 1, 0) if two_step else (t, t)
        trace = jax.tree.map(lambda leaf, n=moment: leaf[n], played.trace)
        yield Scene(
            f"context {played.context_id + 1}, exposure {played.exposure + 1},"
            f" step {t + 1} of {steps}",
            cells(world, trace, int(played.action[action])),
            (t + 1) / steps,
            float(played.reward[t]),
            notes=[*_notes(exposure, t), f"so far {played.reward[: t + 1].sum():g}"],
        )


def _notes(exposure: Exposure, t: int) -> Iterator[str]:
    world, epoch, played, _ = exposure
    if isinstance(world, WaterMaze):
        yield f"move {MOVES[played.action[t]]}{', goal!' if played.reward[t] > 0 else ''}"
    if isinstance(world, EpisodicTwoStep):
        cue = int(played.trace.cue_episode[0])
        was, paid = int(epoch.trace.state[cue, 1]), epoch.reward[cue].sum()
        yield "no cue" if cue == NO_CUE else f"cue: episode {cue + 1}, state {was} paid {paid:g}"
    yield f"retrieved {retrieved(exposure, t)}"
    if "r" in played.report:
        gate = float(played.report["r"][t])
        filled = round(BAR * gate)
        yield f"r gate {'█' * filled}{'░' * (BAR - filled)} {gate:.2f}"


def retrieved(exposure: Exposure, t: int = 0) -> str:
    """Say where the memory that came back is from."""
    source = int(exposure.played.retrieved[t])
    if source < 0:
        return "nothing"
    if recalls_own(exposure, t):
        return f"exposure {int(exposure.epoch.exposure[source]) + 1} of this context"
    return f"another context's, distance {exposure.played.distance[t]:.2f}"


def recalls_own(exposure: Exposure, t: int = 0) -> bool:
    """Tell whether what came back was stored in the same context."""
    source = int(exposure.played.retrieved[t])
    return source >= 0 and bool(exposure.epoch.context_id[source] == exposure.played.context_id)


def show(exposures: Sequence[Exposure], console: Console, speed: float) -> None:
    """Step through episodes, `speed` steps per second; without a terminal, print every scene."""
    require_positive(speed=speed)
    for exposure in exposures:
        drawn = [Group(Text(text(scene)), Text()) for scene in scenes_of(exposure)]
        if not console.is_interactive:
            console.print(*drawn, sep="")
            continue
        with Live(console=console, auto_refresh=False) as live:
            for each in drawn:
                live.update(each, refresh=True)
                time.sleep(1 / speed)


def walk(exposure: Exposure) -> Walk:
    """Return the way of an episode of the water maze."""
    world: Any = exposure.world
    played, cells = exposure.played, exposure.played.trace.cell.tolist()
    goal, moves = int(played.trace.goal[0]), list[Move]()
    for t, cell in enumerate(cells):
        there = bool(played.reward[t] > 0)
        x, y = (a + b for a, b in zip((cell % world.width, cell // world.width),
                                      OFFSETS[MOVES[played.action[t]]], strict=True))  # fmt: skip
        x, y = min(max(x, 0), world.width - 1), min(max(y, 0), world.height - 1)
        moves.append(Move(cell, goal if there else y * world.width + x, there))
    said = "it remembers this maze" if recalls_own(exposure) else "it does not remember this maze"
    said = said if played.exposure else "the maze is new to it"
    return Walk(int(played.exposure) + 1, goal, moves, f"{len(moves)} steps; {said}.")
