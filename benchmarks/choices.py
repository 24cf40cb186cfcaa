"""Choice models at a million episodes, or on a table of your own: seconds to read and to fit them.

python benchmarks/choices.py --episodes 1000000
python benchmarks/choices.py --file people.csv --learned --hierarchical --compare
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import tyro

from reinstate import fit_choices
from reinstate.choices import read_choices, simulate
from reinstate.choices.model import Choices, join_choices
from reinstate.runs.choice_fits import write_choices

WEIGHTS = {"IMF": 0.3, "IMB": 1.2, "EMB": 1.0, "perseveration": 0.3}
T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    file: Path | None = None
    """A table of choices; without one, choices are simulated."""
    episodes: int = 1_000_000
    participants: int = 10
    learned: bool = False
    """Fit learned values too: a profile over learning rates, and so far more work."""
    hierarchical: bool = False
    """Sample the hierarchical model too."""
    compare: bool = False
    """Fit rival models of each too; of the hierarchical one, this needs ArviZ."""


def main(options: Options) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = options.file or _simulated(options, Path(folder) / "choices.csv")
        size = file.stat().st_size / 1e6
        table = _timed(f"read {size:.1f} MB", lambda: read_choices(file))
    print(f"{len(table.choices.action):,} episodes of {len(table.participants)} participants")
    models = ["one-back", *["learned"][: options.learned]]
    models += ["hierarchical"][: options.hierarchical]
    for model in models:
        what = f"{model}, with its rivals" if options.compare else model
        _timed(what, lambda m=model: fit_choices(table.choices, m, compare=options.compare))  # type: ignore[misc]


def _simulated(options: Options, path: Path) -> Path:
    each = options.episodes // options.participants
    choices = join_choices([_participant(code, each) for code in range(options.participants)])
    write_choices(path, choices, [f"p{code}" for code in range(options.participants)])
    return path


def _participant(code: int, episodes: int) -> Choices:
    played = simulate(WEIGHTS, max(episodes // 100, 1), 100, seed=code)
    return played._replace(participant=played.participant + code)


def _timed(what: str, work: Callable[[], T]) -> T:
    began = time.perf_counter()
    found = work()
    print(f"{time.perf_counter() - began:6.2f} s  {what}", flush=True)
    return found


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
