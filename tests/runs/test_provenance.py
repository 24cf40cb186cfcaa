"""Which commit this is."""

import os
import subprocess
from pathlib import Path

import pytest

from reinstate.runs import provenance
from reinstate.runs.provenance import commit

FILE = Path("src", "reinstate", "runs", "provenance.py")


def git(folder: Path, *words: str) -> str:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder)}
    done = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words],
        cwd=folder,
        env={**os.environ, **own},
        check=True,
        capture_output=True,
    )
    return done.stdout.decode().strip()


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the file of that module, committed."""
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_text("as it was\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    monkeypatch.setattr(provenance, "SOURCE", tmp_path)
    monkeypatch.delenv("REINSTATE_COMMIT", raising=False)
    return tmp_path


def test_a_commit_is_marked_where_files_have_changed(source: Path) -> None:
    head = git(source, "rev-parse", "HEAD")
    assert commit() == head
    (source / "notes.txt").write_text("nobody asked for these")
    (source / FILE).touch()  # the same content at another time
    assert commit() == head
    (source / FILE).write_text("as it is\n")
    assert commit() == f"{head}+changes"


@pytest.mark.parametrize("broken", ["no history", "no git"])
def test_without_history_the_environment_says_it(
    source: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    if broken == "no git":
        monkeypatch.setenv("PATH", str(source))
    else:
        (source / ".git").rename(source / "gone")
    assert commit() is None
    monkeypatch.setenv("REINSTATE_COMMIT", "abc")
    assert commit() == "abc"
