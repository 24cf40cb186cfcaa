"""The verb `sweep`: what it says before and after the work, which is pretended here."""

import json
from pathlib import Path

import pytest

from reinstate.cli import sweep as verb
from reinstate.runs import sweep as module
from reinstate.runs.engines import Engine, Job
from spoken import Command, assert_refused

LINE = "sweep --experiments barcode-bandits --agents l2rl --seeds 2 --seeds-per-run 1 --out out"


class Pretended:
    """A run that is done at once, if nothing is wrong with it."""

    def __init__(self, error: str | None) -> None:
        self.error = error

    def ended(self) -> str | None:
        return self.error

    def stop(self) -> None:
        self.error = "stopped"


@pytest.fixture(autouse=True)
def bad(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Do no run in earnest; let those fail whose names hold a word of the list returned."""
    words: list[str] = []

    def begin(job: Job, folder: Path) -> Pretended:
        if any(word in job.name for word in words):
            return Pretended("alas")
        run = job.run(folder)
        run.path.mkdir(parents=True, exist_ok=True)
        run.write_metrics([{"epoch": 1, "steps": 3, "seconds": 1.0, "reward": [1.0]}])
        run.evaluation_path.write_text('{"reward": {"per_seed": [1.0]}}')
        return Pretended("")

    monkeypatch.setattr(Engine, "start", lambda self, folder: begin)
    monkeypatch.setattr("reinstate.runs.size.require_room", lambda *what, **how: None)
    monkeypatch.setattr(module, "check", lambda kind, value, path: value)
    monkeypatch.setattr(verb, "write_page", lambda runs, out: out.write_text("page"))
    monkeypatch.setattr(verb, "require_page", lambda out: None)
    monkeypatch.setattr(module, "PAUSE", 0.001)
    return words


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
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("out/runs/*/*")}
    again = command(LINE)
    assert again.code == 0 and "2 of 2 runs were done before" in again.err
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("out/runs/*/*")} == before


def test_what_failed_is_told_at_the_end(command: Command, bad: list[str], tmp_path: Path) -> None:
    bad.append("seed1")
    said = command(LINE)
    assert said.code == 2 and "failed" in said.out
    assert "1 of 2 runs failed, the last with: alas" in said.err.splitlines()[-1]
    assert "alas" in (tmp_path / "out/sweep.csv").read_text()
    bad.clear()
    assert command(LINE).code == 0
    assert "alas" not in (tmp_path / "out/sweep.csv").read_text()


def test_what_others_are_at_is_told(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_is_free", lambda job, folder: False)
    said = command(LINE)
    assert said.code == 0 and "2 runs are under way elsewhere" in said.out


@pytest.mark.parametrize(
    ("more", "message"),
    [
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
