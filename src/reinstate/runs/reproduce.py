"""An experiment from end to end: train its agents, evaluate them, write results and figures."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from reinstate import devices
from reinstate.analysis.exposures import exposure_scores
from reinstate.analysis.results import AgentResults, Curve, Results, Scores
from reinstate.analysis.verdicts import over_seeds
from reinstate.devices import Spread
from reinstate.errors import UserError
from reinstate.figures import mpl
from reinstate.files import require_empty, write_document
from reinstate.learner import Rates
from reinstate.runs.card import save_scores
from reinstate.runs.conclusions import conclude, if_solvable, optimum_of, read_results
from reinstate.runs.evaluator import Evaluator
from reinstate.runs.experiment import Experiment
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance, today
from reinstate.runs.run import (
    Run,
    config_of,
    nothing_left,
    require_same,
    require_same_run,
    start_run,
)
from reinstate.runs.training import Trained, compile_epoch, seconds_of, train
from reinstate.settings import Settings, completed, to_dict

T = TypeVar("T")

CURVE_POINTS = 100


def reproduce(
    experiment: Experiment,
    preset: str,
    agents: Sequence[str],
    settings: Settings,
    out: Path,
    reporter: Reporter,
    *,
    command: str,
    tuned: Mapping[str, Rates] | None = None,
    resume: bool = False,
    **how: Any,
) -> Results:
    """Train and evaluate every agent; leave results.json and figures in `out`.

    `tuned` has rates of agents, in place of the settings' own. `how` are the options of `train`,
    such as `checkpoint_every`. `seconds` count what interrupted calls compiled and trained, too.
    Whoever calls holds the folder (`reinstate.files.locked`).
    """
    began = time.monotonic()
    # Whatever can be refused is refused before anything is written.
    if not resume:
        require_empty(out, "add --resume to continue what is there, or choose another --out")
    own = {agent: own_settings(experiment, agent, settings, tuned or {}) for agent in agents}
    earlier = earlier_results(experiment, own, settings, out)
    spread = how.get("spread", devices.SPREAD)
    runs = {a: start_run(experiment, a, own[a], out / a, resume, spread) for a in agents}
    if earlier and list(earlier["agents"]) == list(runs):
        reporter.note(f"{out} already holds these results")
        return earlier
    before = [row for run in runs.values() for row in run.read_metrics(run.last_epoch)]
    with nothing_left(*runs.values()):
        numbers = _measure(experiment, runs, own, settings, reporter, how)
    measured: Any = {
        "rules": 1,
        "experiment": experiment.name,
        "preset": preset,
        "command": command,
        "date": today(),
        **provenance(),
        "device": spread.describe(settings.seeds, settings.learner.lanes),
        "settings": to_dict(settings),
        **numbers,
        "seconds": {
            "total": time.monotonic() - began + sum(seconds_of(before).values()),
            **numbers["seconds"],
        },
    }
    document = conclude(experiment, measured)
    draw(experiment, document, out)
    write_document(out / "results.json", measured)  # last: where it is, all else is
    return document


def _measure(
    experiment: Experiment,
    runs: Mapping[str, Run],
    own: Mapping[str, Settings],
    settings: Settings,
    reporter: Reporter,
    how: Mapping[str, Any],
) -> dict[str, Any]:
    """Train and evaluate agents, and what they are held against: numbers of results.json."""
    seconds = {"compile": 0.0, "train": 0.0, "evaluate": 0.0}
    agents: dict[str, AgentResults] = {}
    evaluators = {agent: Evaluator(experiment, agent, own[agent]) for agent in runs}
    with closing(Ahead(runs, evaluators, own, how.get("spread", devices.SPREAD))) as ahead:
        others = ahead.compute(lambda: _others(experiment, settings))
        for number, (agent, run) in enumerate(runs.items(), 1):
            reporter.part(number, len(runs))
            trained = train(agent, own[agent], run, reporter, program=ahead.epoch_of(agent), **how)
            for kind, spent in seconds_of(trained.metrics).items():
                seconds[kind] += spent
            ahead.wait_for_evaluator(agent)
            agents[agent], spent = _evaluate(evaluators[agent], agent, run, trained, reporter)
            seconds["evaluate"] += spent
            if own[agent] != settings:
                agents[agent]["learner"] = to_dict(own[agent].learner)
        with reporter.working("baselines and optimum"):
            optimum, baselines = others()
    found = {"seconds": seconds, "agents": agents, "optimum": optimum, "baselines": baselines}
    return {name: rounded(each) if name in ROUNDED else each for name, each in found.items()}


def own_settings(
    experiment: Experiment, agent: str, settings: Settings, tuned: Mapping[str, Rates]
) -> Settings:
    """Return the settings that one agent is trained with."""
    own = experiment.settings_of(agent, settings)
    rates = tuned[agent]._asdict() if agent in tuned else {}
    return replace(own, learner=replace(own.learner, **rates))


def _evaluate(
    evaluator: Evaluator, agent: str, run: Run, trained: Trained, reporter: Reporter
) -> tuple[AgentResults, float]:
    """Evaluate a trained run: its part of results.json, and the seconds that it took."""
    began, settings = time.monotonic(), evaluator.settings
    with reporter.working(f"{agent}: evaluating with frozen weights"):
        scores = evaluator.evaluate_run(run, trained.state)
    save_scores(run, scores)
    reward = f"{scores['reward']['mean']:{evaluator.experiment.number}}"
    reporter.note(f"{agent}: {reward} reward per episode, frozen weights")
    found: AgentResults = {
        "seeds": list(settings.seed_range),
        "train_steps": trained.metrics[-1]["steps"],
        "steps_per_second": trained.steps_per_second,
        "remembers": evaluator.learner.remembers,
        **scores,
        "curve": curve_of(trained.metrics, settings.task.episodes_per_epoch),
    }
    return found, time.monotonic() - began


def draw(experiment: Experiment, document: Results, out: Path) -> None:
    """Draw all figures of a reproduction."""
    for stem, charts_of in experiment.charts.items():
        mpl.save(charts_of(document), out / stem, experiment.title)


def curve_of(metrics: list[dict[str, Any]], episodes_per_epoch: int) -> Curve:
    """Summarise reward per episode while learning, against the episodes one lane has played."""
    groups = np.array_split(np.arange(len(metrics)), min(CURVE_POINTS, len(metrics)))
    reward = np.array([row["reward"] for row in metrics])  # (epochs, seeds)
    points = np.stack([reward[group].mean(axis=0) for group in groups], axis=1)
    return {
        "episodes": [metrics[group[-1]]["epoch"] * episodes_per_epoch for group in groups],
        "steps": [metrics[group[-1]]["steps"] for group in groups],
        "reward": over_seeds(points),
    }


def _others(experiment: Experiment, settings: Settings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what agents are held against: the optimum, and other players."""

    def baselines() -> dict[str, Scores]:
        records = experiment.baselines(settings)
        return {name: exposure_scores(record) for name, record in records.items()}

    optimum = if_solvable(lambda: optimum_of(experiment, settings.task))
    return optimum, if_solvable(baselines)


DIGITS = 6  # significant ones: seeds differ in the third
ROUNDED = ("agents", "baselines")


def rounded(value: Any) -> Any:
    """Round every number to what is worth recording: files are small, and evaluated as they are."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def earlier_results(
    experiment: Experiment, own: Mapping[str, Settings], settings: Settings, out: Path
) -> Results | None:
    """Read the results that are in `out`, if there are any yet. Nothing is written.

    What cannot be continued is refused: another experiment, other settings, foreign files.
    """
    for agent, its in own.items():
        its.make_learner(agent)
    if Run(out).exists:
        raise UserError(f"{out} holds a single run, not a reproduction: choose another --out")
    for agent, its in own.items():
        run = Run(out / agent)
        if run.exists:
            require_same_run(experiment, run, config_of(experiment, agent, its))
        else:
            require_empty(run.path, "it holds no run; choose another --out")
    if not (out / "results.json").exists():
        return None
    try:
        earlier = read_results(out)
    except UserError as error:
        raise UserError(f"{error}; or choose another --out") from None
    asked = {"experiment": experiment.name, "settings": to_dict(settings)}
    known = completed(experiment.world, earlier["settings"])
    require_same(out, {"experiment": earlier["experiment"], "settings": known}, asked)
    return earlier


class Ahead:
    """What is needed next, made in a second thread while agents train.

    A compiler keeps one core busy and agents leave one idle while they are compiled: together they
    use both. The first agent is to be trained at once, so that its program is left to `train`.
    """

    def __init__(
        self,
        runs: Mapping[str, Run],
        evaluators: Mapping[str, Evaluator],
        settings: Mapping[str, Settings],
        spread: Spread,
    ) -> None:
        self._pool = ThreadPoolExecutor(1, "ahead")
        self._epochs: dict[str, Future[Any]] = {}
        self._prepared: dict[str, Future[None]] = {}
        waiting = [name for name, run in runs.items() if not _trained(run, settings[name])]
        for name in runs:
            if name in waiting[1:]:
                self._epochs[name] = self._pool.submit(compile_epoch, name, settings[name], spread)
            self._prepared[name] = self._pool.submit(evaluators[name].prepare)

    def close(self) -> None:
        # What is being compiled ends by itself: nobody who stops should wait for it to be told so.
        self._pool.shutdown(wait=False, cancel_futures=True)

    def epoch_of(self, agent: str) -> Callable[[], Any] | None:
        """Return what waits for an agent's program; None if it was not asked for."""
        return self._epochs[agent].result if agent in self._epochs else None

    def wait_for_evaluator(self, agent: str) -> None:
        """Return once an agent's evaluator is prepared."""
        self._prepared[agent].result()

    def compute(self, function: Callable[[], T]) -> Callable[[], T]:
        """Compute something after all programs; return what waits for it."""
        return self._pool.submit(function).result


def _trained(run: Run, settings: Settings) -> bool:
    return run.last_epoch >= settings.learner.epochs
