"""The paper's negative result, gathered: what agents earn whose memory is an input, not a gate.

A row for each experiment and preset: rewards by the size that a retrieved state is compressed to,
beside chance, the best agent without a memory, and epL2RL. Section 4.1's statements are checked.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from reinstate.agent import AGENTS, INPUT_SIZES
from reinstate.errors import UserError
from reinstate.experiments.base import Check
from reinstate.experiments.claims import input_at_chance
from reinstate.files import read_json
from reinstate.report.sources import understood
from reinstate.runs.provenance import provenance, repeatable
from reinstate.runs.reproduce import find_experiment, open_run
from reinstate.runs.run import Run
from reinstate.settings import completed, differences, to_dict

GOOD = 0.95  # as well as through the r-gate: this share of epL2RL's gain over no memory
FEW = 4  # the paper: to fewer than 5 dimensions
COMPRESSED = "compressed to fewer than 5 it does as well as the r-gate, only on a subset of tasks"

Row = dict[str, Any]


def gather_inputs(results: Sequence[Path], command: str) -> dict[str, Any]:
    """The document of all rows, and the checks on them.

    Results and runs of one experiment and preset complement each other, if their settings are the
    same: of an agent that is in several, the first counts. What has no such agent is left out.
    """
    found: dict[str, dict[str, Row]] = {}
    settings: dict[tuple[str, str], dict[str, Any]] = {}
    for path in results:
        with understood(path):
            document = _document(path)
            name, preset = document["experiment"], str(document["preset"])
            first = settings.setdefault((name, preset), document["settings"])
            _require_same_settings(path, first, document)
            empty: Row = {"chance": None, "without": {}, "epl2rl": None, "agents": {}}
            _add(found.setdefault(name, {}).setdefault(preset, empty), document)
    rows = {name: kept for name, presets in found.items() if (kept := _with_agents(presets))}
    if not rows:
        raise UserError(
            "none of these results has an agent whose memory is an input: reproduce some with"
            " --agents epl2rl-input epl2rl-input-2"
        )
    checks = [check._asdict() for check in (*_at_chance(rows), *_compressed(rows))]
    return {"command": command, **provenance(), "experiments": rows, "checks": checks}


def _document(path: Path) -> dict[str, Any]:
    """What `reproduce` left; or of a single run as much as is needed here."""
    if not (path / "config.json").is_file():
        found: dict[str, Any] = read_json(path / "results.json" if path.is_dir() else path)
        known = find_experiment(str(found["experiment"]))
        return {**found, "settings": completed(known.world, found["settings"])}
    experiment, agent, own = open_run(path)
    settings = to_dict(own)
    same = (n for n, p in experiment.presets.items() if not differences(to_dict(p), settings))
    return {
        "experiment": experiment.name,
        "preset": next(same, "own"),
        "settings": settings,
        "optimum": {},
        "agents": {agent: read_json(Run(path).evaluation_path)},
        "command": None,  # a run's folder does not tell, nor on what machine it was
        "device": None,
        "commit": read_json(path / "config.json")["commit"],
    }


def _with_agents(presets: dict[str, Row]) -> dict[str, Row]:
    return {preset: row for preset, row in presets.items() if row["agents"]}


def _add(row: Row, document: dict[str, Any]) -> None:
    """Put a file's agents into their row."""
    optimum = document["optimum"]
    if row["chance"] is None:
        row["chance"] = optimum.get("chance", optimum.get("random_walk"))
    command = document["command"] and repeatable(document["command"])
    for name, scores in document["agents"].items():
        origin = {"command": command, "commit": document["commit"], "device": document["device"]}
        scored = {"reward": scores["reward"], **origin}
        if name.startswith("epl2rl-input"):
            row["agents"].setdefault(name, scored)
        elif name == "epl2rl":
            row["epl2rl"] = row["epl2rl"] or scored
        elif name in AGENTS and AGENTS[name].recall == "none":
            row["without"].setdefault(name, scored)


def best_without(row: Row) -> dict[str, Any] | None:
    """The better of the agents without a memory, if any was run."""
    return max(row["without"].values(), key=_mean, default=None)


def _mean(scored: dict[str, Any]) -> float:
    return float(scored["reward"]["mean"])


def _at_chance(rows: dict[str, dict[str, Row]]) -> Iterator[Check]:
    """Of every row with the uncompressed agent, whether it is at chance."""
    for name, presets in rows.items():
        for preset, row in presets.items():
            if row["chance"] is not None:
                for check in input_at_chance(row["agents"], row, "chance", "4.1"):
                    claim = f"{name}, {preset} preset: {check.claim}"
                    yield check._replace(claim=claim, tried="")  # the rows are what was tried


def gain(row: Row, agent: str) -> float | None:
    """An agent's share of what epL2RL gains over the best without a memory; None if unknown."""
    without = best_without(row)
    if not (agent in row["agents"] and row["epl2rl"] and without):
        return None
    most = _mean(row["epl2rl"]) - _mean(without)
    return (_mean(row["agents"][agent]) - _mean(without)) / most if most > 0 else None


def _compressed(rows: dict[str, dict[str, Row]]) -> Iterator[Check]:
    """On how many experiments few inputs, and more inputs, do as well as the r-gate."""
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


def _good(rows: dict[str, dict[str, Row]], agents: Sequence[str]) -> list[bool]:
    """For each experiment with any of these agents, whether one of them does as well."""
    found = []
    for presets in rows.values():
        gains = [gain(row, agent) for row in presets.values() for agent in agents]
        known = [share for share in gains if share is not None]
        if known:
            found.append(max(known) >= GOOD)
    return found


def _require_same_settings(path: Path, first: dict[str, Any], document: dict[str, Any]) -> None:
    changed = differences(first, document["settings"])
    if changed:
        raise UserError(
            f"{path} and an earlier one of {document['experiment']} have other settings"
            f" ({'; '.join(changed)}): name results of the same"
        )
