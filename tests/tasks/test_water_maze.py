"""The contextual water maze: its moves by hand, its draws against the chances they should have."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from scipy import stats

from reinstate.baselines.water_maze import random_walk_goals
from reinstate.tasks.water_maze import MOVES, MazeTask, WaterMaze

SMALL = WaterMaze(height=2, width=3, num_contexts=2)  # the cells 0 1 2 / 3 4 5
FROM_EACH_CELL = {
    "left": [0, 0, 1, 3, 3, 4],
    "right": [1, 2, 2, 4, 5, 5],
    "up": [0, 1, 2, 0, 1, 2],
    "down": [3, 4, 5, 3, 4, 5],
}
NOWHERE = -1  # a goal that no move reaches


def keys(num: int) -> Array:
    return jax.vmap(jax.random.key)(jnp.arange(num))


def a_task(goal: int) -> MazeTask:
    zero = jnp.zeros((), jnp.int32)
    return MazeTask(zero, zero, jnp.ones(10), jnp.array(goal))


def goals(world: WaterMaze, epochs: int) -> np.ndarray:
    """The goal of every context, by context_id, (epochs, num_contexts)."""
    tasks = jax.jit(partial(jax.lax.map, world.sample_epoch))(keys(epochs))
    found = np.full((epochs, world.num_contexts), -1)
    rows, context = np.arange(epochs)[:, None], np.asarray(tasks.context_id)
    found[rows, context] = tasks.goal
    np.testing.assert_array_equal(found[rows, context], tasks.goal)  # every exposure agrees
    return found


def test_defaults_are_the_numbers_of_section_4_4() -> None:
    world = WaterMaze()
    assert (world.height, world.width, world.num_cells, world.episode_length) == (4, 4, 16, 20)
    assert (world.num_contexts, world.repeats, world.episodes_per_epoch) == (10, 10, 100)
    assert (world.num_actions, world.observation_size, world.context_size) == (4, 2, 10)
    assert MOVES == ("left", "right", "up", "down")


@pytest.mark.parametrize("action", range(4), ids=MOVES)
def test_moves_and_walls(action: int) -> None:
    step = jax.vmap(SMALL.step, (None, None, 0, None))
    cells, rewards = step(jax.random.key(0), a_task(NOWHERE), jnp.arange(6), jnp.array(action))
    assert cells.tolist() == FROM_EACH_CELL[MOVES[action]]
    assert rewards.tolist() == [0] * 6


@pytest.mark.parametrize("action", range(4), ids=MOVES)
def test_entering_the_goal_pays_one_and_moves_the_agent_away(action: int) -> None:
    step = jax.vmap(SMALL.step, (None, None, 0, None))
    cells, rewards = step(jax.random.key(0), a_task(4), jnp.arange(6), jnp.array(action))
    entered = np.array(FROM_EACH_CELL[MOVES[action]])
    np.testing.assert_array_equal(rewards, entered == 4)
    np.testing.assert_array_equal(np.asarray(cells)[entered != 4], entered[entered != 4])
    assert 4 not in cells.tolist()


def test_expected_rewards_point_to_the_goal() -> None:
    expected = jax.vmap(SMALL.expected_rewards, (None, 0))(a_task(1), jnp.arange(6))
    assert expected.tolist() == [  # left, right, up, down
        [0, 1, 0, 0],
        [0, 0, 1, 0],  # on the goal, at the upper wall
        [1, 0, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 0],
    ]


@pytest.mark.parametrize("goal", [0, 4, 5])
def test_starts_and_respawns_are_equally_likely(goal: int) -> None:
    world = WaterMaze(height=2, width=3, num_contexts=2)
    neighbour, action = {0: (1, 0), 4: (3, 1), 5: (4, 1)}[goal]  # the move into the goal
    task = a_task(goal)

    @jax.vmap
    def both(key: Array) -> tuple[Array, Array]:
        respawned, _ = world.step(key, task, jnp.array(neighbour), jnp.array(action))
        return world.reset(key, task), respawned

    for cells in both(keys(3000)):
        counts = np.bincount(cells, minlength=6)
        assert counts[goal] == 0
        assert stats.chisquare(np.delete(counts, goal)).pvalue > 1e-3


def test_every_context_has_a_goal_of_its_own() -> None:
    found = goals(WaterMaze(repeats=2), epochs=400)
    assert all(len(set(row)) == 10 for row in found.tolist())
    assert stats.chisquare(np.bincount(found.ravel(), minlength=16)).pvalue > 1e-3


def test_independent_goals_may_coincide() -> None:
    world = WaterMaze(height=1, width=2, num_contexts=3, repeats=2, goals="independent")
    counts = np.bincount(goals(world, epochs=800) @ [4, 2, 1], minlength=8)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_coordinates_run_from_minus_one_to_one() -> None:
    features = jax.vmap(lambda cell: SMALL.observe(a_task(0), cell).features)(jnp.arange(6))
    assert features.tolist() == [[-1, -1], [0, -1], [1, -1], [-1, 1], [0, 1], [1, 1]]


@pytest.mark.parametrize(("height", "width", "steps"), [(4, 4, 20), (2, 3, 7)])
def test_a_random_walk_earns_what_the_baseline_says(height: int, width: int, steps: int) -> None:
    world, episodes = WaterMaze(height=height, width=width, steps=steps, num_contexts=2), 6000

    @jax.jit
    @jax.vmap
    def episode(key: Array) -> Array:
        goal_key, start_key, action_key, step_key = jax.random.split(key, 4)
        goal = jax.random.randint(goal_key, (), 0, world.num_cells)
        task = a_task(0)._replace(goal=goal)
        actions = jax.random.randint(action_key, (steps,), 0, 4)

        def move(cell: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
            key, action = now
            return world.step(key, task, cell, action)

        moves = jax.random.split(step_key, steps), actions
        return jax.lax.scan(move, world.reset(start_key, task), moves)[1].sum()

    rewards = np.asarray(episode(keys(episodes)))
    noise = rewards.std() / np.sqrt(episodes)
    assert rewards.mean() == pytest.approx(random_walk_goals(height, width, steps), abs=4 * noise)
