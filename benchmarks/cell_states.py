"""Stored cell states grow: what other ways to store and to reinstate them are worth.

    python benchmarks/cell_states.py                                # the quick preset, a CPU
    python benchmarks/cell_states.py --preset paper --seeds 10      # the paper preset, a GPU

epL2RL is trained and judged in every experiment that is named, under each variant of the network's
settings. Of the paper's own equation the trained weights are also judged with the clip elsewhere.
A call that was ended is continued by the same call: see cells.py.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from cells import Options, Variant, fill

from reinstate import devices
from reinstate.agent import LARGEST_STORED
from reinstate.analysis.exposures import reward_per_episode
from reinstate.analysis.intervals import over_seeds
from reinstate.analysis.results import StoredScores
from reinstate.analysis.states import Watched
from reinstate.cell import LSTMState
from reinstate.errors import UserError
from reinstate.evaluation import Record, evaluate_in
from reinstate.learner import TrainState
from reinstate.runs.judge import Evaluator

PAPER = "paper"
VARIANTS = {
    PAPER: Variant(),
    "first-step": Variant(network={"reinstated": "first-step"}),
    "tanh": Variant(network={"stored": "tanh"}),
    "rms": Variant(network={"stored": "rms"}),
    "first-step-tanh": Variant(network={"reinstated": "first-step", "stored": "tanh"}),
}
CLIPS = (1.0, 10.0, 100.0, 1e4, LARGEST_STORED, 1e30)  # the last is none: float32 ends at 3e38
DEFAULT = Options(
    experiments=("barcode-bandits", "omniglot-bandits", "water-maze"),
    out=Path("results/cell-states.json"),
    variants=tuple(VARIANTS),
)


@dataclass(frozen=True)
class Clipped(Watched):
    """An agent whose stored states are clipped elsewhere."""

    limit: jax.Array

    def to_store(self, state: LSTMState) -> jax.Array:
        return jnp.clip(state.c, -self.limit, self.limit)


def scores(variant: str, evaluator: Evaluator, state: TrainState) -> dict[str, Any]:
    """Judge how large stored states are and, of the paper's equation, what the clip is worth."""
    verdict = evaluator.verdict(state)
    cell: dict[str, Any] = {
        "reward": verdict["reward"],
        "stored": at_last_exposure(verdict["stored"]),
        "r_gate": verdict["r_gate"],
    }
    if variant == PAPER:
        cell["clips"] = with_other_clips(evaluator, state)
    return cell


def at_last_exposure(stored: StoredScores) -> dict[str, Any]:
    """Keep seeds apart at the last exposure alone, so that the file stays small."""
    shares = stored["by_exposure"]
    last = over_seeds(np.array(shares["per_seed"])[:, -1])
    means = np.round(shares["mean"], 5).tolist()
    return {"beyond": stored["beyond"], "last_exposure": last, "mean_by_exposure": means}


def with_other_clips(evaluator: Evaluator, state: TrainState) -> list[dict[str, Any]]:
    """Judge the same weights on the same tasks and chances, with the clip elsewhere."""
    settings = evaluator.settings

    def one_seed(params: Any, seed: jax.Array, limit: jax.Array) -> Record:
        player = Clipped(evaluator.learner.agent(params), limit)
        return evaluate_in(evaluator.condition, player, settings.evaluation, seed)

    play, seeds = devices.over_seeds(one_seed, settings.seeds), jnp.array(settings.seed_range)
    found = []
    for clip in CLIPS:
        record = play(state.params, seeds, jnp.full(settings.seeds, clip))
        reward = reward_per_episode(jax.tree.map(np.asarray, record))
        found.append({"clip": clip, "reward": over_seeds(reward)})
    return found


if __name__ == "__main__":
    try:
        fill(tyro.cli(Options, default=DEFAULT, description=__doc__), VARIANTS, scores)
    except UserError as error:
        sys.exit(f"cell_states: {error}")
