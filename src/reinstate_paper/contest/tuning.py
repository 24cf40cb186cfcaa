"""Which rates suit an agent: many are tried with one seed, and the best of them with more.

Every round is as wide as the training that follows, so that one program serves both. Rounds that
are done are kept in a file.
"""

from collections.abc import Sequence
from math import gcd
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from reinstate.analysis.documents import checked
from reinstate.files import read_json, write_document
from reinstate.learner import Rates
from reinstate.runs.candidates import CandidateBatch
from reinstate.runs.loop import Stopped, signals
from reinstate.runs.progress import Reporter
from reinstate.runs.run import require_same
from reinstate.settings import to_dict

OURS = "hold rates of this version of a contest", "remove it, or choose another --out"


class Trial(TypedDict):
    """Rates that were tried."""

    rates: dict[str, float]
    rewards: list[float | None]  # per episode late in training, by seed; None: it failed


class Document(TypedDict):
    """What tuning.json holds."""

    settings: dict[str, Any]
    trials: list[Trial]
    seconds: float  # of training


class Tuning:
    """The rates tried for an agent; as many are trained side by side as a batch has places."""

    def __init__(self, agent: str, batch: CandidateBatch, path: Path) -> None:
        self.agent, self.batch, self.path = agent, batch, path
        self.trials: list[Trial] = []
        self.seconds = 0.0
        if path.exists():
            found = checked(Document, read_json(path), path, *OURS)
            require_same(path.parent, found["settings"], to_dict(batch.settings))
            self.trials, self.seconds = found["trials"], found["seconds"]

    def run(self, candidates: Sequence[Rates], finalists: int, reporter: Reporter) -> None:
        """Try every candidate with one seed, then the finalists with as many more as fit."""
        places = self.batch.num_candidates
        while len(self.trials) < len(candidates):
            some = candidates[len(self.trials) : len(self.trials) + places]
            first = len(self.trials) + 1
            label = f"settings {first} to {first + len(some) - 1} of {len(candidates)}"
            new: list[Trial] = [{"rates": rates._asdict(), "rewards": []} for rates in some]
            self.trials += new
            self._round(new, self.batch, label, reporter)
        finalists = gcd(finalists, places) if finalists else 0
        if 1 < finalists < len(self.trials) and self._most_seeds == 1:
            batch = self.batch.with_seeds(self.batch.settings.first_seed + 1, places // finalists)
            label = f"the best {finalists} with {places // finalists} more seeds"
            best = sorted(self.trials, key=_earned, reverse=True)[:finalists]
            self._round(best, batch, label, reporter)

    def _round(
        self, trials: list[Trial], batch: CandidateBatch, label: str, reporter: Reporter
    ) -> None:
        """Train at the rates of some trials, add to their rewards, and keep them."""
        rates = [Rates(**trial["rates"]) for trial in trials]
        rates += rates[-1:] * (batch.num_candidates - len(rates))  # the last one fills all places
        with signals(reporter) as stop:
            scores = batch.train(rates, reporter, f"{self.agent}: {label}", stop)
        self.seconds += scores.train_seconds
        for trial, rewards in zip(trials, scores.reward.tolist(), strict=False):
            trial["rewards"] += [reward if np.isfinite(reward) else None for reward in rewards]
        content: Document = {
            "settings": to_dict(self.batch.settings),
            "trials": self.trials,
            "seconds": self.seconds,
        }
        write_document(self.path, {**content})
        if stop:
            raise Stopped(f"stopped while tuning {self.agent}: the same command continues")

    @property
    def _most_seeds(self) -> int:
        return max(len(trial["rewards"]) for trial in self.trials)

    def best(self) -> dict[str, Any]:
        """Return the rates that earned most, among those that were tried with the most seeds."""
        final = [trial for trial in self.trials if len(trial["rewards"]) == self._most_seeds]
        return {name: float(value) for name, value in max(final, key=_earned)["rates"].items()}


def _earned(trial: Trial) -> float:
    """Return the mean over seeds; where one has failed, the least there is."""
    known = [reward for reward in trial["rewards"] if reward is not None]
    return float(np.mean(known)) if len(known) == len(trial["rewards"]) else -np.inf
