"""Check whatever an installed package registers."""

import sys
from collections.abc import Callable, Iterator, Sequence

from reinstate.errors import UserError, one_line
from reinstate.memory import MEMORIES
from reinstate.registry import entry_points_of_others
from reinstate.runs.experiment import find_experiment
from reinstate.testing import check_agent, check_memory, check_task


def _check_experiment(name: str) -> None:
    experiment = find_experiment(name)
    for settings in experiment.presets.values():
        check_task(settings.task)
        for agent in experiment.agents:
            settings.make_learner(agent)


CHECKS: dict[str, Callable[[str], None]] = {
    "reinstate.tasks": lambda name: check_task(find_experiment(name).world()),
    "reinstate.agents": check_agent,
    "reinstate.memories": lambda name: check_memory(MEMORIES.find(name)()),
    "reinstate.experiments": _check_experiment,
}


def check_package(package: str) -> Iterator[tuple[str, str]]:
    """Check what a package registers: yield each thing, and the rule it breaks, or nothing."""
    brought = [
        point
        for point in entry_points_of_others()
        if point.dist and point.dist.name.replace("_", "-") == package.replace("_", "-")
    ]
    if not brought:
        raise UserError(f"{package!r} registers nothing here: install it, with its entry points")
    for point in brought:
        if point.group in CHECKS:
            broken = ""
            try:
                CHECKS[point.group](point.name)
            except Exception as error:  # whatever somebody's code raises
                broken = f"{type(error).__name__}: {one_line(error)}"
            yield f"{point.group.removeprefix('reinstate.')} {point.name}", broken


def main(words: Sequence[str]) -> int:
    """Print of each thing whether it keeps the contract; return 1 if any does not."""
    try:
        if len(words) != 1:
            raise UserError("name one package: python -m reinstate.testing PACKAGE")
        found = list(check_package(words[0]))
    except UserError as error:
        print(f"reinstate: {error}", file=sys.stderr)
        return 2
    for thing, broken in found:
        print(f"{thing}: {broken and 'broken: '}{broken or 'keeps the contract'}")
    return int(any(broken for _, broken in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
