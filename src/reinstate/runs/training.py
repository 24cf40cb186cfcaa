"""Train an agent with all its seeds, in a run on disk."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from reinstate.agent import Maker
from reinstate.devices import over_seeds
from reinstate.learner import EpochMetrics, TrainState
from reinstate.runs.loop import Row, RunWork, Stopped
from reinstate.runs.progress import Reporter
from reinstate.runs.run import Run
from reinstate.runs.sinks import require_sinks
from reinstate.settings import Settings

__all__ = ["Stopped", "Trained", "label_of", "train"]


class Trained(NamedTuple):
    state: TrainState  # every leaf with a leading axis of seeds
    metrics: list[Row]  # one row per epoch, those before a resume included
    compile_seconds: float  # of this call, like the next
    train_seconds: float

    @property
    def steps_per_second(self) -> float:
        return self.metrics[-1]["steps"] / sum(row["seconds"] for row in self.metrics)


def label_of(agent: str | Maker) -> str:
    """Name an agent that may have no name."""
    return agent if isinstance(agent, str) else getattr(agent, "__name__", type(agent).__name__)


def train(
    agent: str | Maker,
    settings: Settings,
    run: Run,
    reporter: Reporter,
    checkpoint_every: int = 25,
    track: Sequence[str] = (),
) -> Trained:
    """Train all seeds of a run to its end, from its last checkpoint if there is one.

    `track` names sinks (`reinstate.runs.sinks`) that show the metrics besides metrics.jsonl.
    """
    require_sinks(track)
    work = AgentWork(agent, settings, run, reporter, checkpoint_every)
    done = len(work.rows)
    if done >= work.epochs:
        reporter.note(f"{work.label}: already trained, {work.epochs} epochs in {run.path}")
        return Trained(work.state, work.rows, 0.0, 0.0)
    compile_seconds = work.train(track)
    train_seconds = sum(row["seconds"] for row in work.rows[done:])
    return Trained(work.state, work.rows, compile_seconds, train_seconds)


class AgentWork(RunWork[TrainState, EpochMetrics]):
    """All seeds of an agent, trained as one program."""

    learning_rate = "--learner.learning-rate"

    def __init__(
        self,
        agent: str | Maker,
        settings: Settings,
        run: Run,
        reporter: Reporter,
        checkpoint_every: int,
    ) -> None:
        self.learner, self.seeds = settings.make_learner(agent), settings.seed_range
        self.steps = self.learner.steps_per_epoch * settings.seeds  # per epoch
        init = partial(over_seeds(self.learner.init, settings.seeds), jnp.array(self.seeds))
        super().__init__(
            run, reporter, label_of(agent), settings.learner.epochs, checkpoint_every, init
        )

    def compile(self, state: TrainState) -> Callable[[TrainState], tuple[TrainState, EpochMetrics]]:
        train_epoch = over_seeds(self.learner.train_epoch, len(self.seeds))
        return train_epoch.lower(state).compile()

    def broken(self, metrics: EpochMetrics) -> str | None:
        pairs = zip(self.seeds, metrics.finite, strict=True)
        return next((f"a loss or weight of seed {s}" for s, finite in pairs if not finite), None)

    def row(self, epoch: int, metrics: EpochMetrics, seconds: float) -> Row:
        per_seed = {name: np.asarray(value).tolist() for name, value in metrics._asdict().items()}
        del per_seed["finite"]
        return {"epoch": epoch, "steps": epoch * self.steps, "seconds": seconds, **per_seed}

    def summary(self, row: Row) -> str:
        pace = self.steps / row["seconds"]
        return f"reward {np.mean(row['reward']):.2f}  {pace:,.0f} steps/s"
