"""Workflows for a host of repositories, which cannot run here: they parse, and call what exists."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
QUICKSTART = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")


def jobs_of(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]


def lines_of(job: dict[str, Any]) -> list[str]:
    """What a job tells the shell, line by line."""
    return [line for step in job.get("steps", []) for line in step.get("run", "").splitlines()]


def test_there_are_workflows_for_tests_pages_and_releases() -> None:
    assert [path.stem for path in FILES] == ["docs", "release", "tests"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_jobs_call_what_exists(path: Path) -> None:
    jobs = jobs_of(path)
    for job in jobs.values():
        assert {*[job["needs"]]} <= jobs.keys() if "needs" in job else True
        assert (ROOT / job["uses"]).exists() if "uses" in job else job["runs-on"]
        for step in job.get("steps", []):
            assert ("run" in step) != ("uses" in step)
            assert "@" in step.get("uses", "@")  # of a fixed version
    for line in (line for job in jobs.values() for line in lines_of(job)):
        if line.startswith("make "):
            assert re.search(rf"^{line.removeprefix('make ')}:", MAKEFILE, re.MULTILINE), line


def test_windows_does_what_the_quickstart_says() -> None:
    lines = lines_of(jobs_of(ROOT / ".github/workflows/tests.yml")["windows"])
    assert len(lines) == 6
    for line in (r".venv\Scripts\activate", "reinstate reproduce barcode-bandits"):
        assert line in lines and line in QUICKSTART


def test_the_wheel_is_tried_here_and_there() -> None:
    assert "make test-wheel" in (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert "make test-wheel" in lines_of(jobs_of(ROOT / ".github/workflows/tests.yml")["checks"])


def test_every_python_is_tested_that_the_package_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    jobs = jobs_of(ROOT / ".github/workflows/tests.yml")
    for name in ("make", "windows"):
        assert jobs[name]["strategy"]["matrix"]["python"] == named


def test_only_jobs_that_publish_may_ask_for_an_identity() -> None:
    asking = {
        (path.stem, name)
        for path in FILES
        for name, job in jobs_of(path).items()
        if job.get("permissions", {}).get("id-token") == "write"
    }
    assert asking == {("docs", "deploy"), ("release", "publish")}
    for path in FILES:
        whole = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert whole["permissions"] == {"contents": "read"}
