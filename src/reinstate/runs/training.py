"""Train an agent with all its seeds, in a run on disk."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from reinstate.agent import AGENTS, Maker
from reinstate.devices import over_seeds
from reinstate.experiments import experiment_names, experiment_of, find_experiment
from reinstate.learner import EpochMetrics, TrainState
from reinstate.runs.loop import Row, RunWork, Stopped
from reinstate.runs.progress import Reporter
from reinstate.runs.run import Run, require_same
from reinstate.runs.sinks import require_sinks
from reinstate.settings import Settings, completed, to_dict
from reinstate.tasks.base import World

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
    run: Run | None,
    reporter: Reporter,
    checkpoint_every: int = 25,
    track: Sequence[str] = (),
) -> Trained:
    """Train all seeds of a run to its end, from its last checkpoint if there is one.

    A run of another agent or other settings is refused, and left as it is. Without a run, nothing
    is kept. `track` names sinks (`reinstate.runs.sinks`) that show the metrics besides
    metrics.jsonl.
    """
    require_sinks(track)
    if run is None:
        with TemporaryDirectory(prefix="reinstate-") as folder:
            work = AgentWork(agent, settings, Run(Path(folder)), reporter, checkpoint_every)
            return _trained(work, track)
    claim(run, agent, settings)
    return _trained(AgentWork(agent, settings, run, reporter, checkpoint_every), track)


def _trained(work: "AgentWork", track: Sequence[str]) -> Trained:
    done = len(work.rows)
    if done >= work.epochs:
        work.reporter.note(f"{work.label}: already trained, {done} epochs in {work.run.path}")
        return Trained(work.state, work.rows, 0.0, 0.0)
    compile_seconds = work.train(track)
    train_seconds = sum(row["seconds"] for row in work.rows[done:])
    return Trained(work.state, work.rows, compile_seconds, train_seconds)


def claim(run: Run, agent: str | Maker, settings: Settings) -> None:
    """Record what a folder is for, or make sure that it is for this agent and these settings."""
    name = agent if isinstance(agent, str) else AGENTS.name_of(agent) or label_of(agent)
    world = type(settings.task)
    saved = run.read_config() if run.exists else {}
    config = {
        "experiment": _experiment_of(world, str(saved.get("experiment"))),
        "agent": name,
        "settings": to_dict(settings),
    }
    if run.exists:
        known = completed(world, saved.get("settings"))
        require_same(run.path, {**saved, "settings": known}, config)
    else:
        settings.make_learner(agent)  # refuses what cannot work before anything is written
        run.create(config, resume=False)


def _experiment_of(world: type[World], recorded: str) -> str:
    """Name a world's experiment: of several, the one that is recorded; of none, the world."""
    if recorded in experiment_names() and find_experiment(recorded).world is world:
        return recorded
    found = experiment_of(world)
    return found.name if found else world.__name__


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
