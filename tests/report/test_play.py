"""The agent in the page: equal to JAX step by step, as good, and playable by key, touch and ear."""

import json
import shutil
import subprocess
from dataclasses import asdict, dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reinstate.report.play import AGENT, agent_of, game_of
from reinstate.rollout import play, start_epoch
from reinstate.runs.judge import Evaluator
from reinstate.runs.run import Run, open_run
from reinstate.runs.shipped import FOLDER
from reinstate.tasks.bandits import BarcodeBandits
from reinstate.tasks.water_maze import WaterMaze

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no node on PATH")
SCRIPT = str(files("reinstate.report") / "play" / "play.js")
CLOSE = 1e-5


def in_node(program: str, given: Any) -> Any:
    """What a program prints, given play.js as `Play` and a document as `given`."""
    lines = [
        f"const Play = require({json.dumps(SCRIPT)});",
        "const given = JSON.parse(require('fs').readFileSync(0, 'utf8'));",
        program,
    ]
    done = subprocess.run(
        [str(NODE), "-e", "\n".join(lines)],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Ending:
    """A world that keeps the state in which each of an epoch's episodes ended."""

    def new_history(self: Any) -> Any:
        return jnp.zeros((), jnp.int32), jnp.zeros(self.episodes_per_epoch, jnp.int32)

    def update_history(self, history: Any, task: Any, state: Any) -> Any:
        episode, ends = history
        return episode + 1, ends.at[episode].set(state)


@dataclass(frozen=True)
class Maze(Ending, WaterMaze):
    pass


@dataclass(frozen=True)
class Arms(Ending, BarcodeBandits):
    pass


def luck_in_maze(tasks: Any, steps: Any, ends: Any, episode: int) -> list[int]:
    """The cells where an episode began, and where the agent was put after each goal."""
    cells = [*steps.trace.cell[episode].tolist(), int(ends[episode])]
    found = np.flatnonzero(steps.reward[episode])
    return [cells[0], *(cells[step + 1] for step in found)]


def luck_of_arms(tasks: Any, steps: Any, ends: Any, episode: int) -> list[float]:
    """Draws that give the rewards that there were, whatever the arm."""
    return (1 - steps.reward[episode]).tolist()


GAMES = {
    "water-maze": (Maze, "goal", luck_in_maze),
    "barcode-bandits": (Arms, "good_arm", luck_of_arms),
}


def recorded(experiment: str, recall: float, seed: int) -> tuple[list[dict[str, Any]], Any]:
    """An epoch that the shipped agent plays in JAX: its tasks as play.js takes them, its steps.

    In float64, as JavaScript computes: stored states grow to 1e6, and times that the rounding of
    one XLA's tanh in float32 differs visibly from another's. Keys have float32 as always.
    """
    kind, answer, luck = GAMES[experiment]
    run = Run(FOLDER / experiment / AGENT)
    opened = open_run(run.path)
    evaluator, memory = Evaluator(*opened), opened.settings.memory
    params = jax.tree.map(lambda x: np.asarray(x[0], np.float64), evaluator.load(run).params)
    world = kind(**asdict(opened.settings.task))
    with jax.enable_x64(True):
        player = evaluator.learner.agent(jax.tree.map(jnp.asarray, params))
        task_key, key = jax.random.split(jax.random.key(seed))
        tasks = jax.jit(world.sample_epoch)(task_key)
        start = start_epoch(world, player, memory)
        contents = start.memory._replace(keys=start.memory.keys.astype(jnp.float32))
        run_epoch = jax.jit(partial(play, world, player, memory))
        state, (steps, _) = run_epoch(start._replace(memory=contents), tasks, key, recall=recall)
        tasks, steps, ends = jax.tree.map(np.asarray, (tasks, steps, state.history[1]))
    return [
        {
            "context": int(tasks.context_id[n]),
            "key": tasks.context[n].tolist(),
            "answer": int(getattr(tasks, answer)[n]),
            "luck": luck(tasks, steps, ends, n),
        }
        for n in range(world.episodes_per_epoch)
    ], steps


FOLLOWING = """
const agent = Play.makeAgent(given.agent);
const follow = (logits, episode, step) => given.actions[episode][step];
const episodes = Play.play(agent, Play.makeWorld(given.game), given.tasks, follow, given.recall);
const mean = (numbers) => numbers.reduce((a, b) => a + b) / numbers.length;
const each = (of) => episodes.map((episode) => episode.steps.map(of));
console.log(JSON.stringify({
  logits: each((step) => step.logits), value: each((step) => step.value),
  r: each((step) => mean(step.r)), reward: each((step) => step.reward),
  retrieved: episodes.map(({ found }) => found ? found.entry.episode : -1),
  distance: episodes.map(({ found }) => found ? found.distance : -1),
}));
"""


@needs_node
@pytest.mark.parametrize("experiment", GAMES)
@pytest.mark.parametrize("recall", [1.0, 0.0])
def test_it_does_what_the_agent_does_in_jax(experiment: str, recall: float) -> None:
    tasks, steps = recorded(experiment, recall, seed=3)
    found = in_node(
        FOLLOWING,
        {
            "agent": agent_of(experiment),
            "game": game_of(experiment),
            "tasks": tasks,
            "actions": steps.action.tolist(),
            "recall": recall,
        },
    )
    assert np.array_equal(found["reward"], steps.reward) and steps.reward.mean() > 0.1
    assert np.array_equal(found["retrieved"], steps.retrieved[:, 0])
    distance = np.where(np.isfinite(steps.distance[:, 0]), steps.distance[:, 0], -1)
    assert np.abs(found["distance"] - distance).max() < CLOSE
    for name, ours in {"logits": steps.logits, "value": steps.value, "r": steps.report["r"]}.items():
        assert np.abs(np.array(found[name]) - ours).max() < CLOSE, name
