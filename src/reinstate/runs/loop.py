"""The host loop that train, tune and pretrain share: one jitted epoch after another.

`run_epochs` compiles, times, checks, reports and stops. What an epoch computes, and what is kept of
it, is up to a `Work`; `RunWork` keeps it in a run on disk, from which it can be resumed exactly.
"""

import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from types import FrameType
from typing import Generic, TypeVar

import jax

from reinstate.errors import Damaged, Stopped, UserError, require_positive
from reinstate.runs.checkpoints import Row, load_checkpoint
from reinstate.runs.progress import Reporter
from reinstate.runs.ranks import Alone
from reinstate.runs.run import Run
from reinstate.runs.sinks import Sinks, flat

S = TypeVar("S")  # all that training carries from one epoch to the next
M = TypeVar("M")  # what an epoch tells about itself

ALONE = Alone()
KEEP = 2  # checkpoints: if the newest is damaged, there is one before it


class Work(ABC, Generic[S, M]):
    """What the host loop runs, and what is done around each epoch, in this order."""

    label: str
    epochs: int
    advice: str  # how to continue after a stop
    compile_seconds = 0.0

    @abstractmethod
    def compile(self, state: S) -> Callable[[S], tuple[S, M]]:
        """Compile an epoch."""

    def check(self, epoch: int, metrics: M, new: S, before: S) -> None:
        """Raise if the epoch went wrong; `before` is the last good state."""

    @abstractmethod
    def record(self, epoch: int, metrics: M, seconds: float) -> str:
        """Keep what the epoch brought; return it in words, for the progress bar."""

    def agree(self, stopping: bool) -> bool:
        """Tell whether to stop after an epoch; `stopping` is what this process was asked."""
        return stopping

    def save(self, epoch: int, state: S, stopping: bool) -> None:
        """Save the state if it is time to, and always if the loop is about to stop."""

    def stopped(self, epoch: int, stop: Sequence[int]) -> Stopped:
        said = f"{self.label} stopped after epoch {epoch} of {self.epochs}: {self.advice}"
        return Stopped(said, *stop[:1])


def run_epochs(work: Work[S, M], state: S, done: int, reporter: Reporter, stop: Sequence[int]) -> S:
    """Run all epochs after the first `done`; return the last state.

    After an epoch in which `stop` has received a signal, raise `Stopped`. After the last one leave
    that to the caller, who may have results to write.
    """
    with reporter.track(work.label, work.epochs, done) as bar:
        began = time.monotonic()
        run_epoch = work.compile(state)
        work.compile_seconds = time.monotonic() - began
        bar.compiled()
        for epoch in range(done + 1, work.epochs + 1):
            began = time.monotonic()
            new, metrics = jax.block_until_ready(run_epoch(state))
            seconds = time.monotonic() - began
            work.check(epoch, metrics, new, state)
            state = new
            bar.update(epoch, work.record(epoch, metrics, seconds))
            # Asked once: a signal from here on waits for the next epoch.
            stopping = work.agree(bool(stop))
            work.save(epoch, state, stopping)
            if stopping and epoch < work.epochs:
                raise work.stopped(epoch, stop)
    return state


class RunWork(Work[S, M]):
    """Work kept in a run: one row per epoch, and a checkpoint every so many epochs."""

    advice = "--resume continues"
    learning_rate = "--learning-rate"  # the option to lower when numbers are not finite
    seeds: Sequence[int] = ()

    def __init__(
        self,
        run: Run,
        reporter: Reporter,
        label: str,
        epochs: int,
        init: Callable[[], S],
        *,
        checkpoint_every: int,
        keep: int = KEEP,
        ranks: Alone = ALONE,
    ) -> None:
        self.run, self.reporter, self.label, self.epochs = run, reporter, label, epochs
        self.checkpoint_every, self.keep = checkpoint_every, keep
        self.ranks = ranks
        state, done, self.rows = restore(run, init, reporter)
        self.state, self.done = ranks.share(state, done)
        self.first = self.done + 1  # epoch of this call

    @abstractmethod
    def broken(self, metrics: M, new: S, before: S) -> str | None:
        """Name what is not finite, if anything is."""

    @abstractmethod
    def row(self, epoch: int, metrics: M, seconds: float) -> Row:
        """Return what metrics.jsonl keeps of an epoch."""

    @abstractmethod
    def summary(self, row: Row) -> str:
        """Return a row in a few words."""

    def train(self, track: Sequence[str] = ()) -> None:
        """Train to the last epoch."""
        self.sinks = Sinks(track, self.run, self.label, self.done, self.reporter)
        with signals(self.reporter) as stop, closing(self.sinks):
            self.state = run_epochs(self, self.state, self.done, self.reporter, stop)
            self.done = self.epochs
            if self.agree(bool(stop)):
                raise self.stopped(self.epochs, stop)

    def agree(self, stopping: bool) -> bool:
        return self.ranks.agree(stopping)

    def check(self, epoch: int, metrics: M, new: S, before: S) -> None:
        broken = self.broken(metrics, new, before)
        if broken:
            kept = self.run.save_checkpoint(before, epoch - 1)
            raise UserError(
                f"{broken} is not finite in epoch {epoch}: try a lower {self.learning_rate};"
                f" the last good state is kept in {kept}"
            )

    def record(self, epoch: int, metrics: M, seconds: float) -> str:
        row = self.row(epoch, metrics, seconds)
        if epoch == self.first:
            row["compile"] = self.compile_seconds
        self.run.append_metrics(row)
        self.rows.append(row)
        self.sinks.write(epoch, flat(row, self.seeds))
        return self.summary(row)

    def save(self, epoch: int, state: S, stopping: bool) -> None:
        if stopping or epoch == self.epochs or epoch % self.checkpoint_every == 0:
            self.state, self.done = state, epoch
            self.run.save_checkpoint(state, epoch)
            if self.keep:
                self.run.prune(epoch, self.keep)


def require_kept(every: int, keep: int) -> None:
    """Refuse to save never, or to keep too few checkpoints."""
    require_positive(checkpoint_every=every)
    if keep < 0 or keep == 1:
        raise UserError(
            f"keep_checkpoints must be {KEEP} or more, or 0 for all, not {keep}: if the newest is"
            " damaged, there has to be one before it"
        )


def restore(
    run: Run,
    init: Callable[[], S],
    reporter: Reporter,
) -> tuple[S, int, list[Row]]:
    """Return the state to train on from, the epoch it is of, and the metrics of the epochs before.

    A damaged checkpoint is named and passed over: what was trained since the one before it is
    trained again, and comes out the same.
    """
    fresh = init()
    wanted = jax.eval_shape(lambda: fresh)
    for path in reversed(run.checkpoints().values()):
        try:
            state, epoch = load_checkpoint(path, wanted)
        except Damaged as error:
            reporter.note(f"passing over a damaged checkpoint: {error}")
            continue
        rows = [*{row["epoch"]: row for row in run.read_metrics(epoch)}.values()]
        if [row["epoch"] for row in rows] != [*range(1, epoch + 1)]:
            raise UserError(
                f"{run.metrics_path} lacks some of {epoch} epochs: restore it, or choose"
                " another --out"
            )
        run.write_metrics(rows)  # drops what came after the checkpoint: it is trained again
        return state, epoch, rows
    if run.metrics_path.exists():
        run.write_metrics([])
    return fresh, 0, []


@contextmanager
def signals(reporter: Reporter) -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM in a list instead of dying; a second signal acts at once."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    caught = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in caught}

    def receive(number: int, frame: FrameType | None) -> None:
        received.append(number)
        reporter.note("stopping after this epoch; a second signal stops at once")
        for each in caught:
            signal.signal(each, before[each])

    for number in caught:
        signal.signal(number, receive)
    try:
        yield received
    finally:
        for number in caught:
            signal.signal(number, before[number])
