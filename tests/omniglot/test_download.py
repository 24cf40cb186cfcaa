"""Downloads from a server of our own that misbehaves as asked."""

import errno
import shutil
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from omniglot.serving import Server, fetch
from omniglot.tiny_archives import CHARACTERS, refusal
from reinstate.runs.progress import Reporter
from reinstate_paper.omniglot import archives
from reinstate_paper.omniglot.archives import VARIABLE
from reinstate_paper.omniglot.download import download
from reinstate_paper.omniglot.images import load_drawings, load_one_shot_runs

pytestmark = pytest.mark.usefixtures("surroundings", "plain_http")


def test_download_brings_all(server: Server, tmp_path: Path) -> None:
    here = fetch(server, tmp_path / "new" / "folder")
    assert sorted(path.name for path in here.iterdir()) == [
        "all_runs.zip",
        "images_background.zip",
        "images_evaluation.zip",
    ]
    assert load_drawings("evaluation", here).characters == CHARACTERS
    assert len(load_one_shot_runs(here)) == 2
    assert {wanted for _, wanted in server.asked} == {None}


def test_download_goes_where_images_are_looked_for(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert download(base_url=server.address) == archives.cache_folder()
    assert load_drawings("background").characters == CHARACTERS
    told = capsys.readouterr().err
    assert f"fetching {server.address}/images_background.zip" in told
    # All is there: no word over the network.
    server.asked.clear()
    download(base_url="http://127.0.0.1:9")
    assert "there already" in capsys.readouterr().err


def broken_off(server: Server, to: Path) -> Path:
    """Three thousand bytes of an archive, left by a line that broke."""
    server.cut = 3000
    message = refusal(fetch, server, to)
    assert "broke off after 3000 of" in message and "repeat to continue" in message
    assert not (to / "images_background.zip").exists()
    server.cut = None
    server.asked.clear()
    part = to / "images_background.zip.part"
    assert part.stat().st_size == 3000
    return part


@pytest.mark.parametrize("ranges", [True, False])
def test_download_continues(server: Server, tmp_path: Path, ranges: bool) -> None:
    part = broken_off(server, tmp_path)
    server.ranges = ranges
    fetch(server, tmp_path)
    assert server.asked[0] == ("/images_background.zip", "bytes=3000-")
    original = server.folder / "images_background.zip"
    assert (tmp_path / "images_background.zip").read_bytes() == original.read_bytes()
    assert not part.exists()


@pytest.mark.parametrize("surplus", [b"", b"more than there is"])
def test_a_part_that_needs_no_more(server: Server, tmp_path: Path, surplus: bytes) -> None:
    whole = (server.folder / "images_background.zip").read_bytes()
    (tmp_path / "images_background.zip.part").write_bytes(whole + surplus)
    fetch(server, tmp_path)
    assert (tmp_path / "images_background.zip").read_bytes() == whole
    # A whole part is taken as it is; one that is too long is fetched again.
    again = [path for path, wanted in server.asked if wanted is None]
    assert ("/images_background.zip" in again) == bool(surplus)


def test_a_wrong_checksum_deletes_the_part(server: Server, tmp_path: Path) -> None:
    broken_off(server, tmp_path).write_bytes(bytes(3000))  # not what was sent
    message = refusal(fetch, server, tmp_path)
    assert "was deleted: repeat to start over" in message
    assert not list(tmp_path.glob("images_*"))
    fetch(server, tmp_path)


def test_a_page_instead_of_an_archive(server: Server, tmp_path: Path) -> None:
    (server.folder / "images_background.zip").write_text("<html>please log in</html>")
    assert "is not the public archive" in refusal(fetch, server, tmp_path)


def test_download_keeps_a_users_broken_archive(server: Server, tmp_path: Path) -> None:
    (tmp_path / "images_background.zip").write_bytes(b"half")
    assert "fetch it again" in refusal(fetch, server, tmp_path)
    assert (tmp_path / "images_background.zip").read_bytes() == b"half"


def test_no_such_file(server: Server, tmp_path: Path) -> None:
    (server.folder / "images_background.zip").unlink()
    assert "404" in refusal(fetch, server, tmp_path)


def test_no_network(tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as closed:
        address = f"http://127.0.0.1:{closed.server_port}"
    message = refusal(download, tmp_path, Reporter(quiet=True), address)
    assert "refused" in message and "repeat to continue" in message
    assert f"fetch it by hand and set {VARIABLE}" in message
    assert "cannot fetch" in refusal(download, tmp_path, Reporter(quiet=True), "no address")


def test_a_silent_line(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "reinstate_paper.omniglot.download.PATIENCE", 1.0
    )  # a starved server sends late
    server.cut, server.stall = 3000, Event()
    message = refusal(fetch, server, tmp_path)
    server.stall.set()
    assert "timed out" in message and "repeat to continue" in message
    assert (tmp_path / "images_background.zip.part").stat().st_size == 3000


def test_no_room(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=2000))
    message = refusal(fetch, server, tmp_path)
    assert f"{tmp_path} has 0.0 MB left" in message and "make room" in message
    assert not list(tmp_path.glob("images_*"))


def test_a_disk_that_fills_up(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, mode: str) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("reinstate_paper.omniglot.download.open", full, raising=False)
    assert "No space left on device" in refusal(fetch, server, tmp_path)


def test_no_folder_to_write(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot write" in refusal(fetch, server, tmp_path / "file")
