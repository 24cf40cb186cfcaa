"""The whole paper: every experiment, one after the other, and one report of them all.

OUT/EXPERIMENT/   what `reproduce EXPERIMENT` leaves there
OUT/summary.json  rewards and claims of every experiment
OUT/report.html   the page of all results
"""

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from reinstate.analysis.intervals import with_interval
from reinstate.cli.tables import print_checks
from reinstate.errors import UserError
from reinstate.experiments import EXPERIMENTS
from reinstate.experiments.base import Experiment
from reinstate.files import read_json, write_json
from reinstate.report import require_report, write_page
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance
from reinstate.runs.reproduce import earlier_results, find_experiment, reproduce
from reinstate.runs.training import Stopped
from reinstate.settings import Settings


class Part(NamedTuple):
    """One experiment of the whole."""

    experiment: Experiment
    settings: Settings
    out: Path
    results: dict[str, Any] | None  # if it is finished already


def reproduce_all(
    names: Sequence[str],
    preset: str,
    out: Path,
    reporter: Reporter,
    *,
    command: str,
    seeds: int | None = None,
) -> dict[str, Any]:
    """Reproduce the named experiments, or what of them is not finished yet; the summary.

    Leaves report.html and summary.json in `out`. Whatever can be refused is refused before anything
    is trained.
    """
    began = time.monotonic()
    _require_ours(out)
    parts = [_plan(name, preset, seeds, out) for name in dict.fromkeys(names)]
    found: dict[str, dict[str, Any]] = {}
    for place, part in enumerate(parts, 1):
        name = part.experiment.name
        elapsed = time.monotonic() - began
        reporter.note(f"{name}, experiment {place} of {len(parts)}, {elapsed:.0f} s elapsed")
        with _interruptions(name, len(found), len(parts)), _naming(name):
            found[name] = part.results or reproduce(
                part.experiment,
                preset,
                part.experiment.agents,
                part.settings,
                part.out,
                reporter,
                command=command,
                resume=True,
            )
        reporter.note(_line(part, found[name]))
    summary = summarise(found, command)
    write_page([part.out for part in parts], out / "report.html")
    write_json(out / "summary.json", summary)
    return summary


def _require_ours(out: Path) -> None:
    """A folder that can take the whole, and nobody's files where the report and summary go."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file: choose another --out")
    for name in ("config.json", "results.json"):
        if (out / name).exists():
            raise UserError(
                f"{out} holds a single run or experiment: choose another --out, such as the folder"
                " above it"
            )
    require_report(out / "report.html")
    require_replaceable(out / "summary.json")


def require_replaceable(path: Path) -> None:
    """A JSON file of experiments may be made anew; anything else is not ours to overwrite."""
    if path.exists():
        known = read_json(path)
        if not isinstance(known, dict) or "experiments" not in known:
            raise UserError(f"{path} exists and is not of this program: choose another --out")


def _plan(name: str, preset: str, seeds: int | None, out: Path) -> Part:
    experiment, folder = find_experiment(name), out / name
    with _naming(name):
        settings = experiment.preset(preset)
        if seeds is not None:
            settings = replace(settings, seeds=seeds)
        earlier = earlier_results(experiment, experiment.agents, settings, folder)
        return Part(experiment, settings, folder, _if_finished(earlier, experiment, folder))


def _if_finished(
    earlier: dict[str, Any] | None, experiment: Experiment, folder: Path
) -> dict[str, Any] | None:
    """Earlier results if all agents are among them; new ones may add agents but lose none."""
    have, want = set(earlier["agents"] if earlier else ()), set(experiment.agents)
    if have >= want:
        return earlier
    if have - want:
        others = ", ".join(sorted(have - want))
        raise UserError(
            f"{folder} holds results of other agents ({others}), which would be replaced: choose"
            " another --out"
        )
    return None


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """A mistake says in which experiment it came to light."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{name}: {error}") from None


@contextmanager
def _interruptions(name: str, done: int, total: int) -> Iterator[None]:
    """Both signals stop the whole, in training or out of it, and leave a word on how to go on."""
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


def _line(part: Part, results: dict[str, Any]) -> str:
    """An experiment's result in one line."""
    number = part.experiment.number
    rewards = [f"{n} {a['reward']['mean']:{number}}" for n, a in results["agents"].items()]
    verb = "already finished" if part.results else "finished"
    seconds = results["seconds"]["total"]
    return (
        f"{part.experiment.name} {verb}: {', '.join(rewards)}; {_held(results['checks'])},"
        f" {seconds:.0f} s"
    )


def _held(checks: list[dict[str, Any]]) -> str:
    held = sum(check["holds"] for check in checks)
    return f"{held} of {len(checks)} claims hold"


def summarise(found: dict[str, dict[str, Any]], command: str) -> dict[str, Any]:
    """What summary.json holds: per experiment what was measured and by which program, and totals.

    Seconds are those of each results.json: of the call that finished the experiment.
    """
    checks = [check for results in found.values() for check in results["checks"]]
    copied = ("preset", "version", "commit", "jax", "device", "seconds")
    return {
        "command": command,
        **provenance(),
        "totals": {
            "experiments": len(found),
            "agents": sum(len(results["agents"]) for results in found.values()),
            "checks": len(checks),
            "hold": sum(check["holds"] for check in checks),
            "seconds": sum(results["seconds"]["total"] for results in found.values()),
        },
        "experiments": {
            name: {
                **{fact: results[fact] for fact in copied},
                "agents": {
                    agent: {part: scores[part] for part in ("reward", "share_of_ceiling")}
                    for agent, scores in results["agents"].items()
                },
                "checks": results["checks"],
            }
            for name, results in found.items()
        },
    }


def print_summary(summary: dict[str, Any], out: Path) -> None:
    table = Table(title="an episode, frozen weights, fresh tasks", title_justify="left")
    table.add_column("experiment")
    table.add_column("agent")
    table.add_column("reward [95%]", justify="right")
    table.add_column("of ceiling", justify="right")
    for name, part in summary["experiments"].items():
        first = name
        for agent, scores in part["agents"].items():
            share = scores["share_of_ceiling"]
            reward = with_interval(scores["reward"], EXPERIMENTS[name].number)
            table.add_row(first, agent, reward, "" if share is None else f"{share:.1%}")
            first = ""
        table.add_section()
    Console().print(table)
    for name, part in summary["experiments"].items():
        print(name)
        print_checks(part["checks"])
    checks = [check for part in summary["experiments"].values() for check in part["checks"]]
    seconds = summary["totals"]["seconds"]
    print(f"{_held(checks)}; {seconds:.0f} s; the report is {out / 'report.html'}")
