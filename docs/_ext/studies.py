"""Recorded studies beside the paper's experiments → what rows of their tables hold."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from reinstate.analysis.verdicts import holm, over_seeds, with_interval
from reinstate.runs.provenance import repeatable
from reinstate_paper.against_rivals import kept, rows, task_of
from words import Record, markdown, shown

rows_of = rows
RECOGNITION = {"paper": "epL2RL (reward)", "recognition": "epL2RL+Recognition"}


def cells_of(document: Record) -> Iterator[dict[str, Any]]:
    """Yield an experiment's cells at a preset, by variant, and what several tables have of them."""
    for experiment, presets in document["cells"].items():
        for preset, cells in presets.items():
            made = {
                (repeatable(cell["command"]), cell["device"], cell["commit"][:7])
                for cell in cells.values()
            }
            yield {
                "where": f"{experiment}, {preset}",
                "experiment": experiment,
                "cells": cells,
                "stored": cells["paper"].get("stored"),
                "origins": sorted(made),
                "clips": [row["reward"]["mean"] for row in cells["paper"].get("clips", ())],
            }


def exposures_of(cells: Record) -> list[int]:
    """Choose the first two exposures, the middle one and the last."""
    last = len(cells["stored"]["mean_by_exposure"])
    return sorted({1, min(2, last), (last + 1) // 2, last})


def beyond(size: float) -> str:
    return f"≥ {size:,.0f}"


def share_beyond(cell: Record, size: float) -> float:
    stored = cell["stored"]
    return float(stored["last_exposure"]["mean"][stored["beyond"].index(size)])


def leads_of(document: Record) -> list[dict[str, Any]]:
    """List every cell with its lead over the paper's: by seed, two-sided p, and Holm's p.

    Leads are taken seed by seed, and p by Student's t; Holm's adjustment is for all cells.
    """
    rows = [
        {**each, "variant": variant, "cell": cell, "lead": None, "p": None, "adjusted": None}
        for each in cells_of(document)
        for variant, cell in each["cells"].items()
    ]
    others = [row for row in rows if row["variant"] != "paper"]
    for row in others:
        paper = rewards_of(row["cells"]["paper"])
        row["lead"] = np.subtract(rewards_of(row["cell"]), paper).tolist()
        row["p"] = float(stats.ttest_1samp(row["lead"], 0.0).pvalue)
    for row, adjusted in zip(others, holm([row["p"] for row in others]), strict=True):
        row["adjusted"] = adjusted
    return rows


def rewards_of(cell: Record) -> Any:
    return cell["reward"]["per_seed"]


def odds(p: float | None) -> str:
    if p is None:
        return ""
    return f"{p:.3f}" if p >= 0.001 else "< .001"


def parts(document: Record) -> str:
    """Show every variant's lead over the paper's agent, seed by seed, in each experiment.

    Bold: p < .05 after Holm's adjustment for all cells of the table.
    """
    columns = {
        each["experiment"]: f"{each['experiment']} ({len(each['cells']['paper']['seeds'])} seeds)"
        for each in cells_of(document)
    }
    rows: dict[str, dict[str, str]] = {}
    for each in leads_of(document):
        number, variant = shown(each["experiment"]), each["variant"]
        text = f"{np.mean(rewards_of(each['cell'])):{number}}"
        if each["lead"]:
            text = with_interval(over_seeds(each["lead"]), f"+{number}")
            text = f"**{text}**" if each["adjusted"] < 0.05 else text
        agent = {"agent": RECOGNITION.get(variant, variant)}
        row = rows.setdefault(variant, agent | dict.fromkeys(columns.values(), ""))
        row[columns[each["experiment"]]] = text
    return markdown([*rows.values()])


def elsewhere(documents: Sequence[Record]) -> list[Mapping[str, Any]]:
    """List which share of a memory's worth is left in each world, by agent."""
    found = [(task_of(each), kept(each)) for each in documents]
    agents = dict.fromkeys(a for _, worlds in found for shares in worlds.values() for a in shares)
    return [
        {"task": task, "world": world, "left": {agent: shares.get(agent) for agent in agents}}
        for task, worlds in found
        for world, shares in worlds.items()
    ]


def sums_by_command(document: Record) -> list[Mapping[str, Any]]:
    """Sum what became of disturbances, for each command and for all."""
    counts: dict[str, Counter[str]] = {}
    for row in document["rows"]:
        found = counts.setdefault(f"`{row['command']}`", Counter())
        found.update({name: n for name, n in row.items() if isinstance(n, int)})
    every = {**counts, "*all*": Counter(document["totals"])}
    return [
        {name: found[name] for name in document["totals"]} | {"command": command}
        for command, found in every.items()
    ]
