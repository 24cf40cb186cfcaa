"""What a memory holds: how large stored states are, and a map of them.

What comes back is added to the cell on every step and stored again (`Agent.to_store`), so that c
can grow with each exposure. Evaluations count units by size; training is left alone.

The map shows states in the plane in which they differ most. If they come to say which arm is good,
whatever the context, those of one arm lie together and those of different arms apart; the more
exposures a state has seen, the clearer.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from reinstate.agent import LARGEST_STORED, Agent
from reinstate.analysis.exposures import means_by_exposure
from reinstate.analysis.results import StoredScores
from reinstate.analysis.verdicts import over_seeds
from reinstate.cell import LSTMState
from reinstate.errors import UserError
from reinstate.evaluation import Condition, Evaluation, Record, evaluate_in
from reinstate.memory import Memory
from reinstate.player import Decision, Player
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
    context: np.ndarray  # (epochs, episodes) counted through all epochs, from 0


class Panel(TypedDict):
    """States that were stored at the end of one exposure: numbers in the order of states."""

    exposure: int  # from 1
    readable: float | None  # share of states whose nearest other has the same label
    x: list[float]
    y: list[float]
    label: list[int]
    context: list[int]  # whose they are


class MemoryMap(TypedDict):
    """Stored states by exposure, in one plane; as memory-map.json holds it."""

    experiment: str
    agent: str
    labels: str  # what tells states apart
    explained: list[float]  # share of the variance along each axis
    panels: list[Panel]


class _Caught(Memory):
    """Stands in for a memory: what is written is returned, and nothing is kept."""

    def empty(self, key_size: int, value_size: int) -> None:
        return None

    def write(self, contents: Any, key: Array, value: Array) -> Any:
        return value

    def read(self, contents: Any, query: Array) -> Any:
        raise NotImplementedError


def stored_states(
    condition: Condition, player: Player, settings: Evaluation, seed: int | Array
) -> Stored:
    """Let a player play the epochs of an evaluation, and return every state that it stored.

    States are told apart by what they have to say of their context: its good arm or its goal, where
    the world's trace has one. Else by the context, in a single epoch: the next one has others.
    """
    if not player.remembers:
        raise UserError("a memory map is of stored states, and an agent without memory has none")
    nowhere = jnp.zeros(condition.world.context_size)

    def stored(state: Any, decision: Decision) -> dict[str, Array]:
        value = player.write(_Caught(), None, nowhere, state)
        return {str(unit): each for unit, each in enumerate(value)}

    played = jax.jit(lambda seed: evaluate_in(condition, player, settings, seed, stored))
    traced = jax.eval_shape(played, jnp.asarray(seed)).trace
    told = next((name for name in TOLD if hasattr(traced, name)), None)
    if not (told or isinstance(condition.world, RecurringWorld)):
        raise UserError(
            "a memory map needs a good arm for every context, or contexts that each are stored"
            f" once per exposure: {type(condition.world).__name__} has neither"
        )
    record = jax.tree.map(np.asarray, played(jnp.asarray(seed)))
    # An episode's outcome is the step whose state is stored.
    state = np.stack([record.outcome[str(unit)] for unit in range(len(record.outcome))], axis=-1)
    exposure, context = record.exposure, record.context_id
    every = context + (context.max() + 1) * np.arange(len(context))[:, None]
    if told:
        return Stored(state, exposure, getattr(record.trace, told)[..., 0], TOLD[told], every)
    shown = slice(1), context[0] < MOST_CONTEXTS
    return Stored(state[shown], exposure[shown], context[shown], "context", every[shown])


def memory_map(
    stored: Stored, exposures: Sequence[int] = EXPOSURES, experiment: str = "", agent: str = ""
) -> MemoryMap:
    """Place states along the two directions in which those of all panels together vary most.

    It is tanh c that is placed: the cell's output sees no more of c, which can grow by orders of
    magnitude with every exposure. Exposures that no context reached give way to the last.
    Three digits are more than can be seen.
    """
    last = int(stored.exposure.max()) + 1
    after = sorted({min(exposure, last) for exposure in exposures})
    at = [stored.exposure == exposure - 1 for exposure in after]
    states = [np.tanh(stored.state[here].astype(float)) for here in at]
    together = np.concatenate(states)
    mean = together.mean(axis=0)
    axes, explained = principal_axes(together - mean)
    panels: list[Panel] = []
    for exposure, state, here in zip(after, states, at, strict=True):
        x, y = np.round((state - mean) @ axes.T, 3).T.tolist()
        label, context = stored.label[here], stored.context[here]
        agree = readable(state, label)
        panels.append(
            {
                "exposure": exposure,
                "readable": None if agree is None else round(agree, 4),
                "x": x,
                "y": y,
                "label": label.tolist(),
                "context": context.tolist(),
            }
        )
    shares = np.round(explained, 4).tolist()
    return {
        "experiment": experiment,
        "agent": agent,
        "labels": stored.labels,
        "explained": shares,
        "panels": panels,
    }


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


BEYOND = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5, LARGEST_STORED)  # the last: at the clip
_NAMES = tuple(f"stored beyond {size:g}" for size in BEYOND)


def evaluate_watched(
    condition: Condition, player: Any, settings: Evaluation, seed: Array
) -> tuple[Record, Array | None]:
    """Evaluate a player; also return which share of the units it stored at or beyond each size.

    The shares are (epochs, episodes, sizes), and None for players other than LSTM agents with a
    memory. The record is the same as without them.
    """
    if not (isinstance(player, Agent) and player.remembers):
        return evaluate_in(condition, player, settings, seed), None

    def with_sizes(state: LSTMState, decision: Decision) -> dict[str, Array]:
        size = jnp.abs(player.to_store(state))
        beyond = {name: size >= least for name, least in zip(_NAMES, BEYOND, strict=True)}
        return {**decision.report, **beyond}

    record = evaluate_in(condition, player, settings, seed, with_sizes)
    # An episode's outcome is the step whose state is stored.
    shares = jnp.stack([record.outcome[name] for name in _NAMES], axis=-1)
    report, outcome = (
        {name: value for name, value in found.items() if name not in _NAMES}
        for found in (record.report, record.outcome)
    )
    return record._replace(report=report, outcome=outcome), shares


def stored_scores(record: Record, shares: Any) -> StoredScores:
    """Average shares over episodes, by the exposure of the episode that stored the state."""
    means = means_by_exposure(np.asarray(shares, dtype=float), np.asarray(record.exposure))
    return {"beyond": list(BEYOND), "by_exposure": over_seeds(means)}
