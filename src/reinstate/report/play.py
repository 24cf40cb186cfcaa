"""An agent to play against: shipped weights, and plain JavaScript that runs them in the page.

play/play.js     agent, memory, worlds: pure functions, equal to ours in JAX
play/play-ui.js  boards, buttons, keys, what is said to screen readers
play/play.css    over page.css
play/game.html   one game; play/alone.html the page of `reinstate play`
"""

import base64
from typing import Any

import numpy as np

from reinstate.files import read_arrays
from reinstate.runs.run import Run, open_run
from reinstate.runs.shipped import FOLDER

AGENT = "epl2rl"
PARTS = (".cell.weight", ".cell.bias", ".head.weight", ".head.bias")  # in the order of play.js

WORLDS: dict[str, Any] = {  # what play.js is told of each
    "water-maze": lambda task: {"width": task.width, "height": task.height, "steps": task.steps},
    "barcode-bandits": lambda task: {
        "arms": task.num_arms,
        "pulls": task.pulls,
        "pGood": task.p_good,
        "pBad": task.p_bad,
    },
}


def agent_of(experiment: str) -> dict[str, Any]:
    """Return the shipped agent of an experiment as play.js takes it.

    It comes from the package, whatever folder of that name there is elsewhere.
    """
    run = Run(FOLDER / experiment / AGENT)
    world, network = open_run(run.path).settings.task, open_run(run.path).settings.network
    arrays, _ = read_arrays(run.weights_path, "install this package again")
    flat = np.concatenate([arrays[name].astype("<f2").ravel() for name in PARTS])
    return {
        "hidden": network.hidden_size,
        "inputs": world.observation_size + world.num_actions + 1,
        "actions": world.num_actions,
        "weights": base64.b64encode(flat.tobytes()).decode(),
    }


def game_of(experiment: str) -> dict[str, Any]:
    """Return the world of an experiment as play.js takes it."""
    task = open_run(FOLDER / experiment / AGENT).settings.task
    return {"world": experiment, "settings": WORLDS[experiment](task)}
