"""Sweeps in earnest, small ones: jobs are processes, runs are trained and judged."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from reinstate.runs.run import Run
from spoken import Command
from tiny import OPTIONS

SETTINGS = re.sub(r"--(\S+) (\S+)", r"\1=\2", re.sub("--set |--seeds 2 ", "", OPTIONS))
LINE = f"sweep --experiments barcode-bandits --agents epl2rl --seeds 2 --out out --set {SETTINGS}"


@pytest.fixture(autouse=True)
def paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers find what this process imports."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))


def test_processes_of_this_machine(command: Command, tmp_path: Path) -> None:
    said = command(LINE)
    assert said.code == 0, said.err
    (run,) = (tmp_path / "out/runs").iterdir()
    assert len(Run(run).read_metrics()) == 4 and Run(run).evaluation_path.exists()
    assert len((tmp_path / "out/sweep.csv").read_text().splitlines()) == 3
    again = command(LINE)
    assert again.code == 0 and "1 of 1 runs were done before" in again.err


def test_jobs_of_submitit(tmp_path: Path) -> None:
    """In a process of its own: submitit takes hold of standard output as it is imported."""
    if not find_spec("submitit"):
        pytest.skip("submitit is not installed")
    words = [sys.executable, "-m", "reinstate", *LINE.split(), "--executor", "submitit"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [*tmp_path.glob("out/submitit/*_result.pkl")] and "report.html" in done.stdout


@pytest.mark.filterwarnings("ignore")
def test_jobs_of_a_ray_cluster(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    said = command(f"{LINE} --executor ray")
    assert said.code == 0, said.err
    assert "report.html" in said.out
