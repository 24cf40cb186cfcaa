"""Compositional bandits: does what is known of one stimulus help next to a new one?"""

from dataclasses import dataclass, replace
from typing import Self

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.lax import Precision

from reinstate.analysis.exposures import (
    exposure_scores,
    familiarity,
    mean_over_seeds,
    means_by_count,
)
from reinstate.analysis.results import OverSeeds, Scores
from reinstate.analysis.verdicts import ends_of, over_seeds, without_nan
from reinstate.evaluation import Record
from reinstate.memory import DND, Contents, Memory, Retrieval
from reinstate.tasks.compositional import HIGH, LOW


def compositional_scores(record: Record) -> Scores:
    """Score reward and regret by exposure, of the better known stimulus and of the one queried.

    `by_exposure` counts an episode under the stimulus that was met more often. `by_queried` counts
    each trial under the stimulus that the memory was queried for: of an exposure,

        regret_t = Σ_{s ≤ t} mean over the trials s on which it was queried.
    """
    exposures = np.asarray(record.trace.exposures)  # (seeds, epochs, episodes, steps, 2)
    asked = np.asarray(record.trace.query)  # (seeds, epochs, episodes, steps)
    met = _of_query(exposures, asked)
    regret = np.asarray(record.best_expected_reward) - np.asarray(record.expected_reward)
    by_trial = means_by_count(regret, met)  # (seeds, exposures, steps)
    first = np.asarray(record.expected_reward)[..., 0]
    scores: Scores = {
        **exposure_scores(record._replace(exposure=exposures[..., 0, :].max(axis=-1))),
        "by_queried": {
            "regret": without_nan(over_seeds(by_trial.sum(axis=-1))),
            "regret_by_step": without_nan(by_trial.cumsum(axis=-1).mean(axis=0).tolist()),
            "regret_by_step_ci95": without_nan(ends_of(by_trial.cumsum(axis=-1))),
        },
        "first_pull": {
            name: without_nan(over_seeds(means_by_count(first, met[..., 0], asked[..., 0] == row)))
            for name, row in (("high", HIGH), ("low", LOW))
        },
        "retrieval": retrieval_of_stimuli(record),
    }
    if known := familiarity(record, met[..., 0]):
        scores["familiarity"] = known
    if "r" in record.report:  # of agents that have such a gate
        gates = means_by_count(np.asarray(record.report["r"]), met)
        scores["r_by_trial"] = without_nan(gates.mean(axis=0).tolist())
        scores["r_by_trial_ci95"] = without_nan(ends_of(gates))
    return scores


def retrieval_of_stimuli(record: Record) -> OverSeeds | None:
    """Return how often a query for a class met before brought back an episode with that class."""
    retrieved = np.asarray(record.retrieved)  # (seeds, epochs, episodes, steps)
    asked = np.asarray(record.trace.query)
    classes = np.asarray(record.trace.classes)  # (seeds, epochs, episodes, steps, 2)
    known = _of_query(np.asarray(record.trace.exposures), asked) > 0
    if np.all(retrieved < 0):
        return None
    then = np.take_along_axis(classes, np.maximum(retrieved, 0)[..., None], axis=2)
    same = np.any(then == _of_query(classes, asked)[..., None], axis=-1)
    return mean_over_seeds(same & (retrieved >= 0), known)


def _of_query(of_both: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Pick, of the high and the low stimulus, the one that the memory was queried for."""
    return np.take_along_axis(of_both, asked[..., None], axis=-1)[..., 0]


HIGHEST = Precision.HIGHEST  # as in a sound memory


@dataclass(frozen=True)
class Misfiled(Memory):
    """Every query brings back what was stored under another key, half of the memory further on."""

    sound: DND

    def fitted(self, writes: int) -> Self:
        return replace(self, sound=self.sound.fitted(writes))

    def empty(self, key_size: int, value_size: int) -> Contents:
        return self.sound.empty(key_size, value_size)

    def write(self, contents: Contents, key: Array, value: Array) -> Contents:
        return self.sound.write(contents, key, value)

    def filled(self, contents: Contents) -> Array:
        return self.sound.filled(contents)

    def read(self, contents: Contents, query: Array) -> tuple[Retrieval, Contents]:
        found, after = self.sound.read(contents, query)
        filled = jnp.maximum(self.filled(contents), 1)
        slots = (found.slots + filled // 2) % filled  # they fill in order
        values = contents.values[slots]
        value = jnp.matmul(found.weights, values, precision=HIGHEST)
        written = contents.written[slots]
        return found._replace(value=value, values=values, slots=slots, written=written), after
