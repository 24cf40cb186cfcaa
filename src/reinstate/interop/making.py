"""Worlds from names and keyword arguments, as `gymnasium.make` passes them on."""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass, replace
from numbers import Integral, Real
from typing import Any, get_type_hints

from reinstate.errors import nearest
from reinstate.tasks.bandits import BarcodeBandits, OmniglotBandits
from reinstate.tasks.base import World
from reinstate.tasks.compositional import CompositionalBandits
from reinstate.tasks.two_step import EpisodicTwoStep
from reinstate.tasks.water_maze import WaterMaze

# By the names of the paper's experiments.
WORLDS: dict[str, type[World]] = {
    "barcode-bandits": BarcodeBandits,
    "omniglot-bandits": OmniglotBandits,
    "compositional-bandits": CompositionalBandits,
    "water-maze": WaterMaze,
    "two-step": EpisodicTwoStep,
}
PLAIN: dict[Any, Any] = {int: Integral, float: Real, bool: bool, str: str}  # what a setting may be


def make_world(
    world: World | type[World] | str, settings: Mapping[str, Any], others: Iterable[str] = ()
) -> World:
    """Make a world of a name, a class or another world, with these of its settings changed.

    Names are those of the paper's experiments, or of what is registered. Unknown settings are a
    TypeError, as unknown arguments are; `others` are names that the caller knows besides.
    """
    kind = _find(world) if isinstance(world, str) else world
    maker = kind if inspect.isclass(kind) else type(kind)
    if not issubclass(maker, World):
        raise TypeError(
            f"an environment is made of a World, such as BarcodeBandits(), not {world!r}"
        )
    known = [name for name in inspect.signature(maker).parameters if name != "self"]
    for name in settings:
        if name not in known:
            raise TypeError(nearest("setting", name, [*known, *others]))
    hints = get_type_hints(maker)
    plain = {name: _plain(hints.get(name), name, value) for name, value in settings.items()}
    if inspect.isclass(kind):
        made: World = kind(**plain)
        return made
    if not settings:
        return kind
    if not is_dataclass(kind):
        raise TypeError(f"{kind!r} is no dataclass: give it its settings when it is made")
    return replace(kind, **plain)


def _find(name: str) -> type[World]:
    if name in WORLDS:
        return WORLDS[name]
    from reinstate.runs.experiment import (
        find_experiment,  # slow, and only needed for others' worlds
    )

    return find_experiment(name).world


def _plain(kind: Any, name: str, value: Any) -> Any:
    """Refuse a value of another type than the setting's, and make NumPy's numbers Python's."""
    if kind not in PLAIN:
        return value
    if not isinstance(value, PLAIN[kind]) or (kind in (int, float) and isinstance(value, bool)):
        raise TypeError(f"{name} must be {kind.__name__}, not {value!r}")
    return kind(value)
