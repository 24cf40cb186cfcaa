"""Experiment 4, section 4.4: does an agent walk straight to a goal that it has found before?"""

from dataclasses import replace
from typing import cast

import numpy as np

from reinstate.analysis.exposures import exposure_scores
from reinstate.analysis.intervals import over_seeds
from reinstate.analysis.mazes import maze_scores
from reinstate.analysis.results import AgentResults, MazeScores, Scores
from reinstate.baselines.optimum import maze_optimum
from reinstate.evaluation import Evaluation, Record
from reinstate.experiments import claims
from reinstate.experiments.base import (
    LEARNER,
    Agents,
    Baselines,
    Check,
    Experiment,
    Values,
    at_exposures,
)
from reinstate.figures.exposures import steps_to_goal
from reinstate.figures.learning import training_curves
from reinstate.figures.mazes import trajectories
from reinstate.memory import DND
from reinstate.settings import Settings
from reinstate.tasks.water_maze import WaterMaze

# Of 64 settings drawn at random, none was better for plain L2RL than this discount with the rest.
QUICK: Settings[WaterMaze, DND] = Settings(
    task=WaterMaze(),
    seeds=4,
    learner=replace(LEARNER, epochs=80, discount=0.9),
)

PAPER = replace(
    QUICK,
    seeds=5,
    learner=replace(QUICK.learner, lanes=1024, epochs=120, unroll=10),
    evaluation=Evaluation(epochs=200),
)


def judge(world: WaterMaze, record: Record) -> Scores:
    scores = exposure_scores(record)
    # Regret of single moves says little where a goal is worth many of them.
    del scores["by_exposure"]["regret"], scores["by_exposure"]["regret_by_step"]
    return {**scores, "maze": cast(MazeScores, maze_scores(world, record))}


def checks(agents: Agents, optimum: Values, baselines: Baselines) -> list[Check]:
    """Section 4.4's statements, for whichever of its agents were run."""
    found = claims.against_memoryless(
        agents,
        optimum["without_memory"],
        rewards="epL2RL outperforms the L2RL baselines (Fig. 5a)",
        beyond="significantly more than the best without memory of past episodes (Fig. 5a)",
    )
    if "epl2rl" in agents:
        found += [_explores(agents["epl2rl"], optimum), *_recalls(agents["epl2rl"], optimum)]
    found += claims.input_at_chance(agents, optimum, "random_walk")
    return claims.of_section("4.4", found)


def _explores(agent: AgentResults, optimum: Values) -> Check:
    claim = "epl2rl searches a new maze better than a random walk (goals at exposure 1)"
    said = "a clear policy of exploration is visible on first exposures (Fig. 5c)"
    goals = over_seeds(np.array(agent["by_exposure"]["reward"]["per_seed"])[:, 0])
    return claims.above(claim, goals, optimum["random_walk"], paper=said)


def _recalls(agent: AgentResults, optimum: Values) -> list[Check]:
    maze = agent["maze"]
    claim = "epl2rl finds a goal faster once it has met the context (fall in steps)"
    said = "after its first exposure it takes a much smaller number of steps (Fig. 5b)"
    found = claims.falls(claim, maze["steps_or_end"], paper=said)
    if not found:
        return []
    steps, shortest = (
        over_seeds(np.array(maze[name]["per_seed"], float)[:, 1])
        for name in ("steps_or_end", "shortest")
    )
    if known := optimum.get("steps_goal_known"):
        claim = "epl2rl is close to optimal after one exposure (steps, over the least possible)"
        said = "after only one exposure, it performs close to optimally (Fig. 5b)"
        ratio = over_seeds(np.array(steps["per_seed"]) / known)
        found.append(claims.at_most(claim, ratio, 1.1, paper=said))
    claim = "epl2rl takes a shortest path on second exposures (share of episodes)"
    said = "on second exposures all trajectories shown are shortest paths (Fig. 5d)"
    found.append(claims.at_least(claim, shortest, 0.9, paper=said))
    return found


WATER_MAZE = Experiment(
    name="water-maze",
    title="Experiment 4: contextual water maze",
    section="4.4, Fig. 5",
    summary="a grid with a hidden goal; a barcode tells where it is",
    world=WaterMaze,
    agents=("epl2rl", "l2rl", "l2rl-context"),
    presets={"quick": QUICK, "paper": PAPER},
    optimum=maze_optimum,
    ceiling="mean_over_exposures",
    ceiling_without_memory="without_memory",
    lines={
        "best with memory": "mean_over_exposures",
        "best without episodic memory": "without_memory",
        "random walk": "random_walk",
    },
    checks=checks,
    judge=judge,
    # A goal never found counts as the whole episode, as it does in the optimum.
    columns=at_exposures("steps to the goal", "maze", "steps_or_end"),
    charts={
        "training-curves": training_curves,
        "steps-to-goal": steps_to_goal,
        "trajectories": trajectories,
    },
)
