"""A server that means harm: what it sends is refused in one line, in time, and stays inside."""

import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from omniglot.serving import Server, fetch
from omniglot.tiny_archives import refusal
from reinstate_paper.omniglot import download
from tiny import contents

pytestmark = pytest.mark.usefixtures("surroundings", "plain_http")
Handler = BaseHTTPRequestHandler


def redirect(to: str) -> Callable[[Handler], None]:
    def answer(handler: Handler) -> None:
        handler.send_response(302)
        handler.send_header("Location", to)
        handler.end_headers()

    return answer


def endless(handler: Handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(bytes(1 << 16))
    except OSError:  # the other end has had enough
        handler.close_connection = True


def drip(*, headers: bool) -> Callable[[Handler], None]:
    def answer(handler: Handler) -> None:
        if not headers:
            handler.send_response(200)
            handler.end_headers()
        try:
            for _ in range(1000):
                handler.wfile.write(b"x")
                handler.wfile.flush()
                time.sleep(0.01)
        except OSError:
            handler.close_connection = True

    return answer


def test_only_https_is_fetched(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "SCHEMES", ("https",))
    message = refusal(fetch, server, tmp_path)
    assert f"{server.address}/images_background.zip is not an address of https" in message
    assert server.asked == []


@pytest.mark.parametrize(
    "to",
    ["ftp://127.0.0.1/x.zip", "file:///etc/passwd", "data:text/plain,x", "javascript:x"],
)
def test_redirections_lead_nowhere_else(server: Server, tmp_path: Path, to: str) -> None:
    server.instead = redirect(to)
    assert "cannot fetch" in refusal(fetch, server, tmp_path)
    assert len(server.asked) == 1 and not contents(tmp_path / "new")


def test_a_redirection_from_https_to_http_is_refused(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = []

    def checked(url: str) -> None:
        first.append(url)
        if len(first) > 1:  # as if the first had been https
            monkeypatch.setattr(download, "SCHEMES", ("https",))
        known(url)

    known = download._require_scheme
    monkeypatch.setattr(download, "_require_scheme", checked)
    server.instead = redirect(f"{server.address}/elsewhere.zip")
    assert "elsewhere.zip is not an address of https" in refusal(fetch, server, tmp_path)
    assert len(server.asked) == 1


def test_redirections_without_end(server: Server, tmp_path: Path) -> None:
    server.instead = redirect("/images_background.zip")
    assert "cannot fetch" in refusal(fetch, server, tmp_path)


def test_a_body_without_end(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "LARGEST_ARCHIVE", 1_000_000)
    server.instead = endless
    assert "is not the public archive" in refusal(fetch, server, tmp_path)
    assert not list(tmp_path.glob("images_*"))


@pytest.mark.parametrize("length", ["999999999999", "9" * 5000, "-1", "many", "1e3", "0", "10"])
def test_a_length_that_is_a_lie(server: Server, tmp_path: Path, length: str) -> None:
    server.headers = {"Content-Length": length}
    if length in ("9" * 5000, "-1", "many", "1e3"):  # no length at all: the line's end is the end
        server.headers["Connection"] = "close"
        fetch(server, tmp_path)
        return
    message = refusal(fetch, server, tmp_path)
    assert "too large" in message or "is not the public archive" in message
    assert not (tmp_path / "images_background.zip").exists()


@pytest.mark.parametrize(
    "span", ["bytes 0-10/20", "bytes 99999999999999999999-/3", "rubbish", "", "bytes */*"]
)
def test_a_part_that_does_not_continue_is_not_added(
    server: Server, tmp_path: Path, span: str
) -> None:
    whole = (server.folder / "images_background.zip").read_bytes()
    (tmp_path / "images_background.zip.part").write_bytes(whole[:3000])
    server.headers = {"Content-Range": span}
    fetch(server, tmp_path)
    assert (tmp_path / "images_background.zip").read_bytes() == whole
    first = [wanted for path, wanted in server.asked if path == "/images_background.zip"]
    assert first == ["bytes=3000-", None]


@pytest.mark.parametrize("headers", [True, False])
def test_a_drip_ends_in_time(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, headers: bool
) -> None:
    monkeypatch.setattr(download, "PATIENCE", 0.3)
    monkeypatch.setattr(download, "LONGEST", 0.3)
    server.instead = drip(headers=headers)
    began = time.monotonic()
    message = refusal(fetch, server, tmp_path)
    assert ("timed out" if headers else "bytes a second") in message
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("name", ["../../escaped.zip", "/etc/escaped.zip", "C:\\escaped.zip"])
def test_names_that_a_server_gives_do_not_count(server: Server, tmp_path: Path, name: str) -> None:
    server.headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    fetch(server, tmp_path / "a" / "b")
    assert not list(tmp_path.rglob("*escaped*"))


def test_a_part_that_is_a_link_is_not_written_through(server: Server, tmp_path: Path) -> None:
    (tmp_path / "thesis").write_text("mine")
    to = tmp_path / "omniglot-new"
    to.mkdir()
    (to / "images_background.zip.part").symlink_to(tmp_path / "thesis")
    assert "is no file of its own" in refusal(fetch, server, to)
    assert (tmp_path / "thesis").read_text() == "mine"


@pytest.mark.parametrize("reason", ["no\x1b[31m", "x" * 50_000])
def test_what_a_server_says_is_one_printable_line(
    server: Server, tmp_path: Path, reason: str
) -> None:
    server.instead = lambda handler: handler.send_error(503, reason)
    message = refusal(fetch, server, tmp_path)
    assert message.isprintable() and len(message) < 2000


@pytest.mark.parametrize("sent", [b"HTTP/1.1 99999 no\r\n\r\n", b"\xff" * 99, b"HTTP/1.1 200\r\n"])
def test_what_is_no_answer(server: Server, tmp_path: Path, sent: bytes) -> None:
    def answer(handler: Handler) -> None:
        handler.wfile.write(sent)

    server.instead = answer
    message = refusal(fetch, server, tmp_path)
    assert "cannot fetch" in message or "is not the public archive" in message
