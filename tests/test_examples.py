"""The scripts of examples/, as a user would run them but shorter."""

import runpy
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def example(name: str) -> dict[str, Any]:
    """The names that a script defines; nothing is run."""
    return runpy.run_path(str(EXAMPLES / name))


def test_cued_recall_needs_the_memory(capsys: pytest.CaptureFixture[str]) -> None:
    main = example("cued_recall.py")["main"]
    assert abs(main(25, ("no memory",))["no memory"] - 0.25) < 0.04  # of four symbols
    assert main(140, ("memory",))["memory"] > 0.9
    lines = capsys.readouterr().out.splitlines()
    start = lines.index(next(line for line in lines if line.startswith("queried")))
    rows = [line.split() for line in lines[start + 1 : start + 9]]
    assert sorted(row[0] for row in rows) == [str(cue) for cue in range(8)]
    assert [row[1] for row in rows] == [row[0] for row in rows]  # each cue brings its own back
