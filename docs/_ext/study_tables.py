"""Tables that take more than a row of a file: cell states, recognition, worlds, kills."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import stats

from reinstate.analysis.intervals import over_seeds, with_interval
from reinstate.analysis.verdicts import holm
from reinstate.figures.style import label
from reinstate.runs.provenance import repeatable
from reinstate_paper.rival_tables import kept, task_of
from words import Record, Rows, markdown, once, shown

VARIANTS = {
    "paper": "as in the paper",
    "first-step": "added on the first step only",
    "tanh": "tanh(c) stored",
    "rms": "c stored, scaled down to RMS 1",
    "first-step-tanh": "first step only, and tanh(c) stored",
}
RECOGNITION = {"paper": "epL2RL (reward)", "recognition": "epL2RL+Recognition"}
SHOWN = (1.0, 10.0, 1e3)  # sizes in the table of variants, besides the clip


def cells_of(document: Record) -> Iterator[dict[str, Any]]:
    """Yield an experiment's cells at a preset, by variant, and what several tables have of them."""
    for experiment, presets in document["cells"].items():
        for preset, cells in presets.items():
            each = cells.values()
            made = {(repeatable(c["command"]), c["device"], c["commit"][:7]) for c in each}
            yield {
                "where": f"{experiment}, {preset}",
                "experiment": experiment,
                "cells": cells,
                "origins": sorted(made),
                "clips": [row["reward"]["mean"] for row in cells["paper"].get("clips", ())],
            }


def sizes(document: Record) -> str:
    """Show the share of stored units at or beyond each size, as c grows under the paper's rule."""
    rows = []
    for each in cells_of(document):
        stored = each["cells"]["paper"]["stored"]
        names, means = [*map(_beyond, stored["beyond"][:-1])], stored["mean_by_exposure"]
        for exposure in sorted({1, min(2, len(means)), (len(means) + 1) // 2, len(means)}):
            shares = [f"{share:.1%}" for share in means[exposure - 1]]
            row = {"experiment, preset": each["where"], "exposure": str(exposure)}
            rows.append(row | dict(zip([*names, "at the clip"], shares, strict=True)))
    return markdown(once(rows))


def _beyond(size: float) -> str:
    return f"≥ {size:,.0f}"


def variants(document: Record) -> str:
    """Show every variant's reward, its lead over the paper's rule, its r-gate, how large c gets."""
    rows = []
    for where, experiment, variant, cell, lead in _leads(document):
        number, stored = shown(experiment), cell["stored"]
        share = dict(zip(stored["beyond"], stored["last_exposure"]["mean"], strict=True))
        difference, *odds = lead or ("", "", "")
        rows.append(
            {
                "experiment, preset": where,
                "variant": VARIANTS[variant],
                "reward [95%]": with_interval(over_seeds(_rewards(cell)), number),
                "lead [95%]": difference and with_interval(over_seeds(difference), f"+{number}"),
                **dict(zip(("p", "p (Holm)"), map(_odds, odds), strict=True)),
                "r": f"{cell['r_gate']['mean']:.2f}",
                **{_beyond(size): f"{share[size]:.0%}" for size in SHOWN},
                "at the clip": f"{share[stored['beyond'][-1]]:.0%}",
            }
        )
    return markdown(once(rows))


def parts(document: Record) -> str:
    """Show every variant's lead over the paper's agent, seed by seed, in each experiment.

    Bold: p < .05 after Holm's adjustment for all cells of the table.
    """
    columns = {
        each["experiment"]: f"{each['experiment']} ({len(each['cells']['paper']['seeds'])} seeds)"
        for each in cells_of(document)
    }
    rows: dict[str, dict[str, str]] = {}
    for _, experiment, variant, cell, lead in _leads(document):
        text = f"{np.mean(_rewards(cell)):{shown(experiment)}}"
        if lead:
            text = with_interval(over_seeds(lead[0]), f"+{shown(experiment)}")
            text = f"**{text}**" if lead[2] < 0.05 else text
        agent = {"agent": RECOGNITION.get(variant, variant)}
        row = rows.setdefault(variant, agent | dict.fromkeys(columns.values(), ""))
        row[columns[experiment]] = text
    return markdown([*rows.values()])


def _leads(document: Record) -> Iterator[tuple[str, str, str, Any, Any]]:
    """Yield every cell with its lead over the paper's: by seed, two-sided p, and Holm's p.

    Holm's adjustment is for all cells of the table.
    """
    found = [
        (each["where"], each["experiment"], variant, cell, each["cells"]["paper"])
        for each in cells_of(document)
        for variant, cell in each["cells"].items()
    ]
    leads = {
        n: [float(x) for x in np.subtract(_rewards(cell), _rewards(paper))]
        for n, (_, _, variant, cell, paper) in enumerate(found)
        if variant != "paper"
    }
    p = [float(stats.ttest_1samp(lead, 0.0).pvalue) for lead in leads.values()]
    tested = dict(zip(leads, zip(leads.values(), p, holm(p), strict=True), strict=True))
    for n, (*about, _) in enumerate(found):
        where, experiment, variant, cell = about
        yield where, experiment, variant, cell, tested.get(n)


def _rewards(cell: Record) -> Any:
    return cell["reward"]["per_seed"]


def _odds(p: float | str) -> str:
    return p if isinstance(p, str) else f"{p:.3f}" if p >= 0.001 else "< .001"


def policies(document: Record) -> str:
    """Show how often each policy finds the right class and its newest state, by world."""
    rows = []
    for each in zip(*document["policies"].values(), strict=True):
        reach = f", {each[0]['reach']}" if each[0]["reach"] else ""
        row = {"policy, reach": f"{each[0]['policy']}{reach}"}
        for world, one in zip(document["policies"], each, strict=True):
            row[world] = f"{one['right']:.0%}, {one['newest']:.0%}, {one['entries']:,.0f}"
        over = f"{each[-1]['written_over_another']:.0%}"
        rows.append(row | {"written over another class, of 400": over})
    return markdown(rows)


def elsewhere(*documents: Record) -> str:
    """Show which share of a memory's worth is left in each world, by agent."""
    rows = [
        ({"task": task_of(document), "world": world}, shares)
        for document in documents
        for world, shares in kept(document).items()
    ]
    agents = dict.fromkeys(agent for _, shares in rows for agent in shares)
    return markdown(
        once([row | {label(a): _share(shares.get(a)) for a in agents} for row, shares in rows])
    )


def _share(share: float | None) -> str:
    return "–" if share is None else f"{share:.2f}"


def kills(document: Record) -> str:
    """Show how often each command was disturbed, and what came of it."""
    counts: dict[str, Counter[str]] = {}
    for row in document["rows"]:
        found = counts.setdefault(f"`{row['command']}`", Counter())
        found.update({name: n for name, n in row.items() if isinstance(n, int)})
    counts["*all*"] = Counter(document["totals"])
    names = ["disturbances", *(n for n in document["totals"] if n not in ("cases", "disturbances"))]
    rows: Rows = [
        {"command": command} | {name: f"{found[name]:,}" for name in names}
        for command, found in counts.items()
    ]
    return markdown(rows)


def busy(document: Record) -> str:
    """Say whether the machine had other things to do."""
    load = document["load"]
    if load < 0.5:
        return f"Nothing else ran at the time (load average {load:.1f})."
    return (
        f"Other programs ran at the time (load average {load:.1f} before it began): trust ratios"
        " more than rates."
    )


TABLES: dict[str, Callable[..., str]] = {
    "cell-sizes": sizes,
    "cell-variants": variants,
    "recognition-parts": parts,
    "recall-policies": policies,
    "rivals-elsewhere": elsewhere,
    "kills": kills,
    "bench-busy": busy,
}
