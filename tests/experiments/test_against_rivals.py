"""Contests: agents tuned, trained and met by other worlds, and the numbers that pages show."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reinstate.agent import Network
from reinstate.analysis.exposures import exposure_scores
from reinstate.baselines.bandits import bandit_optimum
from reinstate.evaluation import Condition, Evaluation, evaluate_in
from reinstate.memory import DND
from reinstate.runs.candidates import Ranges
from reinstate.runs.evaluator import Evaluator
from reinstate.runs.experiment import LEARNER, experiment_of, find_experiment
from reinstate.runs.reproduce import reproduce
from reinstate.runs.search import Asked, Search, best_for, best_rates, search
from reinstate.settings import Settings
from reinstate.tasks.bandits import BarcodeBandits, NoisyBandits
from reinstate.tasks.base import World
from reinstate_paper.against_rivals import (
    AS_TRAINED,
    BANDITS,
    MAZE,
    PERMUTATION,
    elsewhere,
    kept,
    solved,
)
from tiny import SILENT
from words import contest, state_bytes

TASK = BarcodeBandits(
    num_arms=3, pulls=3, num_contexts=3, repeats=2, barcode_length=4, mapping="independent"
)
SETTINGS: Settings[BarcodeBandits, DND] = Settings(
    TASK,
    seeds=2,
    network=Network(hidden_size=4),
    memory=DND(capacity=6),
    learner=replace(LEARNER, lanes=16, epochs=2),
    evaluation=Evaluation(epochs=3),
)
CONTESTS = (BANDITS, MAZE, PERMUTATION)
AGENTS = ("epl2rl", "lstm-epoch")


def others(task: Any) -> dict[str, World]:
    return {"longer": NoisyBandits.of(TASK, repeats=3, noise=0.2)}


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """Two agents, each at what `tune` found best for it."""
    out = tmp_path_factory.mktemp("contest")
    experiment = replace(BANDITS, elsewhere=others, optimum=solved(bandit_optimum, others))
    asked = Asked(
        experiment, "quick", AGENTS, SETTINGS, Search(trials=2, ranges=Ranges(**BANDITS.ranges))
    )
    search(asked, out / "tuned", SILENT, command="")
    tuned = best_rates(out / "tuned/search.json", AGENTS, SETTINGS.learner)
    what = (experiment, "quick", AGENTS, SETTINGS, out / "contest", SILENT)
    found = reproduce(*what, command="", tuned=tuned)
    assert reproduce(*what, command="", tuned=tuned, resume=True)["agents"] == found["agents"]
    return out, json.loads((out / "contest/results.json").read_text())


def test_every_agent_is_trained_at_its_best_rates_and_meets_other_worlds(
    held: tuple[Path, Any],
) -> None:
    out, found = held
    trials = json.loads((out / "tuned/search.json").read_text())["trials"]
    for name, agent in found["agents"].items():
        assert agent["train_steps"] == 16 * 2 * 6 * 3 * 2, name  # the same for both
        best: Any = best_for(trials, name)
        learner = agent.get("learner", found["settings"]["learner"])
        assert {key: learner[key] for key in best["setting"]} == best["setting"], name
        assert agent["elsewhere"].keys() == {"longer"}
        assert len(agent["elsewhere"]["longer"]["exposures"]) == 3
    own = found["agents"]["lstm-epoch"]["learner"]
    assert (own["lanes"], own["epochs"], own["episodes_per_update"]) == (8, 4, 6)
    assert (out / "contest/elsewhere.svg").exists()


@pytest.mark.parametrize("agent", ["epl2rl-oracle", "transformer"])
def test_frozen_weights_meet_a_world_as_an_agent_of_it(agent: str) -> None:
    settings = BANDITS.settings_of(agent, SETTINGS)
    evaluator = Evaluator(replace(BANDITS, elsewhere=others), agent, settings)
    state = jax.vmap(evaluator.learner.init)(jnp.array(settings.seed_range))
    # A policy that is not nearly uniform:
    state = state._replace(params=jax.tree.map(lambda leaf: 5 * leaf, state.params))
    world = others(TASK)["longer"]
    once = replace(settings, task=world, learner=replace(settings.learner, episodes_per_update=1))
    learner = once.make_learner(agent)
    memory = learner.memory if agent == "epl2rl-oracle" else settings.memory  # room for all
    made = jax.tree.structure(learner.init(jnp.array(0)).params)

    def alone(params: Any, seed: jax.Array) -> Any:
        player = learner.agent(jax.tree.unflatten(made, jax.tree.leaves(params)))
        return evaluate_in(Condition(world, memory), player, settings.evaluation, seed)

    record = jax.jit(jax.vmap(alone))(state.params, jnp.array(settings.seed_range))
    scores = exposure_scores(jax.tree.map(np.asarray, record))
    found: Any = evaluator.evaluate(state)["elsewhere"]["longer"]
    assert found["reward"] == scores["reward"]
    assert found["exposures"] == scores["by_exposure"]["reward"]["mean"]


def test_rows_and_shares(held: tuple[Path, Any]) -> None:
    found = held[1]
    found["optimum"]["elsewhere"] = {"longer": {"own_memory": 2.0, "without_memory": 1.0}}
    found["agents"]["epl2rl"]["elsewhere"]["longer"]["reward"]["mean"] = 1.75
    rows = contest([{**found, "optimum": {"with_memory": 2.0}}])
    best = max(AGENTS, key=lambda name: found["agents"][name]["reward"]["mean"])
    assert rows[0]["agent"] == best and {row["agent"] for row in rows} == {*AGENTS}
    share = found["agents"][best]["reward"]["mean"] / 2
    assert rows[0]["earned"]["bandits"].endswith(f": {share:.0%}")
    shares = kept(found)
    assert shares["longer"]["epl2rl"] == 0.75 and shares.keys() == {AS_TRAINED, "longer"}
    (chart,) = elsewhere(found)
    assert chart.series[0].y[1] == 0.75


def test_the_state_of_a_transformer_is_its_cache() -> None:
    # A width of 8: layers × steps × width × (keys and values) × 4 bytes, and a counter.
    wide: Settings[BarcodeBandits, DND] = Settings(TASK, network=Network(hidden_size=10))
    learner = wide.make_learner("transformer")
    width = learner._static.head.in_features
    assert state_bytes("transformer", wide) == 2 * 24 * width * 2 * 4 + 4
    assert state_bytes("l2rl", wide) == 2 * 10 * 4  # c and h


@pytest.mark.parametrize("contest", CONTESTS, ids=lambda each: str(each.name))
def test_agents_of_a_contest_play_as_much_in_worlds_of_one_shape(contest: Any) -> None:
    for settings in contest.presets.values():
        assert settings.seeds >= 5
        for agent in AGENTS:
            own, shared = contest.settings_of(agent, settings).learner, settings.learner
            assert own.lanes * own.epochs == shared.lanes * shared.epochs
        worlds = (settings.task, *contest.elsewhere(settings.task).values())
        assert len({(w.context_size, w.num_actions, w.observation_size) for w in worlds}) == 1
    assert any("120" in name for name in BANDITS.elsewhere(BarcodeBandits()))  # type: ignore[misc]


def test_contests_have_names_and_are_not_what_their_worlds_are_about() -> None:
    assert [find_experiment(each.name) for each in CONTESTS] == list(CONTESTS)
    assert [experiment_of(each.world) for each in CONTESTS] == [
        *map(find_experiment, ("barcode-bandits", "water-maze", "barcode-bandits"))
    ]
