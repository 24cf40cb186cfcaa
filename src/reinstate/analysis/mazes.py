"""How long an agent takes to the goal of a water maze, and how directly it returns, by exposure."""

from typing import Any, NamedTuple

import numpy as np

from reinstate.analysis.exposures import means_by_exposure
from reinstate.analysis.verdicts import over_seeds
from reinstate.evaluation import Record
from reinstate.tasks.water_maze import WaterMaze

MAX_PAIRS = 6  # contexts whose trajectories are kept


class Episodes(NamedTuple):
    """What the scores are made of: the episodes of a seed in one row, epoch by epoch."""

    context: np.ndarray  # (seeds, episodes) numbers that no other epoch of the seed uses
    exposure: np.ndarray  # (seeds, episodes)
    cell: np.ndarray  # (seeds, episodes, steps) before each move
    goal: np.ndarray  # (seeds, episodes)
    found: np.ndarray  # (seeds, episodes) whether any move led to the goal
    first_goal: np.ndarray  # (seeds, episodes) moves until the first goal; all, if not found


def maze_scores(world: WaterMaze, record: Record) -> dict[str, Any]:
    """Steps to goals and directness, as plain values; lists run over exposures.

    - steps_or_end: moves from the start to the first goal; `steps`, as the optima in baselines
      count it, in episodes that do not reach it
    - shortest: share of episodes whose way to the first goal could not be shorter
    - trajectories: first and second exposures from the same start (`trajectory_pairs`)
    """
    episodes = _episodes(record)
    exposure, found, moves = episodes.exposure, episodes.found, episodes.first_goal
    shortest = found & (moves == fewest_moves(world)[episodes.cell[..., 0], episodes.goal])
    return {
        "steps_or_end": over_seeds(means_by_exposure(moves, exposure)),
        "shortest": over_seeds(means_by_exposure(shortest, exposure)),
        "trajectories": trajectory_pairs(episodes),
    }


def fewest_moves(world: WaterMaze) -> np.ndarray:
    """From each cell to each goal, (cells, cells): the Manhattan distance."""
    y, x = np.divmod(np.arange(world.num_cells), world.width)
    moves: np.ndarray = np.abs(y[:, None] - y) + np.abs(x[:, None] - x)
    return moves


def trajectory_pairs(episodes: Episodes) -> list[dict[str, Any]]:
    """Ways to the first goal in first and second exposures of a context from the same start.

    The first `MAX_PAIRS` contexts of the first seed that happened to start twice in one place, in
    the order of its epochs and not chosen by what the agent did there.
    """
    context, exposure, start = episodes.context[0], episodes.exposure[0], episodes.cell[0, :, 0]
    second = {int(context[e]): int(e) for e in np.flatnonzero(exposure == 1)}
    pairs: list[dict[str, Any]] = []
    for e in map(int, np.flatnonzero(exposure == 0)):
        again = second.get(int(context[e]))
        if len(pairs) < MAX_PAIRS and again is not None and start[e] == start[again]:
            ways = {"first": _path(episodes, 0, e), "second": _path(episodes, 0, again)}
            pairs.append({"goal": int(episodes.goal[0, e]), **ways})
    return pairs


def _episodes(record: Record) -> Episodes:
    context, reached = np.asarray(record.context_id), np.asarray(record.reward) > 0
    seeds, epochs, _, steps = reached.shape
    context = context + np.arange(epochs)[:, None] * (context.max() + 1)
    found = reached.any(axis=-1)
    first_goal = np.where(found, reached.argmax(axis=-1) + 1, steps)
    goal = np.asarray(record.trace.goal)[..., 0]
    arrays = context, record.exposure, record.trace.cell, goal, found, first_goal
    return Episodes(*[np.reshape(a, (seeds, -1, *np.shape(a)[3:])) for a in arrays])


def _path(episodes: Episodes, seed: int, episode: int) -> list[int]:
    """Cells from the start to the first goal, or before each move if it is never reached."""
    at = seed, episode
    cells = episodes.cell[at][: episodes.first_goal[at]].tolist()
    return [*cells, int(episodes.goal[at])] if episodes.found[at] else cells
