"""What a user names → documents: results of a reproduction, or runs of one experiment together.

Files may be anybody's. What does not look like this program's own is a UserError; what does is
still only numbers and text, and the page escapes it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from reinstate.errors import UserError
from reinstate.experiments.base import Experiment
from reinstate.figures.common import COLOURS, LABELS
from reinstate.files import read_json
from reinstate.runs.reproduce import curve_of, find_experiment, open_run
from reinstate.runs.run import Run
from reinstate.settings import differences, to_dict

# For a second run of the same agent, or one that the figures do not know.
SPARE = ("#E69F00", "#56B4E9", "#7B3FA0", "#8C564B", "#666666")
ODD = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError)
FACTS = ("preset", "command", "version", "commit", "jax", "device", "seconds", "rejudged")


class Player(NamedTuple):
    """An agent, as a row of tables and a colour in charts."""

    label: str
    colour: str
    scores: dict[str, Any]  # of results.json's agents: reward, by_exposure, curve, …


class Origin(NamedTuple):
    """Where numbers come from."""

    label: str
    settings: dict[str, Any]
    facts: dict[str, Any]


class Document(NamedTuple):
    """A section of the page."""

    path: Path
    experiment: Experiment
    players: list[Player]
    origins: list[Origin]
    results: dict[str, Any]  # checks, optimum, baselines, reference_lines: empty for single runs
    replay: bytes | None = None


@contextmanager
def understood(path: Path) -> Iterator[None]:
    """Whatever goes wrong over the shape of a file is the file's fault: say so in one line."""
    try:
        yield
    except ODD as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())[:120]
        raise UserError(
            f"{path} does not hold results of this program ({what}):"
            " name what reinstate reproduce or train left"
        ) from None


def load(paths: Sequence[Path]) -> list[Document]:
    """Documents in the order named; runs of one experiment stand side by side in the first's."""
    documents: list[Document | str] = []
    runs: dict[str, list[Path]] = {}
    for path in paths:
        if (path / "config.json").is_file():
            with understood(path):
                name = str(Run(path).read_config().get("experiment"))
            if name not in runs:
                documents.append(name)
            runs.setdefault(name, []).append(path)
        else:
            documents.append(load_results(path))
    return [load_runs(runs[each]) if isinstance(each, str) else each for each in documents]


def load_results(path: Path) -> Document:
    """A folder that `reproduce` left, or its results.json."""
    file = path / "results.json" if path.is_dir() else path
    if path.is_dir() and not file.exists():
        raise UserError(
            f"{path} holds neither results.json nor a run: name a folder that reinstate reproduce"
            " or train left"
        )
    with understood(file):
        results = read_json(file)
        experiment = find_experiment(str(results["experiment"]))
        players = _players([(name, name, scores) for name, scores in results["agents"].items()])
        if not players:
            raise ValueError("agents are empty")
        facts = {name: results.get(name) for name in FACTS}
        origin = Origin("", dict(results["settings"]), facts)
        return Document(file, experiment, players, [origin], results, _replay(file.parent))


def load_runs(paths: Sequence[Path]) -> Document:
    """Runs of one experiment, an agent each; those of the same agent are told apart by folder."""
    opened = [_open(path) for path in paths]
    agents = Counter(agent for _, agent, _, _ in opened)
    named = [
        (agent, agent if agents[agent] == 1 else f"{LABELS.get(agent, agent)} ({path.name})", score)
        for path, (_, agent, score, _) in zip(paths, opened, strict=True)
    ]
    players = _players(named)
    origins = [
        origin._replace(label=player.label)
        for (_, _, _, origin), player in zip(opened, players, strict=True)
    ]
    replays = (_replay(path) for path in paths)
    replay = next((each for each in replays if each is not None), None)
    return Document(paths[0], opened[0][0], players, origins, {}, replay)


def _open(path: Path) -> tuple[Experiment, str, dict[str, Any], Origin]:
    with understood(path):
        experiment, agent, settings = open_run(path)
        run = Run(path)
        metrics = run.read_metrics()
        scores: dict[str, Any] = {"seeds": list(settings.seed_range)}
        if run.evaluation_path.exists():
            scores |= read_json(run.evaluation_path)
        if metrics:
            scores["curve"] = curve_of(metrics, settings.task.episodes_per_epoch)
        if len(scores) == 1:
            raise UserError(f"{path} has nothing to show yet: train it first")
        saved = read_json(path / "config.json")
        facts = {name: saved.get(name) for name in ("version", "commit", "jax")}
        facts["run"] = path.name
        facts["seconds"] = {"train": sum(row["seconds"] for row in metrics)}
        return experiment, agent, scores, Origin("", to_dict(settings), facts)


def _players(named: Sequence[tuple[str, str, dict[str, Any]]]) -> list[Player]:
    """Agent, label and scores of each; the figures' colour for the first of an agent."""
    players: list[Player] = []
    spare = iter(SPARE * len(named))
    for agent, label, scores in named:
        if not isinstance(scores, dict):
            raise TypeError(f"{label} is {type(scores).__name__}")
        colour = COLOURS.get(agent)
        if colour is None or any(colour == other.colour for other in players):
            colour = next(spare)
        players.append(Player(LABELS.get(label, label), colour, scores))
    return players


def _replay(folder: Path) -> bytes | None:
    file = folder / "replay.svg"
    return file.read_bytes() if file.is_file() else None


def shared_settings(origins: Sequence[Origin]) -> bool:
    return all(not differences(origins[0].settings, each.settings) for each in origins)
