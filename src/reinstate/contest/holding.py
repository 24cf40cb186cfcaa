"""Hold a contest: tune, train and judge every agent in every event, one after the other.

    OUT/EVENT/AGENT/tuning.json   the rates that were tried, and what they earned
    OUT/EVENT/AGENT/run/          the run, trained at the best of them
    OUT/EVENT/AGENT/entry.json    what came of it: an `Entry`
    OUT/rivals.json               all of it, and what is best possible
    OUT/FIGURE.png, .svg          figures: see `reinstate.contest.figures`

What is there is not done again, so that the same command continues after an interruption.
"""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

import jax
import jax.numpy as jnp
import numpy as np

from reinstate import devices
from reinstate.agent import AGENTS
from reinstate.analysis.exposures import exposure_scores
from reinstate.analysis.results import OverSeeds
from reinstate.contest.figures import draw
from reinstate.contest.plan import AS_TRAINED, Event, Plan
from reinstate.errors import Unsolvable
from reinstate.evaluation import Condition, Record, evaluate_in
from reinstate.files import locked, read_json, write_document
from reinstate.rivals.base import num_weights
from reinstate.rollout import start_epoch
from reinstate.runs.loop import Stopped, signals
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance, today
from reinstate.runs.reproduce import curve_of, rounded
from reinstate.runs.run import require_same, start_run
from reinstate.runs.size import bytes_of
from reinstate.runs.training import train
from reinstate.settings import Settings, to_dict
from reinstate.tasks.base import World
from reinstate.tuning.ranges import preset_candidate, rates_of
from reinstate.tuning.rounds import Round, RoundTrainer


class Tuned(TypedDict):
    """The rates tried for an agent."""

    settings: dict[str, Any]
    trials: list[dict[str, Any]]  # rates, and reward per episode late in training
    best: dict[str, float]  # rates
    seconds: dict[str, float]  # of compiling and training


class Judged(TypedDict):
    """What frozen weights earn in a world."""

    reward: OverSeeds  # per episode
    exposures: list[float]  # reward per episode at each, mean over seeds


class Entry(TypedDict):
    """An agent in an event."""

    settings: dict[str, Any]
    weights: int
    state_bytes: int  # of what lasts from step to step, its memory included
    trials: int
    rates: dict[str, float]
    steps: int  # of training, per seed
    seconds: dict[str, float]  # of all seeds; compiling is this call's, judging compiles too
    curve: dict[str, Any]  # while learning: see `reinstate.analysis.results.Curve`
    worlds: dict[str, Judged]


class EventResults(TypedDict):
    """An event."""

    title: str
    optimum: dict[str, Any]
    agents: dict[str, Entry]


def hold(plan: Plan, preset: str, out: Path, reporter: Reporter, *, command: str) -> dict[str, Any]:
    """Hold the contest, or what of it is not done yet; return what rivals.json holds."""
    with locked(out):
        events: dict[str, EventResults] = {}
        for event in plan.events:
            entries = {}
            for number, agent in enumerate(plan.agents, 1):
                reporter.part(number, len(plan.agents))
                entries[agent] = enter(plan, event, agent, out / event.name / agent, reporter)
            events[event.name] = {
                "title": event.title,
                "optimum": _optimum(event),
                "agents": entries,
            }
        every = [entry for event in events.values() for entry in event["agents"].values()]
        document = {
            "preset": preset,
            "command": command,
            "date": today(),
            **provenance(),
            "device": devices.describe(),
            "seconds": sum(sum(e["seconds"].values()) for e in every),
            "events": rounded(events),
        }
        draw(document, out)
        write_document(out / "rivals.json", document)  # last: where it is, all else is
        return document


def enter(plan: Plan, event: Event, agent: str, folder: Path, reporter: Reporter) -> Entry:
    """Tune, train and judge one agent, unless that is done."""
    settings = plan.settings_for(event, agent)
    done = folder / "entry.json"
    if done.exists():
        entry: Entry = read_json(done, folder)
        require_same(folder, _untuned(entry["settings"]), _untuned(to_dict(settings)))
        return entry
    tuned = tune(plan, agent, settings, folder / "tuning.json", reporter)
    best: Any = tuned["best"]
    learner = replace(settings.learner, **best)
    settings = replace(settings, learner=learner)
    run = start_run(event.experiment, agent, settings, folder / "run", resume=True)
    trained = train(agent, settings, run, reporter, checkpoint_every=max(1, learner.epochs // 4))
    began = time.monotonic()
    with reporter.working(f"{agent}: judging in {len(event.worlds)} worlds"):
        worlds = {
            name: judge(agent, settings, world, trained.state.params)
            for name, world in event.worlds.items()
        }
    entry = {
        "settings": to_dict(settings),
        "weights": num_weights(AGENTS.find(agent), settings.task, settings.network),
        "state_bytes": state_bytes(agent, settings),
        "trials": len(tuned["trials"]),
        "rates": tuned["best"],
        "steps": trained.metrics[-1]["steps"] // settings.seeds,
        "seconds": {
            "compiling": tuned["seconds"]["compile"] + trained.compile_seconds,
            "tuning": tuned["seconds"]["train"],
            "training": sum(row["seconds"] for row in trained.metrics),
            "judging": time.monotonic() - began,
        },
        "curve": {**curve_of(trained.metrics, settings.task.episodes_per_epoch)},
        "worlds": worlds,
    }
    write_document(done, {**rounded(entry)})
    reward = worlds[AS_TRAINED]["reward"]["mean"]
    reporter.note(f"{event.name}: {agent} earns {reward:.2f} per episode, frozen weights")
    return entry


def _untuned(settings: dict[str, Any]) -> dict[str, Any]:
    """Leave out what tuning chooses."""
    tuned = ("learning_rate", "learning_rate_end", "entropy_cost", "entropy_cost_end")
    learner = {k: v for k, v in settings["learner"].items() if k not in tuned}
    kept: dict[str, Any] = {**settings, "learner": learner}
    return kept


def tune(plan: Plan, agent: str, settings: Settings, path: Path, reporter: Reporter) -> Tuned:
    """Train an agent at many rates side by side, one seed each; the best earns most at the end."""
    alone = replace(settings, seeds=1, first_seed=settings.seed_range[-1] + 1)
    if path.exists():
        found: Tuned = read_json(path, path.parent)
        require_same(path.parent, found["settings"], to_dict(alone))
        return found
    drawn = plan.search.draw(0, preset_candidate(settings.learner))
    with signals(reporter) as stop:
        scores = RoundTrainer(alone)(Round(agent, 0, drawn), reporter, stop)
    if stop:
        raise Stopped(f"stopped after tuning {agent}: the same command continues")
    rates = [rates_of(candidate, settings.learner)._asdict() for candidate in drawn]
    reward = scores.reward.mean(axis=1)
    tuned: Tuned = {
        "settings": to_dict(alone),
        "trials": [
            {"rates": rate, "reward": float(r) if np.isfinite(r) else None}
            for rate, r in zip(rates, reward, strict=True)
        ],
        "best": {name: float(value) for name, value in rates[best_of(reward)].items()},
        "seconds": {"compile": scores.compile_seconds, "train": scores.train_seconds},
    }
    write_document(path, {**tuned})
    return tuned


def best_of(reward: np.ndarray) -> int:
    """Return which setting earned most; NaN, of a setting that failed, is the least."""
    return int(np.argmax(np.where(np.isfinite(reward), reward, -np.inf)))


def judge(agent: str, settings: Settings, world: World, params: Any) -> Judged:
    """Let frozen weights of all seeds play a world, with the memory that they were trained with."""
    once = replace(settings.learner, episodes_per_update=1)  # nothing is learned
    learner = replace(settings, task=world, learner=once).make_learner(agent)
    # An agent of this world, which may have room for a longer epoch, with the trained weights.
    made = jax.eval_shape(learner.init, jax.ShapeDtypeStruct((), jnp.int32)).params
    params = jax.tree.unflatten(jax.tree.structure(made), jax.tree.leaves(params))
    memory = settings.for_agent(agent).memory
    if getattr(learner.agent(params), "told_contexts", False):
        memory = learner.memory  # an oracle has room for all contexts of any world

    def one_seed(params: Any, seed: jax.Array) -> Record:
        player = learner.agent(params)
        return evaluate_in(Condition(world, memory), player, settings.evaluation, seed)

    record = devices.over_seeds(one_seed, settings.seeds)(params, jnp.array(settings.seed_range))
    scores = exposure_scores(jax.tree.map(np.asarray, record))
    mean: Any = scores["by_exposure"]["reward"]["mean"]
    return {"reward": scores["reward"], "exposures": mean}


def state_bytes(agent: str, settings: Settings) -> int:
    """Count the bytes that an agent carries from step to step, in one lane."""
    learner = settings.make_learner(agent)
    state = jax.eval_shape(learner.init, jax.ShapeDtypeStruct((), jnp.int32))

    def start(params: Any) -> Any:
        player = learner.agent(params)
        begun = start_epoch(learner.world, player, learner.memory)
        return begun.player, begun.memory if player.remembers else ()

    return bytes_of(jax.eval_shape(start, state.params))


def _optimum(event: Event) -> dict[str, Any]:
    """Solve every world that can be solved."""
    found = {}
    for name, world in event.worlds.items():
        try:
            found[name] = event.optimum(world)
        except Unsolvable as error:
            found[name] = {"unavailable": str(error)}
    return found
