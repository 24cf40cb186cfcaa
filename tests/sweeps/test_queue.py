"""Jobs are done once each, whoever fails, dies or stops; and workers are replaced."""

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from reinstate.errors import UserError
from reinstate.files import InUse
from reinstate.runs.loop import Stopped
from reinstate.runs.progress import Reporter
from reinstate.sweeps import crew as crew_module
from reinstate.sweeps import worker as worker_module
from reinstate.sweeps.claims import claim
from reinstate.sweeps.crew import Supervisor
from reinstate.sweeps.executors import CRASHED, Crew, Executor, Started
from reinstate.sweeps.queue import Queue
from reinstate.sweeps.worker import STOPPED, work

SILENT = Reporter(quiet=True)
NAMES = [f"job{n}" for n in range(12)]


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return Queue(tmp_path, NAMES, retries=1)


def test_many_workers_do_every_job_once(tmp_path: Path) -> None:
    done: Counter[str] = Counter()

    def do(name: str, reporter: Reporter) -> dict[str, str]:
        done[name] += 1
        time.sleep(0.002)
        return {"name": name}

    def one(number: int) -> None:
        work(Queue(tmp_path, NAMES, 0), f"worker{number}", do, SILENT)

    threads = [threading.Thread(target=one, args=(n,)) for n in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == Counter(NAMES)
    found = Queue(tmp_path, NAMES, 0).outcomes()
    assert all(found[name]["result"] == {"name": name} for name in NAMES)
    assert not [*tmp_path.glob("jobs/*.claim")]


def test_what_fails_is_tried_again_and_no_more(queue: Queue) -> None:
    tried: Counter[str] = Counter()

    def do(name: str, reporter: Reporter) -> dict[str, str]:
        tried[name] += 1
        if name == "job1" or (name == "job2" and tried[name] == 1):
            raise UserError("the disk\nis odd")
        return {}

    work(queue, "w", do, SILENT)
    assert tried["job1"] == tried["job2"] == 2 and tried["job3"] == 1
    found = queue.outcomes()
    assert (found["job1"]["done"], found["job1"]["failures"]) == (False, 2)
    assert found["job1"]["error"] == "the disk is odd"
    assert (found["job2"]["done"], found["job2"]["failures"], found["job2"]["error"]) == (
        True,
        1,
        "",
    )
    assert not queue.due()
    assert Queue(queue.jobs.parent, NAMES, retries=2).due() == ["job1"]  # with more retries


def test_a_mistake_of_ours_counts_as_a_failure(queue: Queue, capsys: pytest.CaptureFixture) -> None:
    def do(name: str, reporter: Reporter) -> dict[str, str]:
        raise KeyError("x")

    work(Queue(queue.jobs.parent, ["job0"], 0), "w", do, SILENT)
    assert queue.outcome("job0")["error"] == "'x'"
    assert "KeyError" in capsys.readouterr().err  # for the log


def test_who_is_told_to_stop_gives_its_job_back(queue: Queue) -> None:
    def do(name: str, reporter: Reporter) -> dict[str, str]:
        raise Stopped("stopped after epoch 3")

    with pytest.raises(KeyboardInterrupt):
        work(queue, "w", do, SILENT)
    assert len(queue.free()) == len(NAMES) and queue.outcome("job0")["failures"] == 0


def test_a_signal_that_nobody_noticed_stops_before_the_next_job(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "told", told := list[int]())

    def do(name: str, reporter: Reporter) -> dict[str, str]:
        told.append(15)
        return {}

    with pytest.raises(KeyboardInterrupt):
        work(queue, "w", do, SILENT)
    assert queue.due() == NAMES[1:] == queue.free()


def test_what_somebody_else_is_at_is_left_alone(queue: Queue) -> None:
    def do(name: str, reporter: Reporter) -> dict[str, str]:
        if name == "job0":
            raise InUse("in use by process 7")
        return {}

    work(queue, "w", do, SILENT)
    assert queue.due() == ["job0"] and queue.outcome("job0")["failures"] == 0


def test_a_result_is_never_written_again(queue: Queue) -> None:
    """A worker that was taken for dead comes back and has finished, too."""
    held = queue.take("slow")
    assert held is not None
    held.path.unlink()  # whoever took it over has finished and given it back
    other = claim(queue.jobs, held.name, "fast")
    assert other is not None and queue.finish(other, {"by": "fast"})
    assert not queue.finish(held, {"by": "slow"})
    assert queue.outcome(held.name)["result"] == {"by": "fast"}


def test_a_result_that_was_altered_is_noticed(queue: Queue) -> None:
    held = queue.take("w")
    assert held is not None
    queue.finish(held, {})
    path = queue.jobs / f"{held.name}.json"
    path.write_text(path.read_text().replace("true", "false"))
    with pytest.raises(UserError, match="altered"):
        Queue(queue.jobs.parent, NAMES, 0).due()


class Pretended(Started):
    """A worker that does its work as it is asked how it is."""

    def __init__(self, act: Callable[[], int | None]) -> None:
        self.act, self.stopped = act, False

    def ended(self) -> int | None:
        return STOPPED if self.stopped else self.act()

    def stop(self) -> None:
        self.stopped = True


class Stage(Executor):
    """An executor whose workers play parts, the last of which is repeated."""

    def __init__(self, queue: Queue, parts: Sequence[Callable[[Queue, str], int | None]]) -> None:
        self.queue, self.parts, self.names = queue, [*parts], list[str]()

    def begin(self, words: Sequence[str], log: Path) -> Started:
        part = self.parts.pop(0) if len(self.parts) > 1 else self.parts[0]
        name = words[words.index("--worker") + 1]
        self.names.append(name)
        log.parent.mkdir(exist_ok=True)
        log.write_text("something\nreinstate: cannot write sweep.json\n")
        return Pretended(lambda: part(self.queue, name))


def good(queue: Queue, name: str) -> int:
    work(queue, name, lambda job, reporter: {}, SILENT)
    return 0


def dies_at_work(queue: Queue, name: str) -> int:
    held = queue.take(name)
    assert held is not None
    said = json.loads(held.path.read_text())  # this process lives, so let another have it
    held.path.write_text(json.dumps({**said, "place": "elsewhere"}))
    os.utime(held.path, (0, 0))
    return -9


def supervise(
    queue: Queue, monkeypatch: pytest.MonkeyPatch, *parts: Callable[[Queue, str], int | None]
) -> Stage:
    monkeypatch.setattr(crew_module, "PAUSE", 0.001)
    stage = Stage(queue, parts)
    monkeypatch.setattr(Crew, "start", lambda self, folder: stage)
    Supervisor(queue, "module", queue.jobs.parent, Crew(workers=3)).run(SILENT)
    return stage


def test_a_worker_that_dies_costs_one_attempt(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervise(queue, monkeypatch, dies_at_work, good)
    found = queue.outcomes()
    assert all(each["done"] for each in found.values())
    assert [each["failures"] for each in found.values()].count(1) == 1


def test_a_job_that_kills_its_workers_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = Queue(tmp_path, ["job0"], retries=1)
    stage = supervise(queue, monkeypatch, dies_at_work)
    found = queue.outcome("job0")
    assert len(stage.names) == found["failures"] == 2 and not found["done"]
    assert found["error"].startswith("its worker ended by signal 9 (reinstate: cannot write")


@pytest.mark.parametrize(
    ("code", "message"), [(1, "before it had a job"), (CRASHED, "before it"), (2, "^cannot write")]
)
def test_where_no_worker_can_work_none_is_started_again(
    queue: Queue, monkeypatch: pytest.MonkeyPatch, code: int, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        supervise(queue, monkeypatch, lambda *_: code)


def test_workers_are_told_where_the_folder_is_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    queue = Queue(Path("here"), NAMES, 1)
    words = Supervisor(queue, "module", Path("here"), Crew())._words("w")
    assert [*words[:4]] == ["module", str(tmp_path / "here"), "--worker", "w"]


def test_where_logs_cannot_be_seen_neither_can_the_folder(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew_module, "_last_line", lambda log: "")
    with pytest.raises(UserError, match="does its machine see"):
        supervise(queue, monkeypatch, lambda *_: 2)


def test_a_signal_stops_all(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    once = [signal.SIGTERM]

    def busy(queue: Queue, name: str) -> None:
        if once:
            signal.raise_signal(once.pop())

    with pytest.raises(Stopped, match="0 of 12 jobs done: the same command continues"):
        supervise(queue, monkeypatch, busy)


def test_what_other_machines_are_at_is_left_to_them(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in NAMES:
        dies_at_work(queue, name)
        for path in queue.jobs.glob("*.claim"):
            os.utime(path)  # their hearts beat
    assert supervise(queue, monkeypatch, good).names == []
