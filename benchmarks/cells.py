"""Cells of a table: an agent under a variant of an experiment's settings, trained and judged.

Each cell is added to a file when it is finished, and a cell that is there already is not run again:
a call that was ended is continued by the same call.
"""

import shlex
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from reinstate import devices
from reinstate.errors import UserError
from reinstate.files import read_json, write_json
from reinstate.learner import TrainState
from reinstate.runs.experiment import Experiment, find_experiment
from reinstate.runs.judge import Evaluator
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance
from reinstate.runs.run import Run
from reinstate.runs.training import train
from reinstate.settings import Settings, completed, differences, to_dict


@dataclass(frozen=True)
class Options:
    experiments: tuple[str, ...]
    out: Path
    variants: tuple[str, ...]
    preset: str = "quick"
    seeds: int | None = None
    """How many agents are trained in each cell; the preset's own number if not given."""
    first_seed: int = 0


class Variant(NamedTuple):
    """An agent, and what it has in place of the preset's settings."""

    agent: str = "epl2rl"
    network: Mapping[str, Any] = {}
    recognition: Mapping[str, Any] = {}


Scores = Callable[[str, Evaluator, TrainState], dict[str, Any]]  # variant, … → what a cell holds


def fill(options: Options, variants: Mapping[str, Variant], scores: Scores) -> None:
    """Train and judge every cell that the file does not have yet."""
    devices.divide_cpu()
    reporter = Reporter()
    cells = read_json(options.out)["cells"] if options.out.exists() else {}
    for name in options.experiments:
        experiment = find_experiment(name)
        for variant in options.variants:
            if variant not in variants:
                known = ", ".join(variants)
                raise UserError(f"unknown variant {variant!r}: known are {known}")
            settings = settings_of(experiment, options, variants[variant])
            row = cells.setdefault(name, {}).setdefault(options.preset, {})
            if variant in row:
                require_same(experiment, row[variant], settings)
                continue
            reporter.note(f"{name}, {options.preset} preset: {variant}")
            row[variant] = run_cell(
                experiment, settings, variants[variant].agent, variant, scores, reporter
            )
            write_json(options.out, {"cells": cells})


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
    experiment: Experiment,
    settings: Settings,
    agent: str,
    variant: str,
    scores: Scores,
    reporter: Reporter,
) -> dict[str, Any]:
    """Train all seeds, judge them, and say where the numbers come from."""
    began = time.monotonic()
    with TemporaryDirectory(prefix="reinstate-") as folder:
        state = train(agent, settings, Run(Path(folder)), reporter).state
    trained = time.monotonic() - began
    cell = scores(variant, Evaluator(experiment, agent, settings), state)
    return {
        "agent": agent,
        "seeds": list(settings.seed_range),
        **cell,
        "seconds": time.monotonic() - began,
        "training_seconds": trained,
        "command": shlex.join(["python", *sys.argv]),
        **provenance(),
        "device": devices.describe(),
        "settings": to_dict(settings),
    }
