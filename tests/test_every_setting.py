"""Settings that cannot work: every number at its extremes, every word, and some together.

This stands in for tests of each setting: what a number, a word or several of them make impossible
is refused by name; whatever is accepted can be computed with.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass, replace
from typing import Any

import jax
import pytest

from reinstate.errors import LARGEST_COUNT, LARGEST_NUMBER, UserError
from reinstate.memory import DND, MEMORIES
from reinstate.memory.keys import Keys
from reinstate.memory.recognition import Recognition
from reinstate.runs.experiment import EXPERIMENTS
from reinstate.settings import Settings, from_dict
from reinstate.tasks.bandits import BarcodeBandits, NoisyBandits, OmniglotBandits
from reinstate.tasks.base import World
from reinstate.tasks.compositional import CompositionalBandits
from reinstate.tasks.two_step import EpisodicTwoStep
from reinstate.tasks.water_maze import WaterMaze
from reinstate_paper.omniglot.lifelong import LifelongMemory
from reinstate_paper.omniglot.teaching import Pretraining

SETTINGS = [next(iter(EXPERIMENTS[name].presets.values())) for name in EXPERIMENTS]
KINDS: dict[str, tuple[Any, Any]] = {  # name → what a file is read as, and what it could hold
    "settings": (Settings[type(SETTINGS[0].task), DND], SETTINGS[0]),  # type: ignore[misc]
    **{type(each.task).__name__: (type(each.task), each.task) for each in SETTINGS},
    "noisy bandits": (NoisyBandits, NoisyBandits()),
    **{name: (type(made := MEMORIES[name]()), made) for name in MEMORIES},
    "recognition": (Recognition, Recognition()),
    "keys": (Keys, Keys()),
    "pretraining": (Pretraining, Pretraining()),
}
DERIVED = "episodes_per_epoch", "cells", "the last seed"  # products and a sum that messages name
EXTREMES = (-1, 0, 1, math.nan, math.inf, -math.inf, 1e-320, 1e300, 2**31, 2**63, 10**30)


def numbers(values: Mapping[str, Any], *path: str) -> Iterator[tuple[str, ...]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from numbers(value, *path, name)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield (*path, name)


def changed(values: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    first, *rest = path
    return {**values, first: changed(values[first], tuple(rest), value) if rest else value}


def trouble(kind: Any, values: dict[str, Any], path: tuple[str, ...], value: float) -> str | None:
    try:
        found = from_dict(kind, changed(values, path, value))
    except UserError as error:
        said = str(error)
        known = (path[-1], *DERIVED)
        return None if any(name in said for name in known) and len(said) < 300 else said
    taken: Any = asdict(found)
    for name in path:
        taken = taken[name]
    largest = LARGEST_COUNT if isinstance(taken, int) else LARGEST_NUMBER
    if not abs(taken) <= largest:
        return "accepted"
    if isinstance(found, World):
        jax.eval_shape(found.sample_epoch, jax.random.key(0))
    return None if from_dict(kind, asdict(found)) == found else "does not come back"


@pytest.mark.parametrize("name", KINDS)
def test_a_number_is_refused_by_its_name_or_can_be_computed_with(name: str) -> None:
    kind, values = KINDS[name][0], asdict(KINDS[name][1])
    tried = [(path, value) for path in numbers(values) for value in EXTREMES]
    found = {(*path, value): trouble(kind, values, path, value) for path, value in tried}
    assert tried and {case: said for case, said in found.items() if said} == {}


def words(settings: Any) -> Iterator[tuple[Any, str]]:
    """Settings and those of their fields that hold a word."""
    for name, value in vars(settings).items():
        if is_dataclass(value):
            yield from words(value)
        elif isinstance(value, str):
            yield settings, name


@pytest.mark.parametrize("name", KINDS)
def test_a_word_that_is_no_choice_is_refused_with_the_choices(name: str) -> None:
    for settings, field in words(KINDS[name][1]):
        with pytest.raises(UserError, match=rf"unknown {field} 'x': choose \S+.* or \S+"):
            replace(settings, **{field: "x"})


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (BarcodeBandits, {"barcode_length": 3}, "raise barcode_length to 4"),
        (BarcodeBandits, {"barcode_length": 31}, "barcode_length must be 1 to 30, not 31"),
        (BarcodeBandits, {"process": "urn", "barcode_length": 6}, "raise barcode_length to 7"),
        (BarcodeBandits, {"num_contexts": 9}, "raise num_contexts or use mapping independent"),
        (OmniglotBandits, {"num_contexts": 660, "held_out": 0}, "660 classes .* there are 659"),
        (OmniglotBandits, {"num_contexts": 220}, "220 .* there are 219 .* lower the number"),
        (OmniglotBandits, {"repeats": 21}, "21 times and has 20 drawings: lower repeats"),
        (OmniglotBandits, {"process": "urn"}, "100 times and has 20 drawings: lower repeats"),
        (CompositionalBandits, {"judged_classes": 660}, "659 to draw from: lower judged_classes$"),
        (CompositionalBandits, {"num_classes": 660}, "659 to draw from: lower num_classes$"),
        (CompositionalBandits, {"trained_on": 3}, "219 .*: lower num_classes, or use trained_on 0"),
        (
            CompositionalBandits,
            {"trained_on": 2, "num_classes": 20, "judged_classes": 400},
            "400 .* are 330 .*: lower judged_classes, or raise trained_on",
        ),
        (
            CompositionalBandits,
            {"trained_on": 3, "num_classes": 442, "classes": "evaluation"},
            "442 classes are needed and there are 440",
        ),
        (CompositionalBandits, {"repeats": 21}, "has 20 drawings: lower repeats"),
        (
            CompositionalBandits,
            {"stimuli": "barcodes", "barcode_length": 8},
            "raise barcode_length to 9",
        ),
        (WaterMaze, {"height": 3, "width": 3}, "raise height or width, or use goals independent"),
        (WaterMaze, {"process": "urn"}, "16 cells cannot give 100 contexts a goal each"),
        (WaterMaze, {"height": 1, "width": 1, "num_contexts": 1}, "at least two cells: raise"),
        (EpisodicTwoStep, {"barcode_length": 6}, "raise barcode_length to 7"),
        (DND, {"capacity": 2, "k": 3}, "raise capacity or lower k"),
        (Pretraining, {"batch": 7}, "batch = 7 must divide"),
        (Pretraining, {"memory": LifelongMemory(slots=5)}, "at least twice the batch"),
        (Pretraining, {"dropout": 1.0}, "dropout = 1 would leave nothing"),
    ],
)
def test_settings_that_cannot_go_together_name_the_fix(
    kind: Any, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        kind(**settings)
