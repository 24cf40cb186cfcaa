"""Candidates: rates of the learner, many of them trained side by side as one program.

No array shape depends on the four hyper-parameters that are searched, so that candidates and seeds
are only an axis of `vmap`.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from reinstate.devices import over_seeds, placed
from reinstate.errors import LARGEST_NUMBER, UserError
from reinstate.learner import A2C, EpochMetrics, Rates, TrainState
from reinstate.runs.loop import Work, run_epochs
from reinstate.runs.progress import Reporter
from reinstate.settings import Settings

TAIL = 0.1  # the share of epochs at the end whose reward counts


class Candidate(NamedTuple):
    """One point of the search space, under the names of A2C."""

    learning_rate: float
    entropy_cost: float
    discount: float
    value_cost: float


@dataclass(frozen=True)
class Ranges:
    """Where candidates are drawn from, each hyper-parameter independently."""

    learning_rate: tuple[float, float] = (1e-3, 3e-2)
    """Lowest and highest learning rate; log-uniform in between."""
    entropy_cost: tuple[float, float] = (3e-3, 0.3)
    """Lowest and highest entropy cost at the start; log-uniform in between."""
    discount: tuple[float, ...] = (0.7, 0.8, 0.9, 1.0)
    """Discounts to choose from."""
    value_cost: tuple[float, ...] = (0.05, 0.2, 0.5, 1.0)
    """Weights of the value loss to choose from."""

    def __post_init__(self) -> None:
        for name in ("learning_rate", "entropy_cost"):
            low, high = getattr(self, name)
            if not 0 < low <= high <= LARGEST_NUMBER:
                rule = "must be two positive numbers, the lower first"
                raise UserError(f"ranges.{name} {rule}, not {low} {high}")
        for name, most in (("discount", 1), ("value_cost", LARGEST_NUMBER)):
            choices = getattr(self, name)
            if not choices or not all(0 <= choice <= most for choice in choices):
                rule = f"must be between 0 and {most:g}, and there must be one at least"
                raise UserError(f"ranges.{name} {rule}: {', '.join(map(str, choices))}")

    def draw(self, rng: np.random.Generator) -> Candidate:
        """Draw a candidate, rounded to what tables show so that it can be typed in again."""
        return Candidate(
            learning_rate=_log_uniform(rng, *self.learning_rate),
            entropy_cost=_log_uniform(rng, *self.entropy_cost),
            discount=float(rng.choice(self.discount)),
            value_cost=float(rng.choice(self.value_cost)),
        )


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.3g}")


def preset_candidate(learner: A2C) -> Candidate:
    """Return the candidate that stands for the learner's own settings."""
    return Candidate(*(getattr(learner, name) for name in Candidate._fields))


def rates_of(candidate: Candidate, learner: A2C) -> Rates:
    """Complete a candidate: rates fall to the same share of their start as the learner's own."""
    ends = {}
    for name in ("learning_rate", "entropy_cost"):
        own_start, own_end = getattr(learner, name), getattr(learner, f"{name}_end")
        start = getattr(candidate, name)
        ends[f"{name}_end"] = own_end * start / own_start if own_start else own_end
    return Rates(**candidate._asdict(), **ends)


class Scores(NamedTuple):
    reward: np.ndarray  # (candidates, seeds), late in training; NaN where anything was not finite
    train_seconds: float
    compile_seconds: float


class CandidateBatch:
    """Candidates trained at once, each with every seed; compiled once for all rounds."""

    def __init__(self, agent: str, settings: Settings, num_candidates: int) -> None:
        self.agent, self.settings, self.num_candidates = agent, settings, num_candidates
        self.learner = settings.make_learner(agent)
        self.num = num_candidates * settings.seeds
        self._init = over_seeds(self.learner.init, self.num, brief=True)  # compiled once, too
        self._compiled: Any = None

    def start(self, rates: Sequence[Rates]) -> tuple[Rates, TrainState]:
        """Return rates and initial states of every candidate with every seed.

        Candidates and seeds share one axis, candidates first, so that any number of devices can
        divide it.
        """
        seeds = jnp.tile(jnp.array(self.settings.seed_range), self.num_candidates)
        columns = (jnp.array(column, jnp.float32) for column in zip(*rates, strict=True))
        each = Rates(*(jnp.repeat(column, self.settings.seeds) for column in columns))
        return placed(each, self.num), self._init(seeds)

    def train_epoch(self, rates: Rates, state: TrainState) -> tuple[TrainState, EpochMetrics]:
        """Train one seed for one epoch at rates that may be traced."""
        return self.settings.make_learner(self.agent, rates).train_epoch(state)

    def compile(self, rates: Rates, state: TrainState) -> Any:
        """Compile an epoch of all candidates and seeds, for arguments such as `start` returns."""
        if self._compiled is None:
            lanes = self.settings.learner.lanes
            program = over_seeds(self.train_epoch, self.num, lanes=lanes)
            self._compiled = program.lower(rates, state).compile()
        return self._compiled

    def train(
        self, rates: Sequence[Rates], reporter: Reporter, label: str, stop: Sequence[int]
    ) -> Scores:
        """Train every candidate to the end, unless `stop` receives a signal before."""
        began = time.monotonic()
        each, state = self.start(rates)
        start_seconds = time.monotonic() - began
        work = Round(self, each, label)
        run_epochs(work, state, 0, reporter, stop)
        late = np.mean(work.rewards[-max(1, round(TAIL * work.epochs)) :], axis=0)
        reward = np.where(work.finite, late, np.nan).reshape(self.num_candidates, -1)
        return Scores(reward, work.seconds, start_seconds + work.compile_seconds)


class Round(Work[TrainState, EpochMetrics]):
    """One training of a batch. A candidate that fails has no score; the others go on."""

    advice = "rounds finished before are kept, and the same command continues"

    def __init__(self, batch: CandidateBatch, rates: Rates, label: str) -> None:
        self.batch, self.rates, self.label = batch, rates, label
        self.epochs = batch.settings.learner.epochs
        self.steps = batch.learner.steps_per_epoch * batch.num  # per epoch
        self.rewards: list[np.ndarray] = []  # one (candidates × seeds) row per epoch
        self.finite = np.ones(batch.num, bool)
        self.seconds = 0.0

    def compile(self, state: TrainState) -> Callable[[TrainState], tuple[TrainState, EpochMetrics]]:
        return partial(self.batch.compile(self.rates, state), self.rates)

    def record(self, epoch: int, metrics: EpochMetrics, seconds: float) -> str:
        self.seconds += seconds
        reward = np.asarray(metrics.reward)
        self.rewards.append(reward)
        self.finite &= np.asarray(metrics.finite)
        best = reward[self.finite].max() if self.finite.any() else float("nan")
        return f"best reward {best:.2f}  {self.steps / seconds:,.0f} steps/s"
