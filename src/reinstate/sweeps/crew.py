"""Keep workers at it until nothing is left to do, or until a signal comes."""

import os
import secrets
import socket
import time
from collections.abc import Sequence
from pathlib import Path

from reinstate.errors import UserError, one_line
from reinstate.runs.loop import Stopped, signals
from reinstate.runs.progress import Reporter, duration
from reinstate.sweeps.executors import Crew, Executor, Started
from reinstate.sweeps.queue import Queue
from reinstate.sweeps.worker import STOPPED

PAUSE = 0.25  # seconds between looks at workers and at the folder
LAST_BYTES = 4000  # of a log, in which its last line is looked for


class Supervisor:
    """Starts workers, replaces those that die, and tells how far they are."""

    def __init__(self, queue: Queue, module: str, folder: Path, crew: Crew) -> None:
        self.queue, self.module, self.folder, self.crew = queue, module, folder, crew
        self.working: dict[str, Started] = {}  # by the name of the worker
        self.begun, self.settled = 0, set[str]()  # those that have had a job
        self.prefix = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(2)}"

    def run(self, reporter: Reporter) -> None:
        """See all jobs to their ends; those that workers of other machines have are left to them.

        A signal stops the workers, each after the epoch it is in, and raises `Stopped`.
        """
        tell = _Progress(self.queue, reporter)
        if not self.queue.due():
            return
        executor = self.crew.start(self.folder)
        try:
            with signals(reporter) as stop:
                while self.working or self.queue.due():
                    if stop:
                        raise Stopped(tell.stopped())
                    self._look_after(executor)
                    if not (self.working or self.queue.underway_here() or self.queue.free()):
                        return  # others have what is left
                    tell.news()
                    time.sleep(PAUSE)
        finally:
            self._dismiss()
            executor.close()
            tell.news()

    def _look_after(self, executor: Executor) -> None:
        """Note who ended, and start as many as there are jobs for."""
        for name, started in [*self.working.items()]:
            if (code := started.ended()) is not None:
                del self.working[name]
                self._part(name, code)
        for _ in range(self._lacking()):
            self.begun += 1
            name = f"{self.prefix}-{self.begun}"
            self.working[name] = executor.begin(self._words(name), self._log(name))

    def _lacking(self) -> int:
        """Return how many workers to add: no more than there are jobs that nobody is about to take.

        One that has just been started has claimed nothing yet.
        """
        free, room = len(self.queue.free()), self.crew.workers - len(self.working)
        if not (free and room > 0):
            return 0
        self.settled |= {name for name in self.working if self.queue.has_job(name)}
        return min(room, free - len(self.working.keys() - self.settled))

    def _words(self, name: str) -> Sequence[str]:
        retries = str(self.queue.retries)
        return [self.module, str(self.folder.absolute()), "--worker", name, "--retries", retries]

    def _log(self, name: str) -> Path:
        return (self.folder / "logs" / f"{name}.log").absolute()

    def _part(self, name: str, code: int) -> None:
        """Take leave of a worker: count what it died of; refuse to go on where none can work."""
        if code == 0:
            return
        said = _last_line(self._log(name))
        if code == 2:
            unseen = f"a worker ended early: does its machine see {self.folder.absolute()}?"
            raise UserError(said.removeprefix("reinstate: ") or unseen)
        killed = f"by signal {-code}" if code < -1 else f"with status {code}"
        why = "stopped" if code == STOPPED else f"its worker ended {killed}"
        if not self.queue.bury(name, f"{why}{f' ({said})' if said else ''}") and code != STOPPED:
            raise UserError(
                f"a worker ended {killed} before it had a job: {said or self._log(name)}"
            )

    def _dismiss(self) -> None:
        """Stop workers, and wait until they have; whoever cannot wait gives a second signal."""
        for started in self.working.values():
            started.stop()
        while any(started.ended() is None for started in self.working.values()):
            time.sleep(PAUSE)
        self.working = {}


class _Progress:
    """One line for every job that comes to an end."""

    def __init__(self, queue: Queue, reporter: Reporter) -> None:
        self.queue, self.reporter, self.began = queue, reporter, time.monotonic()
        self.known = {name: (o["done"], o["failures"]) for name, o in queue.outcomes().items()}
        self.before = self._done()
        if self.before:
            reporter.note(f"{self.before} of {len(self.known)} jobs were done before")

    def _done(self) -> int:
        return sum(done for done, _ in self.known.values())

    def news(self) -> None:
        """Tell what came to an end since the last call."""
        for name, outcome in self.queue.outcomes().items():
            now = (outcome["done"], outcome["failures"])
            if now == self.known[name]:
                continue
            self.known[name] = now
            said = "done" if outcome["done"] else f"failed: {outcome['error']}"
            self.reporter.note(f"{name}: {said}; {self._so_far()}")

    def _so_far(self) -> str:
        done, total = self._done(), len(self.known)
        pace = (time.monotonic() - self.began) / max(done - self.before, 1)
        left = f", {duration(pace * (total - done))} left" if done > self.before else ""
        return f"{done} of {total} jobs done{left}"

    def stopped(self) -> str:
        self.news()
        done, total = self._done(), len(self.known)
        return f"stopped with {done} of {total} jobs done: the same command continues"


def _last_line(log: Path) -> str:
    """Return the last line that a worker said, if it said any."""
    try:
        with open(log, "rb") as file:
            file.seek(max(os.path.getsize(log) - LAST_BYTES, 0))
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return ""
    return one_line(next((line for line in reversed(lines) if line.strip()), ""))
