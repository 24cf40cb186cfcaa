"""What a user names → documents, one for each section of the page.

A folder that holds results is a document, agents and runs join others of their experiment, and a
folder of such folders stands for all of them; no link in it is followed. Files may be anybody's.
What does not look like this program's own is a UserError; what does is still only numbers and text,
and the page escapes it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reinstate.analysis.memory_map import MemoryMap
from reinstate.analysis.results import (
    AgentResults,
    MetricsRow,
    Recorded,
    Results,
    Scores,
    results_file,
)
from reinstate.errors import UserError
from reinstate.figures.chart import at
from reinstate.figures.style import label
from reinstate.files import check, read_document, read_json
from reinstate.runs.conclusions import (
    ceiling_of,
    if_solvable,
    lines_of,
    optimum_of,
    read_results,
    why_apart,
)
from reinstate.runs.experiment import EXPERIMENTS, Experiment, find_experiment
from reinstate.runs.reproduce import curve_of
from reinstate.runs.run import Opened, Run, open_run
from reinstate.settings import to_dict

FACTS = ("date", "preset", "command", "version", "commit", "jax", "device", "seconds")
MAPPED = "hold a memory map", "remove it, or make it again with reinstate figure memory-map"


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
    memory: MemoryMap | None = None  # of one of its agents

    @property
    def ceilings(self) -> tuple[float | None, float | None]:
        """The best that is possible without a memory and with one, or bounds, as far as known."""
        experiment, optimum = self.experiment, self.results["optimum"]
        return optimum.get(experiment.ceiling_without_memory), optimum.get(experiment.ceiling)


def load(paths: Sequence[Path]) -> list[Document]:
    """Read documents in the order named; what belongs together is in the first's place."""
    groups: list[list[Path]] = []
    for path in (each for named in paths for each in _expanded(named)):
        if group := next((each for each in groups if _fits(path, each)), None):
            group.append(path)
        else:
            groups.append([path])
    return [load_runs(each) if Run(each[0]).exists else load_results(*each) for each in groups]


def _fits(path: Path, group: Sequence[Path]) -> bool:
    """Tell whether a run is of the same experiment, or results of the same but other agents."""
    if Run(path).exists or Run(group[0]).exists:
        both = Run(path).exists and Run(group[0]).exists
        return both and open_run(path).experiment == open_run(group[0]).experiment
    own, *others = (read_document(Recorded, results_file(each)[0]) for each in (path, *group))
    return all(why_apart(own, other) is None for other in others)


def results_in(paths: Sequence[Path]) -> list[Results]:
    """Read the results of experiments in these folders."""
    return [document.results for document in load(paths)]


def _expanded(path: Path) -> list[Path]:
    """Return the path itself, or of a folder of folders what is in it."""
    if not path.is_dir() or _is_part(path):
        return [path]
    try:
        inside = [each for each in path.iterdir() if each.is_dir() and not each.is_symlink()]
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    folders = sorted(inside, key=_section)
    if not (found := [each for each in folders if _is_part(each)]):
        raise UserError(
            f"{path} holds neither results.json nor a run: name a folder that reinstate reproduce"
            " or train left"
        )
    return found


def _section(folder: Path) -> tuple[str, str]:
    """Order folders as the paper does; those that are no experiment's come last."""
    known = folder.name in EXPERIMENTS
    return (find_experiment(folder.name).section if known else "~"), folder.name


def _is_part(folder: Path) -> bool:
    return (folder / "results.json").exists() or Run(folder).exists


def load_results(*paths: Path) -> Document:
    """Read folders that `reproduce` left, or their results.json: agents of one experiment."""
    results = read_results(*paths)
    if not results["agents"]:
        raise UserError(f"{paths[0]} holds results of no agent: name what reinstate reproduce left")
    experiment = find_experiment(results["experiment"])
    origins = [_origin(path, alone=len(paths) == 1) for path in paths]
    file, inside = results_file(paths[0])
    return Document(file, experiment, results, origins, _memory_map(inside, experiment))


def _origin(path: Path, alone: bool) -> Origin:
    """Say where results come from; of several, which agents they brought."""
    file, inside = results_file(path)
    found: dict[str, Any] = {**read_document(Recorded, file)}
    facts = {"name": file.parent.name if inside else file.name}
    words = "" if alone else ", ".join(map(label, found["agents"]))
    return Origin(words, found["settings"], facts | {name: found.get(name) for name in FACTS})


def _memory_map(folder: Path | None, experiment: Experiment) -> MemoryMap | None:
    """Read the memory map in a folder of results, if there is one."""
    if folder is None or not (file := folder / "memory-map.json").exists():
        return None
    found = check(MemoryMap, read_json(file), file, *MAPPED)
    if found["experiment"] != experiment.name:
        raise UserError(f"{file} is of {found['experiment']}: remove it")
    return found


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
    results |= {"seconds": {}, "baselines": {}, "checks": [], "alarms": []}
    results |= _possible(experiment, [run.settings.task for run in opened], agents)
    return Document(paths[0], experiment, results, origins)


def _possible(
    experiment: Experiment, tasks: Sequence[Any], agents: Mapping[str, AgentResults]
) -> dict[str, Any]:
    """Solve the runs' task, if it is one and can be solved, and hold agents against it."""
    if any(task != tasks[0] for task in tasks):
        unavailable = "these runs are of different tasks"
        return {"optimum": {"unavailable": unavailable}, "reference_lines": {}}
    optimum = if_solvable(lambda: optimum_of(experiment, tasks[0]))
    for agent in agents.values():
        best, mean = ceiling_of(experiment, agent, optimum), at(agent, "reward", "mean")
        agent["share_of_ceiling"] = mean / best if best and mean is not None else None
    return {"optimum": optimum, "reference_lines": lines_of(experiment, optimum)}


def _read_run(path: Path, opened: Opened) -> tuple[AgentResults, dict[str, Any]]:
    """Read what is known of a run so far, and where it comes from."""
    run, settings = Run(path), opened.settings
    metrics: list[Any] = check(list[MetricsRow], run.read_metrics(), run.metrics_path)
    if len({len(row["reward"]) for row in metrics}) > 1:
        raise UserError(f"{run.metrics_path} does not hold as many seeds in each epoch")
    learner = settings.make_learner(opened.agent)
    scores: Any = {"seeds": list(settings.seed_range), "remembers": learner.remembers}
    if run.evaluation_path.exists():
        scores |= check(Scores, read_json(run.evaluation_path), run.evaluation_path)
    if metrics:
        scores["curve"] = curve_of(metrics, settings.task.episodes_per_epoch)
    if not (metrics or "reward" in scores):
        raise UserError(f"{path} has nothing to show yet: train it first")
    saved = read_json(path / "config.json")
    facts = {name: saved.get(name) for name in ("date", "version", "commit", "jax")}
    seconds = {"train": sum(row["seconds"] for row in metrics)}
    return scores, {**facts, "run": path.name, "seconds": seconds}
