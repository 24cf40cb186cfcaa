"""A map of what a memory holds: stored states in the plane in which they differ most.

If states come to say which arm is good, whatever the context, those of one arm lie together and
those of different arms apart; the more exposures a state has seen, the clearer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, TypedDict

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from reinstate.errors import UserError
from reinstate.evaluation import Condition, Evaluation
from reinstate.memory import Found, Memory
from reinstate.player import Player
from reinstate.rollout import Options, play, start_epoch
from reinstate.tasks.base import RecurringWorld

EXPOSURES = (1, 2, 3, 10)  # after which states are shown
TOLD = {"good_arm": "good arm", "goal": "goal"}  # what a trace may tell, and what that is called
MOST_CONTEXTS = 10  # shown, where it is contexts that are told apart


class Stored(NamedTuple):
    """The states that an agent stored, one per episode."""

    state: np.ndarray  # (epochs, episodes, size)
    exposure: np.ndarray  # (epochs, episodes) how often the context was met before
    label: np.ndarray  # (epochs, episodes) what tells them apart, from 0
    labels: str  # what that is
    context: np.ndarray | None = None  # (epochs, episodes) counted through all epochs, from 0


class Panel(NamedTuple):
    """States that were stored at the end of one exposure."""

    exposure: int  # from 1
    places: np.ndarray  # (states, 2)
    label: np.ndarray  # (states,)
    readable: float | None  # share of states whose nearest other has the same label
    context: np.ndarray | None = None  # (states,) whose they are


class RecordedPanel(TypedDict):
    """A panel as a file holds it: numbers in the order of states."""

    exposure: int
    readable: float | None
    x: list[float]
    y: list[float]
    label: list[int]
    context: list[int]


class RecordedMap(TypedDict):
    """What memory-map.json holds."""

    experiment: str
    agent: str
    labels: str
    explained: list[float]
    panels: list[RecordedPanel]


class MemoryMap(NamedTuple):
    """Stored states by exposure, in one plane."""

    panels: list[Panel]
    explained: list[float]  # share of the variance along each axis
    labels: str  # what tells states apart


class Log(NamedTuple):
    """What a memory holds, and all that it was given."""

    memory: Any
    values: Array  # (writes, value_size) in the order in which they were written
    writes: Array  # () so far


@dataclass(frozen=True)
class Logged(Memory):
    """A memory that also keeps everything it was ever given."""

    memory: Memory
    writes: int  # that it will be given

    def fitted(self, writes: int) -> Self:
        return replace(self, memory=self.memory.fitted(writes))

    def empty(self, key_size: int, value_size: int) -> Log:
        log = jnp.zeros((self.writes, value_size)), jnp.zeros((), jnp.int32)
        return Log(self.memory.empty(key_size, value_size), *log)

    def write(self, contents: Log, key: Array, value: Array) -> Log:
        return Log(
            self.memory.write(contents.memory, key, value),
            contents.values.at[contents.writes].set(value),
            contents.writes + 1,
        )

    def read(self, contents: Log, query: Array) -> tuple[Found, Log]:
        found, after = self.memory.read(contents.memory, query)
        return found, contents._replace(memory=after)


def stored_states(
    condition: Condition, player: Player, settings: Evaluation, seed: int | Array
) -> Stored:
    """Let a player play the epochs of an evaluation, and return every state that it stored.

    States are told apart by what they have to say of their context: its good arm or its goal, where
    the world's trace has one. Else by the context, in a single epoch: the next one has others.
    """
    world, memory, recall = condition
    if not player.remembers:
        raise UserError("a memory map is of stored states, and an agent without memory has none")
    writes, options = world.writes_per_episode, Options(recall=recall)
    logged = Logged(memory, world.episodes_per_epoch * writes)

    @jax.jit
    @jax.vmap
    def play_epoch(task_key: Array, play_key: Array) -> Any:
        tasks: Any = world.sample_epoch(task_key)
        start = start_epoch(world, player, logged)
        after, (steps, *_) = play(world, player, logged, start, tasks, play_key, options)
        states = after.memory.values[::writes]  # an episode stores the same one under all its keys
        return states, tasks.exposure, tasks.context_id, steps.trace

    key = jax.random.fold_in(jax.random.key(settings.seed), seed)
    keys = [jax.random.split(each, settings.epochs) for each in jax.random.split(key)]
    traced = jax.eval_shape(play_epoch, *keys)[-1]
    told = next((name for name in TOLD if hasattr(traced, name)), None)
    if not (told or isinstance(world, RecurringWorld)):
        raise UserError(
            "a memory map needs a good arm for every context, or contexts that each are stored"
            f" once per exposure: {type(world).__name__} has neither"
        )
    state, exposure, context, trace = jax.tree.map(np.asarray, play_epoch(*keys))
    every = context + (context.max() + 1) * np.arange(len(context))[:, None]
    if told:
        return Stored(state, exposure, getattr(trace, told)[..., 0], TOLD[told], every)
    shown = slice(1), context[0] < MOST_CONTEXTS
    return Stored(state[shown], exposure[shown], context[shown], "context", every[shown])


def memory_map(stored: Stored, exposures: Sequence[int] = EXPOSURES) -> MemoryMap:
    """Place states along the two directions in which those of all panels together vary most.

    It is tanh c that is placed: the cell's output sees no more of c, which can grow by orders of
    magnitude with every exposure. Exposures that no context reached give way to the last.
    """
    last = int(stored.exposure.max()) + 1
    after = sorted({min(exposure, last) for exposure in exposures})
    at = [stored.exposure == exposure - 1 for exposure in after]
    states = [np.tanh(stored.state[here].astype(float)) for here in at]
    together = np.concatenate(states)
    mean = together.mean(axis=0)
    axes, explained = principal_axes(together - mean)
    panels = [
        Panel(
            exposure,
            (state - mean) @ axes.T,
            stored.label[here],
            readable(state, stored.label[here]),
            None if stored.context is None else stored.context[here],
        )
        for exposure, state, here in zip(after, states, at, strict=True)
    ]
    return MemoryMap(panels, explained.tolist(), stored.labels)


def recorded(found: MemoryMap, experiment: str, agent: str) -> RecordedMap:
    """Return a map as a file holds it: three digits are more than can be seen."""
    panels: list[RecordedPanel] = []
    for panel in found.panels:
        x, y = (np.round(axis, 3).tolist() for axis in panel.places.T)
        contexts = np.arange(len(x)) if panel.context is None else panel.context
        panels.append(
            {
                "exposure": panel.exposure,
                "readable": None if panel.readable is None else round(panel.readable, 4),
                "x": x,
                "y": y,
                "label": panel.label.tolist(),
                "context": contexts.tolist(),
            }
        )
    explained = [round(share, 4) for share in found.explained]
    return {
        "experiment": experiment,
        "agent": agent,
        "labels": found.labels,
        "explained": explained,
        "panels": panels,
    }


def from_recorded(found: RecordedMap) -> MemoryMap:
    """Return the map that a file holds."""
    panels = [
        Panel(
            panel["exposure"],
            np.stack([panel["x"], panel["y"]], axis=-1),
            np.array(panel["label"]),
            panel["readable"],
            np.array(panel["context"]),
        )
        for panel in found["panels"]
    ]
    return MemoryMap(panels, found["explained"], found["labels"])


def principal_axes(centred: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first two principal axes of rows, (2, size), and their shares of the variance.

    The sign of an axis means nothing: its largest part is made positive.
    """
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    axes, variance = np.zeros((2, centred.shape[1])), np.zeros(2)
    found = directions[:2]
    largest = np.abs(found).argmax(axis=1)
    axes[: len(found)] = found * np.sign(found[np.arange(len(found)), largest])[:, None]
    variance[: len(found)] = sizes[:2] ** 2
    return axes, variance / max(np.sum(sizes**2), np.finfo(float).tiny)


def readable(states: np.ndarray, label: np.ndarray) -> float | None:
    """Return the share of states whose nearest other state has the same label.

    Nothing where every label is there once, and could not be found.
    """
    if len(np.unique(label)) == len(label):
        return None
    apart = np.sum((states[:, None] - states[None, :]) ** 2, axis=-1)
    np.fill_diagonal(apart, np.inf)
    return float(np.mean(label[apart.argmin(axis=1)] == label))
