"""Several experiments, one after the other, such as all of the paper's.

OUT/EXPERIMENT/ has what `reproduce EXPERIMENT` leaves there.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from reinstate.analysis.results import Results, Summary, SummaryPart
from reinstate.analysis.verdicts import count_verdicts, in_words
from reinstate.errors import Stopped, UserError
from reinstate.files import locked
from reinstate.runs.conclusions import as_one_family
from reinstate.runs.experiment import Experiment, find_experiment
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance
from reinstate.runs.reproduce import earlier_results, reproduce
from reinstate.settings import Settings


def reproduce_all(
    names: Sequence[str],
    preset: str,
    out: Path,
    reporter: Reporter,
    *,
    command: str,
    **changes: Any,
) -> dict[str, Results]:
    """Reproduce the named experiments, or what of them is not finished yet.

    `changes` are of the preset's settings, such as `seeds`. Whatever can be refused is refused
    before anything is trained.
    """
    if any((out / name).exists() for name in ("config.json", "results.json")):
        raise UserError(f"{out} holds a single run or experiment: choose another --out")
    parts = [_plan(name, preset, changes, out) for name in dict.fromkeys(names)]
    found: dict[str, Results] = {}
    for place, (experiment, settings, earlier) in enumerate(parts, 1):
        name, folder = experiment.name, out / experiment.name
        reporter.note(f"{name}, experiment {place} of {len(parts)}")
        what = (experiment, preset, experiment.agents, settings, folder, reporter)
        try:
            with _naming(name), locked(folder):
                found[name] = earlier or reproduce(*what, command=command, resume=True)
        except Stopped as stop:
            so_far = f"{len(found)} of {len(parts)} experiments done: the same command continues"
            raise Stopped(f"stopped in {name}, {so_far}", stop.number) from None
        verb = "already finished" if earlier else "finished"
        verdicts = in_words(count_verdicts(found[name]["checks"]))
        reporter.note(f"{name} {verb}: {verdicts}; {found[name]['seconds']['total']:.0f} s")
    return found


def _plan(
    name: str, preset: str, changes: Mapping[str, Any], out: Path
) -> tuple[Experiment, Settings, Results | None]:
    """Return an experiment, its settings, and its results if it is finished already."""
    experiment = find_experiment(name)
    with _naming(name):
        settings = replace(experiment.preset(preset), **changes)
        own = {agent: experiment.settings_of(agent, settings) for agent in experiment.agents}
        earlier = earlier_results(experiment, own, settings, out / name)
    finished = earlier and earlier["agents"].keys() >= own.keys()
    return experiment, settings, earlier if finished else None


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Let a mistake say in which experiment it came to light."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{name}: {error}") from None


def summarise(found: Mapping[str, Results], command: str) -> Summary:
    """Make summary.json: what was measured in each experiment, by which program, and totals.

    Seconds are those of each results.json.
    """
    # The paper's claims are one family, so verdicts here may be stricter than of one experiment.
    families = as_one_family([*found.values()])
    parts = {name: _part_of_summary(results) for name, results in found.items()}
    for part, rows in zip(parts.values(), families, strict=True):
        part["checks"] = rows
    return {
        "command": command,
        **provenance(),
        "totals": {
            "experiments": len(found),
            "agents": sum(len(results["agents"]) for results in found.values()),
            **count_verdicts([row for rows in families for row in rows]),
            "seconds": sum(results["seconds"]["total"] for results in found.values()),
        },
        "experiments": parts,
    }


def _part_of_summary(results: Any) -> SummaryPart:
    part: Any = {name: results[name] for name in SummaryPart.__annotations__}
    part["agents"] = {
        agent: {name: scores[name] for name in ("reward", "share_of_ceiling")}
        for agent, scores in results["agents"].items()
    }
    return cast(SummaryPart, part)
