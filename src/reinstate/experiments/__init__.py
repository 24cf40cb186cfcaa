"""The paper's experiments, one module each, and those of other packages, by name."""

from dataclasses import replace
from typing import TypeVar

from reinstate.errors import UserError, nearest
from reinstate.experiments.barcode_bandits import BARCODE_BANDITS
from reinstate.experiments.base import Experiment
from reinstate.experiments.compositional_bandits import COMPOSITIONAL_BANDITS
from reinstate.experiments.omniglot_bandits import OMNIGLOT_BANDITS
from reinstate.experiments.two_step import TWO_STEP
from reinstate.experiments.water_maze import WATER_MAZE
from reinstate.registry import Registry
from reinstate.tasks.base import World

T = TypeVar("T")

PAPER = (BARCODE_BANDITS, OMNIGLOT_BANDITS, COMPOSITIONAL_BANDITS, WATER_MAZE, TWO_STEP)

EXPERIMENTS: Registry[Experiment] = Registry("experiment", {e.name: e for e in PAPER})
TASKS: Registry[type[World]] = Registry("task", {})  # worlds that come without an experiment


def find_experiment(name: str) -> Experiment:
    """Look an experiment up; a task that has none gets one with defaults throughout."""
    if name in EXPERIMENTS:
        experiment = _require(Experiment, "experiment", name, EXPERIMENTS[name])
        return experiment if experiment.name == name else replace(experiment, name=name)
    if name in TASKS:
        return Experiment(name, _require(type, "task", name, TASKS[name]))
    raise UserError(nearest("experiment", name, experiment_names()))


def experiment_names() -> list[str]:
    """List all that `find_experiment` knows, the paper's first."""
    return list(dict.fromkeys([*EXPERIMENTS, *TASKS]))


def experiment_of(world: type[World]) -> Experiment | None:
    """Find the experiment that is about a world, if any is."""
    found = (find_experiment(name) for name in experiment_names())
    return next((experiment for experiment in found if experiment.world is world), None)


def _require(kind: type[T], word: str, name: str, thing: object) -> T:
    if not isinstance(thing, kind):
        raise UserError(f"{word} {name!r} is registered as {thing!r}, not as a {kind.__name__}")
    return thing
