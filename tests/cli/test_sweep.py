"""The verb `sweep`: what it says before and after the work, which is pretended here."""

import json
from pathlib import Path
from typing import Any

import pytest

from reinstate.runs.progress import Reporter
from reinstate.sweeps import sweep as module
from reinstate.sweeps.crew import Supervisor
from reinstate.sweeps.queue import Queue
from reinstate.sweeps.worker import work
from spoken import Command, assert_refused

LINE = "sweep --experiments barcode-bandits --agents l2rl --seeds 2 --seeds-per-run 1 --out out"


@pytest.fixture(autouse=True)
def pretended(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Do no run in earnest; let those fail whose names hold a word of the list returned."""
    bad: list[str] = []

    def do(name: str, reporter: Reporter) -> dict[str, Any]:
        if any(word in name for word in bad):
            raise ValueError("alas")
        row = {"seed": int(name.split("seed")[1][0]), "reward": 1.0, "steps": 3, "seconds": 1.0}
        return {"rows": [row], "seconds": {}}

    def run(self: Supervisor, reporter: Reporter) -> None:
        work(self.queue, "w", do, Reporter(quiet=True))

    monkeypatch.setattr(Supervisor, "run", run)
    monkeypatch.setattr("reinstate.runs.size.require_room", lambda *what, **how: None)
    monkeypatch.setattr(module, "write_page", lambda runs, out: out.write_text("page"))
    monkeypatch.setattr(module, "require_report", lambda out: None)
    return bad


def test_a_dry_run_lists_and_writes_nothing(command: Command, tmp_path: Path) -> None:
    said = command(f"{LINE} --set learner.lanes=4,8 --dry-run")
    assert said.code == 0 and said.out.count("barcode-bandits-l2rl-lanes=") == 4
    assert "4 runs; nothing was written" in said.out and not [*tmp_path.iterdir()]


def test_a_file_and_options_go_together(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('experiments = ["two-step"]\nseeds = 9\nagents = ["l2rl"]')
    said = command("sweep a.toml --seeds 2 --set learner.lanes=4,8 --dry-run --json")
    runs = json.loads(said.out)["runs"]
    assert [run["seeds"] for run in runs] == ["0-1", "0-1"]
    assert runs[1]["options"] == {"learner.lanes": 8}


def test_a_sweep_ends_with_a_table_and_does_nothing_twice(command: Command, tmp_path: Path) -> None:
    said = command(LINE)
    assert said.code == 0 and said.out.count("1.00 [one seed]") == 2
    assert "sweep.csv" in said.out and "report.html are in out" in said.out
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("out/jobs/*")}
    assert command(LINE).code == 0 and len(before) == 2
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("out/jobs/*")} == before
    document = json.loads((tmp_path / "out/sweep.json").read_text())
    assert "checksum" in document and document["command"].startswith("reinstate sweep")


def test_what_failed_is_told_at_the_end(
    command: Command, pretended: list[str], tmp_path: Path
) -> None:
    pretended.append("seed1")
    said = command(LINE)
    assert said.code == 2 and "failed" in said.out
    assert "1 of 2 runs failed, the last with: alas" in said.err.splitlines()[-1]
    assert "alas" in (tmp_path / "out/sweep.csv").read_text()
    pretended.clear()
    assert command(LINE).code == 2  # it has had its two attempts
    assert command(f"{LINE} --retries 2").code == 0
    assert "alas" not in (tmp_path / "out/sweep.csv").read_text()


def test_what_others_are_at_is_told(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Supervisor, "run", lambda self, reporter: None)
    said = command(LINE)
    assert said.code == 0 and "2 runs are under way elsewhere" in said.out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--set learner.lans=4", "did you mean learner.lanes?"),
        ("--agents l2rl l2rl", "two runs would be the same"),
        ("--workers 0", "workers must be positive"),
        ("--executor slurm", "slurm"),
        ("--executor ray", "pip install 'reinstate[ray]'"),
        ("--executor submitit", "pip install 'reinstate[slurm]'"),
    ],
)
def test_mistakes_are_refused_before_anything_is_written(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, message: str
) -> None:
    for name in ("ray", "submitit"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    assert_refused(command(f"{LINE} {more}"), message)
    assert not [*tmp_path.iterdir()]


def test_another_sweep_or_anything_else_in_the_folder_is_refused(
    command: Command, tmp_path: Path
) -> None:
    assert command(LINE).code == 0
    assert_refused(command(f"{LINE} --seeds 3"), "out holds another sweep")
    assert_refused(command(f"{LINE} --set learner.lanes=4"), "out holds another sweep")
    document = (tmp_path / "out/sweep.json").read_text()
    (tmp_path / "out/sweep.json").write_text(document.replace("l2rl", "l3rl"))
    assert_refused(command(LINE), "altered")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("x")
    assert_refused(command(LINE.replace("out out", "out mine")), "it holds no sweep")


def test_a_preset_that_has_changed_since_is_noticed(command: Command, tmp_path: Path) -> None:
    """Names are of what was asked, so they would be the same."""
    assert command(LINE).code == 0
    path = tmp_path / "out/sweep.json"
    document = json.loads(path.read_text())
    del document["checksum"], document["jobs"][1]["settings"]["learner"]["unroll"]  # it came later
    path.write_text(json.dumps(document))
    assert command(LINE).code == 0
    document["jobs"][1]["settings"]["learner"]["epochs"] = 7
    path.write_text(json.dumps(document))
    assert_refused(command(LINE), "learner.epochs: 7 →")


def test_sweepers_that_start_at_once_wait_for_each_other(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One writes what is to be done while the other looks."""
    create, times = module._create, [0]

    def first_busy(*what: Any) -> None:
        times[0] += 1
        if times[0] == 1:
            raise module.InUse("out is in use")
        create(*what)

    monkeypatch.setattr(module, "_create", first_busy)
    assert command(LINE).code == 0 and times == [2]


def test_the_queue_and_the_plan_agree(command: Command, tmp_path: Path) -> None:
    command(LINE)
    names = [job.name for job in module.read_jobs(tmp_path / "out")]
    assert not Queue(tmp_path / "out", names, 1).due()
