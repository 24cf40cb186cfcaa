"""The verb `list`: what there is, ours and other packages'. It is imported to be described."""

from contextlib import suppress
from dataclasses import dataclass
from inspect import getdoc
from typing import Any

from reinstate.cli.parsing import Verb
from reinstate.cli.tables import say
from reinstate.errors import UserError
from reinstate.registry import Registry, entry_points_of_others

WIDTH = 22  # of the names' column

Listing = dict[str, dict[str, Any]]  # kind → name → what is said of it


@dataclass(frozen=True, kw_only=True)
class List(Verb):
    """List experiments with their presets and agents, agents, memories, metric sinks and weights.

    Weights are those that come with the package: `reinstate evaluate EXPERIMENT/AGENT` evaluates
    them.
    Those of other packages are named with the package; one that cannot be loaded, with the reason.
    """

    def do(self, command: str) -> Listing:
        """Return experiments as objects, the rest as text, and which package brings what."""
        from reinstate.agent import AGENTS
        from reinstate.cli.shared import described, listed
        from reinstate.memory import MEMORIES
        from reinstate.runs.sinks import SINKS

        named: dict[str, Registry[Any]] = {"agents": AGENTS, "memories": MEMORIES, "sinks": SINKS}
        packages = {each.name: each.dist.name for each in entry_points_of_others() if each.dist}
        return {
            "experiments": {
                name: each if isinstance(each, str) else _about(each)
                for name, each in listed().items()
            },
            **{kind: described(found, found.find, _summary) for kind, found in named.items()},
            "weights": _weights(),
            "packages": {n: package for n, package in packages.items() if package != "reinstate"},
        }

    def show(self, result: Listing) -> None:
        packages = result.pop("packages")
        for kind, entries in result.items():
            groups = {name: _group(name, entry, kind) for name, entry in entries.items()}
            said = ""
            for name in sorted(entries, key=groups.__getitem__):
                if groups[name] != said:
                    say(said := groups[name])
                origin = f"; from {packages[name]}" if name in packages else ""
                say(f"  {name:{WIDTH}} {_line(name, entries)}{origin}", WIDTH + 3)
        say("next: reinstate train EXPERIMENT --help  # what can be set")


def _about(experiment: Any) -> dict[str, Any]:
    lists = {"agents": [*experiment.agents], "presets": [*experiment.presets]}
    return {**{n: getattr(experiment, n) for n in ("title", "summary", "section")}, **lists}


def _summary(thing: Any) -> str:
    """Let an agent, memory or sink say what it is, or its docstring."""
    text = getattr(thing, "summary", "") or (getdoc(thing) or "").partition("\n")[0]
    return str(text).removesuffix(".")


def _weights() -> dict[str, str]:
    """Say of each experiment which trained agents come with the package, and what they earn."""
    from reinstate.runs.run import read_card

    agents: dict[str, list[str]] = {}
    for name, about in read_card()["weights"].items():
        experiment, _, agent = name.partition("/")
        agents.setdefault(experiment, []).append(f"{agent} (reward {about['reward']:.3g})")
    return {experiment: ", ".join(found) for experiment, found in agents.items()}


def _group(name: str, entry: Any, kind: str) -> str:
    """Say under which heading an entry stands: what is of the paper comes first."""
    if kind == "experiments":
        own = not isinstance(entry, str) and entry["section"]
        return f"{kind} of the paper" if own else f"{kind}, others"
    if kind == "agents":
        from reinstate.agent import AGENTS

        with suppress(UserError):  # of a package that cannot be loaded
            if type(AGENTS[name]).__module__.startswith("reinstate.rivals"):
                return f"{kind}, rivals"
    return kind


def _line(name: str, entries: dict[str, Any]) -> str:
    entry = entries[name]
    if isinstance(entry, str):
        return entry
    section = [f"section {entry['section']}"] if entry["section"] else []
    agents = next(
        n for n, e in entries.items() if isinstance(e, dict) and e["agents"] == entry["agents"]
    )
    told = ", ".join(entry["agents"]) if agents == name else f"those of {agents}"
    presets = f"presets {', '.join(entry['presets'])}"
    return "; ".join([entry["summary"], *section, presets, f"agents {told}"])
