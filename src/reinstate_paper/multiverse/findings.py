"""What grids say: on which choices a claim depends, and the verdict on each sentence."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NotRequired

from reinstate.analysis.results import CheckRow, Provenance, Summary
from reinstate.analysis.verdicts import ALPHA, with_verdicts
from reinstate.figures.chart import Chart, Series
from reinstate.figures.style import palette
from reinstate.files import read_document
from reinstate.runs.reproduce import rounded
from reinstate.settings import Value
from reinstate_paper.multiverse.cells import Cell, inside
from reinstate_paper.multiverse.grids import PRESET

WORST_FIRST = ("contradicted", "undecided", "depends", "supported")
KEPT = ("claim", "value", "ci95", "region", "p", "seeds", "paper", "holds", "control")


def dependence(cells: Sequence[Cell], claim: str) -> tuple[str, ...]:
    """Name the factors on which a claim depends, of cells that were changed one by one."""
    counted = [cell for cell in cells if cell.learns]
    tests: list[Any] = [row for cell in counted for row in cell.claims]
    rows = iter(with_verdicts(tests))
    verdicts: dict[str, set[str]] = {}
    for cell in counted:
        factor = next(iter(cell.options), PRESET)
        for row in cell.claims:
            verdict = next(rows)["verdict"]
            if row["claim"] == claim and _contradicted(row["control"]):
                verdicts.setdefault(factor, set()).add(verdict)
    preset = verdicts.pop(PRESET, set())
    both = {"supported", "contradicted"}
    return tuple(factor for factor, found in verdicts.items() if both <= found | preset)


def _contradicted(control: CheckRow | None) -> bool:
    return control is not None and control["p"] <= ALPHA and not inside(control)


class Grids(Provenance):
    """Cells of a map, or those of all experiments that were changed one by one."""

    command: str
    device: str
    earlier: NotRequired[list[dict[str, Any]]]  # what made cells that were there already
    grid: list[dict[str, Any]]  # each a `Cell`, and its experiment


def as_document(cells: Mapping[str, Sequence[Cell]], claims: tuple[str, ...] = ()) -> Any:
    """Write cells by experiment as plain values; of `claims`, those that begin so."""
    found = []
    for experiment, own in cells.items():
        for cell in own:
            rows = [_kept(row) for row in cell.claims if row["claim"].startswith(claims or "")]
            found.append({"experiment": experiment, **cell._asdict(), "claims": rows})
    return rounded({"grid": found})


def _kept(row: Any) -> dict[str, Any]:
    kept = {name: row[name] for name in KEPT if name in row}
    return (
        {**kept, "control": kept["control"] and _kept(kept["control"])}
        if "control" in kept
        else kept
    )


def read_cells(path: Path) -> dict[str, list[Cell]]:
    """Read cells by experiment."""
    found: dict[str, list[Cell]] = {}
    for cell in read_document(Grids, path)["grid"]:
        found.setdefault(cell["experiment"], []).append(Cell(*(cell[n] for n in Cell._fields)))
    return found


def known_cells(path: Path) -> list[Cell]:
    """Read all cells of a file, or none if there is no file."""
    return [cell for own in read_cells(path).values() for cell in own] if path.exists() else []


def origins(path: Path) -> list[dict[str, Any]]:
    """Name what made a file, if there is one, and what made the cells that it took over."""
    if not path.exists():
        return []
    document: Any = read_document(Grids, path)
    made = {name: document[name] for name in ("command", *Provenance.__annotations__, "device")}
    return [*document.get("earlier", ()), made]


class Sentence(NamedTuple):
    """A sentence of the paper, with the worst of the verdicts on its claims."""

    text: str
    sections: tuple[str, ...]
    verdict: str
    depends: tuple[str, ...]  # on these factors
    claims: int


def sentences(summary: Summary, alone: Mapping[str, Sequence[Cell]]) -> list[Sentence]:
    """Give every sentence of the paper its verdict."""
    found: dict[str, list[tuple[str, tuple[str, ...], str]]] = {}
    for name, part in summary["experiments"].items():
        for row in part["checks"]:
            if row["paper"]:
                on = dependence(alone.get(name, ()), row["claim"])
                verdict = "depends" if on else row["verdict"]
                found.setdefault(row["paper"], []).append((verdict, on, row["section"]))
    return [
        Sentence(
            text,
            tuple(dict.fromkeys(section for *_, section in rows)),
            min((verdict for verdict, *_ in rows), key=WORST_FIRST.index),
            tuple(dict.fromkeys(factor for _, on, _ in rows for factor in on)),
            len(rows),
        )
        for text, rows in found.items()
    ]


def marginals(
    cells: Sequence[Cell], factors: Mapping[str, Sequence[Value]], claims: tuple[str, ...]
) -> list[Chart]:
    """Show for each factor at which share of seeds a claim holds, over all cells that count."""
    counted = [cell for cell in cells if cell.learns]
    every = dict.fromkeys(row["claim"] for cell in counted for row in cell.claims)
    texts = [text for text in every if text.startswith(claims)]
    charts = []
    for factor, levels in factors.items():
        series = [
            Series(
                text,
                colour,
                range(len(levels)),
                [_share(counted, text, factor, level) for level in levels],
            )
            for text, colour in zip(texts, palette(texts), strict=True)
        ]
        name = factor.rpartition(".")[2].replace("-", " ")
        looks: Any = {"categories": [str(level) for level in levels], "include": (0, 1)}
        charts.append(
            Chart("Where the claim holds", name, "share of seeds", series, of=name, **looks)
        )
    return charts


def _share(cells: Sequence[Cell], claim: str, factor: str, level: Value) -> float | None:
    """Return the share of seeds for which a claim holds, of the cells with this level."""
    held = [
        each
        for cell in cells
        if cell.options.get(factor) == level
        for row in cell.claims
        if row["claim"] == claim
        for each in row["holds"]
    ]
    return sum(held) / len(held) if held else None
