"""A server of archives that misbehaves as asked."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

from reinstate.runs.progress import Reporter
from reinstate_paper.omniglot.download import download


@dataclass
class Server:
    """What the server does, and what it was asked."""

    folder: Path
    address: str = ""
    ranges: bool = True  # whether it can send a part of a file
    cut: int | None = None  # how many bytes of a body it sends before the line breaks
    stall: Event | None = None  # what it waits for before it lets go of the line
    instead: Callable[[BaseHTTPRequestHandler], None] | None = None  # what it does otherwise
    headers: dict[str, str] = field(default_factory=dict)  # in the place of true ones
    asked: list[tuple[str, str | None]] = field(default_factory=list)


def answer(handler: BaseHTTPRequestHandler, server: Server) -> None:
    wanted = handler.headers.get("Range")
    server.asked.append((handler.path, wanted))
    if server.instead:
        server.instead(handler)
        return
    path = server.folder / handler.path.lstrip("/")
    if not path.is_file():
        handler.send_error(404)
        return
    content, begin, said = path.read_bytes(), 0, {}
    if wanted and server.ranges:
        begin = int(wanted.removeprefix("bytes=").removesuffix("-"))
        past = begin >= len(content)
        handler.send_response(416 if past else 206)
        span = "*" if past else f"{begin}-{len(content) - 1}"
        said["Content-Range"] = f"bytes {span}/{len(content)}"
    else:
        handler.send_response(200)
    said["Content-Length"] = str(len(content[begin:]))
    for name, value in {**said, **server.headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(content[begin:][: server.cut])
    if server.stall:
        server.stall.wait(10)


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """Serve a folder to this machine alone."""
    behaviour = Server(folder)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self, behaviour)

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        thread = Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        behaviour.address = f"http://127.0.0.1:{listening.server_port}"
        yield behaviour
        listening.shutdown()
        thread.join()


def fetch(server: Server, to: Path) -> Path:
    return download(to, Reporter(quiet=True), server.address)
