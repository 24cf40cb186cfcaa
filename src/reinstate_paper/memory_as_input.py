"""The paper's negative result: what agents earn whose memory is an input, not a gate.

A row for each experiment and preset: rewards by the size that a retrieved state is compressed to,
beside chance, the best agent without a memory, and epL2RL. The paper says in a footnote of section
4.1 that fewer than five numbers could do as well as the r-gate, on a subset of its tasks: which
sizes do so here is a claim of ours for each experiment and preset.
"""

from collections.abc import Mapping
from typing import Any, TypedDict

import numpy as np

from reinstate.agent import AGENTS, Wiring
from reinstate.analysis.results import Scalar
from reinstate.analysis.verdicts import Region
from reinstate.runs.experiment import Check
from reinstate_paper.claims import claim
from reinstate_paper.margins import MORE


class Scored(TypedDict):
    """An agent's reward, and where it comes from."""

    reward: Scalar
    command: str | None
    commit: str | None
    device: str | None


class Row(TypedDict):
    """An experiment at a preset."""

    chance: float | None
    without: dict[str, Scored]  # agents without a memory
    epl2rl: Scored | None
    agents: dict[str, Scored]  # those whose memory is an input


Rows = dict[str, dict[str, Row]]  # by experiment and preset


def add_agents(
    rows: Rows,
    experiment: str,
    preset: str,
    agents: Mapping[str, Scored],
    optimum: Mapping[str, Any],
) -> None:
    """Put agents into their row; of an agent that is there already, the first counts."""
    empty: Row = {"chance": None, "without": {}, "epl2rl": None, "agents": {}}
    row = rows.setdefault(experiment, {}).setdefault(preset, empty)
    if row["chance"] is None:
        row["chance"] = optimum.get("chance", optimum.get("random_walk"))
    for name, scored in agents.items():
        wiring = AGENTS.get(name)
        if name == "epl2rl":
            row["epl2rl"] = row["epl2rl"] or scored
        elif isinstance(wiring, Wiring) and wiring.route == "input":
            row["agents"].setdefault(name, scored)
        elif isinstance(wiring, Wiring) and not wiring.remembers:
            row["without"].setdefault(name, scored)


def with_inputs(rows: Rows) -> Rows:
    """Keep the rows that have any agent whose memory is an input."""
    kept = {
        name: {preset: row for preset, row in presets.items() if row["agents"]}
        for name, presets in rows.items()
    }
    return {name: presets for name, presets in kept.items() if presets}


def checks(rows: Rows) -> list[Check]:
    """Ask of every cell whether it does as well as the r-gate, but for a margin.

    That the uncompressed state is at chance is a claim of each experiment. The mean of epL2RL's
    seeds is taken as known: it varies far less than what it is compared with.
    """
    region = Region(high=MORE.size)
    bound = f"at most {MORE.size}: a tenth of what epL2RL gains over no memory"
    found = []
    for name, presets in rows.items():
        for preset, row in presets.items():
            for agent in row["agents"]:
                if (shortfalls := _shortfalls(row, agent)) is not None:
                    text = f"{name}, {preset} preset: {agent} does as well as the r-gate (lacks)"
                    check = claim(text, shortfalls, region, bound)
                    found.append(check._replace(section="4.1"))
    return found


def best_without(row: Row) -> Scored | None:
    """Return the better of the agents without a memory, if any was run."""
    return max(row["without"].values(), key=_mean, default=None)


def _mean(scored: Scored) -> float:
    return float(scored["reward"]["mean"])


def gain(row: Row, agent: str) -> float | None:
    """Return an agent's share of what epL2RL gains over no memory; None if unknown."""
    shortfalls = _shortfalls(row, agent)
    return None if shortfalls is None else float(1 - np.mean(shortfalls))


def _shortfalls(row: Row, agent: str) -> Any:
    """Return what each seed lacks of epL2RL's gain over no memory, as a share of it."""
    without = best_without(row)
    if not (agent in row["agents"] and row["epl2rl"] and without):
        return None
    best = _mean(row["epl2rl"])
    earned = np.array(row["agents"][agent]["reward"]["per_seed"], float)
    return (best - earned) / (best - _mean(without)) if best > _mean(without) else None
