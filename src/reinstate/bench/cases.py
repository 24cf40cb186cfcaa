"""What is measured: an experiment and an agent at one size, to be trained and to be judged."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import jax.numpy as jnp

from reinstate.analysis.states import evaluate_watched
from reinstate.bench.timing import Compiled, compile_timed
from reinstate.devices import over_seeds
from reinstate.errors import UserError, nearest
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
    """Set lanes; in judging, epochs are what is played side by side."""
    judged = replace(settings.evaluation, epochs=value)
    learner = replace(settings.learner, lanes=value)
    return replace(settings, learner=learner, evaluation=judged)


def _with_hidden(settings: Settings, value: int) -> Settings:
    return replace(settings, network=replace(settings.network, hidden_size=value))


def _with_slots(settings: Settings, value: int) -> Settings:
    if settings.memory.capacity == value:
        return settings
    return replace(settings, memory=Whole(capacity=value))


def _with_episodes(settings: Settings, value: int) -> Settings:
    """Set the length of an epoch; the memory has room for all of it."""
    task: Any = settings.task
    fields: dict[str, int]
    if hasattr(task, "repeats"):
        fields = {"repeats": value * task.repeats // task.episodes_per_epoch}
    elif hasattr(task, "uncued"):
        fields = {"uncued": value - value // 2, "cued": value // 2}
    else:
        raise UserError(f"{type(task).__name__} has no setting for the epoch: leave out that axis")
    if any(number < 1 for number in fields.values()):
        raise UserError(f"an epoch of {value} episodes is too short here: use a longer one")
    task = replace(task, **fields)
    slots = task.episodes_per_epoch * task.writes_per_episode
    return replace(settings, task=task, memory=replace(settings.memory, capacity=slots))


class Axis(NamedTuple):
    """A size that is varied, everything else being the preset's."""

    label: str
    change: Callable[[Settings, int], Settings]
    value: Callable[[Settings], int]  # that the preset has
    laptop: Sequence[int]  # what to try on a CPU
    accelerator: Sequence[int]
    judged: bool = True  # whether it makes a difference to judging


AXES: dict[str, Axis] = {
    "lanes": Axis(
        "lanes per seed",
        _with_lanes,
        lambda s: s.learner.lanes,
        (1, 16, 128),
        (256, 2048, 8192, 32768),
    ),
    "seeds": Axis(
        "seeds",
        lambda s, value: replace(s, seeds=value),
        lambda s: s.seeds,
        (1, 8, 32),
        (1, 4, 16, 64),
    ),
    "hidden": Axis(
        "hidden units",
        _with_hidden,
        lambda s: s.network.hidden_size,
        (16, 50, 128),
        (50, 128, 256, 512),
    ),
    "memory": Axis(
        "slots of the memory",
        _with_slots,
        lambda s: getattr(s.memory, "capacity", 0),
        (100, 400, 1600),
        (100, 1000, 4000),
    ),
    "epoch": Axis(
        "episodes per epoch",
        _with_episodes,
        lambda s: s.task.episodes_per_epoch,
        (20, 100, 500),
        (20, 100, 500),
    ),
    "unroll": Axis(
        "steps compiled side by side",
        lambda s, value: replace(s, learner=replace(s.learner, unroll=value)),
        lambda s: s.learner.unroll,
        (1, 5),
        (1, 2, 10),
        judged=False,
    ),
}


def read_axes(words: Sequence[str], laptop: bool) -> dict[str, tuple[int, ...]]:
    """Read axes with their values: `lanes` has some of its own, `lanes=16,64` says which."""
    found: dict[str, tuple[int, ...]] = {}
    for word in words:
        name, given, values = word.partition("=")
        if name not in AXES:
            raise UserError(nearest("axis", name, AXES))
        axis = AXES[name]
        usual = axis.laptop if laptop else axis.accelerator
        found[name] = tuple(map(_whole, values.split(","))) if given else tuple(usual)
    return found


def _whole(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text[:20]) < 2**31:
        raise UserError(f"{text!r} is no size: write an axis as lanes=16,64")
    return int(text)


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


def training(case: Case) -> Program:
    """Compile an epoch of training, all seeds at once, as `reinstate train` does."""
    settings = case.settings
    learner = settings.make_learner(case.agent)
    state = over_seeds(learner.init, settings.seeds)(jnp.array(settings.seed_range))
    compiled = compile_timed(over_seeds(learner.train_epoch, settings.seeds), state)
    return Program(compiled, (state,), learner.steps_per_epoch * settings.seeds)


def judging(case: Case) -> Program:
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


KINDS: Mapping[str, Callable[[Case], Program]] = {"train": training, "judge": judging}


class Shelf:
    """Programs as presets have them, each compiled once; others are not kept."""

    def __init__(self) -> None:
        self._kept: dict[Any, Program] = {}

    def get(self, kind: str, case: Case) -> Program:
        """Return the program that trains or judges a case."""
        what = kind, case.agent, case.settings
        if what in self._kept:
            return self._kept[what]
        program = KINDS[kind](case)
        if not case.axis:
            self._kept[what] = program
        return program
