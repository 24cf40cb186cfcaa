"""A sweep's runs: how many, under which names; done once each, whoever fails; then one table."""

import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reinstate.agent import AGENTS
from reinstate.errors import Stopped, UserError
from reinstate.files import locked, write_json
from reinstate.runs import sweep as module
from reinstate.runs.engines import Engine, Job, Started, local
from reinstate.runs.progress import Reporter
from reinstate.runs.sweep import Asked, Handed, plan, read_file, regret_per_seed, table_of
from reinstate.settings import read_set, to_dict
from reinstate_paper.barcode_bandits import QUICK

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


FILE = """
experiments = ["barcode-bandits", "two-step"]
agents = ["epl2rl", "l2rl"]
seeds = 5
first-seed = 10
seeds-per-run = 2
retries = 2
[settings]
learner.learning-rate = [1e-3, 3e-3]
"learner.epochs" = 7
"""
NAMES = [
    "barcode-bandits-l2rl-lanes=4-seeds0-1-5c31d204",
    "barcode-bandits-l2rl-lanes=4-seed2-24e10610",
    "barcode-bandits-l2rl-lanes=8-seeds0-1-a1dcb2c8",
    "barcode-bandits-l2rl-lanes=8-seed2-f5c2dab5",
]


@pytest.fixture(autouse=True)
def spacious(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fits is asked of JAX, which takes its time."""
    monkeypatch.setattr("reinstate.runs.size.require_room", lambda *what, **how: None)


def asked(**what: Any) -> Asked:
    few: Any = {"experiments": ("barcode-bandits",), "agents": ("l2rl",), "seeds": 3}
    return Asked(**{**few, **what})


def write(folder: Path, text: str) -> Path:
    (folder / "sweep.toml").write_text(text)
    return folder / "sweep.toml"


def test_a_file_is_a_product(tmp_path: Path) -> None:
    found = Asked(**read_file(write(tmp_path, FILE)))
    assert found.retries == 2
    jobs = plan(found)
    assert len(jobs) == len({job.name for job in jobs}) == 2 * 2 * 2 * 3
    job = jobs[-1]
    assert (job.experiment, job.agent, job.preset) == ("two-step", "l2rl", "quick")
    assert job.options == {"learner.learning-rate": 3e-3, "learner.epochs": 7}
    assert job.settings["learner"]["learning_rate"] == 3e-3
    assert [job.settings[name] for name in ("seeds", "first_seed")] == [1, 14]  # the last of five
    assert [job.settings["seeds"] for job in jobs[:3]] == [2, 2, 1]


def test_names_stay_the_same() -> None:
    """Folders of sweeps that were begun by other versions have to be found again."""
    lanes = asked(seeds_per_run=2, settings={"learner.lanes": (4, 8)})
    assert [job.name for job in plan(lanes)] == NAMES


def test_all_else_is_the_presets(tmp_path: Path) -> None:
    (job,) = plan(Asked(experiments=("barcode-bandits",), agents=("epl2rl",)))
    assert job.settings == to_dict(QUICK)
    names = {job.agent for job in plan(Asked(experiments=("barcode-bandits",)))}
    assert names == {"epl2rl", "l2rl", "l2rl-context", "epl2rl-input"}


def test_long_and_odd_values_make_short_and_plain_names() -> None:
    found = module._name(
        asked(settings={"a.x": (1, 2)}), "e", "a" * 200, {"a.x": "../ b"}, range(1)
    )
    assert len(found) <= 130 and found[-9] == "-"
    odd = module._name(asked(settings={"a.x": (1, 2)}), "e", "a", {"a.x": "../ b"}, range(1))
    assert odd.startswith("e-a-x=.._b-seed0-")


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"experiments": ()}, "needs experiments"),
        ({"experiments": ("barcode-bandit",)}, "did you mean barcode-bandits?"),
        ({"settings": {"learner.lans": (3,)}}, "'learner.lans': did you mean learner.lanes?"),
        ({"settings": {"learner.lanes": ()}}, "nothing to choose from"),
    ],
)
def test_what_cannot_be_swept_is_refused(
    what: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        module.size, "require_room", lambda settings, agent, **_: AGENTS.find(agent)
    )
    with pytest.raises(UserError) as error:
        plan(asked(**{"seeds_per_run": 1, **what}))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("experiments = 3", "sweep.toml.experiments: Expected array, got int"),
        ("seed = 2", "sweep.toml has unknown fields: seed"),
        ("[settings]\nlearner.lanes = [[1]]", "got array"),
        ("experiments = [", "is no TOML file"),
        ("a = " + "[" * 5000, "is no TOML file"),
    ],
)
def test_a_file_with_a_mistake_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        read_file(write(tmp_path, text))
    assert message in str(error.value)


@pytest.mark.parametrize("word", ["lanes", "lanes=", "=3"])
def test_a_word_that_sets_nothing_is_refused(word: str) -> None:
    with pytest.raises(UserError, match=r"as in learner\.lanes=16"):
        read_set([word])
