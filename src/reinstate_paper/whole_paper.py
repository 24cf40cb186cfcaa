"""The whole paper: every experiment, one after the other, and one report of them all.

OUT/EXPERIMENT/   what `reproduce EXPERIMENT` leaves there
OUT/summary.json  rewards and claims of every experiment
OUT/report.html   the page of all results
"""

import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from reinstate.analysis.results import Results, Summary, SummaryPart
from reinstate.analysis.verdicts import count_verdicts, in_words
from reinstate.errors import UserError
from reinstate.figures.page import require_report, write_page
from reinstate.figures.page.frame import require_replaceable
from reinstate.files import locked, write_document
from reinstate.runs import size
from reinstate.runs.conclusions import as_one_family
from reinstate.runs.experiment import Experiment, find_experiment
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance
from reinstate.runs.reproduce import earlier_results, reproduce
from reinstate.runs.training import Stopped
from reinstate.settings import Settings


class Part(NamedTuple):
    """One experiment of the paper."""

    experiment: Experiment
    settings: Settings
    out: Path
    results: Results | None  # if it is finished already


def reproduce_all(
    names: Sequence[str],
    preset: str,
    out: Path,
    reporter: Reporter,
    *,
    command: str,
    seeds: int | None = None,
    first_seed: int | None = None,
) -> Summary:
    """Reproduce the named experiments, or what of them is not finished yet, and summarise.

    Leaves report.html and summary.json in `out`. Whatever can be refused is refused before anything
    is trained.
    """
    with locked(out):
        return _reproduce_all(names, preset, out, reporter, command, seeds, first_seed)


def _reproduce_all(
    names: Sequence[str],
    preset: str,
    out: Path,
    reporter: Reporter,
    command: str,
    seeds: int | None,
    first_seed: int | None,
) -> Summary:
    began = time.monotonic()
    _require_ours(out)
    asked = {"seeds": seeds, "first_seed": first_seed}
    changes = {name: value for name, value in asked.items() if value is not None}
    parts = [_plan(name, preset, changes, out) for name in dict.fromkeys(names)]
    found: dict[str, Results] = {}
    reporter.plan([_work(part) for part in parts])
    for place, part in enumerate(parts, 1):
        reporter.stage(place)
        ours, elapsed = part.experiment, time.monotonic() - began
        reporter.note(f"{ours.name}, experiment {place} of {len(parts)}, {elapsed:.0f} s elapsed")
        options: Any = {"command": command, "resume": True}
        stops = _interruptions(ours.name, len(found), len(parts))
        # Held even where all is done: that removes the lock of a call that was killed.
        with stops, _naming(ours.name), locked(part.out):
            found[ours.name] = part.results or reproduce(
                ours, preset, ours.agents, part.settings, part.out, reporter, **options
            )
        reporter.note(_line(part, found[ours.name]))
    summary = summarise(found, command)
    write_page([part.out for part in parts], out / "report.html")
    write_document(out / "summary.json", summary)
    return summary


def _require_ours(out: Path) -> None:
    """Refuse a folder that cannot take everything, or has others' files in the way."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file: choose another --out")
    if any((out / name).exists() for name in ("config.json", "results.json")):
        raise UserError(
            f"{out} holds a single run or experiment: choose another --out, such as the folder"
            " above it"
        )
    require_report(out / "report.html")
    require_replaceable(out / "summary.json", Summary)


def _plan(name: str, preset: str, changes: Mapping[str, Any], out: Path) -> Part:
    """Find out what is left to do; new results may add agents to earlier ones but lose none."""
    experiment, folder = find_experiment(name), out / name
    with _naming(name):
        settings = replace(experiment.preset(preset), **changes)
        own = {agent: experiment.settings_of(agent, settings) for agent in experiment.agents}
        earlier = earlier_results(experiment, own, settings, folder)
        have, want = set(earlier["agents"] if earlier else ()), set(experiment.agents)
        if have - want and want - have:
            others = ", ".join(sorted(have - want))
            raise UserError(
                f"{folder} holds results of other agents ({others}), which would be replaced:"
                " choose another --out"
            )
        if have >= want:
            return Part(experiment, settings, folder, earlier)
        for agent in experiment.agents:
            size.require_room(settings, agent, evaluated=True)
        return Part(experiment, settings, folder, None)


def _work(part: Part) -> int:
    """Count the steps that are to be trained, of all agents; time is about in proportion."""
    if part.results:
        return 0
    settings = part.settings
    per_epoch = sum(settings.make_learner(a).steps_per_epoch for a in part.experiment.agents)
    return per_epoch * settings.learner.epochs * settings.seeds


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Let a mistake say in which experiment it came to light."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{name}: {error}") from None


@contextmanager
def _interruptions(name: str, done: int, total: int) -> Iterator[None]:
    """Stop everything at either signal, in training or out of it, and say how to go on."""
    in_charge = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM)
    if in_charge:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except (Stopped, KeyboardInterrupt):
        raise Stopped(
            f"stopped in {name}, {done} of {total} experiments done: the same command continues"
        ) from None
    finally:
        if in_charge:
            signal.signal(signal.SIGTERM, before)


def _line(part: Part, results: Results) -> str:
    """Say an experiment's result in one line."""
    name, number, checks = part.experiment.name, part.experiment.number, results["checks"]
    rewards = [f"{n} {a['reward']['mean']:{number}}" for n, a in results["agents"].items()]
    verb = "already finished" if part.results else "finished"
    held, seconds = in_words(count_verdicts(checks)), results["seconds"]["total"]
    return f"{name} {verb}: {', '.join(rewards)}; {held}; {seconds:.0f} s"


def summarise(found: Mapping[str, Results], command: str) -> Summary:
    """Make summary.json: what was measured in each experiment, by which program, and totals.

    Seconds are those of each results.json: of the call that finished the experiment.
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
