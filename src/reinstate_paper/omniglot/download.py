"""Fetch the public Omniglot archives, on request, and never the same bytes twice.

An archive is downloaded as NAME.zip.part and renamed once its contents are checked, so any NAME.zip
is complete. A download that breaks off is continued the next time.

A server may be anybody's: only https is spoken, also after redirections; what it sends is bounded
in size and in time, and checked; and what it says of names is not listened to.
"""

import http.client
import re
import shutil
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from reinstate.errors import UserError, one_line
from reinstate.files import disk_errors
from reinstate.runs.progress import Reporter
from reinstate_paper.omniglot import archives
from reinstate_paper.omniglot.archives import ARCHIVES, LARGEST_ARCHIVE, VARIABLE, read_archive

PUBLIC = "https://raw.githubusercontent.com/brendenlake/omniglot/master/python"
SCHEMES = ("https",)
PATIENCE = 30.0  # seconds without a byte, and until there is an answer
LONGEST = 1800.0  # seconds in all: six thousand bytes a second are enough
CHUNK = 1 << 16
BY_HAND = f"or fetch it by hand and set {VARIABLE} to its folder"
MEND = f"mend it, or set {VARIABLE} to another folder"


def download(
    to: Path | None = None, reporter: Reporter | None = None, base_url: str = PUBLIC
) -> Path:
    """Fetch the archives that a folder lacks (by default the one where they are looked for)."""
    folder = archives.named_folder(to) or archives.cache_folder()
    reporter = reporter or Reporter()
    with disk_errors(folder, MEND):
        folder.mkdir(parents=True, exist_ok=True)
    for name, archive in ARCHIVES.items():
        found = archives.find_archive(name, folder)
        if found is None:
            _fetch(name, f"{base_url}/{archive.address}", folder / archive.places[0], reporter)
        else:
            read_archive(name, found)
            reporter.note(f"{found} is there already, and complete")
    return folder


def _fetch(name: str, url: str, target: Path, reporter: Reporter) -> None:
    part = target.with_name(f"{target.name}.part")
    reporter.note(f"fetching {url} to {target}")
    _transfer(url, part, reporter)
    try:
        read_archive(name, part)
    except UserError:
        part.unlink()
        raise UserError(
            f"what came from {url} is not the public archive and was deleted: repeat to start"
            f" over, {BY_HAND}"
        ) from None
    with disk_errors(target, MEND):
        part.replace(target)


def _transfer(url: str, part: Path, reporter: Reporter) -> None:
    """Fetch what is missing of a file, with a bar in a terminal."""
    done = _size_of(part)
    response = _ask(url, done)
    if response is None:
        return
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    bar = Progress(*columns, console=reporter.console, disable=not reporter.console.is_terminal)
    with response:
        if response.status != http.client.PARTIAL_CONTENT:
            done = 0  # the server sends all of it
        total = _total(url, response, done)
        _require_room(part, (total or 0) - done)
        with disk_errors(part, MEND), open(part, "ab" if done else "wb") as file, bar:
            task = bar.add_task(url.rpartition("/")[2], total=total, completed=done)
            for chunk in _chunks(url, response):
                file.write(chunk)
                done += len(chunk)
                bar.update(task, completed=done)
                if done > LARGEST_ARCHIVE:
                    return  # something else, which the check will refuse
    if total is not None and done < total:
        raise _broken(url, f"broke off after {done} of {total} bytes")


def _size_of(part: Path) -> int:
    """Return how much is there already, which must be a file of this folder and no link."""
    if part.is_symlink() or (part.exists() and not part.is_file()):
        raise UserError(f"{part} is no file of its own: remove it, or {MEND}")
    return part.stat().st_size if part.exists() else 0


def _total(url: str, response: http.client.HTTPResponse, done: int) -> int | None:
    """Return how many bytes the whole has, if the server says so and it can be true."""
    length = response.headers.get("Content-Length", "")
    if not re.fullmatch("[0-9]{1,18}", length):
        return None
    total = done + int(length)
    if total > LARGEST_ARCHIVE:
        raise _broken(url, f"the server offers {total / 1e6:,.0f} MB, which is too large")
    return total


def _chunks(url: str, response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Read from the network; its errors are told apart from the disk's here."""
    began = time.monotonic()
    while True:
        try:
            chunk = response.read1(CHUNK)  # what is there: an interrupted full read loses its bytes
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _broken(url, str(error) or type(error).__name__) from None
        if not chunk:
            return
        yield chunk
        if time.monotonic() - began > LONGEST:
            raise _broken(url, f"slower than {LARGEST_ARCHIVE / LONGEST:,.0f} bytes a second")


def _ask(url: str, have: int) -> http.client.HTTPResponse | None:
    """Request the bytes after the first `have` (all, if there are fewer); None: there are none."""
    headers = {"User-Agent": "reinstate"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        _require_scheme(url)
        request = urllib.request.Request(url, headers=headers)
        response: http.client.HTTPResponse = _in_time(lambda: _open(request))
    except urllib.error.HTTPError as error:
        with error:
            if have and error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
                total = error.headers.get("Content-Range", "").rpartition("/")[2]
                return None if total == str(have) else _ask(url, 0)
            raise _broken(url, f"the server says {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        raise _broken(url, str(error.reason)) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _broken(url, str(error) or type(error).__name__) from None
    if have and response.status == http.client.PARTIAL_CONTENT and not _continues(response, have):
        response.close()
        return _ask(url, 0)
    return response


def _continues(response: http.client.HTTPResponse, have: int) -> bool:
    """Tell whether a part of the file starts where what is there ends."""
    span = re.fullmatch(r"bytes ([0-9]{1,18})-.*", response.headers.get("Content-Range", ""))
    return span is not None and int(span[1]) == have


def _open(request: urllib.request.Request) -> Any:
    return urllib.request.build_opener(_Redirections).open(request, timeout=PATIENCE)


class _Redirections(urllib.request.HTTPRedirectHandler):
    """Follow redirections, but only to where we would have gone ourselves."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        try:
            _require_scheme(newurl)
        except ValueError as error:
            raise urllib.error.HTTPError(req.full_url, code, str(error), headers, fp) from None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _require_scheme(url: str) -> None:
    if urlsplit(url).scheme not in SCHEMES:
        raise ValueError(f"{url[:200]} is not an address of {' or '.join(SCHEMES)}")


def _in_time(call: Callable[[], Any]) -> Any:
    """Call, but wait no longer than patience lasts: a server may send a header byte by byte."""
    found: list[Any] = []

    def work() -> None:
        try:
            found.append(call())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if not found:
        raise TimeoutError("timed out")
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def _broken(url: str, reason: str) -> UserError:
    return UserError(f"cannot fetch {url} ({one_line(reason)}): repeat to continue, {BY_HAND}")


def _require_room(part: Path, missing: int) -> None:
    free = shutil.disk_usage(part.parent).free
    if free < missing:
        raise UserError(
            f"{part.parent} has {free / 1e6:.1f} MB left, and {part.stem} needs"
            f" {missing / 1e6:.1f} MB: make room, or set {VARIABLE} to another folder"
        )
