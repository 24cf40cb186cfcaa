"""What a user names → documents: results of a reproduction, or runs of one experiment together.

Files may be anybody's. What does not look like this program's own is a UserError; what does is
still only numbers and text, and the page escapes it. Of a folder only results.json is read, or a
run's config.json, metrics.jsonl and evaluation.json, and no link is followed that leads out of it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reinstate.analysis.documents import checked
from reinstate.analysis.results import (
    AgentResults,
    MetricsRow,
    Results,
    Scores,
    read_results,
    results_file,
)
from reinstate.errors import UserError
from reinstate.experiments import find_experiment
from reinstate.experiments.base import Experiment
from reinstate.figures.numbers import at
from reinstate.figures.style import label
from reinstate.files import read_json
from reinstate.runs.reproduce import curve_of
from reinstate.runs.run import Opened, Run, open_run
from reinstate.settings import differences, to_dict

FACTS = ("preset", "command", "version", "commit", "jax", "device", "seconds", "rejudged")


class Origin(NamedTuple):
    """Where numbers come from."""

    label: str
    settings: dict[str, Any]
    facts: Mapping[str, Any]


class Document(NamedTuple):
    """A section of the page."""

    path: Path
    experiment: Experiment
    results: Results
    origins: list[Origin]


def load(paths: Sequence[Path]) -> list[Document]:
    """Read documents in the order named; runs of one experiment are together in the first's."""
    documents: list[Document | str] = []
    runs: dict[str, list[Path]] = {}
    for path in paths:
        if Run(path).exists:
            name = open_run(path).experiment.name
            if name not in runs:
                documents.append(name)
            runs.setdefault(name, []).append(path)
        else:
            documents.append(load_results(path))
    return [load_runs(runs[each]) if isinstance(each, str) else each for each in documents]


def load_results(path: Path) -> Document:
    """Read a folder that `reproduce` left, or its results.json."""
    file, inside = results_file(path)
    if inside and not file.exists():
        raise UserError(
            f"{path} holds neither results.json nor a run: name a folder that reinstate reproduce"
            " or train left"
        )
    found = read_json(file, inside)
    if isinstance(name := at(found, "experiment"), str):
        find_experiment(name)  # first: of a future experiment, other fields may differ too
    results = read_results(path)
    if not results["agents"]:
        raise UserError(f"{file} holds results of no agent: name what reinstate reproduce left")
    for place, check in enumerate(results["checks"]):
        # What the page judges again, so that all its claims are one family.
        if len(check["region"]) != 2 or not 0 <= check["p"] <= 1:
            raise UserError(
                f"{file} does not hold results: checks[{place}] has no sound p or region"
            )
    origin = Origin("", results["settings"], {name: results.get(name) for name in FACTS})
    experiment = find_experiment(results["experiment"])
    return Document(file, experiment, results, [origin])


def load_runs(paths: Sequence[Path]) -> Document:
    """Read runs of one experiment; those of the same agent are told apart by their folders."""
    opened = [open_run(path) for path in paths]
    times = Counter(run.agent for run in opened)
    agents: dict[str, AgentResults] = {}
    origins = []
    for path, run in zip(paths, opened, strict=True):
        name = run.agent if times[run.agent] == 1 else f"{label(run.agent)} ({path.name})"
        agents[name], facts = _read_run(path, run)
        origins.append(Origin(label(name), to_dict(run.settings), facts))
    experiment = opened[0].experiment
    results: Any = dict.fromkeys(("preset", "command", "version", "commit", "jax", "device"), "")
    results |= {"experiment": experiment.name, "settings": origins[0].settings, "agents": agents}
    results |= {"seconds": {}, "optimum": {}, "baselines": {}, "reference_lines": {}}
    results |= {"checks": [], "alarms": []}
    return Document(paths[0], experiment, results, origins)


def _read_run(path: Path, opened: Opened) -> tuple[AgentResults, dict[str, Any]]:
    """Read what is known of a run so far, and where it comes from."""
    run, settings = Run(path), opened.settings
    metrics: list[Any] = checked(list[MetricsRow], run.read_metrics(), run.metrics_path)
    if len({len(row["reward"]) for row in metrics}) > 1:
        raise UserError(f"{run.metrics_path} does not hold as many seeds in each epoch")
    scores: Any = {"seeds": list(settings.seed_range)}
    if run.evaluation_path.exists():
        scores |= checked(Scores, read_json(run.evaluation_path, path), run.evaluation_path)
    if metrics:
        scores["curve"] = curve_of(metrics, settings.task.episodes_per_epoch)
    if len(scores) == 1:
        raise UserError(f"{path} has nothing to show yet: train it first")
    saved = read_json(path / "config.json", path)
    facts = {name: saved.get(name) for name in ("version", "commit", "jax")}
    seconds = {"train": sum(row["seconds"] for row in metrics)}
    return scores, {**facts, "run": path.name, "seconds": seconds}


def shared_settings(origins: Sequence[Origin]) -> bool:
    return all(not differences(origins[0].settings, each.settings) for each in origins)
