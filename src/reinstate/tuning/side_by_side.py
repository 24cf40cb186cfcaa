"""Many settings × seeds of one agent as one program: they are only another axis of `vmap`."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from reinstate.devices import over_seeds
from reinstate.learner import EpochMetrics, Rates, TrainState
from reinstate.runs.progress import Reporter
from reinstate.runs.training import Stopped
from reinstate.settings import Settings

TAIL = 0.1  # the share of epochs at the end whose reward counts


class Scores(NamedTuple):
    reward: np.ndarray  # (settings, seeds), late in training; NaN where anything was not finite
    train_seconds: float
    compile_seconds: float


class SideBySide:
    """Trains a number of settings at once, each with every seed; compiled once for all rounds."""

    def __init__(self, agent: str, settings: Settings, num_settings: int) -> None:
        self.agent, self.settings, self.num_settings = agent, settings, num_settings
        self.learner = settings.make_learner(agent)
        self.num = num_settings * settings.seeds
        self._compiled: Any = None

    def start(self, rates: Sequence[Rates]) -> tuple[Rates, TrainState]:
        """Rates and initial states of every setting with every seed.

        Both axes are one, settings first, so that any number of devices can share them.
        """
        columns = (jnp.array(column, jnp.float32) for column in zip(*rates, strict=True))
        each = Rates(*(jnp.repeat(column, self.settings.seeds) for column in columns))
        seeds = jnp.tile(jnp.array(self.settings.seed_range), self.num_settings)
        return each, over_seeds(self.learner.init, self.num)(seeds)

    def train_epoch(self, rates: Rates, state: TrainState) -> tuple[TrainState, EpochMetrics]:
        """One epoch of one seed at one setting, whose rates may be traced."""
        return self.settings.make_learner(self.agent, rates).train_epoch(state)

    def compile(self, rates: Rates, state: TrainState) -> Any:
        """An epoch of all of them, of what `start` gives."""
        if self._compiled is None:
            self._compiled = over_seeds(self.train_epoch, self.num).lower(rates, state).compile()
        return self._compiled

    def train(
        self, rates: Sequence[Rates], reporter: Reporter, label: str, stop: list[int]
    ) -> Scores:
        """Every setting to the end of training; it gives up once `stop` holds a signal."""
        total, steps = self.settings.learner.epochs, self.learner.steps_per_epoch * self.num
        rewards, finite = [], np.ones(self.num, bool)
        with reporter.track(label, total) as bar:
            began = time.monotonic()
            each, state = self.start(rates)
            train_epoch = self.compile(each, state)
            ready = before = time.monotonic()
            bar.compiled()
            for epoch in range(1, total + 1):
                state, news = jax.block_until_ready(train_epoch(each, state))
                rewards.append(np.asarray(news.reward))
                finite &= np.asarray(news.finite)
                seconds, before = time.monotonic() - before, time.monotonic()
                bar.update(epoch, _best(rewards[-1], finite), steps / seconds)
                if stop and epoch < total:
                    raise Stopped(_news_of_stop(label, epoch, total))
        late = np.mean(rewards[-max(1, round(TAIL * total)) :], axis=0)
        reward = np.where(finite, late, np.nan).reshape(self.num_settings, -1)
        return Scores(reward, time.monotonic() - ready, ready - began)


def _best(reward: np.ndarray, finite: np.ndarray) -> float:
    """For the bar: the highest reward of what has not failed."""
    return float(reward[finite].max()) if finite.any() else float("nan")


def _news_of_stop(label: str, epoch: int, total: int) -> str:
    return (
        f"{label} stopped after epoch {epoch} of {total}: rounds finished before are kept, and the"
        " same command continues"
    )
