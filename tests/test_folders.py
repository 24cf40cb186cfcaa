"""Folders: one process in each, nothing of others removed, all of a new one or nothing."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

import stubbed
from bits import bits, different
from reinstate.cli import main
from reinstate.errors import UserError
from reinstate.files import locked, new_folder, require_empty, write_atomically
from reinstate.files.folders import LOCK, beside, sweep_beside
from tiny import contents

posix = pytest.mark.skipif(os.name == "nt", reason="a file that is open cannot be moved or removed")
HOLD = """
import sys
from pathlib import Path
from reinstate.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""
TRAIN = """
import stubbed, sys
from reinstate.cli import main
act = stubbed.Program.__call__
def held(program, *arguments):
    print("held", flush=True)
    sys.stdin.readline()
    stubbed.Program.__call__ = act
    return act(program, *arguments)
stubbed.install()
stubbed.Program.__call__ = held
sys.exit(main(sys.argv[1:]))
"""

Process = subprocess.Popen[str]


@contextmanager
def holding(program: str, *words: str) -> Iterator[Process]:
    """A process that holds a folder until it reads a line."""
    pipes: dict[str, int] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words],
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        **pipes,  # type: ignore[call-overload]
    )
    with process:
        try:
            assert process.stdout.readline() == "held\n", process.stderr.read()
            yield process
        finally:
            process.kill()


def refused(folder: Path) -> str:
    with pytest.raises(UserError) as caught, locked(folder):
        pass
    return str(caught.value)


def test_another_process_is_refused_and_told_who_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with holding(HOLD, str(folder)) as process:
        who = f"process {process.pid} on {socket.gethostname()}"
        assert refused(folder).startswith(f"{folder} is in use by {who}: wait until that ends")
        assert [path.name for path in folder.iterdir()] == [LOCK]
        process.communicate("\n")
        with locked(folder):
            write_atomically(folder / "file", b"")
    assert [path.name for path in folder.iterdir()] == ["file"]


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with holding(HOLD, str(folder)) as process:
        process.kill()
        process.wait()
    assert json.loads((folder / LOCK).read_text())["pid"] == process.pid
    with locked(folder):
        write_atomically(folder / "file", b"")
    assert [path.name for path in folder.iterdir()] == ["file"]


def test_a_lock_without_a_name_holds_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk there may be no room for the name."""
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    with holding(HOLD, str(tmp_path)):
        (tmp_path / LOCK).write_text("")
        assert "is in use by another process: wait" in refused(tmp_path)


def test_who_holds_a_folder_may_hold_it_again(tmp_path: Path) -> None:
    with locked(tmp_path):
        with locked(tmp_path / "." / ".." / tmp_path.name):
            pass
        assert (tmp_path / LOCK).exists()  # still held
    assert not (tmp_path / LOCK).exists()


def test_another_thread_is_refused(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        with locked(tmp_path):
            said = pool.submit(refused, tmp_path).result()
        assert f"in use by process {os.getpid()} on" in said
        pool.submit(hold, tmp_path).result()


def hold(folder: Path) -> None:
    with locked(folder):
        pass


def test_a_folder_goes_again_if_nothing_was_put_into_it(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "above" / "run"):
        _ = 1 / 0
    assert contents(tmp_path) == {} and not [*tmp_path.iterdir()]
    with locked(tmp_path / "above" / "run"):
        write_atomically(tmp_path / "above" / "file", b"")
    assert [*tmp_path.rglob("*")] == [tmp_path / "above", tmp_path / "above" / "file"]


@posix
def test_a_lock_that_is_a_link_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "thesis").write_text("years of work")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / LOCK).symlink_to(tmp_path / "thesis")
    assert "cannot write" in refused(tmp_path / "run")
    assert (tmp_path / "thesis").read_text() == "years of work"


OURS = (".config.json.1.tmp", "checkpoints/.epoch-1.safetensors.23.tmp", "milestones/.x.4.tmp")
THEIRS = ("a.1.tmp", ".a.tmp", ".a.b.tmp", ".a.1.tmp.gz", "own/.a.1.tmp", "checkpoints/a.tmp")


def test_only_what_a_killed_process_was_writing_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for name in (*OURS, *THEIRS):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / ".folder.5.tmp").mkdir()
    (folder / ".folder.5.tmp" / "file").write_text("half")
    hold(folder)
    assert contents(folder) == {str(folder / name): name.encode() for name in sorted(THEIRS)}


@posix
def test_nothing_is_removed_elsewhere(tmp_path: Path) -> None:
    """Through a link that has the name of something of ours."""
    folder, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (elsewhere / ".a.1.tmp").write_text("theirs")
    (folder / "checkpoints").symlink_to(elsewhere)
    (folder / ".b.1.tmp").symlink_to(elsewhere)
    hold(folder)
    assert contents(elsewhere) == {str(elsewhere / ".a.1.tmp"): b"theirs"}
    assert not (folder / ".b.1.tmp").is_symlink()


@posix
def test_beside_a_file_only_what_the_dead_were_writing_is_removed(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    kept = [f".page.html.{os.getppid()}.tmp", f".other.html.{dead.pid}.tmp", "page.html"]
    for name in (*kept, f".page.html.{dead.pid}.tmp", f".page.html.{10**30}.tmp"):
        (tmp_path / name).write_text("")
    sweep_beside(tmp_path / "page.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)


def test_a_new_folder_appears_with_all_its_files(tmp_path: Path) -> None:
    out = tmp_path / "above" / "fit"
    with new_folder(out, "choose another --out") as place:
        write_atomically(place / "one", b"1")
        write_atomically(place / "two", b"2")
        assert not out.exists()
    assert contents(tmp_path) == {str(out / "one"): b"1", str(out / "two"): b"2"}
    with (
        pytest.raises(UserError, match="not empty: choose another"),
        new_folder(out, "choose another"),
    ):
        pass
    assert len(contents(out)) == 2


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_new_folder_that_fails_leaves_nothing(tmp_path: Path, error: BaseException) -> None:
    expected = UserError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected), new_folder(tmp_path / "above" / "fit", "") as place:
        write_atomically(place / "one", b"1")
        raise error
    assert not [*tmp_path.iterdir()]


def test_what_a_killed_process_left_gives_way_to_a_new_folder(tmp_path: Path) -> None:
    out = tmp_path / "fit"
    (out / "checkpoints").mkdir(parents=True)
    for name in (LOCK, ".fit.json.1.tmp"):
        (out / name).write_text("")
    with new_folder(out, "choose another --out") as place:
        write_atomically(place / "one", b"1")
    assert contents(tmp_path) == {str(out / "one"): b"1"}


def fill(out: Path) -> None:
    out.mkdir()
    (out / "theirs").write_text("theirs")


def test_a_folder_filled_in_the_meantime_is_not_replaced(tmp_path: Path) -> None:
    out = tmp_path / "fit"
    with (
        pytest.raises(UserError, match="empty: choose"),
        new_folder(out, "choose another") as place,
    ):
        write_atomically(place / "one", b"1")
        fill(out)
    assert contents(tmp_path) == {str(out / "theirs"): b"theirs"}


def test_a_folder_that_somebody_holds_is_not_replaced(tmp_path: Path) -> None:
    out = tmp_path / "fit"
    with (
        pytest.raises(UserError, match="in use by process"),
        holding(HOLD, str(out)),
        new_folder(out, "choose another") as place,
    ):
        write_atomically(place / "one", b"1")
    assert [path.name for path in out.iterdir()] == [LOCK]


def removed(folder: Path) -> None:
    shutil.rmtree(folder)


def replaced(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def moved(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


@posix
@pytest.mark.parametrize("happen", [removed, replaced, moved])
@pytest.mark.parametrize("name", ["file", "checkpoints/file"])
def test_nothing_is_written_to_a_folder_that_was_removed(
    tmp_path: Path, happen: Callable[[Path], None], name: str
) -> None:
    """What came before would be missing in it: it could never be continued."""
    folder = tmp_path / "run"
    with locked(folder):
        write_atomically(folder / "config.json", b"")
        happen(folder)
        with pytest.raises(UserError, match="was removed or moved while it was in use: repeat"):
            write_atomically(folder / name, b"")
        assert not [*folder.glob("*")]


@posix
def test_a_folder_that_is_removed_at_the_last_moment_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"

    def mkdir(path: Path, **how: bool) -> None:
        monkeypatch.undo()
        shutil.rmtree(folder)
        path.mkdir(**how)

    with locked(folder):
        write_atomically(folder / "config.json", b"")
        monkeypatch.setattr(Path, "mkdir", mkdir)
        with pytest.raises(UserError, match="was removed or moved while it was in use: repeat"):
            write_atomically(folder / "checkpoints" / "deep" / "file", b"")
        assert not folder.exists()


@pytest.mark.parametrize("name", [LOCK, ".config.json.1.tmp", "checkpoints/.a.2.tmp"])
def test_what_a_killed_process_left_does_not_fill_a_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("")
    require_empty(tmp_path, "choose another --out")


@pytest.mark.parametrize("name", ["config.json", ".hidden", "checkpoints/epoch-00001.safetensors"])
def test_anything_else_does(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("")
    with pytest.raises(UserError, match="is not empty: choose another --out"):
        require_empty(tmp_path, "choose another --out")


def test_a_temporary_file_says_who_writes_it(tmp_path: Path) -> None:
    assert beside(tmp_path / "a.json").name == f".a.json.{os.getpid()}.tmp"


def test_of_two_processes_one_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other is told who, and changes nothing: what is learned is what one alone learns."""
    stubbed.install(monkeypatch.setattr)
    monkeypatch.chdir(tmp_path)
    line = stubbed.LINES["train"].split()
    assert main([*line[:-1], "alone"]) == 0
    with holding(TRAIN, *line) as process:
        for words in (line, [*line, "--resume"]):
            capsys.readouterr()
            assert main(words) == 2
            said = capsys.readouterr().err
            assert f"in use by process {process.pid} on {socket.gethostname()}" in said
        process.communicate("\n")
        assert process.returncode == 0
    assert not different(bits(Path("alone")), bits(Path("out")))
    assert main([*line, "--resume"]) == 0
