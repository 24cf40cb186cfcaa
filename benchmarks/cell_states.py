"""Stored cell states grow: what other ways to store and to reinstate them are worth.

    python benchmarks/cell_states.py                                # the quick preset, a CPU
    python benchmarks/cell_states.py --preset paper --seeds 10      # the paper preset, a GPU

epL2RL is trained and judged in every experiment that is named, under each variant of the network's
settings. Of the paper's own equation the trained weights are also judged with the clip elsewhere.
Each cell (experiment, preset, variant) is added to --out when it is finished, and a cell that is
there already is not run again: a call that was ended is continued by the same call.
"""

import shlex
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro

from reinstate import devices
from reinstate.agent import LARGEST_STORED
from reinstate.analysis.exposures import reward_per_episode
from reinstate.analysis.intervals import over_seeds
from reinstate.analysis.results import StoredScores
from reinstate.analysis.states import Watched
from reinstate.cell import LSTMState
from reinstate.errors import UserError
from reinstate.evaluation import Record, evaluate_in
from reinstate.experiments import find_experiment
from reinstate.experiments.base import Experiment
from reinstate.files import read_json, write_json
from reinstate.learner import TrainState
from reinstate.runs.judge import Evaluator
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance
from reinstate.runs.run import Run
from reinstate.runs.training import train
from reinstate.settings import Settings, completed, differences, to_dict

AGENT = "epl2rl"
PAPER = "paper"
VARIANTS: dict[str, dict[str, Any]] = {
    PAPER: {},
    "first-step": {"reinstated": "first-step"},
    "tanh": {"stored": "tanh"},
    "rms": {"stored": "rms"},
    "first-step-tanh": {"reinstated": "first-step", "stored": "tanh"},
}
CLIPS = (1.0, 10.0, 100.0, 1e4, LARGEST_STORED, 1e30)  # the last is none: float32 ends at 3e38


@dataclass(frozen=True)
class Options:
    experiments: tuple[str, ...] = ("barcode-bandits", "omniglot-bandits", "water-maze")
    preset: str = "quick"
    variants: tuple[str, ...] = tuple(VARIANTS)
    seeds: int | None = None
    """How many agents are trained in each cell; the preset's own number if not given."""
    out: Path = Path("results/cell-states.json")


@dataclass(frozen=True)
class Clipped(Watched):
    """An agent whose stored states are clipped elsewhere."""

    limit: jax.Array

    def to_store(self, state: LSTMState) -> jax.Array:
        return jnp.clip(state.c, -self.limit, self.limit)


def main(options: Options) -> None:
    devices.use_all_cores()
    reporter = Reporter()
    cells = read_json(options.out)["cells"] if options.out.exists() else {}
    for name in options.experiments:
        experiment = find_experiment(name)
        for variant in options.variants:
            settings = settings_of(experiment, options, variant)
            row = cells.setdefault(name, {}).setdefault(options.preset, {})
            if variant in row:
                require_same(experiment, row[variant], settings)
                continue
            reporter.note(f"{name}, {options.preset} preset: {variant}")
            row[variant] = run_cell(experiment, settings, variant, reporter)
            write_json(options.out, {"cells": cells})


def settings_of(experiment: Experiment, options: Options, variant: str) -> Settings:
    """Return the preset's settings, with the variant's network."""
    if variant not in VARIANTS:
        raise UserError(f"unknown variant {variant!r}: known are {', '.join(VARIANTS)}")
    preset = experiment.preset(options.preset)
    network = replace(preset.network, **VARIANTS[variant])
    return replace(preset, network=network, seeds=options.seeds or preset.seeds)


def require_same(experiment: Experiment, cell: dict[str, Any], settings: Settings) -> None:
    """Refuse to put cells of different settings side by side."""
    known = completed(experiment.world, cell["settings"])
    if changed := differences(known, to_dict(settings)):
        raise UserError(
            f"{experiment.name} is recorded with other settings ({'; '.join(changed)}):"
            " repeat those, or choose another --out"
        )


def run_cell(
    experiment: Experiment, settings: Settings, variant: str, reporter: Reporter
) -> dict[str, Any]:
    """Train all seeds, judge them, and say where the numbers come from."""
    began = time.monotonic()
    with TemporaryDirectory(prefix="reinstate-") as folder:
        state = train(AGENT, settings, Run(Path(folder)), reporter).state
    evaluator = Evaluator(experiment, AGENT, settings)
    verdict = evaluator.verdict(state)
    cell: dict[str, Any] = {
        "seeds": list(settings.seed_range),
        "reward": verdict["reward"],
        "stored": at_last_exposure(verdict["stored"]),
        "r_gate": verdict["r_gate"],
    }
    if variant == PAPER:
        cell["clips"] = with_other_clips(evaluator, state)
    return {
        **cell,
        "seconds": time.monotonic() - began,
        "command": shlex.join(["python", *sys.argv]),
        **provenance(),
        "device": devices.describe(),
        "settings": to_dict(settings),
    }


def at_last_exposure(stored: StoredScores) -> dict[str, Any]:
    """Keep seeds apart at the last exposure alone, so that the file stays small."""
    shares = stored["by_exposure"]
    last = over_seeds(np.array(shares["per_seed"])[:, -1])
    means = np.round(shares["mean"], 5).tolist()
    return {"beyond": stored["beyond"], "last_exposure": last, "mean_by_exposure": means}


def with_other_clips(evaluator: Evaluator, state: TrainState) -> list[dict[str, Any]]:
    """Judge the same weights on the same tasks and chances, with the clip elsewhere."""
    settings = evaluator.settings

    def one_seed(params: Any, seed: jax.Array, limit: jax.Array) -> Record:
        player = Clipped(evaluator.learner.agent(params), limit)
        return evaluate_in(evaluator.condition, player, settings.evaluation, seed)

    play, seeds = devices.over_seeds(one_seed, settings.seeds), jnp.array(settings.seed_range)
    found = []
    for clip in CLIPS:
        record = play(state.params, seeds, jnp.full(settings.seeds, clip))
        reward = reward_per_episode(jax.tree.map(np.asarray, record))
        found.append({"clip": clip, "reward": over_seeds(reward)})
    return found


if __name__ == "__main__":
    try:
        main(tyro.cli(Options, description=__doc__))
    except UserError as error:
        sys.exit(f"cell_states: {error}")
