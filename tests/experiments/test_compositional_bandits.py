"""Experiment 3's claims on numbers made up for them, its presets, and what is probed."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from made_up import assert_all_supported_but, changed, columns, near
from reinstate.analysis.compositional import Misfiled
from reinstate.analysis.verdicts import count_verdicts, with_verdicts
from reinstate.evaluation import Condition, Record
from reinstate.runs import conclusions
from reinstate.runs.evaluator import Evaluator
from reinstate.tasks.compositional import CompositionalTrace
from reinstate_paper.compositional_bandits import (
    COMPOSITIONAL_BANDITS,
    PAPER,
    QUICK,
    checks,
    probes,
)

OPTIMUM = {"chance": 5.0, "without_memory": 8.37, "with_memory": 8.93}
CLEARED, MISFILED = "memory cleared", "memory misfiled"
BETTER, WORSE = "asked for the better stimulus", "asked for the worse stimulus"
AGENTS: dict[str, Any] = {
    "epl2rl": {
        "reward": near(8.7),
        "by_exposure": {"regret": columns(0.7, 0.4, 0.3, 0.25, 0.2)},
        "probes": {CLEARED: near(8.2), MISFILED: near(7.0), BETTER: near(8.8), WORSE: near(8.6)},
    },
    "l2rl-context": {"reward": near(8.3)},
    "epl2rl-input": {"reward": near(5.1)},
}


def test_what_the_paper_shows_supports_all_claims() -> None:
    found = checks(AGENTS, OPTIMUM, {})
    assert_all_supported_but(found, {})
    counts = count_verdicts(with_verdicts([check.as_row() for check in found]))
    assert (counts["claims"], counts["supported"], counts["ours"]) == (3, 3, 5)
    assert {check.section for check in found} == {"4.3"}
    values = [check.evidence.value for check in found]
    falls = 1 - 0.25 / 0.3, 1 - 0.2 / 0.7  # the smallest, and that to the last
    assert values == pytest.approx([0.4, falls[0], 1, 0.33, falls[1], -1.37, 0.43, 0.23], abs=1e-4)


def test_only_what_was_run_is_spoken_of() -> None:
    assert checks({}, OPTIMUM, {}) == []
    assert checks(AGENTS, {"chance": 5.0, "without_memory": 8.37}, {}) == []
    assert checks({"l2rl-context": AGENTS["l2rl-context"]}, OPTIMUM, {}) == []
    once: Any = {"reward": near(8.7), "by_exposure": {"regret": columns(0.7)}}  # and not probed
    assert [check.claim for check in checks({"epl2rl": once}, OPTIMUM, {})] == [
        "epl2rl earns more than any agent without episodic memory can (lead)"
    ]


def test_a_cleared_memory_may_not_earn_more_than_none() -> None:
    """What a theorem rules out is an alarm, and no claim."""
    assert conclusions.alarms(AGENTS, OPTIMUM, {}) == []
    (alarm,) = conclusions.alarms(
        changed(AGENTS, f"epl2rl.probes.{CLEARED}", near(8.4)), OPTIMUM, {}
    )
    assert alarm.startswith("epl2rl, its memory cleared, earns 8.4000,")


@pytest.mark.parametrize("settings", [QUICK, PAPER], ids=["quick", "paper"])
def test_presets_can_be_trained(settings: Any) -> None:
    for agent in (*COMPOSITIONAL_BANDITS.agents, "l2rl"):
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
    assert PAPER.seeds == 10 and PAPER.task.num_classes == QUICK.task.num_classes


def test_the_optimum_is_that_of_the_judged_epochs() -> None:
    task = replace(QUICK.task, num_classes=4, judged_classes=8, pulls=3)
    solve = COMPOSITIONAL_BANDITS.optimum
    assert solve is not None
    assert solve(task) == solve(task.for_evaluation())
    assert solve(task)["with_memory"] != solve(replace(task, judged_classes=0))["with_memory"]
    assert solve(task)["chance"] == pytest.approx(3 * 0.5)
    assert set(COMPOSITIONAL_BANDITS.lines.values()) <= set(solve(task))
    experiment = COMPOSITIONAL_BANDITS
    assert {experiment.ceiling, experiment.ceiling_without_memory} <= set(solve(task))


def test_probes_change_one_thing_each() -> None:
    found, judged, memory = probes(QUICK), QUICK.task.for_evaluation(), QUICK.memory
    assert list(found) == [CLEARED, MISFILED, BETTER, WORSE]
    assert found[CLEARED] == Condition(judged, memory, recall=0.0)
    assert found[MISFILED] == Condition(judged, Misfiled(memory), recall=1.0)
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
def played(monkeypatch: pytest.MonkeyPatch) -> list[Condition]:
    """The conditions under which agents are judged; the n-th time they earn n per episode."""
    conditions: list[Condition] = []

    def play(self: Evaluator, state: Any, condition: Condition) -> tuple[Record, None]:
        conditions.append(condition)
        return a_record(len(conditions) / 2), None

    monkeypatch.setattr(Evaluator, "_play", play)
    return conditions


def judge(agent: str, experiment: Any = COMPOSITIONAL_BANDITS) -> dict[str, Any]:
    experiment = replace(experiment, scores=lambda world, record: {"reward": record.reward.sum()})
    state: Any = None
    return {**Evaluator(experiment, agent, QUICK).evaluate(state)}


def test_an_agent_with_a_memory_is_probed(played: list[Condition]) -> None:
    verdict = judge("epl2rl")
    wanted, worlds = probes(QUICK), (QUICK.task.for_evaluation(), QUICK.task)
    assert played == [*(Condition(world, QUICK.memory) for world in worlds), *wanted.values()]
    assert {n: p["per_seed"] for n, p in verdict["probes"].items()} == {
        name: [n, n] for n, name in enumerate(wanted, 3)
    }
    expected = {"reward", "reward_by_epoch", "r_gate", "on_training_contexts", "probes"}
    assert set(verdict) == expected | {"familiarity"}


@pytest.mark.parametrize("agent", ["l2rl", "l2rl-context"])
def test_an_agent_without_a_memory_is_not(played: list[Condition], agent: str) -> None:
    assert "probes" not in judge(agent) and len(played) == 2
