"""Settings to and from untrusted JSON."""

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest

from reinstate import registry
from reinstate.agent import AGENTS, Maker, Network
from reinstate.errors import UserError
from reinstate.evaluation import Evaluation
from reinstate.learner import A2C
from reinstate.memory import DND, Consolidating
from reinstate.memory.recognition import Recognition
from reinstate.settings import (
    Settings,
    completed,
    differences,
    from_dict,
    recorded_settings,
    to_dict,
)
from reinstate.tasks.bandits import BarcodeBandits
from reinstate_paper.barcode_bandits import PAPER
from tiny import TINY

URN = replace(TINY, task=BarcodeBandits(process="urn"))


def changed(path: str, value: Any) -> dict[str, Any]:
    """TINY as JSON values, with the one at a dotted path replaced, or left out if it is `...`."""
    values = json.loads(json.dumps(to_dict(TINY)))
    inner = values
    *parents, last = path.split(".")
    for name in parents:
        inner = inner[name]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return values


@pytest.mark.parametrize("settings", [TINY, PAPER, URN])
def test_json_round_trip(settings: Settings[BarcodeBandits, DND]) -> None:
    values = json.loads(json.dumps(to_dict(settings)))
    assert from_dict(Settings[BarcodeBandits, DND], values) == settings


def test_a_whole_number_may_stand_for_a_float() -> None:
    back = from_dict(Settings[BarcodeBandits, DND], changed("learner.learning_rate", 1))
    assert back.learner.learning_rate == 1.0 and type(back.learner.learning_rate) is float


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("learner.lane", 4, "settings has unknown fields: learner.lane"),
        ("colour", "red", "settings has unknown fields: colour"),
        ("task", ..., "settings: Object missing required field task"),
        ("memory", [1, 2], "settings.memory: Expected object, got array"),
        ("learner.lanes", 4.5, "settings.learner.lanes: Expected int, got float"),
        ("learner.lanes", True, "settings.learner.lanes: Expected int, got bool"),
        ("learner.discount", "high", "settings.learner.discount: Expected float, got str"),
        ("task.trial_input", 1, "settings.task.trial_input: Expected bool, got int"),
        ("task.mapping", "any", "settings.task.mapping: Invalid enum value 'any'"),
        ("task.pulls", 0, "pulls must be positive, not 0"),
        ("network.recognition.gains", 2.0, "unknown fields: network.recognition.gains"),
    ],
)
def test_untrusted_values_are_named(path: str, value: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        from_dict(Settings[BarcodeBandits, DND], changed(path, value))


def test_what_came_after_a_record_has_its_default() -> None:
    kind = BarcodeBandits
    whole = to_dict(replace(TINY, task=replace(TINY.task, p_good=0.8)))
    old = json.loads(json.dumps(whole))
    del old["task"]["pulls"], old["learner"]["unroll"]
    pulls, unroll = BarcodeBandits().pulls, A2C().unroll
    assert (whole["task"]["pulls"], whole["learner"]["unroll"]) != (pulls, unroll)
    filled = completed(kind, old)
    assert (filled["task"]["pulls"], filled["learner"]["unroll"]) == (pulls, unroll)
    assert filled["task"]["p_good"] == 0.8
    assert completed(kind, whole) == whole


def test_settings_that_are_no_object() -> None:
    with pytest.raises(UserError, match="settings: Expected object, got null"):
        from_dict(Settings[BarcodeBandits, DND], None)


@pytest.mark.parametrize("seed", [5, 6])
def test_agents_are_not_judged_on_a_training_seed(seed: int) -> None:
    with pytest.raises(UserError, match=f"evaluation.seed {seed} is a training seed"):
        replace(TINY, first_seed=5, seeds=2, evaluation=Evaluation(seed=seed))
    replace(TINY, first_seed=5, seeds=2, evaluation=Evaluation(seed=7))


def test_differences() -> None:
    old = {"a": 1, "b": {"c": {"deep": 2}, "d": 3}, "gone": 5}
    new = {"a": 1, "b": {"c": {"deep": 4}, "d": 3}, "new": 6}
    assert differences(old, new) == ["b.c.deep: 2 → 4", "gone: 5 → None", "new: None → 6"]
    assert differences(old, old) == []
    assert differences({"b": {"c": 2}}, {"b": 7}) == ["b: {'c': 2} → 7"]


@dataclass(frozen=True)
class Forgetful(DND):
    share: float = 0.5


def test_a_memory_of_another_kind_goes_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    memories = {**registry._registered["memory"], "forgetful": Forgetful}
    monkeypatch.setitem(registry._registered, "memory", memories)
    settings = replace(TINY, memory=Forgetful(capacity=6, share=0.25))
    values = json.loads(json.dumps(to_dict(settings)))
    assert values["memory"]["kind"] == "forgetful" and values["memory"]["share"] == 0.25
    assert recorded_settings(BarcodeBandits, values) == settings
    del values["memory"]["share"]  # as an older version of the memory would have left it
    assert recorded_settings(BarcodeBandits, values).memory == Forgetful(capacity=6, share=0.5)


def test_a_memory_that_is_not_known_here_is_refused() -> None:
    values = to_dict(TINY)
    assert "kind" not in values["memory"]  # a plain DND is written as it always was
    values["memory"]["kind"] = "forgetful"
    with pytest.raises(UserError, match="a memory 'forgetful' that is not known here: install"):
        recorded_settings(BarcodeBandits, values)
    with pytest.raises(UserError, match="memory Forgetful has no name"):
        to_dict(replace(TINY, memory=Forgetful(capacity=6)))


RECOGNISING = replace(TINY, network=Network(recognition=Recognition(neighbours=3, reach=0.2)))


@pytest.mark.parametrize("agent", AGENTS)
def test_settings_for_an_agent_have_its_own_memory(agent: str) -> None:
    found = RECOGNISING.for_agent(agent)
    recognising = ("epl2rl-recognition", "epl2rl-recognition-110")
    own: dict[str, DND] = dict.fromkeys(recognising, Consolidating(6, 3, reach=0.2))
    own["epl2rl-oracle"] = replace(RECOGNISING.memory, distance="euclidean")  # keyed by number
    readers = ("epl2rl-keys", "epl2rl-soft", "epl2rl-keys-told")
    own |= dict.fromkeys(readers, replace(RECOGNISING.memory, k=5))
    if agent not in own:
        assert found == RECOGNISING
        return
    assert found == replace(RECOGNISING, memory=own[agent])
    assert found.for_agent(agent) == found
    assert found.for_agent("epl2rl") == found  # somebody may choose it for any agent


def test_settings_for_a_maker_of_another_kind() -> None:
    class TwoNeighbours(Maker):
        def memory_for(self, memory: Any, world: Any, network: Any) -> Any:
            return replace(memory, k=2)

    assert RECOGNISING.for_agent(Maker()) == RECOGNISING
    assert RECOGNISING.for_agent(lambda world, network, key: None) == RECOGNISING
    assert RECOGNISING.for_agent(TwoNeighbours()).memory == DND(capacity=6, k=2)


def test_a_memory_that_consolidates_goes_by_its_name() -> None:
    settings = RECOGNISING.for_agent("epl2rl-recognition")
    values = json.loads(json.dumps(to_dict(settings)))
    assert values["memory"]["kind"] == "consolidating"
    assert recorded_settings(BarcodeBandits, values) == settings
    del values["memory"]["recall"]
    assert recorded_settings(BarcodeBandits, values) == settings
