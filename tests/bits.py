"""What a folder holds, bit for bit, but for what differs between two runs of the same: times."""

import json
import re
from pathlib import Path
from typing import Any

from safetensors import safe_open

TIMES = {"compile", "date", "id", "seconds", "steps_per_second", "checksum"}
METRICS = "metrics.jsonl"
LEFTOVERS = re.compile(r"\.lock|.*\.tmp")


def bits(folder: Path) -> dict[str, Any]:
    """Return what is in each file of a folder, in a form that two runs of the same share.

    Of checkpoints only the last one of a run counts: a signal may add one before it.
    """
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not _is_followed(path):
            found[str(path.relative_to(folder))] = _READERS.get(path.suffix, Path.read_bytes)(path)
    return found


def different(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Name the files that are not the same."""
    return sorted(n for n in {*ours, *theirs} if ours.get(n) != theirs.get(n))


def leftovers(folder: Path) -> list[str]:
    """Name what only a process that is still running may have there."""
    return [str(path) for path in folder.rglob("*") if LEFTOVERS.fullmatch(path.name)]


def trained(folder: Path) -> dict[str, Any]:
    """Return the rows of metrics.jsonl that checkpoints vouch for, with their seconds.

    An epoch that is trained again takes other seconds: what was saved was lost.
    """
    found = {}
    for path in folder.rglob(METRICS):
        saved = [*(path.parent / "checkpoints").glob("epoch-*.safetensors")]
        last = max((int(each.stem.removeprefix("epoch-")) for each in saved), default=0)
        found[str(path.parent.relative_to(folder))] = path.read_text().splitlines()[:last]
    return found


def _is_followed(path: Path) -> bool:
    return path.parent.name == "checkpoints" and path != max(path.parent.glob("epoch-*"))


def _document(path: Path) -> Any:
    return _without_times(json.loads(path.read_text()))


def _lines(path: Path) -> Any:
    return [_without_times(json.loads(line)) for line in path.read_text().splitlines()]


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        plain = {n: _without_times(each) for n, each in value.items() if n not in TIMES}
        if "command" in plain:
            plain["command"] = plain["command"].replace(" --resume", "")
        return plain
    return [_without_times(each) for each in value] if isinstance(value, list) else value


def _arrays(path: Path) -> Any:
    with safe_open(path, "numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    return {name: (str(a.dtype), a.shape, a.tobytes()) for name, a in arrays.items()}


def _page(path: Path) -> Any:
    text = path.read_text().replace(" --resume", "")
    return re.sub(r"[\d.,]+( total| compile| train| evaluate)\b", r"\1", text)


_READERS: dict[str, Any] = {
    ".json": _document,
    ".jsonl": _lines,
    ".safetensors": _arrays,
    ".html": _page,
}
