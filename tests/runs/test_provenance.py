"""Which commit this is; and a stranger's repository, whose settings would start programs."""

import os
import subprocess
from pathlib import Path

import pytest

from reinstate.runs import provenance
from reinstate.runs.provenance import _commit_of, commit

SCRIPTS = pytest.mark.skipif(os.name == "nt", reason="Windows starts no scripts of a shell")
FILE = Path("src", "reinstate", "runs", "provenance.py")


def git(folder: Path, *words: str) -> str:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder)}
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    done = subprocess.run(
        ["git", *who, *words],
        cwd=folder,
        env={**os.environ, **own},
        check=True,
        capture_output=True,
    )
    return done.stdout.decode().strip()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A repository with the file of that module, committed."""
    root = tmp_path / "source"
    (root / FILE).parent.mkdir(parents=True)
    (root / FILE).write_text("as it was\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


def found(root: Path) -> str | None:
    return _commit_of(root, root / FILE)


def test_a_commit_is_marked_where_files_have_changed(source: Path) -> None:
    head = git(source, "rev-parse", "HEAD")
    assert found(source) == head
    (source / "notes.txt").write_text("nobody asked for these")
    (source / FILE).touch()  # the same content at another time
    assert found(source) == head
    (source / FILE).write_text("as it is\n")
    assert found(source) == f"{head}+changes"
    git(source, "commit", "-q", "-a", "-m", "second")
    assert found(source) == git(source, "rev-parse", "HEAD") != head


def test_branches_that_are_packed_detached_or_checked_out_twice(source: Path) -> None:
    head = git(source, "rev-parse", "HEAD")
    git(source, "pack-refs", "--all")
    git(source, "gc", "-q")
    assert not (source / ".git" / "refs" / "heads" / "main").exists()
    assert found(source) == head
    git(source, "worktree", "add", "-q", "-b", "other", str(source.with_name("second")))
    assert (source.with_name("second") / ".git").is_file()
    assert found(source.with_name("second")) == head
    git(source, "checkout", "-q", "--detach")
    assert found(source) == head


@SCRIPTS
def test_no_program_of_a_repository_is_started(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = source.with_name("ran")
    program = source.with_name("program")
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    program.chmod(0o755)
    head = git(source, "rev-parse", "HEAD")
    for name in ("core.fsmonitor", "core.pager", "diff.external", "filter.x.clean", "core.editor"):
        git(source, "config", name, str(program))
    git(source, "config", "core.hooksPath", str(program.parent))
    (source / ".git" / "info" / "attributes").write_text("* filter=x diff=x\n")
    (source / ".gitattributes").write_text("* filter=x\n")
    (source / FILE).write_text("as it is\n")
    git(source, "status")
    assert ran.exists(), "the settings of this test start no program"
    ran.unlink()
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(program))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(program))
    assert found(source) == f"{head}+changes"
    assert not ran.exists()


def test_where_git_points_by_the_environment_does_not_matter(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = git(source, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "elsewhere" / "index"))
    assert found(source) == head


def test_a_copy_inside_somebody_elses_repository_is_not_asked(source: Path) -> None:
    copy = source / "lib" / "site"
    (copy / FILE).parent.mkdir(parents=True)
    (copy / FILE).write_text("installed\n")
    assert found(copy) is None  # it has no history of its own
    (source / "other.py").write_text("installed here, and not committed\n")
    assert _commit_of(source, source / "other.py") is None


@SCRIPTS
def test_a_git_that_does_not_answer_is_given_up(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    monkeypatch.setattr(provenance, "PATIENCE", 0.1)
    assert found(source) is None


@pytest.mark.parametrize("head", ["ref: refs/../../x", "ref: refs/heads/none", "\xff", ""])
def test_a_damaged_repository_has_no_commit(source: Path, head: str) -> None:
    (source / ".git" / "HEAD").write_bytes(head.encode("latin-1"))
    assert found(source) is None


def test_without_history_the_environment_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance, "SOURCE", tmp_path)
    monkeypatch.delenv("REINSTATE_COMMIT", raising=False)
    assert commit() is None
    monkeypatch.setenv("REINSTATE_COMMIT", "abc")
    assert commit() == "abc"
