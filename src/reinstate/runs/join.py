"""Agents of one experiment that were trained apart, put side by side and judged together."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reinstate.analysis.results import Results, read_results
from reinstate.errors import UserError
from reinstate.runs.experiment import find_experiment
from reinstate.runs.rejudge import rejudge
from reinstate.settings import completed, differences

OWN = ("command", "version", "commit", "jax", "device")  # what an agent from elsewhere brings along
SEEDS = ("seeds", "first_seed")  # may differ: agents are compared on the seeds that they share


def join(first: Path, second: Path) -> Results:
    """Return the first results with the agents of the second added, judged as one."""
    one, two = read_results(first), read_results(second)
    _require_comparable(first, one, second, two)
    own = {key: value for key, value in two.items() if key in OWN}
    # One that was joined before says itself where it is from.
    added = {name: {"recorded": own, **agent} for name, agent in two["agents"].items()}
    measured: Any = {**one, "agents": {**one["agents"], **added}}
    return rejudge(measured, second)


def _require_comparable(first: Path, one: Results, second: Path, two: Results) -> None:
    """Refuse to compare what was not made under the same settings."""
    if one["experiment"] != two["experiment"]:
        raise UserError(
            f"{first} holds {one['experiment']} and {second} {two['experiment']}: join results of"
            " one experiment"
        )
    world = find_experiment(one["experiment"]).world
    known, other = (_comparable(completed(world, each["settings"])) for each in (one, two))
    if changed := differences(known, other):
        raise UserError(
            f"{first} and {second} have different settings ({'; '.join(changed)}): train again"
            " with the same"
        )
    if both := sorted(one["agents"].keys() & two["agents"].keys()):
        raise UserError(f"{first} and {second} both hold {', '.join(both)}: leave one out")


def _comparable(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in SEEDS}
