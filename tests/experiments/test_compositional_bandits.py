"""Experiment 3's claims on numbers made up for them, its presets, and what is probed."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reinstate.analysis.intervals import over_seeds
from reinstate.analysis.lesions import Misfiled
from reinstate.analysis.results import OverSeeds
from reinstate.evaluation import Condition, Record
from reinstate.experiments import EXPERIMENTS
from reinstate.experiments.barcode_bandits import BARCODE_BANDITS
from reinstate.experiments.compositional_bandits import (
    COMPOSITIONAL_BANDITS,
    PAPER,
    QUICK,
    checks,
    probes,
)
from reinstate.memory import DND
from reinstate.runs.judge import Evaluator
from reinstate.tasks.compositional import CompositionalTrace

OPTIMUM = {"both_novel": 8.37, "either_known": 9.0, "mean_over_epoch": 8.93, "chance": 5.0}
CLEARED, MISFILED = "memory cleared", "memory misfiled"
BETTER, WORSE = "asked for the better stimulus", "asked for the worse stimulus"


def near(value: float) -> OverSeeds:
    """Three seeds about a value, which are the interval too."""
    return over_seeds([value - 0.001, value, value + 0.001])


def regret(*means: float) -> dict[str, Any]:
    return {"regret": over_seeds([[m * e for m in means] for e in (0.99, 1, 1.01)])}


AGENTS: dict[str, Any] = {
    "epl2rl": {
        "reward": near(8.7),
        "by_exposure": regret(0.7, 0.4, 0.3, 0.25, 0.2),
        "probes": {CLEARED: near(8.2), MISFILED: near(7.0), BETTER: near(8.8), WORSE: near(8.6)},
    },
    "l2rl-context": {"reward": near(8.3), "by_exposure": regret(0.7, 0.7, 0.7, 0.7, 0.7)},
}


def changed(name: str, **parts: Any) -> Any:
    agents = copy.deepcopy(AGENTS)
    agents[name] |= parts
    return agents


def probed(name: str, reward: float) -> Any:
    return changed("epl2rl", probes={**AGENTS["epl2rl"]["probes"], name: near(reward)})


def falling(*means: float) -> dict[str, Any]:
    return changed("epl2rl", by_exposure=regret(*means))


def failing(agents: dict[str, Any]) -> list[str]:
    return [check.claim for check in checks(agents, OPTIMUM, {}) if not check.holds]


def test_what_the_paper_shows_bears_all_claims_out() -> None:
    found = checks(AGENTS, OPTIMUM, {})
    assert len(found) == 2 + 1 + 4 + 1 + 4 and failing(AGENTS) == []
    assert all(type(check.holds) is bool and isinstance(check.value, float) for check in found)
    assert {check.section for check in found} == {"4.3"}
    assert sum(check.paper != "" for check in found) == 1 + 4  # the rest is ours
    falls = [check for check in found if "falls from exposure" in check.claim]
    assert [check.claim[-6:] for check in falls] == ["1 to 2", "2 to 3", "3 to 4", "4 to 5"]
    assert [check.value for check in falls] == pytest.approx([0.3, 0.1, 0.05, 0.05])
    share = next(check for check in found if "as a share of exposure 1's" in check.claim)
    assert share.claim.startswith("epl2rl's regret at exposure 5")
    assert share.value == pytest.approx(0.2 / 0.7)


@pytest.mark.parametrize(
    ("agents", "claims"),
    [
        (changed("l2rl-context", reward=near(8.4)), ["l2rl-context stays within"]),
        (
            changed("l2rl-context", reward=near(8.71)),
            ["l2rl-context stays within", "epl2rl outperforms l2rl-context"],
        ),
        (changed("epl2rl", reward=near(8.36)), ["epl2rl earns more than any agent without"]),
        (falling(0.7, 0.7, 0.3, 0.25, 0.2), ["epl2rl's regret falls from exposure 1 to 2"]),
        (falling(0.7, 0.4, 0.3, 0.25, 0.26), ["epl2rl's regret falls from exposure 4 to 5"]),
        (falling(0.7, 0.5, 0.45, 0.4, 0.36), ["epl2rl's regret at exposure 5, as a share"]),
        (probed(CLEARED, 8.4), ["with its memory cleared, epl2rl earns no more"]),
        (probed(MISFILED, 8.4), ["with its memory misfiled, epl2rl earns no more"]),
        (probed(BETTER, 8.36), [f"epl2rl puts either stimulus to use: when {BETTER}"]),
        (probed(WORSE, 8.36), [f"epl2rl puts either stimulus to use: when {WORSE}"]),
    ],
)
def test_every_claim_can_fail(agents: dict[str, Any], claims: list[str]) -> None:
    found = failing(agents)
    assert len(found) == len(claims), found
    assert all(f.startswith(c) for f, c in zip(found, claims, strict=True)), found


def test_only_what_was_run_is_spoken_of() -> None:
    assert checks({}, OPTIMUM, {}) == []
    alone = checks({"l2rl-context": AGENTS["l2rl-context"]}, OPTIMUM, {})
    assert [check.claim[:25] for check in alone] == ["l2rl-context stays within"]
    unprobed: Any = {"epl2rl": {"reward": near(8.7), "by_exposure": regret(0.7)}}  # met only once
    found = checks(unprobed, OPTIMUM, {})
    assert [check.claim for check in found] == [
        "epl2rl earns more than any agent without episodic memory can"
    ]
    as_input = checks({"epl2rl-input": {"reward": near(5.0)}}, OPTIMUM, {})
    assert [(c.claim[:12], c.holds) for c in as_input] == [("epl2rl-input", True)]
    assert not checks({"epl2rl-input": {"reward": near(5.1)}}, OPTIMUM, {})[0].holds


@pytest.mark.parametrize("settings", [QUICK, PAPER], ids=["quick", "paper"])
def test_presets_can_be_trained(settings: Any) -> None:
    for agent in (*COMPOSITIONAL_BANDITS.agents, "l2rl", "epl2rl-input"):
        assert settings.make_learner(agent).num_updates > 0
    task, judged = settings.task, settings.task.for_evaluation()
    assert judged.exchange == 0 < task.exchange
    # What an episode of the judged epochs leaves behind must not be crowded out.
    assert settings.memory.capacity >= judged.episodes_per_epoch * judged.writes_per_episode
    # First without recall, in episodes whose stimuli change; then as the paper has it.
    assert settings.learner.recall_from == task.exchange_until == 0.5
    assert settings.network.feedback == "joint" and settings.network.hidden_size == 50


def test_the_paper_s_epochs() -> None:
    judged = PAPER.task.for_evaluation()
    assert (judged.num_classes, judged.episodes_per_epoch, judged.max_exposures) == (400, 1000, 5)
    assert (judged.pulls, judged.p_high, judged.p_low) == (10, 0.9, 0.1)
    assert judged.query == "random" and judged.stimuli == "omniglot"
    assert PAPER.seeds == 3 and PAPER.task.num_classes == QUICK.task.num_classes
    assert EXPERIMENTS["compositional-bandits"] is COMPOSITIONAL_BANDITS
    assert COMPOSITIONAL_BANDITS.preset("paper") == PAPER


def test_the_optimum_is_that_of_the_judged_epochs() -> None:
    task = replace(QUICK.task, num_classes=4, judged_classes=8, pulls=3)
    solve = COMPOSITIONAL_BANDITS.optimum
    assert solve is not None
    assert solve(task) == solve(task.for_evaluation())
    assert (
        solve(task)["mean_over_epoch"] != solve(replace(task, judged_classes=0))["mean_over_epoch"]
    )
    assert solve(task)["chance"] == pytest.approx(3 * 0.5)
    assert set(COMPOSITIONAL_BANDITS.lines.values()) <= set(solve(task))
    experiment = COMPOSITIONAL_BANDITS
    assert {experiment.ceiling, experiment.ceiling_without_memory} <= set(solve(task))


def test_probes_change_one_thing_each() -> None:
    found, judged, memory = probes(QUICK), QUICK.task.for_evaluation(), QUICK.memory
    assert list(found) == [CLEARED, MISFILED, BETTER, WORSE]
    assert found[CLEARED] == Condition(judged, memory, recall=0.0)
    assert found[MISFILED] == Condition(judged, Misfiled.like(memory), recall=1.0)
    assert isinstance(found[MISFILED].memory, Misfiled)
    assert found[BETTER] == Condition(replace(judged, query="high"), memory)
    assert found[WORSE] == Condition(replace(judged, query="low"), memory)


def a_record(reward: float) -> Record:
    """One epoch of three episodes of two trials, the same for both seeds."""
    shape = (2, 1, 3, 2)
    nothing = np.zeros(shape)
    both = np.broadcast_to(np.array([[0, 0], [1, 1], [1, 1]])[None, None, :, None], (*shape, 2))
    query = np.broadcast_to(np.array([0, 0, 1]), (2, 1, 3))[..., None].repeat(2, axis=-1)
    query[:, :, 0] = [[0, 1]]  # each kind is asked for when new, and when known
    trace: Any = CompositionalTrace(query, both, both)  # type: ignore[arg-type]
    gates: Any = {"r": nothing}
    fields: list[Any] = [both[..., 0, 0], both[..., 0, 0], nothing, np.full(shape, reward)]
    return Record(*fields, *[nothing, nothing, gates, gates, nothing, nothing, trace])


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[Condition | None]:
    """The conditions under which agents are judged; the n-th time they earn n per episode."""
    conditions: list[Condition | None] = []

    def record(self: Evaluator, state: Any, condition: Condition | None = None) -> Record:
        conditions.append(condition)
        return a_record(len(conditions) / 2)

    monkeypatch.setattr(Evaluator, "record", record)
    return conditions


def judge(agent: str, experiment: Any = COMPOSITIONAL_BANDITS) -> dict[str, Any]:
    experiment = replace(experiment, judge=lambda world, record: {"reward": record.reward.sum()})
    state: Any = None
    return {**Evaluator(experiment, agent, QUICK).verdict(state)}


def test_an_agent_with_a_memory_is_probed(played: list[Condition | None]) -> None:
    verdict = judge("epl2rl")
    wanted = probes(QUICK)
    assert played == [None, Condition(QUICK.task, QUICK.memory), *wanted.values()]
    assert {n: p["per_seed"] for n, p in verdict["probes"].items()} == {
        name: [n, n] for n, name in enumerate(wanted, 3)
    }
    assert set(verdict) == {"reward", "r_gate", "on_training_contexts", "probes"}


@pytest.mark.parametrize("agent", ["l2rl", "l2rl-context"])
def test_an_agent_without_a_memory_is_not(played: list[Condition | None], agent: str) -> None:
    assert "probes" not in judge(agent) and len(played) == 2


def test_nor_is_any_agent_where_an_experiment_has_no_probes(played: list[Condition | None]) -> None:
    assert "probes" not in judge("epl2rl", BARCODE_BANDITS)


def test_memories_of_probes_are_those_of_the_settings() -> None:
    small = replace(QUICK, memory=DND(capacity=30, k=2))
    memories: list[Any] = [each.memory for each in probes(small).values()]
    assert {(memory.capacity, memory.k) for memory in memories} == {(30, 2)}
