"""Only what this program wrote is overwritten; only regular files inside the folder are read."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from page.recorded import RESULTS
from reinstate.analysis.results import Summary
from reinstate.errors import UserError
from reinstate.figures.page import load, require_report, write_page
from reinstate.figures.page.frame import require_replaceable
from reinstate.files import read_json, write_document

SUMMARY = read_json(RESULTS / "summary.json")


def special(folder: Path, kind: str) -> Path:
    """Something that is no regular file."""
    path = folder / kind
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to({"device": "/dev/zero", "link to nothing": "nowhere"}[kind])
    return path


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "link to nothing"])
def test_a_page_is_no_pipe_device_or_folder(tmp_path: Path, kind: str) -> None:
    """Refused at once: nobody may be at the other end of a pipe, and a device has none."""
    out = special(tmp_path, kind)
    with pytest.raises(UserError, match="is no report: choose another --out"):
        write_page([RESULTS / "barcode-bandits"], out)
    with pytest.raises(UserError, match="is not of this command"):
        require_replaceable(out, Summary)


def test_of_a_large_file_only_the_head_is_read(tmp_path: Path) -> None:
    with open(tmp_path / "large.html", "wb") as file:
        file.truncate(5 << 30)
    with pytest.raises(UserError, match="is no report"):
        require_report(tmp_path / "large.html")
    with pytest.raises(UserError, match="is not of this command"):
        require_replaceable(tmp_path / "large.html", Summary)


def test_our_own_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "ours.json"
    require_replaceable(path, Summary)
    path.write_text(json.dumps(SUMMARY))
    require_replaceable(path, Summary)
    write_document(path, SUMMARY)  # with its checksum
    require_replaceable(path, Summary)
    path.write_text(path.read_text().replace("barcode-bandits", "my-bandits"))  # altered since
    with pytest.raises(UserError, match="is not of this command"):
        require_replaceable(path, Summary)


@pytest.mark.parametrize(
    "found",
    [{"experiments": {}}, {**SUMMARY, "notes": "my own"}, {**SUMMARY, "version": 3}, [1], "text"],
)
def test_what_is_of_another_kind_is_kept(tmp_path: Path, found: Any) -> None:
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps(found))
    with pytest.raises(UserError, match="is not of this command: move it"):
        require_replaceable(path, Summary)


def test_results_are_of_bounded_size(tmp_path: Path) -> None:
    with open(tmp_path / "results.json", "wb") as file:
        file.truncate(5 << 30)
    with pytest.raises(UserError, match="larger than"):
        load([tmp_path])
