"""One registry of all that has a name: ours, and what other packages add.

Two ways in, and no line of ours changes. In Python:

    reinstate.register("agent", "gru", make_gru)

or, in another package's pyproject.toml, an entry point that is loaded once somebody asks for it:

    [project.entry-points."reinstate.agents"]
    gru = "their_package:make_gru"

Kinds are agent, memory, task, experiment, sink and study; each has a group of entry points.

Names become options of the command and folders on disk, so they are held to a few characters. What
another package brings under any other name is not looked at.
"""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from reinstate.errors import UserError, nearest, one_line

GROUPS = {
    "agent": "reinstate.agents",
    "memory": "reinstate.memories",
    "task": "reinstate.tasks",
    "experiment": "reinstate.experiments",
    "sink": "reinstate.sinks",
    "study": "reinstate.studies",
}

NAME = re.compile(r"[^\W_](?:[\w.+-]{0,62}[\w+])?")  # a letter or digit first, and no dot last
LONGEST = 200  # characters of what somebody else's module says in a message

T = TypeVar("T")


class Later(partial[Any]):
    """A call of what is imported then; a registry makes it once somebody asks for the thing."""


_registered: dict[str, dict[str, Any]] = {kind: {} for kind in GROUPS}


def register(kind: str, name: str, thing: Any) -> None:
    """Give a thing of a kind a name that the library and the command know from now on."""
    if kind not in GROUPS:
        raise UserError(nearest("kind", kind, GROUPS))
    if not (isinstance(name, str) and NAME.fullmatch(name)):
        shown = repr(name)[:LONGEST]
        raise UserError(
            f"{shown} cannot be a name: use letters, digits and hyphens, 64 of them at most"
        )
    if _registered[kind].setdefault(name, thing) is not thing:
        raise UserError(f"there is another {kind} {name!r} already: choose another name")


def later(where: str, *args: Any, **kwargs: Any) -> Later:
    """Return the function at `module:name`, with these arguments, to be imported once called."""
    return Later(_call, where, *args, **kwargs)


def _call(where: str, *args: Any, **kwargs: Any) -> Any:
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)(*args, **kwargs)


def entry_points_of_others() -> list[EntryPoint]:
    """List what other packages bring, of all kinds; nothing is loaded."""
    found = entry_points()  # once: it reads the metadata of every package that is installed
    points = [point for group in GROUPS.values() for point in found.select(group=group)]
    return [point for point in points if NAME.fullmatch(point.name)]


class Registry(Mapping[str, T], Generic[T]):
    """Everything of one kind, by name: ours first, then entry points, loaded when asked for."""

    def __init__(self, kind: str, ours: Mapping[str, T]) -> None:
        self.kind = kind
        for name, thing in ours.items():
            register(kind, name, thing)

    def __getitem__(self, name: str) -> T:
        if name not in _registered[self.kind]:
            _registered[self.kind][name] = self._load(self._entry_points()[name])
        known = _registered[self.kind]
        if isinstance(found := known[name], Later):
            known[name] = found()
        thing: T = known[name]
        return thing

    def __iter__(self) -> Iterator[str]:
        points = self._entry_points()  # in their own order, whichever is loaded already
        yield from (name for name in _registered[self.kind] if name not in points)
        yield from points

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return name in _registered[self.kind] or name in self._entry_points()

    def find(self, name: str) -> T:
        """Look a name up; an unknown one is a UserError that says which was probably meant."""
        if name not in self:
            raise UserError(nearest(self.kind, name, self))
        return self[name]

    def name_of(self, thing: Any) -> str | None:
        """Find the name under which a thing is known, if it has one."""
        for name in self:
            try:
                if self[name] is thing:
                    return name
            except UserError:  # somebody's package is broken: not the one that brought this thing
                continue
        return None

    def _entry_points(self) -> dict[str, EntryPoint]:
        group = GROUPS[self.kind]
        return {point.name: point for point in entry_points_of_others() if point.group == group}

    def _load(self, point: EntryPoint) -> T:
        try:
            thing: T = point.load()
        except Exception as error:  # whatever somebody's module raises
            package = point.dist.name if point.dist else point.value
            raise UserError(
                f"{self.kind} {point.name!r} of the package {package} cannot be loaded"
                f" ({type(error).__name__}: {one_line(error)[:LONGEST]}): mend or uninstall it"
            ) from error
        return thing
