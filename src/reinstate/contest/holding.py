"""Hold a contest: tune, train and judge every agent in every event, one after the other.

    OUT/EVENT/AGENT/tuning.json   the rates that were tried so far, and what they earned
    OUT/EVENT/AGENT/run/          the run, trained at the best of them
    OUT/EVENT/AGENT/entry.json    what came of it: an `Entry`
    OUT/rivals.json               all of it, and what is best possible
    OUT/FIGURE.png, .svg          figures: see `reinstate.contest.figures`

What is there is not done again, so that the same command continues after an interruption.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import gcd
from pathlib import Path
from typing import Any, TypedDict

import jax
import jax.numpy as jnp
import numpy as np

from reinstate import devices
from reinstate.agent import AGENTS
from reinstate.contest.figures import draw
from reinstate.contest.plan import AS_TRAINED, Event, Plan
from reinstate.contest.programs import Judged, Programs, ahead
from reinstate.errors import Unsolvable
from reinstate.files import locked, read_json, write_document
from reinstate.learner import Rates
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
from reinstate.tuning.batch import CandidateBatch
from reinstate.tuning.ranges import preset_candidate, rates_of

Wait = Callable[[], Programs]  # for the programs of an agent
DONE = "entry.json"


class Tuned(TypedDict):
    """The rates tried for an agent."""

    settings: dict[str, Any]
    trials: list[dict[str, Any]]  # rates, and rewards per episode late in training, by seed
    seconds: float  # of training


class Entry(TypedDict):
    """An agent in an event."""

    settings: dict[str, Any]
    weights: int
    state_bytes: int  # of what lasts from step to step, its memory included
    trials: int
    rates: dict[str, float]
    steps: int  # of training, per seed
    seconds: dict[str, float]  # of all seeds; compiling is what others' training did not hide
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
        folders = {
            (event.name, agent): out / event.name / agent
            for event in plan.events
            for agent in plan.agents
        }
        makers = {
            (event.name, agent): partial(_programs, plan, event, agent)
            for event in plan.events
            for agent in plan.agents
            if not (folders[event.name, agent] / DONE).exists()
        }
        events: dict[str, EventResults] = {}
        with ahead(makers) as wait:
            for event in plan.events:
                entries = {}
                for number, agent in enumerate(plan.agents, 1):
                    reporter.part(number, len(plan.agents))
                    name = event.name, agent
                    programs = partial(wait, name)
                    entries[agent] = enter(plan, event, agent, folders[name], programs, reporter)
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


def _programs(plan: Plan, event: Event, agent: str) -> Programs:
    return Programs(agent, plan.settings_for(event, agent), event.worlds)


def enter(
    plan: Plan, event: Event, agent: str, folder: Path, wait: Wait, reporter: Reporter
) -> Entry:
    """Tune, train and judge one agent, unless that is done."""
    settings = plan.settings_for(event, agent)
    done = folder / DONE
    if done.exists():
        entry: Entry = read_json(done, folder)
        require_same(folder, _untuned(entry["settings"]), _untuned(to_dict(settings)))
        return entry
    began = time.monotonic()
    with reporter.working(f"{agent}: compiling"):
        programs = wait()
    compile_seconds = time.monotonic() - began
    tuned = tune(plan, agent, settings, programs.batch, folder / "tuning.json", reporter)
    best = best_of(tuned)
    settings = replace(settings, learner=replace(settings.learner, **best))
    run = start_run(event.experiment, agent, settings, folder / "run", resume=True)
    every = max(1, settings.learner.epochs // 4)
    program = partial(_at_rates, programs.batch, settings)
    trained = train(agent, settings, run, reporter, checkpoint_every=every, program=program)
    began = time.monotonic()
    with reporter.working(f"{agent}: judging in {len(event.worlds)} worlds"):
        judged = programs.judge(trained.state.params)
        worlds = {name: judged[name] for name in event.worlds}
    entry = {
        "settings": to_dict(settings),
        "weights": num_weights(AGENTS.find(agent), settings.task, settings.network),
        "state_bytes": state_bytes(agent, settings),
        "trials": len(tuned["trials"]),
        "rates": best,
        "steps": trained.metrics[-1]["steps"] // settings.seeds,
        "seconds": {
            "compiling": compile_seconds,
            "tuning": tuned["seconds"],
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


def _at_rates(batch: CandidateBatch, settings: Settings) -> Callable[[Any], Any]:
    """Return the program that tunes, with all its places at the same rates."""
    rates = batch.each([settings.learner.rates] * settings.seeds)
    return lambda state: batch.compile(rates, state)(rates, state)


def _untuned(settings: dict[str, Any]) -> dict[str, Any]:
    """Leave out what tuning chooses."""
    tuned = ("learning_rate", "learning_rate_end", "entropy_cost", "entropy_cost_end")
    learner = {k: v for k, v in settings["learner"].items() if k not in tuned}
    kept: dict[str, Any] = {**settings, "learner": learner}
    return kept


def tune(
    plan: Plan,
    agent: str,
    settings: Settings,
    batch: CandidateBatch,
    path: Path,
    reporter: Reporter,
) -> Tuned:
    """Train an agent at many rates, a seed each, and the best of them again with other seeds.

    As many are trained side by side as there are seeds in the contest.
    """
    own = to_dict(batch.settings)
    tuned: Tuned = {"settings": own, "trials": [], "seconds": 0.0}
    if path.exists():
        tuned = read_json(path, path.parent)
        require_same(path.parent, tuned["settings"], own)

    drawn = plan.search.draw(0, preset_candidate(settings.learner))
    with signals(reporter) as stop:
        train_at = partial(_train_at, agent=agent, tuned=tuned, reporter=reporter, stop=stop)
        trials = tuned["trials"]
        while len(trials) < len(drawn):
            some = drawn[len(trials) : len(trials) + settings.seeds]
            label = f"settings {len(trials) + 1} to {len(trials) + len(some)} of {len(drawn)}"
            new = [rates_of(candidate, settings.learner)._asdict() for candidate in some]
            trials += [{"rates": rates, "rewards": []} for rates in new]
            train_at(trials[-len(some) :], label, batch)
            _write(path, tuned, stop)
        finalists = gcd(plan.finalists, settings.seeds)
        if 1 < finalists < len(trials) and max(len(trial["rewards"]) for trial in trials) == 1:
            again = batch.with_seeds(batch.settings.first_seed + 1, settings.seeds // finalists)
            label = f"the best {finalists} with {again.settings.seeds} more seeds"
            train_at(sorted(trials, key=_earned, reverse=True)[:finalists], label, again)
            _write(path, tuned, stop)
    return tuned


def _train_at(
    trials: list[dict[str, Any]],
    label: str,
    batch: CandidateBatch,
    *,
    agent: str,
    tuned: Tuned,
    reporter: Reporter,
    stop: Sequence[int],
) -> None:
    """Train at the rates of some trials, and add to their rewards; None is one that failed."""
    rates = [Rates(**trial["rates"]) for trial in trials]
    places = rates + rates[-1:] * (batch.num_candidates - len(rates))
    scores = batch.train(places, reporter, f"{agent}: {label}", stop)
    tuned["seconds"] += scores.train_seconds
    for trial, rewards in zip(trials, scores.reward.tolist(), strict=False):
        trial["rewards"] += [reward if np.isfinite(reward) else None for reward in rewards]


def _write(path: Path, tuned: Tuned, stop: Sequence[int]) -> None:
    write_document(path, {**tuned})
    if stop:
        raise Stopped("stopped while tuning: the same command continues")


def _earned(trial: dict[str, Any]) -> float:
    """Return the mean over seeds; where one has failed, the least there is."""
    rewards = trial["rewards"]
    return -np.inf if None in rewards else float(np.mean(rewards))


def best_of(tuned: Tuned) -> dict[str, Any]:
    """Return the rates that earned most, among those that were tried with the most seeds."""
    most = max(len(trial["rewards"]) for trial in tuned["trials"])
    final = [trial for trial in tuned["trials"] if len(trial["rewards"]) == most]
    rates: dict[str, Any] = max(final, key=_earned)["rates"]
    return {name: float(value) for name, value in rates.items()}


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
