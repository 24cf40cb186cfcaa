"""results/cell-states.json, which benchmarks/cell_states.py makes → tables: header and rows."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from reinstate.analysis.intervals import over_seeds, with_interval
from reinstate.analysis.verdicts import holm
from reinstate.runs.experiment import EXPERIMENTS
from reinstate.runs.provenance import repeatable

Lines = tuple[list[str], list[list[str]]]

PAPER = "paper"
LABELS = {
    PAPER: "as in the paper",
    "first-step": "added on the first step only",
    "tanh": "tanh(c) stored",
    "rms": "c stored, scaled down to RMS 1",
    "first-step-tanh": "first step only, and tanh(c) stored",
}
SHOWN = (1.0, 10.0, 1e3)  # sizes in the table of variants, besides the clip


class Row(NamedTuple):
    """The cells of an experiment at a preset."""

    experiment: str
    preset: str
    cells: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.experiment}, {self.preset}"


def rows_of(document: dict[str, Any]) -> Iterator[Row]:
    for experiment, presets in document["cells"].items():
        for preset, cells in presets.items():
            yield Row(experiment, preset, cells)


def sizes(document: dict[str, Any]) -> Lines:
    """Show the share of stored units at or beyond each size, as c grows under the paper's rule."""
    lines, header = [], []
    for row in rows_of(document):
        stored = row.cells[PAPER]["stored"]
        header = [f"≥ {_size(size)}" for size in stored["beyond"][:-1]]
        means = stored["mean_by_exposure"]
        for exposure in sorted({1, min(2, len(means)), (len(means) + 1) // 2, len(means)}):
            shares = [f"{share:.1%}" for share in means[exposure - 1]]
            lines.append([row.name if exposure == 1 else "", str(exposure), *shares])
    return ["experiment, preset", "exposure", *header, "at the clip"], lines


def clips(document: dict[str, Any]) -> Lines:
    """Show what the same weights earn with the clip elsewhere."""
    lines, header = [], []
    for row in rows_of(document):
        found = row.cells[PAPER]["clips"]
        header = [f"at {_size(each['clip'])}" for each in found[:-1]]
        number = EXPERIMENTS[row.experiment].number.replace("2", "3")
        lines.append([row.name, *(f"{each['reward']['mean']:{number}}" for each in found)])
    return ["experiment, preset", *header, "none"], lines


def variants(document: dict[str, Any]) -> Lines:
    """Show every variant's reward, its lead over the paper's rule, its r-gate, how large c gets.

    Leads are taken seed by seed: Student's t, two-sided p, and p adjusted for all rows by Holm.
    """
    found = [(row, *each) for row in rows_of(document) for each in row.cells.items()]
    leads, odds = tested_leads(found)
    lines = []
    for n, (row, variant, cell) in enumerate(found):
        number, stored = EXPERIMENTS[row.experiment].number, cell["stored"]
        share = dict(zip(stored["beyond"], stored["last_exposure"]["mean"], strict=True))
        lead = ["", "", ""]
        if n in odds:
            lead = [with_interval(over_seeds(leads[n]), f"+{number}"), *map(_odds, odds[n])]
        lines.append(
            [
                "" if n in odds else row.name,
                LABELS[variant],
                with_interval(over_seeds(_rewards(cell)), number),
                *lead,
                f"{cell['r_gate']['mean']:.2f}",
                *(f"{share[size]:.0%}" for size in (*SHOWN, stored["beyond"][-1])),
            ]
        )
    sizes_shown = [f"≥ {_size(size)}" for size in SHOWN]
    scores = ["reward [95%]", "lead [95%]", "p", "p (Holm)"]
    return ["experiment, preset", "variant", *scores, "r", *sizes_shown, "at the clip"], lines


def tested_leads(found: list[Any]) -> tuple[list[Any], dict[int, tuple[float, float]]]:
    """Return every cell's lead over the paper's, and p and Holm's p of all but the paper's own."""
    leads = [np.subtract(_rewards(cell), _rewards(row.cells[PAPER])) for row, _, cell in found]
    tested = [n for n, (_, variant, _) in enumerate(found) if variant != PAPER]
    p = [float(stats.ttest_1samp(leads[n], 0.0).pvalue) for n in tested]
    return leads, dict(zip(tested, zip(p, holm(p), strict=True), strict=True))


def made(document: dict[str, Any]) -> Lines:
    """Show by which command each experiment's cells were made, and where."""
    lines = []
    for row in rows_of(document):
        cells = row.cells.values()
        origins = {(repeatable(c["command"]), c["device"], c["commit"][:7]) for c in cells}
        for command, device, commit in sorted(origins):
            lines.append([row.name, f"`{command}`", device, f"`{commit}`"])
    return ["experiment, preset", "command", "device", "commit"], lines


def _rewards(cell: dict[str, Any]) -> Any:
    return cell["reward"]["per_seed"]


def _odds(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else "< .001"


def _size(size: float) -> str:
    return f"{size:,.0f}"
