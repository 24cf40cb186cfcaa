"""What the numbers of a world lie between, for spaces of observations."""

from functools import singledispatch
from typing import NamedTuple

from reinstate.interop.spaces import MOST
from reinstate.tasks.bandits import Bandits
from reinstate.tasks.barcodes import BarcodeWorld
from reinstate.tasks.base import World
from reinstate.tasks.compositional import CompositionalBandits
from reinstate.tasks.drawings import DrawingWorld
from reinstate.tasks.two_step import EpisodicTwoStep
from reinstate.tasks.water_maze import WaterMaze

Range = tuple[float, float]
ANY, UNIT = (-MOST, MOST), (0.0, 1.0)


class Bounds(NamedTuple):
    """The least and the largest number of each part of an observation."""

    features: Range = ANY
    context: Range = ANY
    reward: Range = ANY


@singledispatch
def bounds(world: World) -> Bounds:
    """Return the bounds of a world; register a function for those of a world of your own."""
    return Bounds()


@bounds.register
def _(world: Bandits) -> Bounds:
    return Bounds(UNIT, _of_contexts(world), UNIT)


@bounds.register
def _(world: WaterMaze) -> Bounds:
    return Bounds((-1.0, 1.0), UNIT, UNIT)


@bounds.register
def _(world: EpisodicTwoStep) -> Bounds:
    return Bounds(UNIT, UNIT, UNIT)


@bounds.register
def _(world: CompositionalBandits) -> Bounds:
    stimuli = (-world.scale, world.scale) if world.stimuli == "omniglot" else UNIT
    return Bounds(stimuli, stimuli, UNIT)


def _of_contexts(world: World) -> Range:
    if isinstance(world, DrawingWorld):
        return -world.scale, world.scale
    return UNIT if isinstance(world, BarcodeWorld) else ANY
