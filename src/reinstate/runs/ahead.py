"""What a reproduction needs next, made in a second thread while its agents train.

A compiler keeps one core busy and agents leave one idle while they are compiled: together they use
both. On an accelerator, the host has nothing else to do.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, TypeVar

from reinstate.devices import Spread
from reinstate.runs.judge import Evaluator
from reinstate.runs.run import Run
from reinstate.runs.training import compile_epoch
from reinstate.settings import Settings

T = TypeVar("T")


class Ahead:
    """The programs of some agents, compiled one after the other; a context manager.

    The first agent is to be trained at once, so that its program is left to `train`.
    """

    def __init__(
        self,
        runs: Mapping[str, Run],
        evaluators: Mapping[str, Evaluator],
        settings: Mapping[str, Settings],
        spread: Spread,
    ) -> None:
        self._pool = ThreadPoolExecutor(1, "ahead")
        self._epochs: dict[str, Future[Any]] = {}
        self._judges: dict[str, Future[None]] = {}
        waiting = [name for name, run in runs.items() if not _trained(run, settings[name])]
        for name in runs:
            if name in waiting[1:]:
                self._epochs[name] = self._pool.submit(compile_epoch, name, settings[name], spread)
            self._judges[name] = self._pool.submit(evaluators[name].prepare)

    def __enter__(self) -> "Ahead":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # What is being compiled ends by itself: nobody who stops should wait for it to be told so.
        self._pool.shutdown(wait=False, cancel_futures=True)

    def epoch_of(self, agent: str) -> Callable[[], Any] | None:
        """Return what waits for an agent's program; None if it was not asked for."""
        return self._epochs[agent].result if agent in self._epochs else None

    def wait_for_judge(self, agent: str) -> None:
        """Return once an agent's evaluator is prepared."""
        self._judges[agent].result()

    def compute(self, function: Callable[[], T]) -> Callable[[], T]:
        """Compute something after all programs; return what waits for it."""
        return self._pool.submit(function).result


def _trained(run: Run, settings: Settings) -> bool:
    return max(run.checkpoints(), default=0) >= settings.learner.epochs
