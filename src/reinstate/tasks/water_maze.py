"""Experiment 4: a contextual water maze, whose context tells where the goal is hidden."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from reinstate import draws
from reinstate.errors import UserError, require_positive
from reinstate.tasks.bandits import BarcodeWorld, distinct_integers
from reinstate.tasks.base import UNIT, Bounds, Observation

MOVES = ("left", "right", "up", "down")


class MazeTask(NamedTuple):
    context_id: Array  # () which of the epoch's contexts
    exposure: Array  # () how often it was met before
    context: Array  # (context_size,)
    goal: Array  # () the cell, counted row by row


class MazeTrace(NamedTuple):
    cell: Array  # () where the agent is before the move
    goal: Array  # ()


@dataclass(frozen=True)
class WaterMaze(BarcodeWorld):
    """Contextual water maze, section 4.4.

    - actions: left, right, up, down; a move into a wall changes nothing
    - reward: 1 for reaching the goal, after which the agent respawns at random
    - observation: its coordinates (x, y), scaled to −1 … 1
    - context: a barcode, the same on every step; it determines the goal's place
    - episode: `steps` moves in one context
    - epoch: num_contexts × repeats episodes, in an order drawn by the process
    """

    height: int = 4
    """Rows of the grid."""
    width: int = 4
    """Columns of the grid."""
    steps: int = 20
    """Moves per episode."""
    goals: Literal["distinct", "independent"] = "distinct"
    """Whether goals are drawn distinct for every context, or independently."""

    num_actions, observation_size = len(MOVES), 2

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(height=self.height, width=self.width, steps=self.steps)
        require_positive(cells=self.num_cells)
        if self.num_cells < 2:
            raise UserError("a maze needs at least two cells: raise height or width")
        if self.goals == "distinct" and self.sequence.max_tasks > self.num_cells:
            raise UserError(
                f"{self.num_cells} cells cannot give {self.sequence.max_tasks} contexts a goal"
                " each: raise height or width, or use goals independent"
            )

    @property
    def num_cells(self) -> int:
        return self.height * self.width

    @property
    def episode_length(self) -> int:
        return self.steps

    def bounds(self) -> Bounds:
        return super().bounds()._replace(features=(-1.0, 1.0), reward=UNIT)

    def sample_epoch(self, key: Array) -> MazeTask:
        context_key, goal_key = jax.random.split(key)
        index, exposure, context = self.sample_contexts(context_key)
        num_tasks = self.sequence.max_tasks
        if self.goals == "distinct":
            goal = distinct_integers(goal_key, num_tasks, self.num_cells)
        else:
            goal = draws.integers(goal_key, num_tasks, 0, self.num_cells)
        return MazeTask(index, exposure, context, goal[index])

    def reset(self, key: Array, task: MazeTask) -> Array:
        cell = jax.random.randint(key, (), 0, self.num_cells - 1, jnp.int32)
        return cell + (cell >= task.goal)  # the cells but the goal, in order

    def observe(self, task: MazeTask, state: Array) -> Observation:
        span = jnp.array([max(self.width - 1, 1), max(self.height - 1, 1)], jnp.int32)
        place = jnp.array([state % self.width, state // self.width])
        return Observation(2 * place / span - 1, jnp.zeros((), jnp.int32))

    def step(self, key: Array, task: MazeTask, state: Array, action: Array) -> tuple[Array, Array]:
        cell = self._move(state)[action]
        found = cell == task.goal
        return jnp.where(found, self.reset(key, task), cell), found.astype(jnp.float32)

    def _move(self, cell: Array) -> Array:
        """Return the cell that each action leads to, (actions,)."""
        x, y = cell % self.width, cell // self.width
        left, right = jnp.maximum(x - 1, 0), jnp.minimum(x + 1, self.width - 1)
        up, down = jnp.maximum(y - 1, 0), jnp.minimum(y + 1, self.height - 1)
        row, column = jnp.array([y, y, up, down]), jnp.array([left, right, x, x])
        return row * self.width + column

    def trace(self, task: MazeTask, state: Array) -> MazeTrace:
        return MazeTrace(state, task.goal)

    def expected_rewards(self, task: MazeTask, state: Array) -> Array:
        return (self._move(state) == task.goal).astype(jnp.float32)
