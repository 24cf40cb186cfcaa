"""What is measured: an experiment and an agent at one size, to be trained and to be evaluated."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import jax.numpy as jnp

from measuring import Compiled, compile_timed
from reinstate.analysis.memory_map import evaluate_watched
from reinstate.devices import over_seeds
from reinstate.evaluation import Condition
from reinstate.memory import DND
from reinstate.runs.experiment import find_experiment
from reinstate.settings import Settings


@dataclass(frozen=True)
class Whole(DND):
    """A dictionary that keeps slots which no write can fill, to see what searching them costs."""

    def fitted(self, writes: int) -> Self:
        """Keep all slots."""
        return self


def _with_lanes(settings: Settings, value: int) -> Settings:
    """Set lanes; in evaluation, epochs are what is played side by side."""
    evaluated = replace(settings.evaluation, epochs=value)
    learner = replace(settings.learner, lanes=value)
    return replace(settings, learner=learner, evaluation=evaluated)


def _with_hidden(settings: Settings, value: int) -> Settings:
    return replace(settings, network=replace(settings.network, hidden_size=value))


def _with_slots(settings: Settings, value: int) -> Settings:
    if settings.memory.capacity == value:
        return settings
    return replace(settings, memory=Whole(capacity=value))


def _with_episodes(settings: Settings, value: int) -> Settings:
    """Set the length of an epoch of bandits; the memory has room for all of it."""
    task: Any = settings.task
    repeats = value * task.repeats // task.episodes_per_epoch
    if repeats < 1:
        raise ValueError(f"an epoch of {value} episodes is too short here: use a longer one")
    task = replace(task, repeats=repeats)
    slots = task.episodes_per_epoch * task.writes_per_episode
    return replace(settings, task=task, memory=replace(settings.memory, capacity=slots))


class Axis(NamedTuple):
    """A size that is varied, everything else being the preset's."""

    change: Callable[[Settings, int], Settings]
    laptop: Sequence[int]  # what to try on a CPU
    accelerator: Sequence[int]


AXES: dict[str, Axis] = {
    "lanes": Axis(_with_lanes, (1, 16, 128), (256, 2048, 8192, 32768)),
    "seeds": Axis(lambda s, value: replace(s, seeds=value), (1, 8, 32), (1, 4, 16, 64)),
    "hidden": Axis(_with_hidden, (16, 50, 128), (50, 128, 256, 512)),
    "memory": Axis(_with_slots, (100, 400, 1600), (100, 1000, 4000)),
    "epoch": Axis(_with_episodes, (20, 100, 500), (20, 100, 500)),
    "unroll": Axis(
        lambda s, value: replace(s, learner=replace(s.learner, unroll=value)), (1, 5), (1, 2, 10)
    ),
}


class Case(NamedTuple):
    """An agent of an experiment, at one size."""

    experiment: str
    agent: str
    settings: Settings
    axis: str = ""  # nothing: as the preset has it
    value: int = 0

    @property
    def told(self) -> dict[str, Any]:
        """Return what a record says of it."""
        s = self.settings
        varied = {"axis": self.axis, "value": self.value} if self.axis else {}
        named = {"experiment": self.experiment, "agent": self.agent, **varied}
        return {**named, "seeds": s.seeds, "lanes": s.learner.lanes}


def case_of(experiment: str, agent: str, preset: str, axis: str = "", value: int = 0) -> Case:
    """Put a case together; a preset that an experiment lacks is a UserError."""
    settings = find_experiment(experiment).preset(preset)
    if axis:
        settings = AXES[axis].change(settings, value)
    return Case(experiment, agent, settings, axis, value)


class Program(NamedTuple):
    """What can be timed: a compiled program with its arguments."""

    compiled: Compiled
    arguments: tuple[Any, ...]
    steps: int  # that one call takes

    def __call__(self) -> Any:
        """Run it once."""
        return self.compiled.run(*self.arguments)


@functools.cache
def as_preset(experiment: str, agent: str, preset: str) -> Program:
    """Compile the training of a preset once: several measurements need it."""
    return training(case_of(experiment, agent, preset))


def training(case: Case) -> Program:
    """Compile an epoch of training, all seeds at once, as `reinstate train` does."""
    settings = case.settings
    learner = settings.make_learner(case.agent)
    state = over_seeds(learner.init, settings.seeds)(jnp.array(settings.seed_range))
    epoch = over_seeds(learner.train_epoch, settings.seeds, lanes=settings.learner.lanes)
    compiled = compile_timed(epoch, state)
    return Program(compiled, (state,), learner.steps_per_epoch * settings.seeds)


def evaluating(case: Case) -> Program:
    """Compile an evaluation of agents that have learned nothing yet, which takes as long."""
    settings = case.settings
    learner = settings.make_learner(case.agent)
    world = settings.task.for_evaluation()
    condition = Condition(world, settings.for_agent(case.agent).memory)

    def one_seed(params: Any, seed: Any) -> Any:
        return evaluate_watched(condition, learner.agent(params), settings.evaluation, seed)

    seeds = jnp.array(settings.seed_range)
    params = over_seeds(learner.init, settings.seeds)(seeds).params
    compiled = compile_timed(over_seeds(one_seed, settings.seeds), params, seeds)
    steps = settings.evaluation.epochs * world.episodes_per_epoch * world.episode_length
    return Program(compiled, (params, seeds), steps * settings.seeds)


KINDS: dict[str, Callable[[Case], Program]] = {"train": training, "judge": evaluating}
