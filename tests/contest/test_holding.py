"""A tiny contest from end to end."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reinstate.agent import Network
from reinstate.errors import UserError
from reinstate.evaluation import Evaluation
from reinstate.memory import DND
from reinstate.runs.experiment import LEARNER
from reinstate.settings import Settings
from reinstate.tasks.bandits import BarcodeBandits, NoisyBandits
from reinstate_paper.contest.holding import hold, state_bytes
from reinstate_paper.contest.plan import AS_TRAINED, PLANS, Plan, bandits, find_plan
from reinstate_paper.contest.tables import kept, learned_at, rows
from tiny import SILENT, contents

TASK = BarcodeBandits(num_arms=3, pulls=3, num_contexts=3, repeats=2, barcode_length=4)
SETTINGS: Settings[BarcodeBandits, DND] = Settings(
    TASK,
    seeds=2,
    network=Network(hidden_size=4),
    memory=DND(capacity=6),
    learner=replace(LEARNER, lanes=4, epochs=2),
    evaluation=Evaluation(epochs=3),
)
EVENT = replace(
    bandits(SETTINGS),
    strains={"longer": NoisyBandits.of(TASK, repeats=3, noise=0.2)},
)
SEARCH = replace(PLANS["quick"].search, trials=3)
PLAN = Plan((EVENT,), ("epl2rl", "lstm-epoch"), SEARCH, whole_epoch_lanes=2, finalists=2)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    out = tmp_path_factory.mktemp("contest")
    return out, hold(PLAN, "quick", out, SILENT, command="reinstate reproduce rivals")


def test_every_agent_is_tuned_trained_and_judged(held: tuple[Path, Any]) -> None:
    out, document = held
    assert json.loads((out / "rivals.json").read_text())["events"].keys() == {"bandits"}
    event = document["events"]["bandits"]
    for agent, entry in event["agents"].items():
        assert entry["steps"] == 4 * 2 * 6 * 3, agent  # the same for both
        assert entry["trials"] == 3 and entry["worlds"].keys() == {AS_TRAINED, "longer"}
        assert len(entry["worlds"]["longer"]["exposures"]) == 3
        tuned = json.loads((out / "bandits" / agent / "tuning.json").read_text())
        assert entry["settings"]["learner"]["entropy_cost"] == entry["rates"]["entropy_cost"]
        again = [trial["rates"] for trial in tuned["trials"] if len(trial["rewards"]) == 2]
        assert len(again) == 2 and entry["rates"] in again
    own = event["agents"]["lstm-epoch"]["settings"]["learner"]
    assert (own["lanes"], own["epochs"], own["episodes_per_update"]) == (2, 4, 6)
    assert (out / "bandits.png").exists()


def test_what_is_done_is_not_done_again(held: tuple[Path, Any]) -> None:
    out, document = held
    before = contents(out / "bandits")
    again = hold(PLAN, "quick", out, SILENT, command="reinstate reproduce rivals")
    assert contents(out / "bandits") == before
    assert again["events"] == json.loads(json.dumps(document["events"]))
    other = replace(EVENT, settings=replace(SETTINGS, network=Network(hidden_size=5)))
    with pytest.raises(UserError, match="hidden_size"):
        hold(replace(PLAN, events=(other,)), "quick", out, SILENT, command="")


def test_rows_and_shares(held: tuple[Path, Any]) -> None:
    event = held[1]["events"]["bandits"]
    found = rows(event)
    assert [row.reward["mean"] for row in found] == sorted(
        (row.reward["mean"] for row in found), reverse=True
    )
    optimum = event["optimum"]["longer"]
    reward = event["agents"]["epl2rl"]["worlds"]["longer"]["reward"]["mean"]
    worth = optimum["own_memory"] - optimum["without_memory"]
    expected = (reward - optimum["without_memory"]) / worth
    assert kept(event)["longer"]["epl2rl"] == pytest.approx(expected)


def test_when_a_seed_has_learned() -> None:
    curve = {"steps": [20, 40, 60], "reward": {"per_seed": [[1.0, 1.9, 1.7], [0.0, 0.0, 1.7]]}}
    assert learned_at(curve, 2.0) == [20, None]
    assert learned_at(curve, None) == [None, None]


def test_the_state_of_a_transformer_is_its_cache() -> None:
    # A width of 8: layers × steps × width × (keys and values) × 4 bytes, and a counter.
    wide: Settings[BarcodeBandits, DND] = Settings(TASK, network=Network(hidden_size=10))
    learner = wide.make_learner("transformer")
    width = learner._static.head.in_features
    assert state_bytes("transformer", wide) == 2 * 24 * width * 2 * 4 + 4
    # Of epL2RL: c and h; 6 slots of a key, a value and three counters; two clocks.
    assert state_bytes("l2rl", wide) == 2 * 10 * 4


def test_plans_name_what_there_is() -> None:
    assert find_plan("paper").search.trials >= 16
    assert all(event.settings.seeds >= 5 for plan in PLANS.values() for event in plan.events)
    plan = PLANS["quick"]
    for event in plan.events:
        for agent in ("epl2rl", "lstm-epoch"):
            own, shared = plan.settings_for(event, agent).learner, event.settings.learner
            assert own.lanes * own.epochs == shared.lanes * shared.epochs
    with pytest.raises(UserError, match="did you mean"):
        find_plan("quik")


def test_an_event_has_worlds_of_the_same_shape() -> None:
    for plan in PLANS.values():
        for event in plan.events:
            shapes = {
                (world.context_size, world.num_actions, world.observation_size)
                for world in event.worlds.values()
            }
            assert len(shapes) == 1
