"""Vary settings that change shapes or programs with Optuna; each of its trials is a whole search.

    OUT/search.json                   what was varied, and the best of each trial
    OUT/journal.log                   Optuna's own record, from which a second call continues
    OUT/hidden_size=25,lanes=16/      the search at these values, as `search` leaves it

Folders are named by their values, so that a trial that was interrupted or is proposed again
continues from what is there.
"""

import math
import os
from collections.abc import Callable, Sequence
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
from reinstate.tuning.search import SCORE, Asked, earlier, search, worth

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
    asked: Asked, wanted: Study, out: Path, reporter: Reporter, *, command: str
) -> StudyDocument:
    """Search at each combination that Optuna proposes; its value is the best reward found there."""
    try:
        import optuna
    except ImportError:
        needed = 'pip install "reinstate[tune]", or leave it out'
        raise UserError(f"--optuna needs Optuna: {needed}") from None
    with locked(out):
        return _study(optuna, asked, wanted, out, reporter, command)


def _study(
    optuna: Any, asked: Asked, wanted: Study, out: Path, reporter: Reporter, command: str
) -> StudyDocument:
    for name, choices in wanted.vary.items():
        for choice in choices:
            with_values(asked, {name: choice}).require_possible()
    vary = {name: list(choices) for name, choices in wanted.vary.items()}
    same = {**asked.identity(), "rounds_each": asked.search.rounds, "vary": vary}
    found = earlier(out, same, "studied") or {"studied": []}
    found |= {"preset": asked.preset, "score": SCORE, "command": command, **same}
    document = cast(StudyDocument, found | {**provenance(), "device": devices.describe()})
    write_document(out / "search.json", document)  # whose folder this is, before it fills

    def run(values: Values) -> float:
        folder = ",".join(f"{name}={value}" for name, value in values.items())
        reporter.note(folder)
        found = search(with_values(asked, values), out / folder, reporter, command=command)
        _add_trial(document, values, folder, found)
        write_document(out / "search.json", document)
        return worth(found["best"])

    _optimize(optuna, out / "journal.log", wanted, asked.search.seed, run)
    return document


def _add_trial(document: StudyDocument, values: Values, folder: str, found: SearchDocument) -> None:
    """Put a trial into the document, the best first."""
    kept = {"best": found["best"], "standing": found["standing"], "seconds": found["seconds"]}
    rows = [row for row in document["studied"] if row["folder"] != folder]
    rows.append(cast(Studied, {"values": values, "folder": folder, **kept}))
    rows.sort(key=lambda row: worth(row["best"]), reverse=True)
    document["studied"], document["best"] = rows, rows[0]


def _optimize(
    optuna: Any, journal: Path, wanted: Study, seed: int, run: Callable[[Values], float]
) -> None:
    """Run trials until the journal has as many as wanted, those of earlier calls included."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # it logs every interruption in full
    locks = optuna.storages.journal
    lock = locks.JournalFileOpenLock(str(journal)) if os.name == "nt" else None  # no symbolic links
    backend = locks.JournalFileBackend(str(journal), lock_obj=lock)
    known = optuna.create_study(
        storage=optuna.storages.JournalStorage(backend),
        study_name="reinstate",
        direction="maximize",
        load_if_exists=True,
    )

    def in_state(*names: str) -> list[Any]:
        return [t for t in known.get_trials(deepcopy=False) if t.state.name in names]

    def objective(trial: Any) -> float:
        values = {name: trial.suggest_categorical(name, c) for name, c in wanted.vary.items()}
        reward = run(values)
        if reward == -math.inf:
            raise optuna.TrialPruned("no setting stayed finite")
        return reward

    # A sampler starts from its seed in every call: a later call must not repeat an earlier one.
    known.sampler = optuna.samplers.TPESampler(seed=seed + len(known.trials))
    # Before any proposal comes the trial that an interrupted call was at, which would otherwise
    # count as done, and every combination if there are enough trials.
    finished, killed = in_state("COMPLETE", "PRUNED"), in_state("RUNNING")
    settled = [trial.params for trial in finished]
    settled += [trial.system_attrs.get("fixed_params") for trial in in_state("WAITING")]
    due = [trial.params for trial in (*killed, *in_state("FAIL"))]
    for trial in killed:
        known.tell(trial.number, state=optuna.trial.TrialState.FAIL)
    for values in due + wanted.due():
        if values and values not in settled:
            known.enqueue_trial(values)
            settled.append(values)
    # Proposals may repeat, so only the waiting trials tell which combinations are left.
    left = len(in_state("WAITING")) if wanted.exhaustive else wanted.trials - len(finished)
    if left > 0:
        known.optimize(objective, n_trials=left)
