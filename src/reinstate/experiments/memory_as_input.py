"""The paper's negative result: what agents earn whose memory is an input, not a gate.

A row for each experiment and preset: rewards by the size that a retrieved state is compressed to,
beside chance, the best agent without a memory, and epL2RL. Section 4.1's statements are checked.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

from reinstate.agent import AGENTS, INPUT_SIZES, Wiring
from reinstate.analysis.results import OverSeeds
from reinstate.experiments.base import Check
from reinstate.experiments.claims import input_at_chance

GOOD = 0.95  # as well as through the r-gate: this share of epL2RL's gain over no memory
FEW = 4  # the paper: to fewer than 5 dimensions
COMPRESSED = "compressed to fewer than 5 it does as well as the r-gate, only on a subset of tasks"


class Scored(TypedDict):
    """An agent's reward, and where it comes from."""

    reward: OverSeeds
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
    """Check section 4.1's statements on all rows."""
    return [*_at_chance(rows), *_compressed(rows)]


def best_without(row: Row) -> Scored | None:
    """Return the better of the agents without a memory, if any was run."""
    return max(row["without"].values(), key=_mean, default=None)


def _mean(scored: Scored) -> float:
    return float(scored["reward"]["mean"])


def _at_chance(rows: Rows) -> Iterator[Check]:
    """Check for every row with the uncompressed agent whether it is at chance."""
    for name, presets in rows.items():
        for preset, row in presets.items():
            if row["chance"] is not None:
                for check in input_at_chance(row["agents"], row):
                    claim = f"{name}, {preset} preset: {check.claim}"
                    # Nothing else was tried: the rows are what was.
                    yield check._replace(claim=claim, section="4.1", tried="")


def gain(row: Row, agent: str) -> float | None:
    """Return an agent's share of what epL2RL gains over no memory; None if unknown."""
    without = best_without(row)
    if not (agent in row["agents"] and row["epl2rl"] and without):
        return None
    most = _mean(row["epl2rl"]) - _mean(without)
    return (_mean(row["agents"][agent]) - _mean(without)) / most if most > 0 else None


def _compressed(rows: Rows) -> Iterator[Check]:
    """Check on how many experiments few inputs, and more, do as well as the r-gate."""
    few = [f"epl2rl-input-{size}" for size in INPUT_SIZES if size <= FEW]
    many = [f"epl2rl-input-{size}" for size in INPUT_SIZES if size > FEW]
    notes: dict[str, Any] = {"section": "4.1", "paper": COMPRESSED}
    how = f"(experiments with {GOOD:.0%} of its gain)"
    if len(good := _good(rows, few)) > 1:
        n, of = sum(good), len(good)
        claim = f"compressed to {FEW} inputs or fewer, some do as well as the r-gate {how}"
        yield Check(claim, n, f"1 to {of - 1} of {of}", 0 < n < of, **notes)
    if good := _good(rows, many):
        n, of = sum(good), len(good)
        claim = f"compressed to more than {FEW} inputs, none does as well as the r-gate {how}"
        yield Check(claim, n, f"0 of {of}", n == 0, **notes)


def _good(rows: Rows, agents: Sequence[str]) -> list[bool]:
    """Tell for each experiment with any of these agents whether one of them does as well."""
    found = []
    for presets in rows.values():
        gains = [gain(row, agent) for row in presets.values() for agent in agents]
        known = [share for share in gains if share is not None]
        if known:
            found.append(max(known) >= GOOD)
    return found
