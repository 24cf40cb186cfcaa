"""What a person sees during work: a bar in a terminal, plain lines in a pipe."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from reinstate.errors import printable


class Reporter:
    """Progress on standard error, so that standard output stays for results."""

    def __init__(self, quiet: bool = False, every: float = 5.0) -> None:
        self.console = Console(stderr=True, quiet=quiet, highlight=False)
        self.every = every  # seconds between plain lines
        self.prefix = ""  # of bars

    def note(self, text: str) -> None:
        """Print a line; a terminal wraps it between words, a pipe gets it whole."""
        self.console.print(Text(printable(text)), soft_wrap=not self.console.is_terminal)

    @contextmanager
    def working(self, text: str) -> Iterator[None]:
        """Show a text while something of unknown length runs."""
        if self.console.is_terminal:
            with self.console.status(Text(printable(text))):
                yield
        else:
            self.note(text)
            yield

    def part(self, number: int, total: int, kind: str = "agent") -> None:
        """Begin a part of a longer piece of work: from here on bars say "agent 2 of 4"."""
        self.prefix = f"{kind} {number} of {total}, " if total > 1 else ""

    @contextmanager
    def track(self, label: str, total: int, done: int = 0) -> Iterator["Bar"]:
        """Show a bar over the epochs of one training."""
        bar = Bar(self, label, total, done)
        with bar.progress:
            if not self.console.is_terminal:
                self.note(f"{bar.title}: compiling")
            yield bar


class Bar:
    """The epochs of one training."""

    def __init__(self, reporter: Reporter, label: str, total: int, done: int) -> None:
        self.reporter, self.total = reporter, total
        self.title = printable(reporter.prefix + label)
        self.first, self.last = done, -float("inf")
        self.started = time.monotonic()
        self.progress = Progress(
            TextColumn("{task.description}: {task.fields[news]}", markup=False),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("epochs  {task.fields[left]}"),
            console=reporter.console,
            disable=not reporter.console.is_terminal,
        )
        self.task = self.progress.add_task(
            self.title, total=total, completed=done, news="compiling", left=""
        )

    def compiled(self) -> None:
        """Estimate the time left from here on: compiling happens once."""
        self.started = time.monotonic()

    def update(self, done: int, news: str) -> None:
        """Show how many epochs are done, what the last one brought, and the time left."""
        now = time.monotonic()
        pace = (now - self.started) / max(done - self.first, 1)
        news, left = printable(news), f"{duration(pace * (self.total - done))} left"
        self.progress.update(self.task, completed=done, news=news, left=left)
        if self.reporter.console.is_terminal:
            return
        if now - self.last >= self.reporter.every or done == self.total:
            self.last = now
            self.reporter.note(f"{self.title}: epoch {done}/{self.total}  {news}  {left}")


def duration(seconds: float) -> str:
    """Write a span of time as a person would say it: 90 s, 12 min, 3 h 5 min."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{60 * hours + minutes} min" if hours < 2 else f"{hours} h {minutes} min"
