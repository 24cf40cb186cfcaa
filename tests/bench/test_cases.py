"""Axes change what they say and nothing else; what presets share is compiled once."""

from dataclasses import asdict, replace
from typing import Any, cast

import pytest

from reinstate.bench import cases
from reinstate.bench.cases import AXES, Case, Shelf, case_of, read_axes
from reinstate.errors import UserError
from reinstate.runs.experiment import EXPERIMENTS
from reinstate.runs.size import require_room
from reinstate.settings import differences
from tiny import TINY

CHANGED = {
    "lanes": {"evaluation.epochs", "learner.lanes"},
    "seeds": {"seeds"},
    "hidden": {"network.hidden_size"},
    "memory": {"memory.capacity"},
    "epoch": {"task.repeats", "memory.capacity"},
    "unroll": {"learner.unroll"},
}


@pytest.mark.parametrize("axis", AXES)
def test_an_axis_changes_what_it_says(axis: str) -> None:
    base = EXPERIMENTS["barcode-bandits"].preset("quick")
    changed = case_of("barcode-bandits", "epl2rl", "quick", axis, 40).settings
    assert AXES[axis].value(changed) == 40
    found = differences(asdict(base), asdict(changed))
    assert {line.partition(":")[0] for line in found} == CHANGED[axis]


def test_a_memory_keeps_the_slots_that_no_write_can_fill() -> None:
    many = case_of("barcode-bandits", "epl2rl", "quick", "memory", 1000).settings
    assert getattr(many.make_learner("epl2rl").memory, "capacity", 0) == 1000
    same = case_of("barcode-bandits", "epl2rl", "quick", "memory", 100).settings
    assert same == EXPERIMENTS["barcode-bandits"].preset("quick")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_every_axis(name: str) -> None:
    for axis in AXES:
        settings = case_of(name, "epl2rl", "quick", axis, 60).settings
        require_room(settings, "epl2rl", judged=True)
        assert AXES[axis].value(settings) == 60


def test_axes_have_values_of_their_own_or_those_given() -> None:
    assert read_axes(["lanes", "hidden=8,9"], laptop=True) == {
        "lanes": tuple(AXES["lanes"].laptop),
        "hidden": (8, 9),
    }
    assert read_axes(["lanes"], laptop=False) == {"lanes": tuple(AXES["lanes"].accelerator)}


@pytest.mark.parametrize("word", ["lane", "lanes=", "lanes=0", "lanes=4,-1", "lanes=4.5"])
def test_axes_that_cannot_be_are_refused(word: str) -> None:
    with pytest.raises(UserError):
        read_axes([word], laptop=True)


def test_an_epoch_that_is_too_short_is_refused() -> None:
    with pytest.raises(UserError, match="too short"):
        case_of("barcode-bandits", "epl2rl", "quick", "epoch", 5)


def test_only_programs_of_presets_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Case] = []

    def make(case: Case) -> Any:
        made.append(case)
        return len(made)

    monkeypatch.setitem(cast(Any, cases.KINDS), "train", make)
    shelf: Any = Shelf()
    base = Case("tiny", "epl2rl", TINY)
    assert shelf.get("train", base) == shelf.get("train", base) == 1
    assert shelf.get("train", base._replace(axis="lanes", value=4)) == 1  # the preset's own size
    other = base._replace(axis="seeds", value=3, settings=replace(TINY, seeds=3))
    assert (shelf.get("train", other), shelf.get("train", other)) == (2, 3)
    assert shelf.get("train", base._replace(agent="l2rl")) == 4
