"""An experiment from end to end: train its agents, evaluate them, write results and figures."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

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
from reinstate.runs import size
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
    for stem, charts_of in experiment.charts.items():
        mpl.save(charts_of(document), out / stem, experiment.title)
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
    with _in_background() as (pool, begin):
        spread = how.get("spread", devices.SPREAD)
        programs, prepared = compile_ahead(pool, runs, evaluators, own, spread)
        others = pool.submit(_others, experiment, settings)
        for number, (agent, run) in enumerate(runs.items(), 1):
            reporter.part(number, len(runs))
            program = partial(_program_of, programs.get(agent), begin)
            trained = train(agent, own[agent], run, reporter, program=program, **how)
            begin.set()  # it may have been trained already
            for kind, spent in seconds_of(trained.metrics).items():
                seconds[kind] += spent
            prepared[agent].result()
            agents[agent], spent = _evaluate(evaluators[agent], agent, run, trained, reporter)
            seconds["evaluate"] += spent
            if own[agent] != settings:
                agents[agent]["learner"] = to_dict(own[agent].learner)
        with reporter.working("baselines and optimum"):
            optimum, baselines = others.result()
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

    What cannot be continued is refused: another experiment, other settings, foreign files; and
    where there are no results, what needs more memory than there is.
    """
    if Run(out).exists:
        raise UserError(f"{out} holds a single run, not a reproduction: choose another --out")
    for agent, its in own.items():
        run = Run(out / agent)
        if run.exists:
            require_same_run(experiment, run, config_of(experiment, agent, its))
        else:
            require_empty(run.path, "it holds no run; choose another --out")
    if not (out / "results.json").exists():
        for agent, its in own.items():
            size.require_room(its, agent, evaluated=True)
        return None
    try:
        earlier = read_results(out)
    except UserError as error:
        raise UserError(f"{error}; or choose another --out") from None
    asked = {"experiment": experiment.name, "settings": to_dict(settings)}
    known = completed(experiment.world, earlier["settings"])
    require_same(out, {"experiment": earlier["experiment"], "settings": known}, asked)
    return earlier


@contextmanager
def _in_background() -> Iterator[tuple[ThreadPoolExecutor, Event]]:
    """Give a second thread, and what lets it begin. Who stops does not wait for its work."""
    pool, begin = ThreadPoolExecutor(1, "ahead"), Event()
    pool.submit(begin.wait)
    try:
        yield pool, begin
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        begin.set()


def _program_of(ready: Future[Any] | None, begin: Event, compile_here: Callable[[], Any]) -> Any:
    """Wait for an agent's program; the first one is compiled here, before all others."""
    if ready:
        return ready.result()
    program = compile_here()
    begin.set()
    return program


def compile_ahead(
    pool: ThreadPoolExecutor,
    runs: Mapping[str, Run],
    evaluators: Mapping[str, Evaluator],
    own: Mapping[str, Settings],
    spread: Spread,
) -> tuple[dict[str, Future[Any]], dict[str, Future[None]]]:
    """Compile what is needed next while agents train: programs that train, and evaluators.

    A compiler keeps one core busy and agents leave one idle while they are compiled: together they
    use both. The first agent is to be trained at once: its program is left to `train`, and the
    thread begins after that.
    """
    programs, prepared = {}, {}
    waiting = [name for name in runs if runs[name].last_epoch < own[name].learner.epochs]
    for name in runs:
        if name in waiting[1:]:
            programs[name] = pool.submit(compile_epoch, name, own[name], spread)
        prepared[name] = pool.submit(evaluators[name].prepare)
    return programs, prepared
