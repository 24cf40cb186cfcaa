"""How an agent searches a water maze, and how directly it returns, by exposure."""

from collections import Counter, defaultdict
from typing import Any, NamedTuple

import numpy as np

from reinstate.analysis.verdicts import over_seeds, without_nan
from reinstate.evaluation import Record
from reinstate.tasks.water_maze import WaterMaze

MAX_PAIRS = 6  # contexts whose trajectories are kept


class Episodes(NamedTuple):
    """What the scores are made of: the episodes of a seed in one row, epoch by epoch."""

    context: np.ndarray  # (seeds, episodes) numbers that no other epoch of the seed uses
    exposure: np.ndarray  # (seeds, episodes)
    cell: np.ndarray  # (seeds, episodes, steps) before each move
    goal: np.ndarray  # (seeds, episodes)
    reached: np.ndarray  # (seeds, episodes, steps) whether the move led to the goal
    found: np.ndarray  # (seeds, episodes) whether any move did
    first_goal: np.ndarray  # (seeds, episodes) moves until the first goal; all, if not found


def maze_scores(world: WaterMaze, record: Record) -> dict[str, Any]:
    """Steps to goals, directness and search, as plain values; lists run over exposures.

    - steps_to_goal: moves from the start to the first goal, in episodes that reach it
    - steps_or_end: the same with `steps` for the others, as the optima in baselines count it
    - found: share of episodes that reach the goal at all
    - steps_to_later_goals: moves from a respawn to the next goal, if the episode lasts until then
    - shortest: share of episodes whose way to the first goal could not be shorter
    - visited: share of the cells stood on before the first goal, the start among them
    - sweep: share of first exposures that follow the seed's own sweep (`follows_sweep`)
    - trajectories: first and second exposures from the same start (`trajectory_pairs`)

    A mean over nothing is None, and so is every mean over seeds that it would enter.
    """
    episodes = _episodes(record)
    exposure, found, moves = episodes.exposure, episodes.found, episodes.first_goal
    shortest = found & (moves == fewest_moves(world)[episodes.cell[..., 0], episodes.goal])
    returns = np.maximum(episodes.reached.sum(axis=-1) - 1, 0)  # goals after the first
    one = np.ones_like(moves)
    return {
        "steps_to_goal": _by_exposure(moves, found, exposure),
        "steps_or_end": _by_exposure(moves, one, exposure),
        "found": _by_exposure(found, one, exposure),
        "steps_to_later_goals": _by_exposure(_moves_returning(episodes), returns, exposure),
        "shortest": _by_exposure(shortest, one, exposure),
        "visited": _by_exposure(_visited(world, episodes), one, exposure),
        "sweep": over_seeds([_sweep_share(episodes, seed) for seed in range(len(exposure))]),
        "trajectories": trajectory_pairs(episodes),
    }


def fewest_moves(world: WaterMaze) -> np.ndarray:
    """From each cell to each goal, (cells, cells): the Manhattan distance.

    An agent on the goal has to reach it again: by staying put at a wall, in 1 move, or by leaving
    and coming back, in 2.
    """
    y, x = np.divmod(np.arange(world.num_cells), world.width)
    moves = np.abs(y[:, None] - y) + np.abs(x[:, None] - x)
    at_wall = (x == 0) | (x == world.width - 1) | (y == 0) | (y == world.height - 1)
    np.fill_diagonal(moves, np.where(at_wall, 1, 2))
    return moves


def follows_sweep(paths: list[list[int]]) -> list[bool]:
    """Which searches of one agent go its usual way, until they find the goal or the episode ends.

    The sweep from a start is the agent's own: its next cell is the one entered most often by those
    searches from there that have followed it so far and still go on. (Of equally common cells, the
    one with the lowest number.) The goal's cell counts as entered, so each move has its vote.
    """
    from_start = defaultdict(list)
    for index, path in enumerate(paths):
        from_start[path[0]].append(index)
    follows = [True] * len(paths)
    for following in from_start.values():
        step = 1
        while following := [i for i in following if len(paths[i]) > step]:
            votes = Counter(paths[i][step] for i in following)
            usual = min(votes, key=lambda cell: (-votes[cell], cell))
            for i in following:
                follows[i] = paths[i][step] == usual
            following = [i for i in following if follows[i]]
            step += 1
    return follows


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
    arrays = context, record.exposure, record.trace.cell, goal, reached, found, first_goal
    return Episodes(*[np.reshape(a, (seeds, -1, *np.shape(a)[3:])) for a in arrays])


def _sweep_share(episodes: Episodes, seed: int) -> float:
    first = np.flatnonzero(episodes.exposure[seed] == 0)
    return float(np.mean(follows_sweep([_path(episodes, seed, int(e)) for e in first])))


def _path(episodes: Episodes, seed: int, episode: int) -> list[int]:
    """Cells from the start to the first goal, or before each move if it is never reached."""
    at = seed, episode
    cells = episodes.cell[at][: episodes.first_goal[at]].tolist()
    return [*cells, int(episodes.goal[at])] if episodes.found[at] else cells


def _moves_returning(episodes: Episodes) -> np.ndarray:
    """Moves between the first goal and the last: the sum of all completed returns."""
    steps = episodes.reached.shape[-1]
    last = steps - episodes.reached[..., ::-1].argmax(axis=-1)
    return np.where(episodes.found, last - episodes.first_goal, 0)


def _visited(world: WaterMaze, episodes: Episodes) -> np.ndarray:
    """Share of the cells stood on before the first goal, (seeds, episodes)."""
    searching = np.arange(episodes.cell.shape[-1]) < episodes.first_goal[..., None]
    stood = [((episodes.cell == c) & searching).any(axis=-1) for c in range(world.num_cells)]
    return np.mean(stood, axis=0)


def _by_exposure(total: np.ndarray, count: np.ndarray, exposure: np.ndarray) -> dict[str, Any]:
    """`total` summed over what `count` counts, divided by it, for each exposure; over seeds.

    Exposures that some seed never met (an urn's rare tail) are left out.
    """
    shared = int(min(e.max() for e in exposure)) + 1
    at = [exposure == e for e in range(shared)]
    sums = np.stack([np.where(a & (count > 0), total, 0).sum(axis=-1) for a in at], axis=-1)
    counts = np.stack([np.where(a, count, 0).sum(axis=-1) for a in at], axis=-1)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)  # (seeds, exposures)
    return without_nan(over_seeds(means))
