"""What a person sees while work goes on: a bar in a terminal, plain lines in a pipe."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Column
from rich.text import Text

from reinstate.errors import printable


class Reporter:
    """Progress on standard error, so that standard output stays for results."""

    def __init__(self, quiet: bool = False, every: float = 5.0) -> None:
        self.console = Console(stderr=True, quiet=quiet, highlight=False)
        self.every = every  # seconds between plain lines
        self.parts: Parts | None = None

    def note(self, text: str) -> None:
        """Print a line; a terminal wraps it between words, a pipe gets it whole."""
        self.console.print(Text(printable(text)), soft_wrap=not self.console.is_terminal)

    @contextmanager
    def working(self, text: str) -> Iterator[None]:
        """Show a text while something of unknown length goes on."""
        if self.console.is_terminal:
            with self.console.status(Text(printable(text))):
                yield
        else:
            self.note(text)
            yield

    def part(self, number: int, total: int, kind: str = "agent") -> None:
        """Begin a part of a longer piece of work, such as the second of four agents.

        From here on bars say "agent 2 of 4", and how long all the parts still take.
        """
        if number == 1 or self.parts is None:
            self.parts = Parts(kind, total)
        self.parts.begin(number)

    def track(self, label: str, total: int, done: int = 0) -> "Bar":
        """Return a bar over the epochs of one training; enter it as a context manager."""
        return Bar(self, label, total, done)


class Parts:
    """Parts of about equal length, one bar each, and how long they take."""

    def __init__(self, kind: str, total: int) -> None:
        self.kind, self.total, self.number = kind, total, 0
        self.began = 0.0  # the part under way
        self.bar: Bar | None = None  # of that part; none if it was finished before this call
        self.costs: list[float] = []  # seconds per finished part, compiling and evaluating included

    def begin(self, number: int) -> None:
        now = time.monotonic()
        if self.bar and self.bar.pace:
            outside_epochs = now - self.began - self.bar.spent
            self.costs.append(outside_epochs + self.bar.pace * self.bar.total)
        self.number, self.began, self.bar = number, now, None

    def seconds_after(self, bar: "Bar") -> float:
        """Estimate what the parts after this one take: as long as those before, or as this one."""
        this = bar.started - self.began + bar.pace * bar.total
        cost = sum(self.costs) / len(self.costs) if self.costs else this
        return (self.total - self.number) * cost


class _TwoLines(Progress):
    """What goes on, in words that may wrap; below it the bar, which gives way to the time left."""

    def get_renderables(self) -> Iterable[RenderableType]:
        for task in self.tasks:
            yield Text(f"{task.description}: {task.fields['news']}")
        yield from super().get_renderables()


class Bar:
    """The epochs of one training, as a context manager."""

    def __init__(self, reporter: Reporter, label: str, total: int, done: int) -> None:
        self.reporter, self.label, self.total = reporter, label, total
        self.title, parts = label, reporter.parts
        if parts and parts.total > 1:
            parts.bar = self
            self.title = f"{parts.kind} {parts.number} of {parts.total}, {label}"
        self.title = printable(self.title)
        self.first, self.last = done, -float("inf")
        self.started = time.monotonic()
        self.spent = self.pace = 0.0  # seconds on epochs; per epoch
        self.progress = _TwoLines(
            BarColumn(bar_width=40),  # or less, where the rest needs the room
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            TextColumn("epochs  {task.fields[left]}", table_column=Column(no_wrap=True)),
            console=reporter.console,
            disable=not reporter.console.is_terminal,
        )
        self.task = self.progress.add_task(
            self.title, total=total, completed=done, news="compiling", left=""
        )

    def __enter__(self) -> "Bar":
        self.progress.start()
        if not self.reporter.console.is_terminal:
            self.reporter.note(f"{self.title}: compiling")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.progress.stop()

    def compiled(self) -> None:
        """Estimate the time left from here on: compiling happens once."""
        self.started = time.monotonic()

    def update(self, done: int, news: str) -> None:
        """Show how many epochs are done, what the last one brought, and the time left."""
        now = time.monotonic()
        self.spent = now - self.started
        self.pace = self.spent / max(done - self.first, 1)
        news, left = printable(news), self._time_left(done)
        self.progress.update(self.task, completed=done, news=news, left=left)
        if self.reporter.console.is_terminal:
            return
        if now - self.last >= self.reporter.every or done == self.total:
            self.last = now
            self.reporter.note(f"{self.title}: epoch {done}/{self.total}  {news}  {left}")

    def _time_left(self, done: int) -> str:
        own = self.pace * (self.total - done)
        parts = self.reporter.parts
        after = parts.seconds_after(self) if parts else 0.0
        in_all = f", {duration(own + after)} in all" if after else ""
        return f"{duration(own)} left{in_all}"


def duration(seconds: float) -> str:
    """Write a span of time as a person would say it: 90 s, 12 min, 3 h 5 min."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{60 * hours + minutes} min" if hours < 2 else f"{hours} h {minutes} min"
