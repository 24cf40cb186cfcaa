"""What may be relied on: names and signatures of the public modules, kept in public_api.txt.

PYTHONPATH=src:tests python -m public_api      writes the list again
"""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

LIST = Path(__file__).with_name("public_api.txt")
# Of a module without __all__, the names that docs/api/public.md promises.
MODULES: dict[str, tuple[str, ...]] = {
    "reinstate": (),
    "reinstate.memory": (),
    "reinstate.processes": ("Bag", "Urn", "Zipf"),
    "reinstate.tasks.base": ("Bounds", "Observation", "RecurringWorld", "World"),
    "reinstate.tasks.bandits": ("BarcodeBandits", "OmniglotBandits"),
    "reinstate.tasks.compositional": ("CompositionalBandits",),
    "reinstate.tasks.water_maze": ("WaterMaze",),
    "reinstate.tasks.two_step": ("EpisodicTwoStep",),
    "reinstate.choices": (),
    "reinstate.interop.exchange": ("load_cell", "save_cell"),
    "reinstate.interop.functional": ("Environment",),
    "reinstate.interop.gymnasium": ("ReinstateEnv", "ReinstateVectorEnv"),
    "reinstate.interop.stoa": ("StoaEnvironment", "for_stoix"),
    "reinstate.interop.torch": (),
    "reinstate.interop.worlds": ("GymnaxWorld", "VariantWorld"),
}


def lines_of(module: str) -> list[str]:
    """List a module's public names with their signatures; of classes, their methods too."""
    home = import_module(module)
    return [
        f"{module}.{line}"
        for name in sorted(MODULES[module] or home.__all__)
        for line in _described(name, getattr(home, name))
    ]


def _described(name: str, thing: Any) -> Iterator[str]:
    if not callable(thing):
        yield name
        return
    yield f"{name}{_signature(thing)}"
    if inspect.isclass(thing) and not issubclass(thing, BaseException):
        for method in sorted(_public(thing)):
            found = inspect.getattr_static(thing, method)
            function = getattr(found, "__func__", found)
            yield f"{name}.{method}{_signature(function) if callable(function) else ''}"


def _public(kind: type) -> set[str]:
    """Name what a class adds to the classes that it extends, but for fields."""
    bases = [kind, *(base for base in kind.__mro__ if base.__name__.startswith("_"))]
    fields = {field for base in bases for field in getattr(base, "__annotations__", {})}
    names = {name for base in bases for name in vars(base) if not name.startswith("_")}
    return names - fields


def _signature(thing: Any) -> str:
    """Write parameters and defaults; annotations, which Pythons write differently, are left out."""
    if inspect.isfunction(thing):
        vars(thing).pop("__signature__", None)  # Sphinx leaves one where it documents
    try:
        signature = inspect.signature(thing)
    except ValueError:  # of a class that is written in C
        return "(…)"
    parameters = [
        each.replace(annotation=each.empty, default=_default(each.default))
        for each in signature.parameters.values()
    ]
    return str(signature.replace(parameters=parameters, return_annotation=signature.empty))


class _Written(str):
    __repr__ = str.__str__


def _default(value: Any) -> Any:
    """Keep plain values; of others only say that there is a default."""
    plain = value is inspect.Parameter.empty or isinstance(value, bool | int | float | str | None)
    return value if plain else _Written("…")


if __name__ == "__main__":
    found = [line for module in MODULES for line in lines_of(module)]
    LIST.write_text("\n".join([*found, ""]), encoding="utf-8")
