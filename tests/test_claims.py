"""Claims: one owner at a time, and a dead one keeps nothing."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from reinstate.sweeps import claims
from reinstate.sweeps.claims import SILENT, Claim, claim, claimed, claimed_by, is_claimed

POSIX = pytest.mark.skipif(os.name == "nt", reason="there, only heartbeats tell")


@pytest.fixture(scope="module")
def dead() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def make(folder: Path, name: str = "job", worker: str = "w") -> Claim:
    made = claim(folder, name, worker)
    assert made is not None
    return made


def alter(held: Claim, **said: Any) -> None:
    """Let a claim say something else of its owner."""
    content = json.loads(held.path.read_text())
    held.path.write_text(json.dumps({**content, **said}))


def fall_silent(held: Claim, seconds: float) -> None:
    now = held.path.stat().st_mtime
    os.utime(held.path, (now - seconds, now - seconds))


def test_what_is_claimed_is_given_to_nobody_else_until_it_is_given_back(tmp_path: Path) -> None:
    held = make(tmp_path)
    assert held.holds and is_claimed(tmp_path, "job") and is_claimed(tmp_path, "job", here=True)
    assert claim(tmp_path, "job", "other") is None
    assert claim(tmp_path, "another", "other") is not None
    assert claimed_by(tmp_path, "w") == ["job"] and claimed(tmp_path) == {"job", "another"}
    held.release()
    assert not is_claimed(tmp_path, "job") and make(tmp_path, worker="other").number == 0


def test_names_that_begin_alike_are_different(tmp_path: Path) -> None:
    make(tmp_path, "job.1")
    assert make(tmp_path, "job").number == 0


@POSIX
def test_a_dead_owner_keeps_nothing(tmp_path: Path, dead: int) -> None:
    first = make(tmp_path)
    alter(first, pid=dead)
    assert not is_claimed(tmp_path, "job")
    second = make(tmp_path, worker="other")
    assert second.number == 1 and second.holds and not first.holds
    first.release()  # of which nothing comes
    assert second.holds
    second.release()
    assert claimed(tmp_path) == set()


@POSIX
def test_where_the_system_does_not_tell_when_a_process_began(tmp_path: Path, dead: int) -> None:
    held = make(tmp_path)
    alter(held, born=None)
    assert is_claimed(tmp_path, "job")
    alter(held, born=None, pid=dead)
    assert not is_claimed(tmp_path, "job")


@POSIX
def test_another_process_of_the_same_number_is_no_owner(tmp_path: Path) -> None:
    held = make(tmp_path)
    if json.loads(held.path.read_text())["born"] is None:
        pytest.skip("the system does not tell when processes were started")
    alter(held, born="1")
    assert not is_claimed(tmp_path, "job")


def test_elsewhere_the_heartbeat_tells(tmp_path: Path, dead: int) -> None:
    held = make(tmp_path)
    alter(held, place="another machine", pid=dead)
    assert is_claimed(tmp_path, "job") and not is_claimed(tmp_path, "job", here=True)
    fall_silent(held, SILENT - 20)
    assert claim(tmp_path, "job", "other") is None
    fall_silent(held, 40)
    assert not is_claimed(tmp_path, "job") and claim(tmp_path, "job", "other")


def test_a_heartbeat_keeps_a_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "BEAT", 0.01)
    held = make(tmp_path)
    alter(held, place="another machine")
    fall_silent(held, 2 * SILENT)
    beats = threading.Event()
    beat = Claim.beat

    def noticed(self: Claim) -> None:
        beat(self)
        beats.set()

    monkeypatch.setattr(Claim, "beat", noticed)
    with claims.beating(held):
        assert beats.wait(10)
    assert is_claimed(tmp_path, "job")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"pid": "x"}', "\xff"])
def test_what_cannot_be_read_counts_until_it_is_old(tmp_path: Path, content: str) -> None:
    """It may be of a file system on which it is not whole at once."""
    held = make(tmp_path)
    held.path.write_text(content, encoding="latin-1")
    assert is_claimed(tmp_path, "job") and not held.holds
    fall_silent(held, 2 * SILENT)
    assert make(tmp_path).number == 1


@POSIX
def test_of_many_one_takes_over(tmp_path: Path, dead: int) -> None:
    alter(make(tmp_path), pid=dead)
    with ThreadPoolExecutor(16) as pool:
        found = [*pool.map(lambda n: claim(tmp_path, "job", str(n)), range(64))]
    assert sum(each is not None for each in found) == 1


@POSIX
def test_who_comes_late_gets_nothing(
    tmp_path: Path, dead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between a look at a dead owner and a claim, another took over, gave back, and a third has it.

    The number after the dead owner's is free again then.
    """
    alter(make(tmp_path), pid=dead)
    create = claims._create

    def late(made: Claim, worker: str) -> bool:
        monkeypatch.setattr(claims, "_create", create)
        make(tmp_path, worker="second").release()
        assert make(tmp_path, worker="third").number == 0
        return create(made, worker)

    monkeypatch.setattr(claims, "_create", late)
    assert claim(tmp_path, "job", "late") is None
    assert claimed_by(tmp_path, "third") == ["job"]


def test_without_links_files_are_exclusive_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*paths: Any) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    held = make(tmp_path)
    assert held.holds and not claims._create(held, "other")
    assert [path.name for path in tmp_path.iterdir()] == ["job.0.claim"]
