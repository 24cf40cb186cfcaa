"""Experiment 4, section 4.4: does an agent walk straight to a goal that it has found before?"""

from dataclasses import replace
from typing import Any

from reinstate import figures
from reinstate.analysis.exposures import exposure_scores
from reinstate.analysis.mazes import maze_scores
from reinstate.baselines.optimum import Values, maze_optimum_or_bounds
from reinstate.evaluation import Evaluation, Record
from reinstate.experiments.base import LEARNER, Check, Experiment, Results, at_exposures
from reinstate.experiments.claims import against_memoryless, falls
from reinstate.settings import Settings
from reinstate.tasks.water_maze import WaterMaze

# Of 64 settings drawn at random, none was better for plain L2RL than this discount with the rest.
QUICK = Settings(
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


def judge(world: WaterMaze, record: Record) -> Results:
    scores = exposure_scores(record)
    # Regret of single moves says little where a goal is worth many of them.
    for name in ("regret", "regret_by_step"):
        del scores["by_exposure"][name]
    return {**scores, "maze": maze_scores(world, record)}


def checks(agents: Results, optimum: Values, baselines: Results) -> list[Check]:
    """Section 4.4's statements, for whichever of its agents were run."""
    found = against_memoryless(agents, optimum["without_memory"])
    if "epl2rl" in agents:
        maze = agents["epl2rl"]["maze"]
        claim = "epl2rl finds a goal faster once it has met the context (fall in steps)"
        found += [*falls(claim, maze["steps_or_end"]), *_straight(maze)]
    return found


def _straight(maze: Any) -> list[Check]:
    shortest = maze["shortest"]["mean"][1:2]
    claim = "epl2rl takes a shortest path on second exposures (share of episodes)"
    return [Check(claim, share, ">= 0.9", share >= 0.9) for share in shortest]


WATER_MAZE = Experiment(
    name="water-maze",
    title="Experiment 4: contextual water maze",
    section="4.4, Fig. 5",
    summary="a grid with a hidden goal; a barcode tells where it is",
    world=WaterMaze,
    agents=("epl2rl", "l2rl", "l2rl-context"),
    presets={"quick": QUICK, "paper": PAPER},
    optimum=maze_optimum_or_bounds,
    ceilings={
        "epl2rl": "mean_over_exposures",
        "epl2rl-input": "mean_over_exposures",
        "l2rl": "without_memory",
        "l2rl-context": "without_memory",
    },
    lines={
        "best with memory": "mean_over_exposures",
        "best without episodic memory": "without_memory",
        "random walk": "random_walk",
    },
    checks=checks,
    judge=judge,
    # A goal never found counts as the whole episode, as it does in the optimum.
    columns=at_exposures("steps to the goal", "maze", "steps_or_end"),
    figures={"steps-to-goal": figures.maze_steps, "trajectories": figures.maze_trajectories},
)
