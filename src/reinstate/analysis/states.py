"""How large are the cell states that a memory holds? Their sizes by exposure.

What comes back is added to the cell on every step and stored again (`Agent.to_store`), so that c
can grow with each exposure. Evaluations count units by size; training is left alone.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from reinstate.agent import LARGEST_STORED, Agent
from reinstate.analysis.intervals import over_seeds
from reinstate.analysis.results import StoredScores
from reinstate.cell import LSTMState
from reinstate.evaluation import Condition, Evaluation, Record, evaluate_in
from reinstate.player import Decision

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
    exposure, shares = np.asarray(record.exposure), np.asarray(shares, dtype=float)
    shared = int(min(e.max() for e in exposure)) + 1  # exposures that every seed has met
    means = [
        [seed_shares[seed_exposure == e].mean(axis=0) for e in range(shared)]
        for seed_shares, seed_exposure in zip(shares, exposure, strict=True)
    ]
    return {"beyond": list(BEYOND), "by_exposure": over_seeds(np.array(means))}
