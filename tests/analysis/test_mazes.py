"""Searches and returns in a water maze: by hand, and against a slow loop."""

import json
from collections import defaultdict
from typing import Any

import numpy as np

from reinstate.analysis.mazes import MAX_PAIRS, maze_scores
from reinstate.evaluation import Record
from reinstate.tasks.water_maze import MazeTrace, WaterMaze

LEFT, RIGHT, UP, DOWN = range(4)
BY_EXPOSURE = "steps_or_end", "shortest"


def a_record(context_id: Any, exposure: Any, cell: Any, goal: Any, reward: Any) -> Record:
    """`goal` is that of each episode; what the scores do not use is zero."""
    context_id, exposure, cell, reward = map(np.array, (context_id, exposure, cell, reward))
    unused: Any = np.zeros_like(reward)
    goals: Any = np.repeat(np.array(goal)[..., None], cell.shape[-1], axis=-1)
    gates, trace = {"r": unused}, MazeTrace(cell, goals)
    return Record(
        context_id, exposure, unused, reward, unused, unused, gates, gates, unused, unused, trace
    )


def small(**settings: Any) -> WaterMaze:
    return WaterMaze(height=2, width=3, steps=4, num_contexts=2, repeats=2, **settings)


def by_hand() -> Record:
    """One seed, one epoch on the grid 0 1 2 / 3 4 5: contexts A (goal 5) and B (goal 0).

    A: from 0 right, right, down to 5; respawn on 4 and left.
    B: from 5 up, up (a wall), left, left to 0.
    A: from 0 down, right, right to 5; respawn on 2 and down to 5.
    B: from 1 up (a wall) four times.
    """
    return a_record(
        context_id=[[[0, 1, 0, 1]]],
        exposure=[[[0, 0, 1, 1]]],
        cell=[[[[0, 1, 2, 4], [5, 2, 2, 1], [0, 3, 4, 2], [1, 1, 1, 1]]]],
        goal=[[[5, 0, 5, 0]]],
        reward=[[[[0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0]]]],
    )


def test_by_hand() -> None:
    scores = maze_scores(small(), by_hand())
    assert json.loads(json.dumps(scores, allow_nan=False)) == scores
    means = {name: scores[name]["mean"] for name in BY_EXPOSURE}
    assert means == {
        "steps_or_end": [3.5, 3.5],
        "shortest": [0.5, 0.5],
    }
    assert scores["steps_or_end"]["ci95"] is None
    assert scores["trajectories"] == [{"goal": 5, "first": [0, 1, 2, 5], "second": [0, 3, 4, 5]}]


def target(world: WaterMaze, cell: int, action: int) -> int:
    y, x = divmod(cell, world.width)
    y += (action == DOWN and y < world.height - 1) - (action == UP and y > 0)
    x += (action == RIGHT and x < world.width - 1) - (action == LEFT and x > 0)
    return y * world.width + x


def walk(world: WaterMaze, seeds: int, epochs: int) -> Record:
    """Two contexts in turn, in any direction."""
    rng = np.random.default_rng(3)
    episodes = world.episodes_per_epoch
    shape = seeds, epochs, episodes
    context = np.broadcast_to(np.arange(episodes) % 2, shape)
    exposure = np.broadcast_to(np.arange(episodes) // 2, shape)
    goals = np.stack([rng.permutation(world.num_cells)[:2] for _ in range(seeds * epochs)])
    goal = np.take_along_axis(goals.reshape(seeds, epochs, 2), context, axis=-1)
    cells, rewards = np.zeros((2, *shape, world.steps), int)
    for at in np.ndindex(shape):
        others = [c for c in range(world.num_cells) if c != goal[at]]
        cell = int(rng.choice(others))
        for t in range(world.steps):
            cells[at][t] = cell
            cell = target(world, cell, int(rng.integers(4)))
            if cell == goal[at]:
                rewards[at][t], cell = 1, int(rng.choice(others))
    return a_record(context, exposure, cells, goal, rewards)


WORLD = WaterMaze(height=3, width=4, steps=9, num_contexts=2, repeats=3)


def test_against_a_slow_loop() -> None:
    record = walk(WORLD, seeds=2, epochs=40)
    scores = maze_scores(WORLD, record)
    values: dict[Any, list[float]] = defaultdict(list)
    paths: dict[Any, tuple[int, ...]] = {}
    for at in np.ndindex(record.exposure.shape):
        group = at[0], int(record.exposure[at])
        goal = int(record.trace.goal[at][0])
        path, found = [], False
        for cell, reward in zip(record.trace.cell[at].tolist(), record.reward[at], strict=True):
            path.append(cell)
            if reward:
                path.append(goal)
                found = True
                break
        moves = abs(path[0] // 4 - goal // 4) + abs(path[0] % 4 - goal % 4)
        values["steps_or_end", *group].append(len(path) - 1 if found else WORLD.steps)
        values["shortest", *group].append(found and moves == len(path) - 1)
        paths[at] = tuple(path)
    for name in BY_EXPOSURE:
        expected = [[np.mean(values[name, s, e]) for e in range(3)] for s in range(2)]
        np.testing.assert_allclose(scores[name]["per_seed"], expected)

    pairs = []  # the contexts of even and odd episodes: 0 and 2 are a pair, and 1 and 3
    for epoch, episode in np.ndindex(40, 2):
        one, two = paths[0, epoch, episode], paths[0, epoch, episode + 2]
        if one[0] == two[0]:
            goal = int(record.trace.goal[0, epoch, episode, 0])
            pairs.append({"goal": goal, "first": list(one), "second": list(two)})
    assert scores["trajectories"] == pairs[:MAX_PAIRS] and len(pairs) > 2
