"""What follows from recorded numbers of single seeds: ceilings, verdicts, alarms.

results.json holds what was measured alone, and is concluded from whenever it is read.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reinstate.analysis.results import (
    AgentResults,
    CheckRow,
    OverSeeds,
    Recorded,
    Results,
    Verdict,
    results_file,
)
from reinstate.analysis.verdicts import with_verdicts
from reinstate.errors import Unsolvable, UserError, one_line
from reinstate.files import read_document
from reinstate.runs.experiment import Agents, Experiment, Values, find_experiment
from reinstate.settings import completed, differences

ALARM = 4.0  # standard errors: by chance alone, once in about thirty thousand


def conclude(experiment: Experiment, measured: Recorded) -> Results:
    """Add what follows from the numbers of single seeds: shares of ceilings, verdicts, alarms."""
    agents, optimum, baselines = (measured[n] for n in ("agents", "optimum", "baselines"))
    ceilings = {name: ceiling_of(experiment, agent, optimum) for name, agent in agents.items()}
    # Without an optimum there is nothing that margins could be shares of.
    known = "unavailable" not in optimum
    found = experiment.checks(agents, optimum, baselines) if known else []
    return {
        **measured,
        "agents": {name: _with_share(agent, ceilings[name]) for name, agent in agents.items()},
        "reference_lines": lines_of(experiment, optimum),
        "checks": with_verdicts([check.as_row() for check in found]),
        "alarms": alarms(agents, optimum, ceilings),
    }


def _with_share(agent: AgentResults, best: float | None) -> AgentResults:
    return {**agent, "share_of_ceiling": agent["reward"]["mean"] / best if best else None}


def read_results(*paths: Path) -> Results:
    """Read what `reproduce` left, files or their folders, and conclude.

    Agents of one experiment that were trained apart are put side by side, if their settings are the
    same but for the seeds, and compared on the seeds that they share.
    """
    file, *others = (results_file(path)[0] for path in paths)
    measured = read_document(Recorded, file)
    for other in others:
        measured = _joined(file, measured, other, read_document(Recorded, other))
    experiment = find_experiment(measured["experiment"])
    try:
        return conclude(experiment, measured)
    except (LookupError, ValueError, TypeError, ArithmeticError, AttributeError) as error:
        # Which numbers claims need, and of what shape, only the experiment knows.
        said = f"{type(error).__name__}: {one_line(error)[:200]}"
        raise UserError(
            f"{file} lacks numbers that its claims are about, or has others instead ({said}):"
            " name results as reinstate reproduce left them"
        ) from error


ORIGIN = ("command", "version", "commit", "jax", "device")  # what an agent from elsewhere brings


def _joined(first: Path, one: Recorded, second: Path, two: Recorded) -> Recorded:
    """Add the agents of the second results to the first."""
    if problem := why_apart(one, two):
        raise UserError(f"{first} and {second} cannot stand side by side: {problem}")
    origin = {key: value for key, value in two.items() if key in ORIGIN}
    # One that was joined before says itself where it is from.
    added: Any = {name: {"recorded": origin, **agent} for name, agent in two["agents"].items()}
    return {**one, "agents": {**one["agents"], **added}}


def why_apart(one: Recorded, two: Recorded) -> str | None:
    """Say why results cannot be compared agent by agent, if they cannot."""
    if one["experiment"] != two["experiment"]:
        return f"they are of {one['experiment']} and of {two['experiment']}"
    world = find_experiment(one["experiment"]).world
    own, other = (_but_seeds(completed(world, each["settings"])) for each in (one, two))
    if changed := differences(own, other):
        return f"their settings differ ({'; '.join(changed)})"
    both = sorted(one["agents"].keys() & two["agents"].keys())
    return f"both hold {', '.join(both)}" if both else None


def _but_seeds(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in settings.items() if name not in ("seeds", "first_seed")}


def as_one_family(documents: Sequence[Results]) -> list[list[CheckRow]]:
    """Test the claims of several results as one family, for Holm's adjustment."""
    rows = iter(with_verdicts([row for each in documents for row in each["checks"]]))
    return [[next(rows) for _ in each["checks"]] for each in documents]


class Compared(NamedTuple):
    """A claim that two results test."""

    experiment: str
    claim: str
    verdicts: tuple[Verdict, Verdict]
    values: tuple[float, float]

    @property
    def mark(self) -> str:
        """What is to be seen at a glance: a verdict flips if one supports what one contradicts."""
        if {*self.verdicts} == {"supported", "contradicted"}:
            return "FLIPS"
        return "" if self.verdicts[0] == self.verdicts[1] else "differs"


def compare(first: Sequence[Results], second: Sequence[Results]) -> list[Compared]:
    """Compare verdicts on the claims that both test, each as one family."""
    ours, theirs = (_by_claim(documents) for documents in (first, second))
    return [
        Compared(*key, (a["verdict"], b["verdict"]), (a["value"], b["value"]))
        for key, a in ours.items()
        if (b := theirs.get(key)) is not None
    ]


def _by_claim(documents: Sequence[Results]) -> dict[tuple[str, str], CheckRow]:
    families = zip(documents, as_one_family(documents), strict=True)
    return {(each["experiment"], row["claim"]): row for each, rows in families for row in rows}


def optimum_of(experiment: Experiment, task: Any) -> dict[str, Any]:
    """Solve the task, if the experiment knows how."""
    return experiment.optimum(task) if experiment.optimum else {}


def if_solvable(compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Compute, or say why it cannot be: agents can play tasks that nobody can solve exactly."""
    try:
        return compute()
    except Unsolvable as error:
        return {"unavailable": str(error)}


def ceiling_of(
    experiment: Experiment, agent: AgentResults, optimum: dict[str, Any]
) -> float | None:
    """Return the best that an agent of this kind can earn, if it is known."""
    ceiling = experiment.ceiling if agent["remembers"] else experiment.ceiling_without_memory
    return optimum.get(ceiling)


def lines_of(experiment: Experiment, optimum: dict[str, Any]) -> dict[str, float]:
    """Return the optima that charts show as lines, by their labels."""
    return {label: optimum[key] for label, key in experiment.lines.items() if key in optimum}


def alarms(agents: Agents, optimum: Values, ceilings: Mapping[str, float | None]) -> list[str]:
    """Report rewards that no agent of its kind can earn: what a theorem rules out is a bug."""
    found = []
    for name, agent in agents.items():
        found += _alarm(name, agent["reward"], ceilings.get(name))
        cleared = agent.get("probes", {}).get("memory cleared")
        if cleared:
            text = f"{name}, its memory cleared,"
            found += _alarm(text, cleared, optimum.get("without_memory"))
    return found


def _alarm(who: str, reward: OverSeeds, ceiling: float | None) -> list[str]:
    errors = [reward.get("error") or 0.0]
    if len(values := np.array(reward["per_seed"], float)) > 1:
        errors.append(float(values.std(ddof=1)) / np.sqrt(len(values)))
    excess, error = float(values.mean()) - (ceiling or np.inf), max(errors)
    if not error or excess <= ALARM * error:
        return []
    return [
        f"{who} earns {values.mean():.4f}, {excess / error:.1f} standard errors above the best"
        f" that is possible ({ceiling:.4f}): look for a bug in the task, the agent or the optimum"
    ]
