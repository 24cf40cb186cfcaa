"""Weights that come with the package: one trained seed per experiment and agent of the paper.

    reinstate watch water-maze                  a trained agent at once
    reinstate evaluate water-maze/epl2rl        judged on fresh tasks
    reinstate.load("barcode-bandits/epl2rl")    in a notebook

They are folders like those of runs, without optimiser state and in half precision; card.json says
how each was trained and what it earns.
"""

from pathlib import Path
from typing import Any

from reinstate.errors import UserError, nearest
from reinstate.files import read_json
from reinstate.runs.run import Run

FOLDER = Path(__file__).with_name("weights")


def shipped_names() -> list[str]:
    """Name what is shipped, as EXPERIMENT/AGENT."""
    return [*read_card()["weights"]]


def read_card() -> dict[str, Any]:
    """Read how the shipped weights were trained, and what they earn."""
    card: dict[str, Any] = read_json(FOLDER / "card.json")
    return card


def find_run(path: str | Path) -> Run:
    """Find the run in a folder or, where there is no such folder, the shipped one of that name."""
    name = Path(path).as_posix()
    if Path(path).exists():
        return Run(Path(path))
    if name in shipped_names():
        return Run(FOLDER / name)
    experiments = {shipped.partition("/")[0] for shipped in shipped_names()}
    if name.count("/") == 1 and name.partition("/")[0] in experiments:
        raise UserError(nearest("run", name, shipped_names()))
    return Run(Path(path))


def is_shipped(run: Run) -> bool:
    """Tell whether a run is the package's own, where nothing is to be written."""
    return FOLDER in run.path.parents
