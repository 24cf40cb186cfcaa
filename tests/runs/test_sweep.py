"""Jobs are done once each, whoever fails, dies or stops; then one row per seed in one table."""

import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reinstate.errors import Stopped
from reinstate.files import locked, write_json
from reinstate.runs import sweep as module
from reinstate.runs.engines import Engine, Started, local
from reinstate.runs.jobs import Job
from reinstate.runs.progress import Reporter
from reinstate.runs.sweep import Handed, regret_per_seed, table_of

SILENT = Reporter(quiet=True)
JOBS = [Job(f"job{n}", "e", "a", "quick", {"learner.lanes": 4}, {}) for n in range(6)]
ROWS = [{"seed": n, "reward": 1.5 + n, "regret": None, "steps": 9, "seconds": 0.5} for n in (0, 1)]
TWO = [Job(n, "e", "a", "quick", {"learner.lanes": v}, {}) for n, v in (("one", 4), ("two", 0.5))]

Do = Callable[[Job, Path], str | None]  # a job's error, "" if it is done, None while it goes on


def good(job: Job, folder: Path) -> str:
    path = job.run(folder).path
    with locked(path):
        write_json(path / "evaluation.json", {})
    return ""


class Pretended:
    """A run that is done as it is asked how far it is."""

    def __init__(self, do: Do, job: Job, folder: Path) -> None:
        self.do, self.what, self.stopped = do, (job, folder), False

    def ended(self) -> str | None:
        return "stopped" if self.stopped else self.do(*self.what)

    def stop(self) -> None:
        self.stopped = True


def hand_over(
    monkeypatch: pytest.MonkeyPatch, folder: Path, do: Do, retries: int = 1, workers: int = 3
) -> dict[str, str]:
    monkeypatch.setattr(module, "PAUSE", 0.001)
    monkeypatch.setattr(Engine, "start", lambda *_: lambda job, folder: Pretended(do, job, folder))
    handed = Handed(JOBS, Engine(workers=workers), retries, folder, SILENT)
    handed.see_through()
    return handed.errors


def test_what_fails_is_tried_again_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = Counter[str]()

    def do(job: Job, folder: Path) -> str:
        tried[job.name] += 1
        if job.name == "job1" or (job.name == "job2" and tried[job.name] == 1):
            return "alas"
        return good(job, folder)

    assert hand_over(monkeypatch, tmp_path, do) == {"job1": "alas"}
    assert tried == {**dict.fromkeys((job.name for job in JOBS), 1), "job1": 2, "job2": 2}
    assert [job.name for job in JOBS if not job.is_done(tmp_path)] == ["job1"]


def test_what_others_do_or_have_done_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good(JOBS[1], tmp_path)
    held, ends = threading.Event(), threading.Event()

    def hold() -> None:
        with locked(JOBS[0].run(tmp_path).path):
            held.set()
            ends.wait()

    other = threading.Thread(target=hold)
    other.start()
    held.wait()
    done = list[str]()

    def do(job: Job, folder: Path) -> str:
        done.append(job.name)
        return good(job, folder)

    assert hand_over(monkeypatch, tmp_path, do) == {}
    ends.set()
    other.join()
    assert sorted(done) == [job.name for job in JOBS[2:]]


def test_a_signal_stops_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    once = [signal.SIGTERM]

    def busy(job: Job, folder: Path) -> None:
        if once:
            signal.raise_signal(once.pop())

    with pytest.raises(Stopped, match="0 of 6 runs done: the same command continues"):
        hand_over(monkeypatch, tmp_path, busy)


def test_a_process_that_cannot_work_says_why(tmp_path: Path) -> None:
    started = local(JOBS[0], tmp_path)
    while (error := started.ended()) is None:
        time.sleep(0.01)
    assert error.startswith("unknown experiment 'e'")


def test_of_a_traceback_the_last_line_is_told() -> None:
    def fail() -> None:
        raise RuntimeError("Traceback\n  File x\nValueError: not finite\n")

    assert Started(lambda: True, fail, lambda: None).ended() == "ValueError: not finite"
    assert Started(lambda: False, fail, lambda: None).ended() is None


def test_seeds_are_rows_and_what_failed_is_one_too() -> None:
    rows = table_of(TWO, {"one": ROWS}, {"two": "not finite, alas"})
    assert [row["reward"] for row in rows] == [1.5, 2.5, None]
    assert [row["learner.lanes"] for row in rows] == [4, 4, 0.5]
    assert [row["error"] for row in rows] == [None, None, "not finite, alas"]


def test_regret_counts_every_episode_once() -> None:
    by_exposure: Any = {"episodes": [3, 1], "regret": {"per_seed": [[1.0, 5.0], [2.0, 2.0]]}}
    scores: Any = json.loads(json.dumps({"by_exposure": by_exposure}))
    assert regret_per_seed(scores) == [2.0, 2.0]
    scores["by_exposure"]["regret"]["per_seed"][0][0] = None
    assert regret_per_seed(scores) is None
    assert regret_per_seed({"reward": ROWS}) is None  # type: ignore[typeddict-item]
