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
from reinstate.runs.gather import Gathered

INPUTS = read_json(RESULTS / "inputs.json")
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
        require_replaceable(out, Gathered)


def test_of_a_large_file_only_the_head_is_read(tmp_path: Path) -> None:
    with open(tmp_path / "large.html", "wb") as file:
        file.truncate(5 << 30)
    with pytest.raises(UserError, match="is no report"):
        require_report(tmp_path / "large.html")
    with pytest.raises(UserError, match="is not of this command"):
        require_replaceable(tmp_path / "large.html", Gathered)


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (Gathered, INPUTS),
        (Summary, SUMMARY),
    ],
)
def test_our_own_are_replaced(tmp_path: Path, kind: Any, found: Any) -> None:
    path = tmp_path / "ours.json"
    require_replaceable(path, kind)
    path.write_text(json.dumps(found))
    require_replaceable(path, kind)
    write_document(path, found)  # with its checksum
    require_replaceable(path, kind)


@pytest.mark.parametrize(
    "found",
    [
        {"experiments": {}},
        {"experiments": [1, 2], "mine": "years of work"},
        {**INPUTS, "notes": "my own"},
        {n: each for n, each in INPUTS.items() if n != "checks"},
        {**INPUTS, "experiments": {"mine": {"a": 1}}},
        {**INPUTS, "version": 3},
        SUMMARY,
        [1, 2],
        "text",
    ],
)
def test_what_is_of_another_kind_is_kept(tmp_path: Path, found: Any) -> None:
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps(found))
    with pytest.raises(UserError, match="is not of this command: move it"):
        require_replaceable(path, Gathered)


def test_an_altered_one_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "ours.json"
    write_document(path, INPUTS)
    path.write_text(path.read_text().replace("barcode-bandits", "my-bandits"))
    with pytest.raises(UserError, match="is not of this command"):
        require_replaceable(path, Gathered)


def test_results_are_of_bounded_size(tmp_path: Path) -> None:
    with open(tmp_path / "results.json", "wb") as file:
        file.truncate(5 << 30)
    with pytest.raises(UserError, match="larger than"):
        load([tmp_path])
