"""Recorded results name commits that the repository's history has."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reinstate.files import read_json

ROOT = Path(__file__).parents[1]


def git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)


def commits_in(value: Any) -> Iterator[str]:
    """Find commits anywhere in a document; `+changes` says that the working tree had changes."""
    for name, part in value.items() if isinstance(value, dict) else enumerate(value):
        if name == "commit" and isinstance(part, str):
            yield part.partition("+")[0]
        elif isinstance(part, (dict, list)):
            yield from commits_in(part)


def recorded() -> dict[str, set[str]]:
    """Map every recorded file to the commits it names."""
    files = sorted((ROOT / "results").rglob("*.json"))
    return {p.relative_to(ROOT).as_posix(): {*commits_in(read_json(p))} for p in files}


@pytest.mark.skipif(
    git("rev-parse", "--is-shallow-repository").stdout.strip() != "false",
    reason="no repository, or one without its history",
)
def test_recorded_commits_are_in_the_history() -> None:
    ancestors = {*git("rev-list", "HEAD").stdout.split()}
    missing = {file for file, commits in recorded().items() if not commits <= ancestors}
    assert sorted(missing) == []


def test_most_files_name_a_commit() -> None:
    assert sum(map(bool, recorded().values())) > 20
