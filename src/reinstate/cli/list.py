"""The verb `list`: what there is, ours and other packages'."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from inspect import getdoc
from typing import Any

from reinstate.agent import AGENTS
from reinstate.cli.shared import Verb
from reinstate.cli.tables import say
from reinstate.errors import UserError
from reinstate.experiments import EXPERIMENTS, TASKS
from reinstate.memory import MEMORIES
from reinstate.registry import GROUPS, Registry
from reinstate.runs.sinks import SINKS

WIDTH = 22  # of the names' column


@dataclass(frozen=True, kw_only=True)
class Options(Verb):
    """List experiments with their presets and agents, agents, memories and metric sinks.

    Those of other packages are named with the package; one that cannot be loaded, with the reason.
    """

    def do(self, command: str) -> dict[str, dict[str, Any]]:
        found = {
            "experiments": _entries(EXPERIMENTS, _experiment),
            "tasks": _entries(TASKS, _summary),
            "agents": _entries(AGENTS, _summary),
            "memories": _entries(MEMORIES, _summary),
            "sinks": _entries(SINKS, _summary),
        }
        return {kind: entries for kind, entries in found.items() if entries}

    def show(self, result: dict[str, dict[str, Any]]) -> None:
        for kind, entries in result.items():
            print(kind)
            for name, entry in entries.items():
                say(f"  {name:{WIDTH}} {_line(entry)}", hang=WIDTH + 3)
        say("next: reinstate train EXPERIMENT --help  # what can be set")


def _entries(registry: Registry, describe: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    points = entry_points(group=GROUPS[registry.kind])
    packages = {point.name: point.dist.name for point in points if point.dist}
    entries = {}
    for name in registry:
        try:
            entry = describe(registry[name])
        except UserError as error:
            entry = {"error": str(error)}
        entries[name] = {**entry, "package": packages.get(name, "reinstate")}
    return entries


def _experiment(thing: Any) -> dict[str, Any]:
    names = ("title", "summary", "section")
    lists = {"agents": [*thing.agents], "presets": [*thing.presets]}
    return {**{name: getattr(thing, name) for name in names}, **lists}


def _summary(thing: Any) -> dict[str, Any]:
    """An agent, memory or sink says what it is, or its docstring does."""
    return {"summary": getattr(thing, "summary", "") or (getdoc(thing) or "").partition("\n")[0]}


def _line(entry: dict[str, Any]) -> str:
    parts = [entry.get("error") or entry["summary"].removesuffix(".")]
    if entry.get("section"):
        parts.append(f"section {entry['section']}")
    parts += [f"{name} {', '.join(entry[name])}" for name in ("presets", "agents") if name in entry]
    if entry["package"] != "reinstate":
        parts.append(f"from {entry['package']}")
    return "; ".join(parts)
