"""Choice models at a million episodes: seconds to fit them, and to read them from a file.

python benchmarks/choices.py --episodes 1000000
"""

import csv
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from reinstate.choices import fit_choices, read_choices, simulate
from reinstate.choices.model import Choices, join_choices
from reinstate.choices.tables import COLUMNS

WEIGHTS = {"IMF": 0.3, "IMB": 1.2, "EMB": 1.0, "perseveration": 0.3}


@dataclass(frozen=True)
class Options:
    episodes: int = 1_000_000
    participants: int = 10
    learned: bool = False
    """Fit learned values too: a profile over learning rates, and so far more work."""


def main(options: Options) -> None:
    each = options.episodes // options.participants
    choices = join_choices([_participant(code, each) for code in range(options.participants)])
    print(f"{len(choices.action):,} episodes of {options.participants} participants")
    _timed("one-back, cued and uncued, with leave-one-out", lambda: fit_choices(choices))
    if options.learned:
        _timed("learned values, the same", lambda: fit_choices(choices, "learned"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "choices.csv"
        _write(choices, path)
        _timed(f"read {path.stat().st_size / 1e6:.0f} MB of CSV", lambda: read_choices(path))


def _participant(code: int, episodes: int) -> Choices:
    played = simulate(WEIGHTS, max(episodes // 100, 1), 100, seed=code)
    return played._replace(participant=played.participant + code)


def _write(choices: Choices, path: Path) -> None:
    cue = np.where(choices.cued, choices.cue_episode.astype(str), "")
    columns = [column.tolist() for column in choices._replace(cue_episode=cue)]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(zip(*columns, strict=True))


def _timed(what: str, work: Callable[[], Any]) -> None:
    began = time.perf_counter()
    work()
    print(f"{time.perf_counter() - began:6.2f} s  {what}")


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
