"""Numbers made up for claims: seeds about a value, and the verdicts that they get."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reinstate.analysis.results import OverSeeds
from reinstate.analysis.verdicts import over_seeds, with_verdicts
from reinstate.runs.experiment import Check

SEEDS = 20
OFFSETS = np.linspace(-1, 1, SEEDS)  # of these the standard error is .14


def near(value: float, spread: float = 0.001) -> OverSeeds:
    """Twenty seeds about a value, in an order of its own: they do not go with another's."""
    order = np.random.default_rng(round(1000 * abs(value)))
    return over_seeds(value + spread * order.permutation(OFFSETS))


def columns(*values: float, spread: float = 0.001) -> OverSeeds:
    """Twenty seeds about each of several values, such as those of successive exposures."""
    return over_seeds(np.stack([near(v, spread)["per_seed"] for v in values], axis=1))


def changed(agents: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Copy agents, with another value at one place: `epl2rl.gates.cued`."""
    name, _, rest = path.partition(".")
    return {**agents, name: changed(agents[name], rest, value) if rest else value}


def judged(checks: Sequence[Check]) -> dict[str, str]:
    """Return the verdict on each claim."""
    return {row["claim"]: row["verdict"] for row in with_verdicts([c.as_row() for c in checks])}


def assert_all_supported_but(checks: Sequence[Check], expected: Mapping[str, str]) -> None:
    """Assert the verdicts on claims that start with these words, and support for all others."""
    found = {claim: each for claim, each in judged(checks).items() if each != "supported"}
    starts = {claim: [s for s in expected if claim.startswith(s)] for claim in found}
    assert {start: found[c] for c, those in starts.items() for start in those} == expected, found
    assert all(starts.values()), found
