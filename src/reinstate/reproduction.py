"""An experiment from end to end: train its agents, judge them, write results and figures."""

import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from reinstate import devices, figures
from reinstate.analysis.exposures import by_exposure, reward_per_episode
from reinstate.analysis.intervals import over_seeds
from reinstate.errors import UserError, nearest
from reinstate.evaluation import Record, evaluate
from reinstate.experiments import EXPERIMENTS
from reinstate.experiments.base import Experiment
from reinstate.learner import TrainState
from reinstate.progress import Reporter
from reinstate.runs import Run, load_checkpoint, provenance, write_json
from reinstate.settings import Settings, from_dict, to_dict
from reinstate.training import Trained, train

CURVE_POINTS = 100


def find_experiment(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise UserError(nearest("experiment", name, EXPERIMENTS))
    return EXPERIMENTS[name]


def train_run(
    experiment: Experiment,
    agent: str,
    settings: Settings,
    out: Path,
    reporter: Reporter,
    *,
    resume: bool,
    checkpoint_every: int,
) -> Trained:
    """One agent, all seeds, into a run on disk."""
    settings.make_learner(agent)  # what cannot work is said before anything is written
    run = Run(out)
    run.create(
        {"experiment": experiment.name, "agent": agent, "settings": to_dict(settings)}, resume
    )
    return train(agent, settings, run, reporter, checkpoint_every)


def open_run(path: Path) -> tuple[Experiment, str, Settings]:
    """What a run on disk was, from its config."""
    config = Run(path).read_config()
    experiment = find_experiment(str(config.get("experiment")))
    settings = from_dict(Settings[experiment.world], config.get("settings"))  # type: ignore[name-defined]
    return experiment, str(config.get("agent")), settings


def load_run(path: Path, checkpoint: Path | None = None) -> tuple[str, Settings, TrainState]:
    """A run's agent, settings and trained state, from its last checkpoint or the one named."""
    _, agent, settings = open_run(path)
    checkpoint = checkpoint or Run(path).last_checkpoint()
    if checkpoint is None:
        raise UserError(f"{path} has no checkpoint yet: train it first")
    init = devices.over_seeds(settings.make_learner(agent).init, settings.seeds)
    template = jax.eval_shape(init, jnp.array(settings.seed_range))
    state, _ = load_checkpoint(checkpoint, template)
    return agent, settings, state


def record_of(agent: str, settings: Settings, state: TrainState) -> Record:
    """Frozen weights of all seeds, played on fresh keys; leaves are (seeds, …) NumPy arrays."""
    learner = settings.make_learner(agent)

    def one_seed(params: Any, seed: jax.Array) -> Record:
        frozen = learner.agent(params)
        return evaluate(settings.task, frozen, settings.memory, settings.evaluation, seed)

    record = devices.over_seeds(one_seed, settings.seeds)(
        state.params, jnp.array(settings.seed_range)
    )
    return jax.tree.map(np.asarray, record)


def judge(record: Record) -> dict[str, Any]:
    return {
        "reward": over_seeds(reward_per_episode(record)),
        "by_exposure": by_exposure(record),
        "r_gate": over_seeds(record.gates.r.mean(axis=(1, 2, 3))),
    }


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
    agents: tuple[str, ...],
    settings: Settings,
    out: Path,
    reporter: Reporter,
    *,
    command: str,
    resume: bool,
    checkpoint_every: int,
) -> dict[str, Any]:
    """Train and judge every agent; leave results.json and figures in `out`."""
    if (out / "results.json").exists() and not resume:
        raise UserError(f"{out} already holds results: add --resume, or choose another --out")
    began = time.monotonic()
    results: dict[str, Any] = {}
    seconds = {"compile": 0.0, "train": 0.0, "evaluate": 0.0}
    for agent in agents:
        trained = train_run(
            experiment,
            agent,
            settings,
            out / agent,
            reporter,
            resume=resume,
            checkpoint_every=checkpoint_every,
        )
        start = time.monotonic()
        verdict = judge(record_of(agent, settings, trained.state))
        seconds["evaluate"] += time.monotonic() - start
        seconds["compile"] += trained.compile_seconds
        seconds["train"] += trained.train_seconds
        write_json(out / agent / "evaluation.json", verdict)
        results[agent] = _summary(settings, trained, verdict)
        reporter.note(f"{agent}: {verdict['reward']['mean']:.3f} reward an episode, frozen weights")
    checks = [check._asdict() for check in experiment.checks(settings, results)]
    document = {
        "experiment": experiment.name,
        "preset": preset,
        "command": command,
        **provenance(),
        "device": devices.describe(),
        "settings": to_dict(settings),
        "seconds": {"total": time.monotonic() - began, **seconds},
        "agents": results,
        "reference_lines": experiment.reference_lines(settings),
        "checks": checks,
    }
    write_json(out / "results.json", document)
    figures.save(figures.training_curves(document, experiment.title), out / "training-curves")
    return document


def _summary(settings: Settings, trained: Trained, verdict: dict[str, Any]) -> dict[str, Any]:
    steps = trained.metrics[-1]["steps"]
    return {
        "seeds": list(settings.seed_range),
        "train_steps": steps,
        "steps_per_second": steps / trained.train_seconds,
        **verdict,
        "curve": curve_of(trained.metrics, settings.task.episodes_per_epoch),
    }
