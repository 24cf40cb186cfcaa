"""What every world owes to whoever drives it. A new world joins by a line in WORLDS."""

import jax
import numpy as np
import pytest

from reinstate.tasks.bandits import BarcodeBandits, NoisyBandits, OmniglotBandits
from reinstate.tasks.base import World
from reinstate.tasks.compositional import CompositionalBandits
from reinstate.tasks.drawings import DrawingWorld
from reinstate.tasks.two_step import EpisodicTwoStep
from reinstate.tasks.water_maze import WaterMaze
from reinstate.testing import check_task, exact
from tasks.known_drawings import recognise

WORLDS: list[World] = [
    BarcodeBandits(),
    BarcodeBandits(
        num_arms=3, pulls=4, mapping="independent", process="urn", alpha=1.5, trial_input=True
    ),
    NoisyBandits(num_arms=3, num_contexts=4, mapping="independent", zipf=1.0),
    NoisyBandits(num_arms=3, num_contexts=4, codes="training"),
    WaterMaze(),
    WaterMaze(height=1, width=6, steps=7, goals="independent", process="urn"),
    EpisodicTwoStep(),
    EpisodicTwoStep(uncued=5, cued=3, p_common=0.7, barcode_length=4),
    OmniglotBandits(),
    OmniglotBandits(num_contexts=4, repeats=3, num_arms=4, held_out=0),
    CompositionalBandits(num_classes=6, repeats=2, stored="both"),
    CompositionalBandits(num_classes=4, repeats=2, stimuli="barcodes", query="low", exchange=0.5),
]


def describe(world: World) -> str:
    return f"{type(world).__name__}-{WORLDS.index(world)}"


def shows_drawings(world: World) -> bool:
    """Whether a context looks different each time, and only its class comes back."""
    return isinstance(world, DrawingWorld) or getattr(world, "stimuli", "") == "omniglot"


def classes(shown: np.ndarray) -> list[int]:
    found: list[int] = recognise(shown)[0].tolist()
    return found


@pytest.mark.parametrize("world", WORLDS, ids=describe)
def test_a_world_keeps_the_contract(world: World) -> None:
    check_task(world, classes if shows_drawings(world) else exact)


@pytest.mark.parametrize("world", WORLDS, ids=describe)
def test_a_context_that_changes_its_looks_shows_none_twice_in_an_epoch(world: World) -> None:
    contexts = jax.vmap(world.contexts)(jax.jit(world.sample_epoch)(jax.random.key(0)))
    looks = exact(np.asarray(contexts).reshape(-1, world.context_size))
    assert (len(set(looks)) == len(looks)) == shows_drawings(world)
