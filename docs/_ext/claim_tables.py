"""results.json and summary.json → tables of what agents earn, and of claims."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from reinstate.agent import AGENTS, Wiring
from reinstate.analysis.results import CheckRow, Results, Summary
from reinstate.analysis.verdicts import ALPHA, over_seeds, with_interval
from reinstate.choices.model import STRATEGIES
from reinstate.cli.tables import as_text
from reinstate.figures.chart import written
from reinstate.figures.style import label
from reinstate_paper.multiverse.cells import Cell
from reinstate_paper.multiverse.findings import sentences
from words import NBSP, Record, Rows, markdown, once, players

SUMMARIES = ("paper preset", "replicate", "quick preset")  # in the order of the files
FIGURE = re.compile(r" \(Fig\. \w+\)$")
AGENT = re.compile(r"(?<![\w-])(?:ep)?l2rl(?:-[a-z]+)?(?:-\d+)?(?![\w-])")


def players_and_optima(document: Results) -> list[Record]:
    """List what agents earn, then in the same columns what can be earned at best."""
    played = [*players(document)]
    none: Record = {"share": None, "runs": "", "more": dict.fromkeys(played[0]["more"], "")}
    optima = document["optimum"].items()
    values = {name: as_text(v) for name, v in optima if not isinstance(v, (list, bool))}
    best = [{"player": f"*{n.replace('_', ' ')}*", "rewards": v, **none} for n, v in values.items()]
    return played + best


def named(claim: str) -> str:
    """Write agents as readers know them; one whose label is a phrase stays a name in code."""
    labels = {n: label(n) for n in AGENTS if isinstance(AGENTS[n], Wiring) and "," not in label(n)}
    return AGENT.sub(lambda found: labels.get(found[0], f"`{found[0]}`"), claim)


def paper_claims(*summaries: Summary) -> str:
    """Show the paper's claims in several summaries, the first of which has all."""
    columns = dict(zip(SUMMARIES, map(claims_of, summaries), strict=False))
    claims = [(key, c) for key, c in columns[SUMMARIES[0]].items() if c["paper"]]
    sections = {check["paper"]: check["section"] for _, check in reversed(claims)}
    # Claims stand with the section's other ones of the same statement.
    statements = [(check["section"], check["paper"]) for _, check in claims]
    claims.sort(key=lambda each: statements.index((each[1]["section"], each[1]["paper"])))
    rows = []
    for key, check in claims:
        first, section = sections[check["paper"]], check["section"]
        said = FIGURE.sub("", check["paper"]) if section == first else f"as in {first}"
        tested = _tested(check) if section == first else "the same"
        row = {"the paper": f"{section}: {said}", "tested here": tested}
        for name, found in columns.items():
            row[name] = _cell(found.get(key), with_interval=name == SUMMARIES[0])
        rows.append(row)
    return markdown(_abridged(once(rows)))


def _tested(check: CheckRow) -> str:
    claim = check["claim"].replace(" in reward per episode", "")
    claim = claim.replace("weight, as a share of the largest", "relative weight")
    return named(f"{claim}: {_region(check)}")


def _abridged(rows: Rows) -> Rows:
    """Where a statement has several claims, say of the later ones only what differs."""
    found, full = [], list[str]()
    for row in rows:
        words = row["tested here"].split(" ")
        if row["the paper"] or len(words) != len(full):
            full = words
        else:
            new = [word for word, first in zip(words, full, strict=True) if word != first]
            row = row | {"tested here": f"… {' … '.join(new)}"}
        found.append(row)
    return found


def _cell(check: CheckRow | None, with_interval: bool) -> str:
    """Show a value, its verdict if not `supported`, and the p if only Holm's leaves it open."""
    if check is None:
        return "–"
    value, ci95 = f"{check['value']:.3f}", check["ci95"]
    if with_interval and ci95:
        value += f" [{ci95[0]:.3f},{NBSP}{ci95[1]:.3f}]"
    if check["verdict"] == "supported":
        return value
    value, p_holm = f"**{check['verdict']}** {value}", check["p_holm"]
    return f"{value}, *{written(p_holm)}*" if p_holm and check["p"] <= ALPHA < p_holm else value


def _region(check: CheckRow) -> str:
    low, high = (None if end is None else f"{end:.3g}" for end in check["region"])
    if low and high:
        return f"{low} to {high}"
    return f"≥{NBSP}{low}" if low else f"≤{NBSP}{high}"


def agreement(first: Summary, second: Summary) -> tuple[int, int, int]:
    """Count the claims that both test, alike, and one supporting what the other contradicts."""
    ours, theirs = claims_of(first), claims_of(second)
    pairs = [(ours[key]["verdict"], theirs[key]["verdict"]) for key in ours if key in theirs]
    same = sum(a == b for a, b in pairs)
    return len(pairs), same, sum({*pair} == {"supported", "contradicted"} for pair in pairs)


def agreeing(first: Summary, second: Summary) -> str:
    shared, same, flips = agreement(first, second)
    return f"{same} of {shared} claims, {flips or 'none'} reversed"


def claims_of(summary: Summary) -> dict[tuple[str, str], CheckRow]:
    """Return claims by experiment and text."""
    parts = summary["experiments"].items()
    return {(name, check["claim"]): check for name, part in parts for check in part["checks"]}


def cells_in(documents: Sequence[Record]) -> dict[str, list[Cell]]:
    """Gather recorded cells by experiment."""
    found: dict[str, list[Cell]] = {}
    for cell in (cell for document in documents for cell in document["grid"]):
        own = Cell(*(cell[name] for name in Cell._fields))
        found.setdefault(cell["experiment"], []).append(own)
    return found


def open_sentences(summary: Record, grids: Sequence[Record]) -> list[Record]:
    """List the sentences of the paper that are not plainly supported; then count the others."""
    found = sentences(cast(Any, summary), cells_in(grids))
    rows = [
        {
            "sentence": f"{', '.join(each.sections)}: {each.text.partition(' (Fig')[0]}",
            "verdict": each.verdict if each.verdict != "depends" else "depends on a choice",
            "on": ", ".join(name.rpartition(".")[2] for name in each.depends),
        }
        for each in found
        if each.verdict != "supported"
    ]
    rest = len(found) - len(rows)
    return [
        *rows,
        {"sentence": f"the other {rest} of {len(found)}", "verdict": "supported", "on": ""},
    ]


def changed_alone(grids: Sequence[Record], claims: Mapping[str, str]) -> list[Record]:
    """Show what becomes of claims (heading → experiment and text) as one choice is changed."""
    known = {heading: each.split(": ", 1) for heading, each in claims.items()}
    rows: dict[str, dict[str, str]] = {}
    for experiment, cells in cells_in(grids).items():
        for cell in cells:
            row = rows.setdefault(_choices(cell) or "paper preset", dict.fromkeys(claims, ""))
            for heading, (name, text) in known.items():
                for claim in cell.claims if name == experiment else ():
                    if claim["claim"].startswith(text):
                        row[heading] = f"{claim['value']:.2f}" if cell.learns else "no learning"
    return [{"changed": options, **row} for options, row in rows.items()]


def on_map(document: Record, down: str, across: str) -> list[Record]:
    """Count for how many runs a map's claim holds, by two factors, over the cells that count."""
    cells = [cell for own in cells_in([document]).values() for cell in own if cell.learns]
    columns = sorted({cell.options[across] for cell in cells})
    return [
        {"level": level}
        | {
            f"{across.rpartition('.')[2]} {column}": _held(
                [c for c in cells if (c.options[down], c.options[across]) == (level, column)]
            )
            for column in columns
        }
        for level in sorted({cell.options[down] for cell in cells})
    ]


def _held(cells: Sequence[Cell]) -> str:
    held = [each for cell in cells for row in cell.claims for each in row["holds"]]
    return f"{sum(held)} of {len(held)}" if held else "–"


def on_other_seeds(*documents: Record) -> list[Record]:
    """Set cells of maps that were run on other seeds against the same cells of the maps."""
    known = cells_in(documents)
    return [
        {"experiment": name, "cell": _choices(first), "runs": (_held([first]), _held([again]))}
        for name, cells in known.items()
        for first in cells
        for again in cells
        if first.options == again.options and first.seeds[0] > again.seeds[0]
    ]


def _choices(cell: Cell) -> str:
    return ", ".join(f"{name.rpartition('.')[2]} {v}" for name, v in cell.options.items())


def by_player(document: Record) -> list[Record]:
    """Show the strategies of agents, and of the observer as control, under each coding."""
    players = {label(name): each for name, each in document["agents"].items()}
    surest = max(document["observers"], key=float)
    players[f"observer, β = {surest}"] = document["observers"][surest]
    rows: list[Record] = []
    for who, codings in players.items():
        for coding, parts in codings.items():
            row: dict[str, Any] = {"player": who, "coding": coding}
            for part, name in (("uncued", "IMF"), ("cued", "IMF"), ("cued", "IMB")):
                weights = parts.get(part, {}).items()
                each = {n: np.array(w["per_seed"]) for n, w in weights if n in STRATEGIES}
                most = np.max(np.abs([*each.values()]), axis=0) if each else 1.0
                row[f"{name}, {part}"] = (
                    with_interval(over_seeds(each[name] / most)) if each else ""
                )
            rows.append(row)
    return rows
