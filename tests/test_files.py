"""Files: whole whatever happens; JSON that people can read, and that reads back as it was."""

import ast
import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reinstate.errors import UserError
from reinstate.files import read_json, write_atomically, write_json
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


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "file"
    write_atomically(path, b"old")
    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"new")
    assert contents(tmp_path) == {str(path): b"old"}


def written(tmp_path: Path, value: Any) -> str:
    write_json(tmp_path / "x.json", value)
    return (tmp_path / "x.json").read_text()


def test_lists_of_numbers_stand_on_one_line(tmp_path: Path) -> None:
    value = {
        "seeds": [0, 1, 2],
        "exponents": [1e-09, -2.5e22, 3.0],
        "gaps": [None, 0.25, None],
        "one": [7],
        "none": [],
        "nested": [[1.5, 2.5], [3.5, None]],
        "words": ["a", "b"],
        "mixed": [1, "b"],
        "flags": [True, 0],
    }
    assert (
        written(tmp_path, value)
        == """\
{
 "seeds": [0, 1, 2],
 "exponents": [1e-09, -2.5e+22, 3.0],
 "gaps": [null, 0.25, null],
 "one": [7],
 "none": [],
 "nested": [
  [1.5, 2.5],
  [3.5, null]
 ],
 "words": [
  "a",
  "b"
 ],
 "mixed": [
  1,
  "b"
 ],
 "flags": [
  true,
  0
 ]
}
"""
    )


TEXTS = ["[\n 1,\n 2\n ]", "[1, 2]", "a\n  b", '"\n 1', "[", "]\n", "1,\n 2", "\\n 1"]


@pytest.mark.parametrize("text", TEXTS)
def test_text_that_looks_like_a_list_stays_text(tmp_path: Path, text: str) -> None:
    value = {text: [text, 1, {"inner": [text]}], "numbers": [1, 2]}
    assert '"numbers": [1, 2]\n' in written(tmp_path, value)
    assert read_json(tmp_path / "x.json") == value


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
    path = Path(__file__).parents[1] / "results/replicate/summary.json"
    assert written(tmp_path, read_json(path)) == path.read_text()


@pytest.mark.parametrize(
    ("content", "message"), [("{", "cannot be read"), ("\xff", "cannot be read"), (None, "exist")]
)
def test_what_cannot_be_read_is_one_line(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "x.json"
    if content is not None:
        path.write_bytes(content.encode("latin-1"))
    with pytest.raises(UserError, match=message) as caught:
        read_json(path)
    assert "\n" not in str(caught.value)


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
