"""Fetch the public Omniglot archives, on request, and never the same bytes twice.

An archive is downloaded as NAME.zip.part and renamed once its contents are checked, so any NAME.zip
is complete. A download that breaks off is continued the next time.
"""

import http.client
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from reinstate.errors import UserError
from reinstate.files import disk_errors
from reinstate.omniglot import archives
from reinstate.omniglot.archives import ARCHIVES, VARIABLE, read_archive
from reinstate.runs.progress import Reporter

PUBLIC = "https://raw.githubusercontent.com/brendenlake/omniglot/master/python"
PATIENCE = 30.0  # seconds without a byte
CHUNK = 1 << 16
LARGEST_ARCHIVE = 100_000_000  # bytes; the largest has some ten million
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
    done = part.stat().st_size if part.exists() else 0
    response = _ask(url, done)
    if response is None:
        return
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    bar = Progress(*columns, console=reporter.console, disable=not reporter.console.is_terminal)
    with response:
        if response.status != http.client.PARTIAL_CONTENT:
            done = 0  # the server sends all of it
        length = response.headers.get("Content-Length", "")
        total = done + int(length) if length.isdecimal() else None
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


def _chunks(url: str, response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Read from the network; its errors are told apart from the disk's here."""
    while True:
        try:
            chunk = response.read1(CHUNK)  # what is there: an interrupted full read loses its bytes
        except (OSError, http.client.HTTPException) as error:
            raise _broken(url, str(error) or type(error).__name__) from None
        if not chunk:
            return
        yield chunk


def _ask(url: str, have: int) -> http.client.HTTPResponse | None:
    """Request the bytes after the first `have` (all, if there are fewer); None: there are none."""
    headers = {"User-Agent": "reinstate"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        request = urllib.request.Request(url, headers=headers)
        response: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=PATIENCE)
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
    return response


def _broken(url: str, reason: str) -> UserError:
    return UserError(f"cannot fetch {url} ({reason}): repeat to continue, {BY_HAND}")


def _require_room(part: Path, missing: int) -> None:
    free = shutil.disk_usage(part.parent).free
    if free < missing:
        raise UserError(
            f"{part.parent} has {free / 1e6:.1f} MB left, and {part.stem} needs"
            f" {missing / 1e6:.1f} MB: make room, or set {VARIABLE} to another folder"
        )
