"""Agents whose memory is an input, gathered from results and runs on disk."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reinstate.analysis.documents import checked, read_document
from reinstate.analysis.results import (
    CheckRow,
    JudgedAgent,
    Provenance,
    Recorded,
    Scores,
    results_file,
)
from reinstate.analysis.verdicts import with_verdicts
from reinstate.errors import UserError
from reinstate.runs.experiment import find_experiment
from reinstate.runs.provenance import provenance, repeatable
from reinstate.runs.run import Run, open_run
from reinstate.settings import completed, differences, to_dict
from reinstate_paper.memory_as_input import Rows, Scored, add_agents, checks, with_inputs


class _Source(NamedTuple):
    """What is needed of a reproduction or of a run."""

    experiment: str
    preset: str
    settings: dict[str, Any]
    agents: dict[str, Scored]
    optimum: Mapping[str, Any]


class Gathered(Provenance):
    """What is written: a later call may replace it, and `reinstate report` shows it."""

    command: str
    experiments: Rows
    checks: list[CheckRow]


def gather_inputs(results: Sequence[Path], command: str) -> dict[str, Any]:
    """Gather the rewards of agents whose memory is an input, and check what the paper says.

    Results and runs of one experiment and preset complement each other, if their settings are the
    same: of an agent that is in several, the first counts. What has no such agent is left out.
    """
    rows: Rows = {}
    first: dict[tuple[str, str], dict[str, Any]] = {}
    for path in results:
        source = _of_run(path) if Run(path).exists else _of_results(path)
        name, preset, settings, agents, optimum = source
        changed = differences(first.setdefault((name, preset), settings), settings)
        if changed:
            raise UserError(
                f"{path} and an earlier one of {name} have other settings"
                f" ({'; '.join(changed)}): name results of the same"
            )
        add_agents(rows, name, preset, agents, optimum)
    if not (kept := with_inputs(rows)):
        raise UserError(
            "none of these results has an agent whose memory is an input: reproduce some with"
            " --agents epl2rl-input epl2rl-input-2"
        )
    return {"command": command, **provenance(), "experiments": kept, "checks": judged(kept)}


def judged(rows: Rows) -> list[CheckRow]:
    """Judge which inputs do as well as the r-gate."""
    return with_verdicts([check.as_row() for check in checks(rows)])


def _of_results(path: Path) -> _Source:
    """Read what `reproduce` left."""
    file, _ = results_file(path)
    found = read_document(Recorded, file)
    checked(dict[str, JudgedAgent], found["agents"], file)
    settings = completed(find_experiment(found["experiment"]).world, found["settings"])
    agents = {
        name: _scored(agent, repeatable(found["command"]), found["commit"], found["device"])
        for name, agent in found["agents"].items()
    }
    return _Source(found["experiment"], found["preset"], settings, agents, found["optimum"])


def _of_run(path: Path) -> _Source:
    """Read a single run: its folder tells neither by which command nor on what it was made."""
    experiment, agent, own = open_run(path)
    settings, saved = to_dict(own), Run(path).read_saved()
    same = (n for n, p in experiment.presets.items() if not differences(to_dict(p), settings))
    verdict = read_document(JudgedAgent, Run(path).evaluation_path)
    scored = _scored(verdict, None, saved.get("commit"), None)
    return _Source(experiment.name, next(same, "own"), settings, {agent: scored}, {})


def _scored(scores: Scores, command: str | None, commit: str | None, device: str | None) -> Scored:
    return {"reward": scores["reward"], "command": command, "commit": commit, "device": device}
