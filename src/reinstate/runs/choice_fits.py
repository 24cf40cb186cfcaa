"""Fits of choices from a file, and the folder that holds them.

OUT/weights.csv           one row per participant, part (uncued, cued) and weight
OUT/fit.json              the same with fits, group, stay probabilities and warnings
OUT/choice-weights.png    and .svg
OUT/stay.png              and .svg
"""

import csv
import io
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import numpy as np

from reinstate.choices.documents import ROW, ChoiceFit, Recovery
from reinstate.choices.likelihood import PRIOR_SD
from reinstate.choices.participants import fit_choices, require_model
from reinstate.choices.simulated import simulate
from reinstate.choices.tables import COLUMNS, ChoiceTable, read_choices
from reinstate.figures import mpl
from reinstate.figures.choices import fitted_stay, fitted_weights, recovery
from reinstate.files import require_empty, write_atomically, write_json
from reinstate.runs.provenance import provenance

EXAMPLE = {"IMF": 0.3, "IMB": 1.2, "EMF": 0.2, "EMB": 1.0, "bias": 0.1, "perseveration": 0.3}


def fit_file(
    path: Path,
    columns: Mapping[str, str] | None = None,
    common: Mapping[str, str] | None = None,
    model: str = "one-back",
    skip_bad: bool = False,
    prior_sd: float = PRIOR_SD,
    seed: int = 0,
) -> ChoiceFit:
    """Fit a table of choices; the arguments are those of `read_choices` and `fit_choices`."""
    require_model(model)
    table = read_choices(path, columns, common, skip_bad)
    document = fit_choices(table.choices, model, table.participants, prior_sd, seed)
    document["warnings"] = _warnings(table) + document["warnings"]
    sessions = np.unique(np.stack([table.choices.participant, table.choices.session]), axis=1)
    data = {
        "file": str(path),
        "participants": len(table.participants),
        "sessions": sessions.shape[1],
        "episodes": len(table.choices.action),
        "cued": int(table.choices.cued.sum()),
        "actions": table.actions,
        "states": table.states,
        "skipped": table.skipped,
        "bad_rows": table.bad_rows,
    }
    return cast(ChoiceFit, {"data": data, **document, **provenance()})


def _warnings(table: ChoiceTable) -> list[str]:
    found = [f"skipped {table.skipped} bad rows"] if table.skipped else []
    common = float(np.mean(table.choices.action == table.choices.state))
    if common < 0.5:
        first, other = table.actions[0], table.states[1]
        found.append(
            f"actions lead to their common state in only {common:.0%} of episodes: if {first}"
            f" commonly leads to {other}, say so (--common {first}={other})"
        )
    return found


def save_fit(document: ChoiceFit, out: Path) -> None:
    """Write all the files of a fit, or none."""
    with _all_or_nothing(out) as folder:
        write_json(folder / "fit.json", document)
        write_tidy(document, folder / "weights.csv")
        mpl.save(fitted_weights(document), folder / "choice-weights")
        mpl.save(fitted_stay(document), folder / "stay")


def save_recovery(document: Recovery, out: Path) -> None:
    """Write recovery.json, recovery.csv and the figure of a `Recovery`, or none."""
    with _all_or_nothing(out) as folder:
        write_json(folder / "recovery.json", document)
        write_tidy(document, folder / "recovery.csv")
        mpl.save(recovery(document), folder / "recovery")


@contextmanager
def _all_or_nothing(out: Path) -> Iterator[Path]:
    """Give a place for files that move to the folder `out` once all of them are written."""
    require_empty(out, "choose another --out")
    new, place = not out.exists(), out / f".{os.getpid()}.tmp"
    try:
        yield place
        for file in place.iterdir():
            file.replace(out / file.name)
    finally:
        shutil.rmtree(place, ignore_errors=True)
        if new:
            with suppress(OSError):  # it holds what was written, or was never made
                out.rmdir()


def write_tidy(document: ChoiceFit | Recovery, path: Path) -> None:
    """Write the rows as CSV; what does not apply stays empty."""
    lacking = [] if document["model"] == "hierarchical" else ["r_hat", "n_eff"]
    lacking += [] if "coverage" in document else ["true"]
    columns = [name for name in ROW if name not in lacking]
    _write_csv(path, columns, [[row.get(name) for name in columns] for row in document["rows"]])


def _write_csv(path: Path, header: Sequence[str], rows: list[list[Any]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    write_atomically(path, text.getvalue().encode())


def example_rows(seed: int = 0) -> list[list[Any]]:
    """Simulate the documented example: 4 participants with 3 sessions of 100 episodes each."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(4):
        weights = {name: w + 0.3 * rng.standard_normal() for name, w in EXAMPLE.items()}
        c = simulate(weights, sessions=3, seed=(seed, person))
        cue = ["" if e < 0 else int(e) + 1 for e in c.cue_episode]
        columns = c.session + 1, c.episode + 1, c.cued.astype(int), cue, c.action, c.state, c.reward
        listed = [np.asarray(column, object).tolist() for column in columns]
        rows += [[f"p{person + 1}", *row] for row in zip(*listed, strict=True)]
    return rows


def write_example(path: Path, seed: int = 0) -> None:
    """Write the documented example as CSV."""
    _write_csv(path, COLUMNS, example_rows(seed))
