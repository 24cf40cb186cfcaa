"""Train an agent with all its seeds, in a run on disk."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify

from reinstate.agent import AgentKind
from reinstate.devices import SPREAD, Division, Spread, over_mesh, over_seeds
from reinstate.files import locked
from reinstate.learner import EpochMetrics, Learner, TrainState
from reinstate.runs.card import write_card
from reinstate.runs.checkpoints import Row, leaves
from reinstate.runs.evaluator import milestone_epochs
from reinstate.runs.experiment import Experiment, experiment_names, find_experiment
from reinstate.runs.loop import ALONE, KEEP, RunWork, require_kept
from reinstate.runs.progress import Reporter
from reinstate.runs.ranks import Alone
from reinstate.runs.run import Run, nothing_left
from reinstate.runs.sinks import require_sinks
from reinstate.settings import Settings


class Trained(NamedTuple):
    state: TrainState  # every leaf with a leading axis of seeds
    metrics: list[Row]  # one row per epoch, those before a resume included

    @property
    def steps_per_second(self) -> float:
        return self.metrics[-1]["steps"] / seconds_of(self.metrics)["train"]


def seconds_of(metrics: Sequence[Row]) -> dict[str, float]:
    """Add up what compiling and training took, in all calls that got there."""
    kinds = {"compile": "compile", "train": "seconds"}
    return {kind: sum(row.get(name, 0.0) for row in metrics) for kind, name in kinds.items()}


def label_of(agent: AgentKind) -> str:
    """Name an agent that may have no name."""
    return agent if isinstance(agent, str) else getattr(agent, "__name__", type(agent).__name__)


def train(
    agent: AgentKind,
    settings: Settings,
    run: Run | None,
    reporter: Reporter,
    checkpoint_every: int = 25,
    track: Sequence[str] = (),
    *,
    keep_checkpoints: int = KEEP,
    spread: Spread = SPREAD,
    ranks: Alone = ALONE,
    program: Callable[[Callable[[], Any]], Any] | None = None,
    start: TrainState | None = None,
) -> Trained:
    """Train all seeds of a run to its end, from its last checkpoint if there is one.

    A run that another process is training is refused. Without a run, nothing is kept. `track` names
    sinks (`reinstate.runs.sinks`) that show the metrics besides metrics.jsonl. Of checkpoints the
    newest `keep_checkpoints` stay, or all with 0. `spread` chooses devices; `ranks` are the
    processes that train this together. `program` returns what `compile_epoch` made ahead, or calls
    its argument, which compiles here. `start` has the weights to begin with, if not fresh ones.
    """
    require_sinks(track)
    require_kept(checkpoint_every, keep_checkpoints)
    how: Any = {"checkpoint_every": checkpoint_every, "keep": keep_checkpoints}
    how |= {"spread": spread, "ranks": ranks, "program": program, "start": start}
    if run is None:
        with TemporaryDirectory(prefix="reinstate-") as folder:
            return _trained(AgentWork(agent, settings, Run(Path(folder)), reporter, **how), track)
    with locked(run.path), nothing_left(run):
        trained = _trained(AgentWork(agent, settings, run, reporter, **how), track)
        if _experiment(run):
            write_card(run)
        return trained


def _trained(work: "AgentWork", track: Sequence[str]) -> Trained:
    if work.done >= work.epochs:
        work.reporter.note(f"{work.label}: already trained, {work.done} epochs in {work.run.path}")
    else:
        work.train(track)
    return Trained(work.state, work.rows)


class AgentWork(RunWork[TrainState, EpochMetrics]):
    """All seeds of an agent, trained as one program."""

    learning_rate = "--learner.learning-rate"

    def __init__(
        self,
        agent: AgentKind,
        settings: Settings,
        run: Run,
        reporter: Reporter,
        *,
        spread: Spread = SPREAD,
        program: Callable[[Callable[[], Any]], Any] | None = None,
        start: TrainState | None = None,
        **how: Any,
    ) -> None:
        self.learner, self.seeds = settings.make_learner(agent), settings.seed_range
        self.settings, self.agent = settings, agent
        self.steps = self.learner.steps_per_epoch * settings.seeds  # per epoch
        experiment = _experiment(run)
        self.milestones = (
            milestone_epochs(experiment, settings.learner.epochs) if experiment else set()
        )
        self.number = experiment.number if experiment else ".2f"
        self.program = program
        self.division = spread.divide(settings.seeds, settings.learner.lanes)
        self.mesh = spread.mesh(self.division)
        fresh = partial(self._over_seeds(self.learner.init), jnp.array(self.seeds))
        init = fresh if start is None else lambda: fresh()._replace(params=start.params)
        super().__init__(run, reporter, label_of(agent), settings.learner.epochs, init, **how)

    def _over_seeds(self, init: Any) -> Any:
        """Spread what begins training as training will be; each of several processes makes all."""
        if self.mesh.is_multi_process:
            return over_seeds(init, len(self.seeds), brief=True)
        return over_mesh(init, len(self.seeds), self.division, self.mesh, brief=True)

    def compile(self, state: TrainState) -> Callable[[TrainState], tuple[TrainState, EpochMetrics]]:
        shapes = jax.eval_shape(lambda: state)
        here = partial(_compiled, self.learner, shapes, self.division, self.mesh)
        return self.ranks.program(self.program(here) if self.program else here(), self.mesh)

    def broken(self, metrics: EpochMetrics, new: TrainState, before: TrainState) -> str | None:
        pairs = enumerate(zip(self.seeds, metrics.finite, strict=True))
        at, seed = next(((at, seed) for at, (seed, fine) in pairs if not fine), (0, None))
        if seed is None:
            return None
        weights = {name: np.asarray(leaf[at]) for name, leaf in leaves(new.params).items()}
        lost = [name for name, leaf in weights.items() if not np.isfinite(leaf).all()]
        what = f"weight {lost[0].lstrip('.')}" if lost else "the loss"
        others = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
        return f"{what}{others} of seed {seed} ({self._origin(before, at)})"

    def _origin(self, before: TrainState, at: int) -> str:
        """Play the epoch of one seed again, checking every operation: slow, but all is over."""
        plain = replace(self.settings.learner, fused=False)  # no check looks into a kernel
        learner = replace(self.settings, learner=plain).make_learner(self.agent)
        checked = jax.jit(checkify.checkify(learner.train_epoch, checkify.float_checks))
        error, _ = checked(jax.tree.map(lambda leaf: leaf[at], before))
        words = error.get() or "nothing became NaN: numbers grew beyond what can be written"
        return " ".join(words.split()).rstrip(".")

    def save(self, epoch: int, state: TrainState, stopping: bool) -> None:
        if epoch in self.milestones:
            self.run.save_milestone(state.params, epoch)
        super().save(epoch, state, stopping)

    def row(self, epoch: int, metrics: EpochMetrics, seconds: float) -> Row:
        per_seed = {name: np.asarray(value).tolist() for name, value in metrics._asdict().items()}
        del per_seed["finite"]
        return {"epoch": epoch, "steps": epoch * self.steps, "seconds": seconds, **per_seed}

    def summary(self, row: Row) -> str:
        pace = self.steps / row["seconds"]
        return f"reward {np.mean(row['reward']):{self.number}}  {pace:,.0f} steps/s"


def compile_epoch(agent: AgentKind, settings: Settings, spread: Spread = SPREAD) -> Any:
    """Compile an epoch of all seeds of an agent, for `train`."""
    learner, seeds = settings.make_learner(agent), jnp.array(settings.seed_range)
    division = spread.divide(settings.seeds, settings.learner.lanes)
    mesh = spread.mesh(division)
    shapes = jax.eval_shape(over_mesh(learner.init, settings.seeds, division, mesh), seeds)
    return _compiled(learner, shapes, division, mesh)


def _compiled(learner: Learner, shapes: TrainState, division: Division, mesh: Any) -> Any:
    one_seed = partial(learner.train_epoch, over_lanes=division.over_lanes)
    num_seeds, lanes = len(shapes.epoch), learner.settings.lanes
    return over_mesh(one_seed, num_seeds, division, mesh, lanes=lanes).lower(shapes).compile()


def _experiment(run: Run) -> Experiment | None:
    """Find the experiment of a run, if it has one that is known."""
    name = run.read_config().get("experiment") if run.exists else None
    return find_experiment(name) if name in experiment_names() else None
