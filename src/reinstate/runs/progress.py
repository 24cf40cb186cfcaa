"""What a person sees while work goes on: a bar in a terminal, plain lines in a pipe."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class Reporter:
    """Progress on standard error, so that standard output stays for results."""

    def __init__(self, quiet: bool = False, every: float = 5.0) -> None:
        self.console = Console(stderr=True, quiet=quiet, highlight=False)
        self.every = every  # seconds between plain lines

    def note(self, text: str) -> None:
        self.console.print(text, markup=False, soft_wrap=True)

    @contextmanager
    def working(self, text: str) -> Iterator[None]:
        """While something of unknown length goes on."""
        if self.console.is_terminal:
            with self.console.status(text):
                yield
        else:
            self.note(text)
            yield

    def track(self, label: str, total: int, done: int = 0) -> "Bar":
        return Bar(self, label, total, done)


class Bar:
    """The epochs of one training run, as a context manager."""

    def __init__(self, reporter: Reporter, label: str, total: int, done: int) -> None:
        self.reporter, self.label, self.total = reporter, label, total
        self.first, self.started, self.last = done, time.monotonic(), -float("inf")
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("epochs  {task.fields[news]}"),
            TimeRemainingColumn(),
            console=reporter.console,
            disable=not reporter.console.is_terminal,
        )
        self.task = self.progress.add_task(label, total=total, completed=done, news="compiling")

    def __enter__(self) -> "Bar":
        self.progress.start()
        if not self.reporter.console.is_terminal:
            self.reporter.note(f"{self.label}: compiling")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.progress.stop()

    def compiled(self) -> None:
        """Time left is reckoned from here: compiling happens once."""
        self.started = time.monotonic()

    def update(self, done: int, reward: float, steps_per_second: float) -> None:
        news = f"reward {reward:.2f}  {steps_per_second:,.0f} steps/s"
        self.progress.update(self.task, completed=done, news=news)
        now = time.monotonic()
        if self.reporter.console.is_terminal:
            return
        if now - self.last >= self.reporter.every or done == self.total:
            self.last = now
            pace = (now - self.started) / max(done - self.first, 1)
            left = f"{pace * (self.total - done):.0f} s left"
            self.reporter.note(f"{self.label}: epoch {done}/{self.total}  {news}  {left}")
