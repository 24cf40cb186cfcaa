"""The verb `list`: what there is, ours and other packages'."""

from dataclasses import dataclass
from importlib.metadata import entry_points
from inspect import getdoc
from typing import Any

from reinstate.agent import AGENTS
from reinstate.cli.shared import Verb, described
from reinstate.cli.tables import say
from reinstate.experiments import experiment_names, find_experiment
from reinstate.memory import MEMORIES
from reinstate.registry import GROUPS, Registry
from reinstate.runs.sinks import SINKS

WIDTH = 22  # of the names' column


@dataclass(frozen=True, kw_only=True)
class List(Verb):
    """List experiments with their presets and agents, agents, memories and metric sinks.

    Those of other packages are named with the package; one that cannot be loaded, with the reason.
    """

    def do(self, command: str) -> dict[str, dict[str, Any]]:
        """Return experiments as objects, the rest as text, and which package brings what."""
        named: dict[str, Registry[Any]] = {"agents": AGENTS, "memories": MEMORIES, "sinks": SINKS}
        return {
            "experiments": described(experiment_names(), find_experiment, _about),
            **{kind: described(found, found.find, _summary) for kind, found in named.items()},
            "packages": {
                point.name: point.dist.name
                for group in GROUPS.values()
                for point in entry_points(group=group)
                if point.dist
            },
        }

    def show(self, result: dict[str, dict[str, Any]]) -> None:
        packages = result.pop("packages")
        for kind, entries in result.items():
            print(kind)
            for name, entry in entries.items():
                origin = f"; from {packages[name]}" if name in packages else ""
                say(f"  {name:{WIDTH}} {_line(entry)}{origin}", hang=WIDTH + 3)
        say("next: reinstate train EXPERIMENT --help  # what can be set")


def _about(experiment: Any) -> dict[str, Any]:
    lists = {"agents": [*experiment.agents], "presets": [*experiment.presets]}
    return {**{n: getattr(experiment, n) for n in ("title", "summary", "section")}, **lists}


def _summary(thing: Any) -> str:
    """Let an agent, memory or sink say what it is, or its docstring."""
    text = getattr(thing, "summary", "") or (getdoc(thing) or "").partition("\n")[0]
    return str(text).removesuffix(".")


def _line(entry: Any) -> str:
    if isinstance(entry, str):
        return entry
    section = [f"section {entry['section']}"] if entry["section"] else []
    lists = [f"{name} {', '.join(entry[name])}" for name in ("presets", "agents")]
    return "; ".join([entry["summary"], *section, *lists])
