"""A worker: one process that claims a job, does it, writes down what came of it, and goes on.

What starts it (`reinstate.sweeps.executors`) holds the other end of its standard input. When that
end is closed, on purpose or because its owner died, the worker stops as at SIGTERM: after the epoch
that it is in, with a checkpoint.
"""

import argparse
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from reinstate.errors import UserError, one_line
from reinstate.files import InUse
from reinstate.runs.progress import Reporter
from reinstate.sweeps.claims import beating
from reinstate.sweeps.queue import Queue

STOPPED = 130  # exit status of one that was told to stop

Do = Callable[[str, Reporter], Mapping[str, Any]]  # a job's name → its result

# Signals that came. What one raises may be lost, where Python collects garbage or in a job that has
# just ended: then this says so before anything long is begun.
told: list[int] = []


def work(queue: Queue, worker: str, do: Do, reporter: Reporter) -> None:
    """Do jobs until none is left that nobody has."""
    leave: list[str] = []
    while held := queue.take(worker, leave):
        reporter.note(f"job {held.name}")
        try:
            require_untold()
            with beating(held):
                result = do(held.name, reporter)
        except InUse as error:  # somebody is at it who is no worker, or counted as dead
            reporter.note(one_line(error))
            leave.append(held.name)
            held.release()
        except Exception as error:
            if not isinstance(error, UserError):
                traceback.print_exc()
            reporter.note(f"failed: {one_line(error)}")
            queue.fail(held, one_line(error) or type(error).__name__)
        except BaseException:  # told to stop: somebody goes on with it later
            held.release()
            raise
        else:
            if queue.finish(held, result):
                reporter.note(f"done {held.name}")


def require_untold() -> None:
    """Stop here if a signal came that nobody noticed."""
    if told:
        raise KeyboardInterrupt


def main(open_queue: Callable[[Path, int], tuple[Queue, Do]], arguments: Sequence[str]) -> int:
    """Be a worker on a folder; return the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--worker", required=True, help="a name that no other worker has")
    parser.add_argument("--retries", type=int, default=0)
    asked = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)
    threading.Thread(target=_stop_when_alone, daemon=True).start()
    reporter = Reporter()
    try:
        queue, do = open_queue(asked.folder, asked.retries)
        work(queue, asked.worker, do, reporter)
    except KeyboardInterrupt as stop:
        reporter.note(str(stop) or "stopped")
        return STOPPED
    except (UserError, OSError) as error:  # of the folder as a whole: a full disk, say
        reporter.note(f"reinstate: {one_line(error)}")
        return 2
    return 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    told.append(number)
    raise KeyboardInterrupt


def _stop_when_alone() -> None:
    """Wait until nobody holds the other end of standard input."""
    while os.read(sys.stdin.fileno(), 1000):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
