"""An experiment from end to end: train its agents, judge them, write results and figures."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from reinstate import devices
from reinstate.agent import AGENTS
from reinstate.analysis.exposures import exposure_scores
from reinstate.analysis.intervals import over_seeds
from reinstate.errors import UserError, nearest
from reinstate.evaluation import Arena, Record, evaluate_in
from reinstate.experiments import EXPERIMENTS
from reinstate.experiments.base import Experiment
from reinstate.figures import common as figures
from reinstate.files import read_json, require_empty, write_json
from reinstate.learner import TrainState
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance
from reinstate.runs.run import Run, load_checkpoint, require_same
from reinstate.runs.training import Trained, train
from reinstate.settings import Settings, completed, from_dict, to_dict

CURVE_POINTS = 100


def find_experiment(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise UserError(nearest("experiment", name, EXPERIMENTS))
    return EXPERIMENTS[name]


def start_run(
    experiment: Experiment, agent: str, settings: Settings, out: Path, resume: bool
) -> Run:
    """The run on disk of one agent, new or to be continued."""
    settings.make_learner(agent)  # refuses what cannot work before anything is written
    run, config = Run(out), _config(experiment, agent, settings)
    if resume and (out / "config.json").exists():
        _require_same(experiment, run, config)
    else:
        run.create(config, resume)
    return run


def _config(experiment: Experiment, agent: str, settings: Settings) -> dict[str, Any]:
    return {"experiment": experiment.name, "agent": agent, "settings": to_dict(settings)}


def open_run(path: Path) -> tuple[Experiment, str, Settings]:
    """The experiment, agent and settings of a run on disk, from its config."""
    config = Run(path).read_config()
    experiment = find_experiment(str(config.get("experiment")))
    known = completed(experiment.world, config.get("settings"))
    settings = from_dict(Settings[experiment.world], known)  # type: ignore[name-defined]
    return experiment, str(config.get("agent")), settings


def load_state(
    path: Path, agent: str, settings: Settings, checkpoint: Path | None = None
) -> TrainState:
    """A run's trained state, from its last checkpoint or the one named."""
    checkpoint = checkpoint or Run(path).last_checkpoint()
    if checkpoint is None:
        raise UserError(f"{path} has no checkpoint yet: train it first")
    init = devices.over_seeds(settings.make_learner(agent).init, settings.seeds)
    template = jax.eval_shape(init, jnp.array(settings.seed_range))
    return load_checkpoint(checkpoint, template)[0]


def recorder(
    agent: str, settings: Settings, arena: Arena | None = None
) -> Callable[[TrainState], Record]:
    """Plays frozen weights of all seeds on fresh keys; compiled once, for any number of states.

    Leaves of a Record are (seeds, …) NumPy arrays. Unless an arena is given, the world is the
    one that the task's own keeps for the purpose.
    """
    learner = settings.make_learner(agent)
    where = arena or Arena(settings.task.unseen(), settings.memory)

    def one_seed(params: Any, seed: jax.Array) -> Record:
        return evaluate_in(where, learner.agent(params), settings.evaluation, seed)

    play = devices.over_seeds(one_seed, settings.seeds)

    def record(state: TrainState) -> Record:
        return jax.tree.map(np.asarray, play(state.params, jnp.array(settings.seed_range)))

    return record


def record_of(
    agent: str, settings: Settings, state: TrainState, arena: Arena | None = None
) -> Record:
    return recorder(agent, settings, arena)(state)


def judge(experiment: Experiment, settings: Settings, record: Record) -> dict[str, Any]:
    return {
        **experiment.judge(settings.task, record),
        "r_gate": over_seeds(record.gates.r.mean(axis=(1, 2, 3))),
    }


def judge_state(
    experiment: Experiment, agent: str, settings: Settings, state: TrainState
) -> dict[str, Any]:
    """The verdict on frozen weights; where there are tasks to learn on apart, on those as well."""
    verdict = judge(experiment, settings, record_of(agent, settings, state))
    if settings.task.unseen() != settings.task:
        known = record_of(agent, settings, state, Arena(settings.task, settings.memory))
        verdict["on_training_contexts"] = judge(experiment, settings, known)
    if experiment.probes and AGENTS[agent].recall != "none":
        verdict["probes"] = {
            name: exposure_scores(record_of(agent, settings, state, arena))["reward"]
            for name, arena in experiment.probes(settings).items()
        }
    return verdict


def judge_run(
    experiment: Experiment, agent: str, settings: Settings, run: Run, trained: Trained
) -> dict[str, Any]:
    """The verdict on a trained run, and on its checkpoints nearest to the milestones."""
    verdict = judge_state(experiment, agent, settings, trained.state)
    found, record = run.checkpoints(), recorder(agent, settings)
    epochs = [share * settings.learner.epochs for share in experiment.milestones]
    nearest_epochs = {min(found, key=lambda epoch: abs(epoch - e)) for e in epochs}
    stones = []
    for epoch in sorted(nearest_epochs):
        state = load_state(run.path, agent, settings, found[epoch])
        seen = experiment.glance(judge(experiment, settings, record(state)))
        stones.append({"epoch": epoch, **seen})
    return {**verdict, "milestones": stones} if stones else verdict


def curve_of(metrics: list[dict[str, Any]], episodes_per_epoch: int) -> dict[str, Any]:
    """Reward an episode while learning, against the episodes that one lane has played."""
    groups = np.array_split(np.arange(len(metrics)), min(CURVE_POINTS, len(metrics)))
    reward = np.array([row["reward"] for row in metrics])  # (epochs, seeds)
    points = np.stack([reward[group].mean(axis=0) for group in groups], axis=1)
    return {
        "episodes": [metrics[group[-1]]["epoch"] * episodes_per_epoch for group in groups],
        "steps": [metrics[group[-1]]["steps"] for group in groups],
        "reward": over_seeds(points),
    }


def reproduce(
    experiment: Experiment,
    preset: str,
    agents: Sequence[str],
    settings: Settings,
    out: Path,
    reporter: Reporter,
    *,
    command: str,
    resume: bool = False,
    checkpoint_every: int = 25,
) -> dict[str, Any]:
    """Train and judge every agent; leave results.json and figures in `out`.

    `seconds` are this call's: what an interrupted one spent before it does not count.
    """
    began = time.monotonic()
    # Whatever can be refused is refused before anything is written.
    if not resume:
        require_empty(out, "add --resume to continue what is there, or choose another --out")
    earlier = earlier_results(experiment, agents, settings, out)
    runs = {a: start_run(experiment, a, settings, out / a, resume) for a in agents}
    if earlier and list(earlier["agents"]) == list(runs):
        reporter.note(f"{out} already holds these results")
        return earlier
    seconds = {"compile": 0.0, "train": 0.0, "evaluate": 0.0}
    results: dict[str, Any] = {}
    for agent, run in runs.items():
        trained = train(agent, settings, run, reporter, checkpoint_every)
        seconds["compile"] += trained.compile_seconds
        seconds["train"] += trained.train_seconds
        results[agent], spent = _judge_run(experiment, agent, settings, run, trained, reporter)
        seconds["evaluate"] += spent
    with reporter.working("baselines and optimum"):
        rivals = {
            "optimum": _unless_too_large(lambda: experiment.optimum(settings.task)),
            "baselines": _unless_too_large(lambda: _judge_baselines(experiment, settings)),
        }
    add_shares(experiment, results, rivals["optimum"])
    document = {
        "experiment": experiment.name,
        "preset": preset,
        "command": command,
        **provenance(),
        "device": devices.describe(),
        "settings": to_dict(settings),
        "seconds": {"total": time.monotonic() - began, **seconds},
        "agents": results,
        **rivals,
        "reference_lines": _lines(experiment, rivals["optimum"]),
        "checks": checks_of(experiment, results, **rivals),
    }
    draw(experiment, document, out)
    write_json(out / "results.json", document)  # last: where it is, all else is
    return document


def draw(experiment: Experiment, document: dict[str, Any], out: Path) -> None:
    """All figures of a reproduction."""
    figures.save(figures.training_curves(document, experiment.title), out / "training-curves")
    for stem, figure in experiment.figures.items():
        figures.save(figure(document), out / stem)


def _unless_too_large(compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Agents can play tasks that are too large to solve: the results then say why they lack it."""
    try:
        return compute()
    except (UserError, ValueError) as error:
        return {"unavailable": str(error)}


def _judge_baselines(experiment: Experiment, settings: Settings) -> dict[str, Any]:
    records = experiment.baselines(settings)
    return {name: exposure_scores(record) for name, record in records.items()}


def add_shares(experiment: Experiment, results: dict[str, Any], optimum: dict[str, Any]) -> None:
    """Each agent's reward as a share of the best that its kind can earn."""
    for name, agent in results.items():
        # What a compressed memory can earn is at most what the whole can.
        kind = "epl2rl-input" if name.startswith("epl2rl-input-") else name
        ceiling = optimum.get(experiment.ceilings.get(name, experiment.ceilings.get(kind, "")))
        agent["share_of_ceiling"] = agent["reward"]["mean"] / ceiling if ceiling else None


def _lines(experiment: Experiment, optimum: dict[str, Any]) -> dict[str, float]:
    return {label: optimum[key] for label, key in experiment.lines.items() if key in optimum}


def checks_of(
    experiment: Experiment,
    results: dict[str, Any],
    optimum: dict[str, Any],
    baselines: dict[str, Any],
) -> list[dict[str, Any]]:
    if "unavailable" in optimum:
        return []
    return [check._asdict() for check in experiment.checks(results, optimum, baselines)]


def earlier_results(
    experiment: Experiment, agents: Sequence[str], settings: Settings, out: Path
) -> dict[str, Any] | None:
    """The results that are in `out`, if there are any yet. Nothing is written.

    What cannot be continued is refused: another experiment, other settings, foreign files.
    """
    for agent in agents:
        settings.make_learner(agent)
    if (out / "config.json").exists():
        raise UserError(f"{out} holds a single run, not a reproduction: choose another --out")
    for agent in agents:
        run = Run(out / agent)
        if (run.path / "config.json").exists():
            _require_same(experiment, run, _config(experiment, agent, settings))
        else:
            require_empty(run.path, "it holds no run; choose another --out")
    if not (out / "results.json").exists():
        return None
    earlier = read_json(out / "results.json")
    if not isinstance(earlier, dict) or not isinstance(earlier.get("agents"), dict):
        raise UserError(f"{out / 'results.json'} is not of this program: choose another --out")
    asked = {"experiment": experiment.name, "settings": to_dict(settings)}
    known = completed(experiment.world, earlier.get("settings"))
    require_same(out, {"experiment": earlier.get("experiment"), "settings": known}, asked)
    return earlier


def _require_same(experiment: Experiment, run: Run, config: dict[str, Any]) -> None:
    """That a run can be continued with this config."""
    saved = run.read_config()
    known = completed(experiment.world, saved.get("settings"))
    require_same(run.path, {**saved, "settings": known}, config)


def _judge_run(
    experiment: Experiment,
    agent: str,
    settings: Settings,
    run: Run,
    trained: Trained,
    reporter: Reporter,
) -> tuple[dict[str, Any], float]:
    """A trained run's part of results.json, and the seconds that judging it took."""
    began = time.monotonic()
    with reporter.working(f"{agent}: judging with frozen weights"):
        verdict = judge_run(experiment, agent, settings, run, trained)
    write_json(run.evaluation_path, verdict)
    reporter.note(f"{agent}: {verdict['reward']['mean']:.3f} reward an episode, frozen weights")
    summary = {
        "seeds": list(settings.seed_range),
        "train_steps": trained.metrics[-1]["steps"],
        "steps_per_second": trained.steps_per_second,
        **verdict,
        "curve": curve_of(trained.metrics, settings.task.episodes_per_epoch),
    }
    return summary, time.monotonic() - began
