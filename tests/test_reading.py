"""Files that may be anybody's: regular, of bounded size, inside the folder named, unaltered."""

import faulthandler
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reinstate.errors import Damaged, UserError
from reinstate.files import (
    append_line,
    checksum_of,
    flush,
    read_arrays,
    read_bytes,
    read_json,
    read_lines,
    write_arrays,
    write_document,
)
from reinstate.files.documents import DEEPEST, LARGEST_LINES
from reinstate.files.reading import LARGEST

pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
links = pytest.mark.skipif(os.name == "nt", reason="links need rights there")


def arrays_of(path: Path) -> Any:
    return read_arrays(path, "restore it")


READERS: tuple[Callable[[Path], Any], ...] = (read_bytes, read_json, read_lines, arrays_of)


@pytest.fixture
def impatience() -> Iterator[None]:
    """Let a test that waits for ever fail instead."""

    def give_up(*_: Any) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(20)
    faulthandler.dump_traceback_later(60, exit=True)  # where no signal gets through
    yield
    faulthandler.cancel_dump_traceback_later()
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pipes
@pytest.mark.usefixtures("impatience")
@pytest.mark.parametrize("read", READERS)
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    os.mkfifo(tmp_path / "x.json")
    with pytest.raises(UserError, match=r"x\.json cannot be read.*it is no regular file"):
        read(tmp_path / "x.json")


@pytest.mark.parametrize("read", READERS)
def test_a_folder_is_refused(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read(tmp_path)


@pytest.mark.parametrize(("read", "limit"), [(read_json, LARGEST), (read_lines, LARGEST_LINES)])
def test_what_is_too_large_is_not_read(
    tmp_path: Path, read: Callable[[Path], Any], limit: int
) -> None:
    with open(tmp_path / "x.json", "wb") as file:
        file.truncate(limit + 1)  # takes no room
    with pytest.raises(UserError, match=f"it is larger than {limit / 1e6:,.0f} MB"):
        read(tmp_path / "x.json")


def test_sizes_are_bounded_to_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_bytes(path, limit=5) == b"12345"
    with pytest.raises(UserError, match="larger than"):
        read_bytes(path, limit=4)
    write_arrays(path, {"a": np.zeros(100)})
    with pytest.raises(UserError, match="larger than"):
        read_arrays(path, "restore it", limit=800)
    assert read_arrays(path, "restore it", limit=1000)[0]["a"].shape == (100,)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="there is no such file")
def test_a_file_that_hides_its_size_is_bounded_too() -> None:
    path = Path("/proc/self/status")
    assert path.stat().st_size == 0
    with pytest.raises(UserError, match="larger than"):
        read_bytes(path, limit=10)


@links
@pytest.mark.parametrize("read", [read_bytes, read_json, read_lines])
def test_links_lead_nowhere_else(tmp_path: Path, read: Callable[..., Any]) -> None:
    folder = tmp_path / "run"
    (folder / "inner").mkdir(parents=True)
    for place in (tmp_path, folder):
        (place / "secret.json").write_text("1")
    (folder / "out.json").symlink_to(tmp_path / "secret.json")
    (folder / "up.json").symlink_to("../secret.json")
    (folder / "elsewhere").symlink_to(tmp_path)
    (folder / "inner" / "within.json").symlink_to(folder / "secret.json")
    for name in ("out.json", "up.json", "elsewhere/secret.json", "../secret.json"):
        with pytest.raises(UserError, match="leads out of"):
            read(folder / name, inside=folder)
    assert read(folder / "inner" / "within.json", inside=folder) == read(folder / "secret.json")


def nested(depth: int) -> bytes:
    outer, inner = depth // 2, depth - depth // 2
    return b'{"a":' * outer + b"[" * inner + b"]" * inner + b"}" * outer


def test_json_is_bounded_in_depth(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(nested(DEEPEST))
    assert read_json(path)
    for depth in (DEEPEST + 1, 100_000):
        path.write_bytes(nested(depth))
        with pytest.raises(UserError, match=f"nested more than {DEEPEST} deep"):
            read_json(path)
        assert read_lines(path) == []
    path.write_bytes(b"[" + b"[]," * 1000 + b"0]")  # many, but not within each other
    assert len(read_json(path)) == 1001


@pytest.mark.parametrize("digits", [str(2**64), str(-(2**63) - 1), "1" * 5000], ids=len)
def test_whole_numbers_fit_64_bits(tmp_path: Path, digits: str) -> None:
    (tmp_path / "x.json").write_text(f"[{digits}]")
    with pytest.raises(UserError, match="a number is too large"):
        read_json(tmp_path / "x.json")


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


def test_every_digit_of_a_document_counts(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    write_document(path, DOCUMENT)
    content = path.read_bytes()
    for at in (at for at, byte in enumerate(content) if chr(byte) in "0123456789abcdef"):
        for flipped in (content[at] ^ 1, content[at] ^ 4):
            path.write_bytes(content[:at] + bytes([flipped]) + content[at + 1 :])
            try:
                assert read_json(path) != DOCUMENT, at  # no longer a checksum's name
            except UserError:
                continue


def test_arrays_are_told_apart_by_names_types_shapes_and_bits() -> None:
    zeros = np.zeros(4, np.float32)
    others: list[dict[str, np.ndarray]] = [
        {"a": zeros},
        {"b": zeros},
        {"a": zeros.astype(np.int32)},
        {"a": zeros.reshape(2, 2)},
        {"a": -zeros},
        {"a": zeros, "b": np.zeros(0)},
        {"a": zeros[:2], "b": zeros[2:]},
    ]
    assert len({checksum_of(each) for each in others}) == len(others)
    assert checksum_of({"a": zeros, "b": zeros}) == checksum_of({"b": zeros, "a": zeros})
    assert checksum_of({"a": np.eye(3).T}) == checksum_of({"a": np.eye(3)})


def test_half_a_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    for epoch in (1, 2):
        append_line(path, {"epoch": epoch})
    flush(path)
    with open(path, "ab") as file:
        file.write(b'\n\xff\n{"epoch": 3')
    assert read_lines(path) == [{"epoch": 1}, {"epoch": 2}]
