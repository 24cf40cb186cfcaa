"""The host's loop: one jitted epoch after the other, with progress, checkpoints and signals."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from reinstate.devices import over_seeds
from reinstate.errors import UserError, require_positive
from reinstate.learner import EpochMetrics, TrainState
from reinstate.runs.progress import Bar, Reporter
from reinstate.runs.run import Run, load_checkpoint
from reinstate.settings import Settings


class Stopped(Exception):
    """Training was interrupted by a signal, after saving its state."""


class Trained(NamedTuple):
    state: TrainState  # every leaf with a leading axis of seeds
    metrics: list[dict[str, Any]]  # one row an epoch, those before a resume included
    compile_seconds: float  # of this call, like the next
    train_seconds: float

    @property
    def steps_per_second(self) -> float:
        return self.metrics[-1]["steps"] / sum(row["seconds"] for row in self.metrics)


def train(
    agent: str, settings: Settings, run: Run, reporter: Reporter, checkpoint_every: int = 25
) -> Trained:
    """Train all seeds of a run to its end, from its last checkpoint if there is one."""
    require_positive(checkpoint_every=checkpoint_every)
    learner = settings.make_learner(agent)
    seeds = jnp.array(settings.seed_range)
    state, start, metrics = _start(over_seeds(learner.init, settings.seeds), seeds, run)
    epoch, total = start, settings.learner.epochs
    if epoch >= total:
        reporter.note(f"{agent}: already trained, {total} epochs in {run.path}")
        return Trained(state, metrics, 0.0, 0.0)
    steps = learner.steps_per_epoch * settings.seeds
    with reporter.track(agent, total, epoch) as bar, signals(reporter) as stop:
        began = time.monotonic()
        train_epoch = over_seeds(learner.train_epoch, settings.seeds).lower(state).compile()
        compile_seconds = time.monotonic() - began
        bar.compiled()
        while epoch < total:
            began = time.monotonic()
            new, news = jax.block_until_ready(train_epoch(state))
            seconds = time.monotonic() - began
            _check_finite(news, settings, run, state, epoch)
            state, epoch = new, epoch + 1
            row = _row(epoch, steps, seconds, news)
            run.append_metrics(row)
            metrics.append(row)
            _report(bar, row, steps)
            if stop or epoch == total or epoch % checkpoint_every == 0:
                run.save_checkpoint(state, epoch)
            if stop:
                raise Stopped(f"{agent} stopped after epoch {epoch} of {total}: --resume continues")
    train_seconds = sum(row["seconds"] for row in metrics[start:])
    return Trained(state, metrics, compile_seconds, train_seconds)


def _start(init: Any, seeds: jax.Array, run: Run) -> tuple[TrainState, int, list[dict[str, Any]]]:
    """The state, epoch and metrics from which training goes on."""
    saved = run.last_checkpoint()
    if saved is None:
        state, epoch = init(seeds), 0
    else:
        state, epoch = load_checkpoint(saved, jax.eval_shape(init, seeds))
    metrics = run.read_metrics(epoch)
    if len(metrics) != epoch:
        raise UserError(
            f"{run.metrics_path} has {len(metrics)} of {epoch} epochs: delete {saved} to continue"
            " from the checkpoint before"
        )
    run.write_metrics(metrics)  # forgets what came after the checkpoint: it is played again
    return state, epoch, metrics


def _row(epoch: int, steps: int, seconds: float, news: EpochMetrics) -> dict[str, Any]:
    per_seed = {name: np.asarray(value).tolist() for name, value in news._asdict().items()}
    del per_seed["finite"]
    return {"epoch": epoch, "steps": epoch * steps, "seconds": seconds, **per_seed}


def _report(bar: Bar, row: dict[str, Any], steps: int) -> None:
    bar.update(row["epoch"], float(np.mean(row["reward"])), steps / row["seconds"])


def _check_finite(
    news: EpochMetrics, settings: Settings, run: Run, state: TrainState, epoch: int
) -> None:
    broken = [s for s, fine in zip(settings.seed_range, news.finite, strict=True) if not fine]
    if broken:
        kept = run.save_checkpoint(state, epoch)
        raise UserError(
            f"a loss or weight of seed {broken[0]} is not finite in epoch {epoch + 1}: try a lower"
            f" --learner.learning-rate; the last good state is kept in {kept}"
        )


@contextmanager
def signals(reporter: Reporter) -> Iterator[list[int]]:
    """A list that is no longer empty once SIGINT or SIGTERM came; a second signal acts at once."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    caught = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in caught}

    def note(number: int, frame: Any) -> None:
        came.append(number)
        reporter.note("stopping after this epoch; a second signal stops at once")
        for each in caught:
            signal.signal(each, before[each])

    for number in caught:
        signal.signal(number, note)
    try:
        yield came
    finally:
        for number in caught:
            signal.signal(number, before[number])
