"""How much memory settings need: what cannot fit is refused before anything is compiled.

Sizes follow from shapes alone (`jax.eval_shape`), so that even absurd settings take a fraction of a
second. They are those of the arrays that must exist at once; what a compiler adds or saves is not
known before it has run, and is usually less than half as much again.
"""

import math
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from reinstate.agent import AgentKind, Network
from reinstate.analysis.states import evaluate_watched
from reinstate.devices import SPREAD, Spread
from reinstate.errors import LARGEST_COUNT, UserError
from reinstate.evaluation import Condition, Evaluation
from reinstate.learner import A2C, Learner, a2c_loss
from reinstate.memory import DND
from reinstate.recompute import play_to_learn
from reinstate.rollout import Options, start_lanes
from reinstate.settings import Settings
from reinstate.tasks.base import World

PROGRAM = 400_000_000  # bytes of Python, JAX and its compiler
UNKNOWN = 2**46  # bytes, more than any machine has: where it cannot be asked
CONTAINER = Path("/sys/fs/cgroup/memory.max")  # what a container may take, on Linux
LONGEST_UNROLL = 1000  # steps: beyond, a program takes hours to compile
NAMED = 3  # settings that a message says to lower, at most
SHAPES = ("episodes_per_epoch", "episode_length", "num_actions", "observation_size", "context_size")


class Part(NamedTuple):
    """Something that takes memory."""

    what: str
    size: int  # bytes, of one seed


class Option(NamedTuple):
    """A setting by which memory grows."""

    flag: str
    value: int
    usual: int


def require_room(
    settings: Settings,
    agent: AgentKind,
    *,
    candidates: int = 1,
    trained: bool = True,
    judged: bool = False,
    spread: Spread = SPREAD,
) -> None:
    """Refuse settings that no learner can be made of, or that take more memory than there is.

    `candidates` is how many sets of rates are trained side by side; `trained` and `judged` say what
    is to be done with them, and `spread` how devices share it. Nothing is computed and nothing is
    written.
    """
    _require_counts(settings)
    one, copies = _divided(settings, settings.seeds * candidates, spread)
    with shapes_alone():
        if trained and not _fits(_training(one, agent, exact=False), copies):
            parts = _training(one, agent, exact=True)
            require_fits(parts, copies, _options(settings, candidates))
        if judged:
            require_fits(_judging(settings, agent), settings.seeds, _options(settings, None))


def _divided(settings: Settings, copies: int, spread: Spread) -> tuple[Settings, int]:
    """Return settings with one accelerator's part of the lanes, and copies as it has them.

    A host has one memory for all its devices.
    """
    lanes = settings.learner.lanes
    division = spread.divide(copies, lanes)  # refuses what cannot be divided
    if _one_memory() or (spread == SPREAD and jax.process_count() == 1):
        return settings, copies
    one = replace(settings, learner=replace(settings.learner, lanes=lanes // division.over_lanes))
    return one, division.per_device * memory_there_is()[1]


def _one_memory() -> bool:
    return jax.devices()[0].platform == "cpu"


@contextmanager
def shapes_alone() -> Iterator[None]:
    """Let JAX not warn that indices of a huge array would be cut: there will be no such array."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Explicitly requested dtype int64")
        yield


def require_fits(parts: Sequence[Part], copies: int, options: Iterable[Option]) -> None:
    """Refuse `copies` of these parts if they take more memory than there is, and say what to lower.

    Copies are spread over accelerators, each of which has a memory of its own.
    """
    if _fits(parts, copies):
        return
    there, devices = memory_there_is()
    largest = max(parts, key=lambda part: part.size)
    share = largest.size * -(-copies // devices)
    raise UserError(
        f"this needs about {in_bytes(_need(parts, copies, devices))} of memory, {in_bytes(share)}"
        f" of it for {largest.what}, and there are {in_bytes(there)}: lower {_to_lower(options)}"
    )


def _fits(parts: Sequence[Part], copies: int) -> bool:
    there, devices = memory_there_is()
    return _need(parts, copies, devices) <= there


def _need(parts: Sequence[Part], copies: int, devices: int) -> int:
    """Add up what one device, or the host, has to hold."""
    return sum(part.size for part in parts) * -(-copies // devices) + PROGRAM


def memory_there_is() -> tuple[int, int]:
    """Return the bytes of an accelerator and how many there are; without one, the host's and 1."""
    devices = jax.local_devices()
    known = None if devices[0].platform == "cpu" else devices[0].memory_stats()
    if known and known.get("bytes_limit"):
        return known["bytes_limit"], len(devices)
    try:
        host = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        host = UNKNOWN
    try:
        return min(host, int(CONTAINER.read_text(encoding="utf-8"))), 1
    except (OSError, ValueError):  # no limit, which is spelt "max"
        return host, 1


def in_bytes(size: float) -> str:
    """Write a number of bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.0f} TB" if 100 <= size < 1e9 else f"{size:.3g} TB"


def bytes_of(tree: Any) -> int:
    """Add up the bytes of a tree of arrays, or of their shapes."""
    leaves = (leaf for leaf in jax.tree.leaves(tree) if hasattr(leaf, "dtype"))
    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves)


def _require_counts(settings: Settings) -> None:
    """Refuse numbers that are counted in int32 and do not fit, and programs without end."""
    task, learner = settings.task, settings.learner
    episodes, length = task.episodes_per_epoch, task.episode_length
    updates = learner.epochs * -(-episodes // learner.episodes_per_update)
    for what, count, flags in (
        ("updates of the weights", updates, "--learner.epochs or the episodes per epoch"),
        ("writes of an epoch", 4 * episodes * task.writes_per_episode, "the episodes per epoch"),
        ("actions", task.num_actions, "them"),
        ("steps per episode", length, "them"),
    ):
        if count > LARGEST_COUNT:
            raise UserError(f"{count} {what} are more than can be counted: lower {flags}")
    if min(learner.unroll, length) > LONGEST_UNROLL:
        raise UserError(
            f"learner.unroll = {learner.unroll} would compile {min(learner.unroll, length)} steps"
            f" side by side, which takes hours: lower it to {LONGEST_UNROLL} or less"
        )


def _training(settings: Settings, agent: AgentKind, exact: bool) -> tuple[Part, ...]:
    """Size what one seed holds while it learns; exactly, or from above, which takes less time."""
    learner = settings.make_learner(agent)
    world, lanes = learner.world, learner.settings.lanes
    state = jax.eval_shape(learner.init, jax.ShapeDtypeStruct((), jnp.int32))
    sample = partial(world.sample_training_epoch, progress=jnp.zeros(()))
    sample = jax.vmap(sample, out_axes=1)
    tasks = jax.eval_shape(lambda key: sample(jax.random.split(key, lanes)), state.key)
    start = jax.eval_shape(
        lambda params: start_lanes(world, learner.agent(params), learner.memory, lanes),
        state.params,
    )
    measure = _kept_steps if exact else _most_steps
    return (
        Part("weights and what the optimiser keeps", 3 * bytes_of(state)),
        Part("the tasks of all lanes", 2 * bytes_of(tasks)),  # as drawn, and in segments
        Part("the memories of all lanes", bytes_of(start)),
        Part("the steps that are back-propagated", measure(learner, state, start, tasks)),
    )


def _most_steps(learner: Learner, state: Any, start: Any, tasks: Any) -> int:
    """Bound what differentiating keeps: of a step in a lane, less than all that enters it."""
    world, how = learner.world, learner.settings
    lane = (bytes_of(start) + bytes_of(tasks)) // how.lanes
    enters = bytes_of(state.params) + 8 * (world.num_actions + world.context_size) + lane
    return 4 * how.lanes * how.episodes_per_update * (world.episode_length + 1) * enters


def _kept_steps(learner: Learner, state: Any, start: Any, tasks: Any) -> int:
    """Size what differentiating one segment keeps, and what its steps return."""
    how = learner.settings

    def differentiate(params: Any, start: Any, tasks: Any, key: Any) -> Any:
        segment = jax.tree.map(lambda x: x[: how.episodes_per_update], tasks)
        keys = jax.random.split(key, how.lanes)

        def loss(params: Any) -> tuple[Any, Any]:
            run = partial(play_to_learn, learner.world, learner.agent(params), learner.memory)
            options = Options(through_storage=how.through_storage)
            _, played = run(start, segment, keys, options, how.fused)
            return a2c_loss(played.steps, learner.rates, jnp.zeros(()))[0], played

        _, kept, played = jax.vjp(loss, params, has_aux=True)
        return kept, played

    return bytes_of(jax.eval_shape(differentiate, state.params, start, tasks, state.key))


def _judging(settings: Settings, agent: AgentKind) -> tuple[Part, ...]:
    """Size what one seed holds while it is judged with frozen weights."""
    learner, epochs = settings.make_learner(agent), settings.evaluation.epochs
    world, memory = settings.task.for_evaluation(), settings.for_agent(agent).memory
    seed = jax.ShapeDtypeStruct((), jnp.int32)
    state = jax.eval_shape(learner.init, seed)

    def judge(params: Any, key: Any) -> Any:
        player = learner.agent(params)
        tasks = jax.vmap(world.sample_epoch)(jax.random.split(key, epochs))
        record = evaluate_watched(
            Condition(world, memory), player, settings.evaluation, seed=jnp.int32(0)
        )
        return tasks, start_lanes(world, player, memory, epochs), record

    tasks, start, record = jax.eval_shape(judge, state.params, state.key)
    return (
        Part("weights", bytes_of(state.params)),
        Part("the tasks of all epochs of evaluation", bytes_of(tasks)),
        Part("the memories of all epochs of evaluation", bytes_of(start)),
        Part("the record of all steps of evaluation", 2 * bytes_of(record)),  # here and in NumPy
    )


def _options(settings: Settings, candidates: int | None) -> Iterator[Option]:
    """List the settings by which memory grows; without candidates, those of an evaluation."""
    task, usual = settings.task, A2C()
    yield Option("--seeds", settings.seeds, 8)
    yield Option("--set network.hidden-size", settings.network.hidden_size, Network.hidden_size)
    slots = getattr(settings.memory, "capacity", 0)
    if candidates:
        writes = task.episodes_per_epoch * task.writes_per_episode
        slots = slots if slots <= writes else 0  # cut to what is written: see `Memory.fitted`
        yield Option("--trials", candidates, 16)
        yield Option("--learner.lanes", settings.learner.lanes, usual.lanes)
        segment = settings.learner.episodes_per_update
        yield Option("--learner.episodes-per-update", segment, usual.episodes_per_update)
    else:
        yield Option("--set evaluation.epochs", settings.evaluation.epochs, Evaluation.epochs)
    yield Option("--set memory.capacity", slots, DND.capacity)
    yield from _task_options(task)


def _task_options(task: World) -> Iterator[Option]:
    """List the whole numbers of a task on which any of its sizes depends."""
    settings: Any = fields(task) if is_dataclass(task) else ()
    for setting in settings:
        value = getattr(task, setting.name)
        if type(value) is int and value > 1 and _matters(task, setting.name, value):
            flag = f"--task.{setting.name.replace('_', '-')}"
            usual = 1 if setting.default is MISSING else max(int(setting.default), 1)
            yield Option(flag, value, usual)


def _matters(task: Any, name: str, value: int) -> bool:
    try:
        less = replace(task, **{name: value // 2})
    except UserError:  # alone it cannot be lowered
        return True
    return any(getattr(less, size) != getattr(task, size) for size in SHAPES)


def _to_lower(options: Iterable[Option]) -> str:
    """Name the settings that exceed what is usual most; if none does, the usual ones."""
    raised = sorted(options, key=lambda option: option.value / option.usual, reverse=True)
    named = [o for o in raised if o.value > o.usual][:NAMED] or raised[:NAMED]
    *others, last = [f"{option.flag} ({option.value})" for option in named]
    return f"{', '.join(others)} or {last}" if others else last
