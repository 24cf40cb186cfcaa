"""Files: whole whatever happens, read with care; one process per folder."""

import ast
import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stubbed
from reinstate.cli import main
from reinstate.errors import Damaged, UserError
from reinstate.files import (
    LARGEST,
    LARGEST_LINES,
    LOCK,
    InUse,
    append_line,
    checksum_of,
    locked,
    new_folder,
    read_arrays,
    read_bytes,
    read_json,
    read_lines,
    write_atomically,
    write_document,
    write_json,
)
from tiny import contents

ROOT = Path(__file__).parents[1]


def raise_full(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_write_atomically(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    assert contents(tmp_path) == {str(path): b"two"}


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("there", [True, False])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, there: bool
) -> None:
    path = tmp_path / "file"
    if there:
        write_atomically(path, b"old")
    monkeypatch.setattr(os, step, raise_full)
    with pytest.raises(UserError, match=f"cannot write {path}: No space left on device"):
        write_atomically(path, b"new")
    assert contents(tmp_path) == ({str(path): b"old"} if there else {})


def written(tmp_path: Path, value: Any) -> str:
    write_json(tmp_path / "x.json", value)
    return (tmp_path / "x.json").read_text()


Whole = st.integers(-(2**63), 2**63)
Leaf = st.none() | st.booleans() | Whole | st.floats(allow_nan=False, allow_infinity=False)
Text = st.text('[],\n 1"\\{}:e-.γ', max_size=12)
Json = st.recursive(
    Leaf | Text,
    lambda part: st.lists(part, max_size=4) | st.dictionaries(Text, part, max_size=3),
    max_leaves=20,
)


@given(value=Json)
def test_what_is_written_reads_back(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    """To the last digit: results are judged again from their files."""
    path = tmp_path_factory.getbasetemp() / "any.json"
    write_json(path, value)
    assert read_json(path) == value
    assert json.dumps(read_json(path)) == json.dumps(value)  # 1 is not 1.0, nor True


def test_recorded_results_keep_their_bytes(tmp_path: Path) -> None:
    """Rewriting a file changes nothing but what was changed in it."""
    path = Path(__file__).parents[1] / "results/multiverse/two-step.json"
    assert written(tmp_path, read_json(path)) == path.read_text()


BAD = ["", "{", "[NaN]", "[1e999]", f"[{'1' * 5000}]", '"\\ud800"', "[" * 100_000]


@pytest.mark.parametrize("content", [*BAD, "\xff", None], ids=lambda text: repr(text)[:12])
def test_what_is_no_json_is_one_line(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "x.json"
    if content is not None:
        path.write_bytes(content.encode("latin-1"))
    with pytest.raises(UserError, match=f"{path} (cannot be read: |does not exist)") as caught:
        read_json(path)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def arrays_of(path: Path) -> Any:
    return read_arrays(path, "restore it")


READERS: tuple[Callable[[Path], Any], ...] = (read_bytes, read_json, read_lines, arrays_of)


@pytest.mark.parametrize("read", READERS)
def test_what_is_no_file_is_refused(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    with pytest.raises(UserError, match="cannot be read: it is a folder"):
        read(tmp_path)
    with pytest.raises(UserError, match=r"cannot be read|does not exist"):
        read(Path("nu\0ll"))
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")  # and is not waited for
        with pytest.raises(UserError, match="cannot be read: it is no regular file"):
            read(tmp_path / "pipe")


@pytest.mark.parametrize(("read", "limit"), [(read_json, LARGEST), (read_lines, LARGEST_LINES)])
def test_what_is_too_large_is_not_read(
    tmp_path: Path, read: Callable[[Path], Any], limit: int
) -> None:
    with open(tmp_path / "x.json", "wb") as file:
        file.truncate(limit + 1)  # takes no room
    with pytest.raises(UserError, match=f"it is larger than {limit / 1e6:,.0f} MB"):
        read(tmp_path / "x.json")


DOCUMENT = {"reward": {"mean": 0.1, "seeds": [1, 2]}, "command": "reinstate …", "none": None}


def test_a_document_says_if_it_was_altered(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    write_document(path, DOCUMENT)
    assert read_json(path) == DOCUMENT
    found = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(found.items())), indent=4))  # laid out otherwise
    assert read_json(path) == DOCUMENT
    write_document(path, json.loads(path.read_text()))  # its old checksum does not count
    assert read_json(path) == DOCUMENT
    altered = path.read_text().replace("0.1", "0.2")
    path.write_text(altered)
    with pytest.raises(Damaged, match=r"results\.json was altered since it was written"):
        read_json(path)
    without = {n: value for n, value in json.loads(altered).items() if n != "checksum"}
    path.write_text(json.dumps(without))
    assert read_json(path)["reward"]["mean"] == 0.2  # as the message says


def test_arrays_are_told_apart_by_names_types_shapes_and_bits() -> None:
    zeros = np.zeros(4, np.float32)
    others: list[dict[str, np.ndarray]] = [
        {"a": zeros},
        {"b": zeros},
        {"a": zeros.astype(np.int32)},
        {"a": zeros.reshape(2, 2)},
        {"a": -zeros},
        {"a": zeros[:2], "b": zeros[2:]},
    ]
    assert len({checksum_of(each) for each in others}) == len(others)
    assert checksum_of({"a": zeros, "b": zeros}) == checksum_of({"b": zeros, "a": zeros})
    assert checksum_of({"a": np.eye(3).T}) == checksum_of({"a": np.eye(3)})


def test_half_a_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    for epoch in (1, 2):
        append_line(path, {"epoch": epoch})
    with open(path, "ab") as file:
        file.write(b'\n\xff\n{"epoch": 3')
    assert read_lines(path) == [{"epoch": 1}, {"epoch": 2}]


HOLD = """
import sys
from pathlib import Path
from reinstate.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def holding(program: str, *words: str) -> Iterator["subprocess.Popen[str]"]:
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


def hold(folder: Path) -> None:
    with locked(folder):
        pass


def test_another_process_is_refused_until_the_first_one_dies(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with holding(HOLD, str(folder)) as process:
        with pytest.raises(InUse, match=f"{folder} is in use by another process: wait until"):
            hold(folder)
        assert [path.name for path in folder.iterdir()] == [LOCK]
        process.kill()
        process.wait()
        with locked(folder):
            write_atomically(folder / "file", b"")
    assert [path.name for path in folder.iterdir()] == ["file"]


def test_another_thread_is_refused(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        with locked(tmp_path):
            hold(tmp_path / "." / ".." / tmp_path.name)  # who holds a folder may hold it again
            with pytest.raises(InUse):
                pool.submit(hold, tmp_path).result()
        pool.submit(hold, tmp_path).result()
    assert not (tmp_path / LOCK).exists()


def test_a_folder_goes_again_if_nothing_was_put_into_it(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "above" / "run"):
        _ = 1 / 0
    assert not [*tmp_path.iterdir()]
    with locked(tmp_path / "above" / "run"):
        write_atomically(tmp_path / "above" / "file", b"")
    assert [*tmp_path.rglob("*")] == [tmp_path / "above", tmp_path / "above" / "file"]


OURS = (".config.json.1.tmp", "checkpoints/.epoch-1.safetensors.23.tmp", "milestones/.x.4.tmp")
THEIRS = ("a.1.tmp", ".a.tmp", ".a.b.tmp", ".a.1.tmp.gz", "own/.a.1.tmp", "checkpoints/a.tmp")


def test_only_what_a_killed_process_was_writing_is_removed(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    for path in (*(folder / name for name in (*OURS, *THEIRS)), elsewhere / ".a.1.tmp"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)
    if os.name != "nt":
        (elsewhere / "run").mkdir()
        (elsewhere / "run" / "checkpoints").symlink_to(elsewhere)
        hold(elsewhere / "run")
    hold(folder)
    assert sorted(contents(folder)) == sorted(str(folder / name) for name in THEIRS)
    assert (elsewhere / ".a.1.tmp").exists()


def test_a_new_folder_appears_with_all_its_files(tmp_path: Path) -> None:
    out = tmp_path / "above" / "fit"
    (out / "checkpoints").mkdir(parents=True)
    for name in (LOCK, ".fit.json.1.tmp"):  # a killed process left them
        (out / name).write_text("")
    with new_folder(out, "choose another --out") as place:
        write_atomically(place / "one", b"1")
        write_atomically(place / "two", b"2")
        assert not (out / "one").exists()
    assert contents(tmp_path) == {str(out / "one"): b"1", str(out / "two"): b"2"}
    with (
        pytest.raises(UserError, match="not empty: choose another"),
        new_folder(out, "choose another"),
    ):
        pass
    assert len(contents(out)) == 2


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_new_folder_that_fails_leaves_nothing(tmp_path: Path, error: BaseException) -> None:
    with pytest.raises(type(error)), new_folder(tmp_path / "above" / "fit", "") as place:
        write_atomically(place / "one", b"1")
        raise error
    assert not [*tmp_path.iterdir()]


def test_a_folder_that_somebody_fills_or_holds_is_not_replaced(tmp_path: Path) -> None:
    out = tmp_path / "fit"
    with pytest.raises(UserError, match="empty: choose"), new_folder(out, "choose another"):
        write_atomically(out / "theirs", b"theirs")
    assert contents(out) == {str(out / "theirs"): b"theirs"}
    (out / "theirs").unlink()
    with pytest.raises(InUse), holding(HOLD, str(out)), new_folder(out, "choose another"):
        pass


def test_a_command_leaves_a_folder_alone_that_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stubbed.install(monkeypatch.setattr)
    monkeypatch.chdir(tmp_path)
    line = stubbed.LINES["train"].split()
    assert main(line) == 0
    before = contents(tmp_path)
    with holding(HOLD, "out"):
        for words in (line, [*line, "--resume"]):
            capsys.readouterr()
            assert main(words) == 2
            assert "in use by another process" in capsys.readouterr().err
    assert main([*line, "--resume"]) == 0 and contents(tmp_path) == before


def opened_without_encoding(source: str) -> list[int]:
    """Lines that open a text file in whatever encoding the system prefers."""
    found = []
    for call in [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]:
        text = getattr(call.func, "attr", "") in ("read_text", "write_text")
        if isinstance(call.func, ast.Name) and call.func.id == "open":
            text = not any("b" in ast.unparse(mode) for mode in call.args[1:])
        if text and not any(word.arg == "encoding" for word in call.keywords):
            found.append(call.lineno)
    return found


def test_text_is_utf8_on_every_system() -> None:
    """Windows would open it in its code page. Tests may: they run with `python -X utf8` there."""
    assert opened_without_encoding('open(p)\np.read_text()\nopen(p, "ab")') == [1, 2]
    folders = ("src", "docs/_ext", "checks", "benchmarks", "examples")
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        assert opened_without_encoding(path.read_text(encoding="utf-8")) == [], path
