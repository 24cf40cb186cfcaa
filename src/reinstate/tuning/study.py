"""Vary settings that change shapes or programs with Optuna; each of its trials is a whole search.

    OUT/search.json                   what was tried, in order, and the best of each trial
    OUT/hidden_size=25,lanes=16/      the search at these values, as `search` leaves it

What Optuna proposes follows from what was tried before and from nothing else, so that a trial that
was interrupted is proposed again, and continues from what is in its folder.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

from reinstate import devices
from reinstate.agent import Network
from reinstate.analysis.searches import SearchDocument, Studied, StudyDocument
from reinstate.errors import UserError, nearest
from reinstate.files import locked, write_document
from reinstate.learner import A2C
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance
from reinstate.sweeps.executors import Crew
from reinstate.tuning.search import MOST_TRIALS, SCORE, Asked, earlier, search, worth

VARIABLE = {  # name → the part of Settings that has it
    "hidden_size": "network",
    "lanes": "learner",
    "episodes_per_update": "learner",
    "optimizer": "learner",
    "max_grad_norm": "learner",
}
_TYPES = {**get_type_hints(Network), **get_type_hints(A2C)}

Values = dict[str, Any]  # name → value, of one trial


@dataclass(frozen=True)
class Study:
    """What Optuna varies, and how many trials it has in total."""

    trials: int
    vary: dict[str, tuple[Any, ...]]

    def __post_init__(self) -> None:
        if self.trials > MOST_TRIALS:
            raise UserError(f"--optuna takes {MOST_TRIALS} trials at most, not {self.trials}")

    @property
    def exhaustive(self) -> bool:
        """Whether there are enough trials for every combination."""
        return math.prod(len(choices) for choices in self.vary.values()) <= self.trials

    def due(self) -> list[Values]:
        """Return every combination, if there are enough trials for it."""
        chosen = product(*self.vary.values()) if self.exhaustive else ()
        return [dict(zip(self.vary, values, strict=True)) for values in chosen]


def read_vary(words: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """Read words such as NAME=A,B as the choices for each name."""
    vary: dict[str, tuple[Any, ...]] = {}
    for word in words:
        name, _, values = word.partition("=")
        if name not in VARIABLE:
            raise UserError(f"--vary: {nearest('setting', name, VARIABLE)}")
        if name in vary or not values:
            raise UserError(f"--vary takes each name once, as in lanes=16,32, not {word!r}")
        vary[name] = tuple(dict.fromkeys(_read(name, value) for value in values.split(",")))
    return vary


def _read(name: str, value: str) -> Any:
    kind = _TYPES[name]
    if get_args(kind):  # a Literal
        return value
    try:
        return kind(value)
    except ValueError:
        raise UserError(f"--vary {name} takes {kind.__name__} values, not {value!r}") from None


def with_values(asked: Asked, values: Values) -> Asked:
    """Ask for the same with other values in the settings."""
    settings = asked.settings
    for name, value in values.items():
        part = VARIABLE[name]
        settings = replace(settings, **{part: replace(getattr(settings, part), **{name: value})})
    return asked._replace(settings=settings)


def study(
    asked: Asked,
    wanted: Study,
    out: Path,
    reporter: Reporter,
    *,
    command: str,
    crew: Crew | None = None,
) -> StudyDocument:
    """Search at each combination that Optuna proposes; its value is the best reward found there."""
    try:
        import optuna
    except ImportError:
        needed = 'pip install "reinstate[tune]", or leave it out'
        raise UserError(f"--optuna needs Optuna: {needed}") from None
    with locked(out):
        return _study(optuna, asked, wanted, out, reporter, command, crew)


def _study(
    optuna: Any,
    asked: Asked,
    wanted: Study,
    out: Path,
    reporter: Reporter,
    command: str,
    crew: Crew | None,
) -> StudyDocument:
    for name, choices in wanted.vary.items():
        for choice in choices:
            with_values(asked, {name: choice}).require_possible()
    vary = {name: list(choices) for name, choices in wanted.vary.items()}
    same = {**asked.identity(), "rounds_each": asked.search.rounds, "vary": vary}
    found = earlier(out, same, "studied") or {"studied": []}
    found.setdefault("tried", [row["values"] for row in found["studied"]])  # of earlier versions
    found |= {"preset": asked.preset, "score": SCORE, "command": command, **same}
    document = cast(StudyDocument, found | {**provenance(), "device": devices.describe()})
    write_document(out / "search.json", document)  # whose folder this is, before it fills

    while values := _next(optuna, wanted, asked.search.seed, document):
        folder = ",".join(f"{name}={value}" for name, value in values.items())
        reporter.note(folder)
        varied: Any = (with_values(asked, values), out / folder, reporter)
        trial = search(*varied, command=command, crew=crew)
        _add_trial(document, values, folder, trial)
        write_document(out / "search.json", document)
    return document


def _add_trial(document: StudyDocument, values: Values, folder: str, found: SearchDocument) -> None:
    """Put a trial into the document, the best first."""
    kept = {"best": found["best"], "standing": found["standing"], "seconds": found["seconds"]}
    rows = [row for row in document["studied"] if row["folder"] != folder]
    rows.append(cast(Studied, {"values": values, "folder": folder, **kept}))
    rows.sort(key=lambda row: worth(row["best"]), reverse=True)
    document["studied"], document["best"] = rows, rows[0]
    document["tried"].append(values)


def _next(optuna: Any, wanted: Study, seed: int, document: StudyDocument) -> Values | None:
    """Return the values to try next; None if there are enough trials."""
    tried = document["tried"]
    if wanted.exhaustive:
        return next((values for values in wanted.due() if values not in tried), None)
    return _propose(optuna, wanted, seed, document) if len(tried) < wanted.trials else None


def _propose(optuna: Any, wanted: Study, seed: int, document: StudyDocument) -> Values:
    """Let Optuna propose values, after all that was tried. A proposal may repeat an earlier one."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    tried, states = document["tried"], optuna.trial.TrialState
    # Each proposal has a seed of its own: no sampler has to be carried over an interruption.
    sampler = optuna.samplers.TPESampler(seed=seed + len(tried))
    known = optuna.create_study(direction="maximize", sampler=sampler)
    choices = {n: optuna.distributions.CategoricalDistribution(c) for n, c in wanted.vary.items()}
    for values in tried:
        best = next(row["best"] for row in document["studied"] if row["values"] == values)
        how = {"state": states.PRUNED} if best is None else {"value": worth(best)}
        known.add_trial(optuna.trial.create_trial(params=values, distributions=choices, **how))
    proposed: Values = known.ask(choices).params
    return proposed
