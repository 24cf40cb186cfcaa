"""Agents under variants of an experiment's settings, trained and evaluated: tables of two pages.

    python benchmarks/variants.py recognition                   # the quick preset, a CPU
    python benchmarks/variants.py cell-states --preset paper --seeds 10     # a GPU

*recognition*: what each of its parts is worth, alone, together, and when it is taken away.
*cell-states*: stored cell states grow; what other ways to store and to reinstate them are worth. Of
the paper's own equation the trained weights are also evaluated with the clip elsewhere.

Each cell of a table is added to the file when it is finished, and is not run again: a call that was
ended is continued by the same call.
"""

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal, NamedTuple
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import tyro

from measuring import made
from reinstate import devices
from reinstate.agent import LARGEST_STORED
from reinstate.analysis.exposures import reward_by_epoch
from reinstate.analysis.verdicts import over_seeds
from reinstate.errors import UserError
from reinstate.evaluation import Record, evaluate_in
from reinstate.files import read_json, write_json
from reinstate.learner import TrainState
from reinstate.runs.evaluator import Evaluator
from reinstate.runs.experiment import Experiment, find_experiment
from reinstate.runs.progress import Reporter
from reinstate.runs.run import Run
from reinstate.runs.training import train
from reinstate.settings import Settings, completed, differences, to_dict


class Variant(NamedTuple):
    """An agent, and what it has in place of the preset's settings."""

    agent: str = "epl2rl"
    network: Mapping[str, Any] = {}
    recognition: Mapping[str, Any] = {}


# The paper's agent, by the recognising agent's code.
NOTHING = {"similarity": False, "sharpening": False, "once": False, "neighbours": 1}
EVERY_CUE = {"similarity": True, "margin": True, "age": True, "emptiness": True}


def alone(**settings: Any) -> Variant:
    return Variant("epl2rl-recognition", recognition={**NOTHING, "merge": "none", **settings})


def agent(**settings: Any) -> Variant:
    return Variant("epl2rl-recognition", recognition=settings)


RECOGNITION = {
    "paper": Variant(),
    "recognition": agent(),
    "similarity": alone(similarity=True),
    "margin": alone(margin=True),
    "age": alone(age=True),
    "emptiness": alone(emptiness=True),
    "every cue": alone(**EVERY_CUE),
    "null slot": alone(null_slot=True),
    "every cue, null slot": alone(**EVERY_CUE, null_slot=True),
    "once": alone(once=True),
    "10 neighbours": alone(neighbours=10),
    "sharpening": alone(neighbours=10, sharpening=True),
    "merging": alone(merge="mean"),
    "similarity, merging": alone(similarity=True, merge="mean"),
    "without similarity": agent(similarity=False),
    "without sharpening": agent(sharpening=False, neighbours=1),
    "without merging": agent(merge="none"),
    "on every step": agent(once=False),
    "with every cue": agent(**EVERY_CUE),
    "with a null slot": agent(null_slot=True),
    # Ways to consolidate; only with drawings do keys ever differ within a context.
    "replacing": alone(merge="replace"),
    "newest within reach": alone(recall="newest"),
    "3 neighbours": alone(neighbours=3),
}
CELL_STATES = {
    "paper": Variant(),
    "first-step": Variant(network={"reinstated": "first-step"}),
    "tanh": Variant(network={"stored": "tanh"}),
    "rms": Variant(network={"stored": "rms"}),
    "first-step-tanh": Variant(network={"reinstated": "first-step", "stored": "tanh"}),
}
CLIPS = (1.0, 10.0, 100.0, 1e4, LARGEST_STORED, 1e30)  # the last is none: float32 ends at 3e38


class Study(NamedTuple):
    """Variants, the file of their table, and what a cell of it holds."""

    variants: Mapping[str, Variant]
    out: Path
    scores: Callable[[str, Evaluator, TrainState], dict[str, Any]]
    usual: int  # variants that are run unless some are named


@dataclass(frozen=True)
class Options:
    study: Annotated[Literal["recognition", "cell-states"], tyro.conf.Positional]
    experiments: tuple[str, ...] = ("barcode-bandits", "omniglot-bandits", "water-maze")
    variants: tuple[str, ...] = ()
    out: Path | None = None
    preset: str = "quick"
    seeds: int | None = None
    """How many agents are trained in each cell; the preset's own number if not given."""
    first_seed: int = 0


def fill(options: Options) -> None:
    """Train and evaluate every cell that the file does not have yet."""
    study = STUDIES[options.study]
    out = options.out or study.out
    cells = read_json(out)["cells"] if out.exists() else {}
    for name in options.experiments:
        experiment = find_experiment(name)
        for variant in options.variants or tuple(study.variants)[: study.usual]:
            if variant not in study.variants:
                known = ", ".join(study.variants)
                raise UserError(f"unknown variant {variant!r}: known are {known}")
            chosen = study.variants[variant]
            settings = settings_of(experiment, options, chosen)
            row = cells.setdefault(name, {}).setdefault(options.preset, {})
            if variant in row:
                require_same(experiment, row[variant], settings)
                continue
            print(f"{name}, {options.preset} preset: {variant}", file=sys.stderr, flush=True)
            row[variant] = run_cell(experiment, settings, chosen.agent, variant, study)
            write_json(out, {"cells": cells})


def settings_of(experiment: Experiment, options: Options, variant: Variant) -> Settings:
    """Return the preset's settings, with the variant's network."""
    preset = experiment.preset(options.preset)
    recognition = replace(preset.network.recognition, **variant.recognition)
    network = replace(preset.network, recognition=recognition, **variant.network)
    seeds = options.seeds or preset.seeds
    return replace(preset, network=network, seeds=seeds, first_seed=options.first_seed)


def require_same(experiment: Experiment, cell: dict[str, Any], settings: Settings) -> None:
    """Refuse to put cells of different settings side by side."""
    known = completed(experiment.world, cell["settings"])
    if changed := differences(known, to_dict(settings)):
        raise UserError(
            f"{experiment.name} is recorded with other settings ({'; '.join(changed)}):"
            " repeat those, or choose another --out"
        )


def run_cell(
    experiment: Experiment, settings: Settings, agent: str, variant: str, study: Study
) -> dict[str, Any]:
    """Train all seeds, evaluate them, and say where the numbers come from."""
    began = time.monotonic()
    with TemporaryDirectory(prefix="reinstate-") as folder:
        state = train(agent, settings, Run(Path(folder)), Reporter()).state
    trained = time.monotonic() - began
    cell = study.scores(variant, Evaluator(experiment, agent, settings), state)
    seconds = {"seconds": time.monotonic() - began, "training_seconds": trained}
    told = {"agent": agent, "seeds": list(settings.seed_range)}
    return {**told, **cell, **seconds, **made(), "settings": to_dict(settings)}


def of_recognition(variant: str, evaluator: Evaluator, state: TrainState) -> dict[str, Any]:
    """Keep reward, reward at the first exposure, retrieval, and the slots that were used."""
    verdict: Any = evaluator.evaluate(state)
    by_exposure = verdict.get("by_exposure")
    cell: dict[str, Any] = {
        "reward": verdict["reward"],
        "first_exposure": by_exposure and by_exposure["reward"]["mean"][0],
        "r_gate": verdict["r_gate"],
        "slots_used": verdict["slots_used"],
        "reach": getattr(evaluator.settings.memory, "reach", 0.0),
    }
    return cell | {"retrieval": verdict["retrieval"]} if "retrieval" in verdict else cell


def of_cell_states(variant: str, evaluator: Evaluator, state: TrainState) -> dict[str, Any]:
    """Keep how large stored states are and, of the paper's equation, what the clip is worth."""
    verdict = evaluator.evaluate(state)
    shares = verdict["stored"]["by_exposure"]
    stored = {
        "beyond": verdict["stored"]["beyond"],
        "last_exposure": over_seeds(np.array(shares["per_seed"])[:, -1]),
        "mean_by_exposure": np.round(shares["mean"], 5).tolist(),
    }
    cell = {"reward": verdict["reward"], "stored": stored, "r_gate": verdict["r_gate"]}
    return cell | {"clips": with_other_clips(evaluator, state)} if variant == "paper" else cell


def with_other_clips(evaluator: Evaluator, state: TrainState) -> list[dict[str, Any]]:
    """Evaluate the same weights on the same tasks and chances, with the clip elsewhere."""
    settings, seeds, found = evaluator.settings, jnp.array(evaluator.settings.seed_range), []
    for clip in CLIPS:

        def one_seed(params: Any, seed: jax.Array) -> Record:  # its own, to be traced with its clip
            player = evaluator.learner.agent(params)
            return evaluate_in(evaluator.condition, player, settings.evaluation, seed)

        with mock.patch("reinstate.agent.LARGEST_STORED", clip):
            record = devices.over_seeds(one_seed, settings.seeds)(state.params, seeds)
        reward = np.mean(reward_by_epoch(jax.tree.map(np.asarray, record)), axis=1)
        found.append({"clip": clip, "reward": over_seeds(reward)})
    return found


STUDIES = {
    "recognition": Study(RECOGNITION, Path("results/recognition/parts.json"), of_recognition, 20),
    "cell-states": Study(CELL_STATES, Path("results/cell-states.json"), of_cell_states, 5),
}

if __name__ == "__main__":
    try:
        devices.divide_cpu()
        fill(tyro.cli(Options, description=__doc__))
    except UserError as error:
        sys.exit(f"variants: {error}")
