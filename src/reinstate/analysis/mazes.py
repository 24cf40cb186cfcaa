"""How long an agent takes to the goal of a water maze, and how directly it returns, by exposure."""

from typing import Any

import numpy as np

from reinstate.analysis.exposures import means_by_exposure
from reinstate.analysis.verdicts import over_seeds
from reinstate.evaluation import Record
from reinstate.tasks.water_maze import WaterMaze

MAX_PAIRS = 6  # contexts whose trajectories are kept


def maze_scores(world: WaterMaze, record: Record) -> dict[str, Any]:
    """Steps to goals and directness, as plain values; lists run over exposures.

    - steps_or_end: moves from the start to the first goal; `steps`, as the optima in baselines
      count it, in episodes that do not reach it
    - shortest: share of episodes whose way to the first goal could not be shorter
    - trajectories: first and second exposures from the same start (`trajectory_pairs`)
    """
    reached = np.asarray(record.reward) > 0  # (seeds, epochs, episodes, steps)
    start, goal = (np.asarray(each)[..., 0] for each in (record.trace.cell, record.trace.goal))
    found, exposure = np.asarray(reached.any(axis=-1)), np.asarray(record.exposure)
    moves = np.where(found, reached.argmax(axis=-1) + 1, reached.shape[-1])
    (y, x), (goal_y, goal_x) = (np.divmod(cell, world.width) for cell in (start, goal))
    shortest = found & (moves == np.abs(y - goal_y) + np.abs(x - goal_x))
    return {
        "steps_or_end": over_seeds(means_by_exposure(moves, exposure)),
        "shortest": over_seeds(means_by_exposure(shortest, exposure)),
        "trajectories": trajectory_pairs(record, moves[0], found[0]),
    }


def trajectory_pairs(record: Record, moves: np.ndarray, found: np.ndarray) -> list[dict[str, Any]]:
    """Ways to the first goal in first and second exposures of a context from the same start.

    The first `MAX_PAIRS` contexts of the first seed that happened to start twice in one place, in
    the order of its epochs and not chosen by what the agent did there. `moves` and `found` are that
    seed's, (epochs, episodes).
    """
    cell, goal = np.asarray(record.trace.cell)[0], np.asarray(record.trace.goal)[0, ..., 0]

    def way(at: tuple[int, int]) -> list[int]:
        """Cells from the start to the first goal, or before each move if it is never reached."""
        cells: list[int] = cell[at][: moves[at]].tolist()
        return [*cells, int(goal[at])] if found[at] else cells

    pairs: list[dict[str, Any]] = []
    exposures, contexts = np.asarray(record.exposure)[0], np.asarray(record.context_id)[0]
    for epoch, (exposure, context) in enumerate(zip(exposures, contexts, strict=True)):
        second = {int(context[e]): int(e) for e in np.flatnonzero(exposure == 1)}
        for first in map(int, np.flatnonzero(exposure == 0)):
            one, other = (epoch, first), (epoch, second.get(int(context[first]), first))
            if len(pairs) < MAX_PAIRS and one != other and cell[one][0] == cell[other][0]:
                pairs.append({"goal": int(goal[one]), "first": way(one), "second": way(other)})
    return pairs
