"""Hold a contest: tune, train and judge every agent in every event, one after the other.

    OUT/EVENT/AGENT/tuning.json   the rates that were tried so far, and what they earned
    OUT/EVENT/AGENT/run/          the run, trained at the best of them
    OUT/EVENT/AGENT/entry.json    what came of it: an `Entry`
    OUT/rivals.json               all of it, and what is best possible
    OUT/FIGURE.png, .svg          figures: see `reinstate_paper.contest.figures`

What is there is not done again, so that the same command continues after an interruption.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

import jax
import jax.numpy as jnp

from reinstate import devices
from reinstate.agent import AGENTS
from reinstate.analysis.documents import checked
from reinstate.errors import Unsolvable
from reinstate.files import locked, read_json, write_document
from reinstate.rivals.base import num_weights
from reinstate.rollout import start_epoch
from reinstate.runs.candidates import CandidateBatch
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance, today
from reinstate.runs.reproduce import curve_of, rounded
from reinstate.runs.run import require_same, start_run
from reinstate.runs.size import bytes_of
from reinstate.runs.training import train
from reinstate.settings import Settings, to_dict
from reinstate_paper.contest.figures import draw
from reinstate_paper.contest.plan import AS_TRAINED, Event, Plan
from reinstate_paper.contest.programs import Judged, Programs, ahead
from reinstate_paper.contest.tuning import Tuning

Wait = Callable[[], Programs]  # for the programs of an agent
DONE = "entry.json"
OURS = "hold an agent's part in a contest", "remove it, or choose another --out"


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
        reporter.plan([_work(event) for event in plan.events])
        with ahead(makers) as wait:
            for stage, event in enumerate(plan.events, 1):
                reporter.stage(stage)
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


def _work(event: Event) -> float:
    """Return the steps of one training, which all agents of an event take."""
    task, learner = event.settings.task, event.settings.learner
    return float(task.episodes_per_epoch * task.episode_length * learner.lanes * learner.epochs)


def _programs(plan: Plan, event: Event, agent: str) -> Programs:
    return Programs(agent, plan.settings_for(event, agent), event.worlds)


def enter(
    plan: Plan, event: Event, agent: str, folder: Path, wait: Wait, reporter: Reporter
) -> Entry:
    """Tune, train and judge one agent, unless that is done."""
    settings = plan.settings_for(event, agent)
    done = folder / DONE
    if done.exists():
        entry = checked(Entry, read_json(done), done, *OURS)
        require_same(folder, _untuned(entry["settings"]), _untuned(to_dict(settings)))
        return entry
    began = time.monotonic()
    with reporter.working(f"{agent}: compiling"):
        programs = wait()
    compile_seconds = time.monotonic() - began
    tuning = Tuning(agent, programs.batch, folder / "tuning.json")
    tuning.run(plan.candidates(settings.learner), plan.finalists, reporter)
    best = tuning.best()
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
        "trials": len(tuning.trials),
        "rates": best,
        "steps": trained.metrics[-1]["steps"] // settings.seeds,
        "seconds": {
            "compiling": compile_seconds,
            "tuning": tuning.seconds,
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
