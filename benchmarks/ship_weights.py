"""Make the weights that come with the package, from trained runs.

    reinstate train EXPERIMENT --agent AGENT --preset paper --seeds 1 --out RUNS/EXPERIMENT/AGENT
    python benchmarks/ship_weights.py RUNS --device "NVIDIA H200 × 1" --commit COMMIT

Each run's first seed, whatever it earns, in half precision. The card holds what the weights earn as
they were trained and as they are shipped, on the same fresh tasks.
"""

import argparse
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from reinstate.files import read_json, write_json
from reinstate.runs.evaluator import Evaluator
from reinstate.runs.run import SHIPPED, Run, open_run
from reinstate_paper import PAPER_EXPERIMENTS

AGENTS = ("epl2rl", "l2rl", "l2rl-context")


def ship(source: Run, target: Run, device: str, commit: str) -> dict[str, Any]:
    """Copy a run's weights, and say what they earn before and after rounding."""
    experiment, agent, settings = open_run(source.path)
    evaluator = Evaluator(experiment, agent, settings)
    state = evaluator.load(source)
    saved = read_json(source.path / "config.json")
    write_json(target.path / "config.json", {**saved, "commit": commit})
    target.save_weights(state.params, int(state.epoch[0]), np.float16)
    trained, shipped = evaluator.evaluate(state), evaluator.evaluate(evaluator.load(target))
    return {
        "seed": settings.first_seed,
        "epochs": int(state.epoch[0]),
        "device": device,
        "jax": saved["jax"],
        "command": f"reinstate train {experiment.name} --agent {agent} --preset paper --seeds 1",
        "reward": shipped["reward"]["mean"],
        "reward_as_trained": trained["reward"]["mean"],
        "evaluation_epochs": settings.evaluation.epochs,
        "bytes": target.weights_path.stat().st_size,
    }


def main() -> None:
    """Ship every experiment and agent that the runs folder has."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", type=Path, help="folder of runs, as EXPERIMENT/AGENT")
    parser.add_argument("--device", required=True, help="what they were trained on")
    parser.add_argument("--commit", required=True, help="of the code that trained them")
    options = parser.parse_args()
    weights = {}
    for name in (f"{experiment}/{agent}" for experiment in PAPER_EXPERIMENTS for agent in AGENTS):
        target = Run(SHIPPED / name)
        shutil.rmtree(target.path, ignore_errors=True)
        found = ship(Run(options.runs / name), target, options.device, options.commit)
        print(f"{name}: {found['reward']:.3f} ({found['reward_as_trained']:.3f} as trained)")
        weights[name] = found
    about = "Weights of the paper's agents: one seed each, trained at the paper preset."
    card = {"about": about, "licence": "MIT", "commit": options.commit, "precision": "float16"}
    write_json(SHIPPED / "card.json", {**card, "weights": weights})


if __name__ == "__main__":
    main()
