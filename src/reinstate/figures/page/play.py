"""A page to play against an agent: shipped weights, and plain JavaScript that runs them in it.

play/play.js      agent, memory, worlds: pure functions, equal to ours in JAX
play/boards.js    how both worlds, memories and gates are drawn
play/play-ui.js   turns, buttons, keys, scores, what is said to screen readers
play/play.css     over page.css
play/alone.html   the page; play/game.html is one game of it
"""

import base64
import json
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import numpy as np

from reinstate.baselines.bandits import own_memory
from reinstate.baselines.water_maze import water_maze_optimum
from reinstate.figures.markup import escaped, framed, part
from reinstate.figures.page import require_page
from reinstate.files import read_arrays, write_atomically
from reinstate.runs.run import SHIPPED, Run, open_run
from reinstate.tasks.bandits import BarcodeBandits
from reinstate.tasks.water_maze import WaterMaze

TITLE = "Play against an agent that remembers"
INTRO = (
    "epL2RL, trained and frozen, runs in this page. Contexts recur, each told by a barcode. Play,"
    " then watch the agent in the same game with the same luck, recall on and off: which stored"
    " episode comes back, and how far the r-gates open for it."
)
AGENT = "epl2rl"
PARTS = (".cell.weight", ".cell.bias", ".head.weight", ".head.bias")  # in the order of play.js
SCRIPTS = ("play.js", "boards.js", "play-ui.js")


class Game(NamedTuple):
    """What a game is called and how it is explained."""

    title: str
    rules: str
    unit: str  # what is counted per episode
    ceiling: str


GAMES = {
    "water-maze": Game(
        "Water maze",
        "A goal is hidden in a 4 × 4 grid. Reach it as often as you can in 20 steps; each time you"
        " are put somewhere else. The same barcode means the same goal. Play with arrow keys, the"
        " buttons, or a tap beside you.",
        "Goals",
        "The best possible is exact, on average over mazes, for players who know of a maze only"
        " what it taught them: a perfect search at exposure 1, shortest ways from then on.",
    ),
    "barcode-bandits": Game(
        "Ten arms",
        "One of ten arms pays nine times in ten, the others once in ten. You have ten pulls. The"
        " same barcode means the same good arm. Play with the keys 1 to 9 and 0, or press arms.",
        "Rewards",
        "The best possible is exact, on average, for players who know of a bandit only what it"
        " taught them; that no two have the same good arm would allow a little more.",
    ),
}


def play_page() -> str:
    """Make a page of the games."""
    games = "\n".join(map(_game, GAMES))
    body = Template(part("play/alone.html")).substitute(title=TITLE, intro=INTRO, games=games)
    style = part("page.css") + part("play/play.css")
    script = "\n".join(part(f"play/{name}") for name in SCRIPTS)
    return framed("play", TITLE, style, script, body)


def write_play(out: Path) -> int:
    """Write the page of the games; return how many bytes it has."""
    require_page(out, "play")
    content = play_page().encode()
    write_atomically(out, content)
    return len(content)


@cache
def _game(experiment: str) -> str:
    data = {**game_of(experiment), "agent": agent_of(experiment), "best": best_of(experiment)}
    parts = {"name": experiment, "given": escaped(json.dumps(data, separators=(",", ":")))}
    parts |= {name: escaped(text) for name, text in GAMES[experiment]._asdict().items()}
    return Template(part("play/game.html")).substitute(parts)


def agent_of(experiment: str) -> dict[str, Any]:
    """Return the shipped agent of an experiment as play.js takes it.

    It comes from the package, whatever folder of that name there is elsewhere.
    """
    run = Run(SHIPPED / experiment / AGENT)
    settings = open_run(run.path).settings
    arrays, _ = read_arrays(run.weights_path, "install this package again")
    flat = np.concatenate([arrays[name].astype("<f2").ravel() for name in PARTS])
    return {
        "hidden": settings.network.hidden_size,
        "inputs": settings.task.observation_size + settings.task.num_actions + 1,
        "actions": settings.task.num_actions,
        "weights": base64.b64encode(flat.tobytes()).decode(),
    }


def game_of(experiment: str) -> dict[str, Any]:
    """Return the world of an experiment as play.js takes it."""
    task: Any = _task(experiment)
    if isinstance(task, WaterMaze):
        settings = {"width": task.width, "height": task.height, "steps": task.steps}
    else:
        chances = {"pGood": task.p_good, "pBad": task.p_bad}
        settings = {"arms": task.num_arms, "pulls": task.pulls, **chances}
    return {"world": experiment, "settings": settings, "barcodeLength": task.barcode_length}


def best_of(experiment: str) -> list[float]:
    """Return the most reward per episode that memory of the current context allows, by exposure."""
    task: Any = _task(experiment)
    if isinstance(task, WaterMaze):
        best = water_maze_optimum(task.height, task.width, task.steps, exposures=task.repeats)
        return [best.without_memory] + [best.goal_known] * (task.repeats - 1)
    by_pull = own_memory(task.num_arms, task.pulls, task.p_good, task.p_bad, task.repeats)
    return [float(each) for each in task.pulls * by_pull]


def _task(experiment: str) -> WaterMaze | BarcodeBandits:
    task: Any = open_run(SHIPPED / experiment / AGENT).settings.task
    return task
