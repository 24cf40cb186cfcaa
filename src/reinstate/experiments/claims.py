"""Claims that several experiments make, as checks on recorded numbers."""

from typing import Any

import numpy as np

from reinstate.analysis.intervals import difference, mean_and_noise
from reinstate.experiments.base import Check, Results


def outperforms(agents: Results, name: str, other: str) -> Check:
    gap, noise = difference(*(agents[n]["reward"]["per_seed"] for n in (name, other)))
    claim = f"{name} outperforms {other} (difference in reward an episode)"
    return Check(claim, gap, f"> {noise:.3f}, its 95% half width", gap > noise)


def stays_within(agents: Results, name: str, ceiling: float) -> Check:
    mean, noise = mean_and_noise(agents[name]["reward"])
    claim = f"{name} stays within the best that is possible without episodic memory"
    bound = f"<= {ceiling:.3f} + {noise:.3f} for noise"
    return Check(claim, mean, bound, mean <= ceiling + noise)


def exceeds(agents: Results, name: str, ceiling: float) -> Check:
    mean, noise = mean_and_noise(agents[name]["reward"])
    claim = f"{name} earns more than any agent without episodic memory can"
    bound = f"> {ceiling:.3f} + {noise:.3f} for noise"
    return Check(claim, mean, bound, mean > ceiling + noise)


def falls(claim: str, by_exposure: dict[str, Any]) -> list[Check]:
    """A number falls from the first exposure to the second; nothing if none comes back."""
    values = np.array(by_exposure["per_seed"])  # (seeds, exposures)
    if values.shape[1] < 2:
        return []
    gap, noise = difference(values[:, 0], values[:, 1])
    return [Check(claim, gap, f"> {noise:.3f}, its 95% half width", gap > noise)]


def against_memoryless(agents: Results, ceiling: float) -> list[Check]:
    """epL2RL beats both baselines and their ceiling; the baselines stay within it."""
    found: list[Check] = []
    for name in ("l2rl", "l2rl-context"):
        if name in agents:
            found.append(stays_within(agents, name, ceiling))
        if name in agents and "epl2rl" in agents:
            found.append(outperforms(agents, "epl2rl", name))
    if "epl2rl" in agents:
        found.append(exceeds(agents, "epl2rl", ceiling))
    return found
