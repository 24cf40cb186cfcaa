"""Claims that several experiments make, as checks on recorded numbers.

That one side has more than another is decided by a permutation test over seeds, that something is
more than a constant by its bootstrap interval. Both are made from the numbers of single seeds, so
recorded results can be judged again. See docs/statistics.md for what so few seeds can say.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from reinstate.analysis import intervals
from reinstate.analysis.results import AgentResults, OverSeeds
from reinstate.experiments.base import Agents, Check

SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<=": operator.le,
}
AS_INPUT = "fed to the LSTM as 50 inputs, what the memory returns brings reward down to chance"
TRIED_AS_INPUT = "the other experiments too, and the quick preset, where barcodes are at chance"


def more(claim: str, a: Any, b: Any, *, paired: bool = False, **notes: Any) -> Check:
    """a is more than b, seed by seed; the value is the difference of their means.

    `paired` where both are numbers of the same runs. `notes` are further fields of the check.
    """
    gap, ci95 = intervals.difference(a, b, paired)
    beyond_chance, how = _tested(a, b, paired)
    return Check(claim, gap, f"> 0{how}", gap > 0 and beyond_chance, ci95=ci95, **notes)


def no_more(claim: str, a: Any, b: Any, *, paired: bool = False, **notes: Any) -> Check:
    """a is not more than b; it takes a difference beyond chance to refute it."""
    gap, ci95 = intervals.difference(a, b, paired)
    beyond_chance, how = _tested(a, b, paired)
    bound = f"<= 0 but for chance{how}"
    return Check(claim, gap, bound, not (gap > 0 and beyond_chance), ci95=ci95, **notes)


def _tested(a: Any, b: Any, paired: bool) -> tuple[bool, str]:
    """Whether p is as small as .05, or as so many seeds allow; and the test in words."""
    n, m = len(a), len(b)
    if n == m == 1:
        return True, " (one seed a side cannot tell)"
    p = intervals.permutation_test(a, b, paired)
    least = intervals.smallest_p(n, m, paired)
    how = f"sign flips of {n} seeds" if paired else f"permutation of {n} and {m} seeds"
    smallest = ", the smallest possible" if p <= least and least >= 0.001 else ""
    return p <= max(intervals.ALPHA, least), f", {written(p)} ({how}{smallest})"


def written(p: float) -> str:
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".").rstrip("0").rstrip(".")


def above(claim: str, summary: OverSeeds, constant: float, **notes: Any) -> Check:
    """The whole interval of an `over_seeds` lies above a constant."""
    return _held(claim, summary, "low", ">", constant, notes)


def at_least(claim: str, summary: OverSeeds, constant: float, **notes: Any) -> Check:
    return _held(claim, summary, "low", ">=", constant, notes)


def at_most(claim: str, summary: OverSeeds, constant: float, **notes: Any) -> Check:
    return _held(claim, summary, "high", "<=", constant, notes)


def within(claim: str, summary: OverSeeds, constant: float, **notes: Any) -> Check:
    """The interval reaches down to a constant: what of it lies above may be noise."""
    return _held(claim, summary, "low", "<=", constant, notes)


def _held(
    claim: str, summary: OverSeeds, end: str, sign: str, constant: float, notes: dict[str, Any]
) -> Check:
    """A mean over seeds, and the end of its interval that decides."""
    seeds = len(summary["per_seed"])
    low, high = intervals.bootstrap(summary["per_seed"]).tolist()  # one seed: its value twice
    holds = SIGNS[sign](low if end == "low" else high, constant)
    how = f" for the {end} end (bootstrap of {seeds} seeds)"
    bound = f"{sign} {constant:.3f}{how if seeds > 1 else ' (one seed cannot tell)'}"
    ci95 = [low, high] if seeds > 1 else None
    return Check(claim, float(summary["mean"]), bound, holds, ci95=ci95, **notes)


def outperforms(agents: Agents, name: str, other: str, **notes: Any) -> Check:
    claim = f"{name} outperforms {other} (difference in reward per episode)"
    return more(claim, *(_rewards(agents, each) for each in (name, other)), **notes)


def no_better(agents: Agents, name: str, other: str, **notes: Any) -> Check:
    claim = f"{name} earns no more than {other} (difference in reward per episode)"
    return no_more(claim, *(_rewards(agents, each) for each in (name, other)), **notes)


def _rewards(agents: Agents, name: str) -> Any:
    return agents[name]["reward"]["per_seed"]


def stays_within(agents: Agents, name: str, ceiling: float, **notes: Any) -> Check:
    claim = f"{name} stays within the best that is possible without episodic memory"
    return within(claim, agents[name]["reward"], ceiling, **_with_share(agents[name], notes))


def exceeds(agents: Agents, name: str, ceiling: float, **notes: Any) -> Check:
    claim = f"{name} earns more than any agent without episodic memory can"
    return above(claim, agents[name]["reward"], ceiling, **_with_share(agents[name], notes))


def _with_share(agent: AgentResults, notes: dict[str, Any]) -> dict[str, Any]:
    return {"share": agent.get("share_of_ceiling"), **notes}


def falls(
    claim: str, by_exposure: OverSeeds, first: int = 1, later: int = 2, **notes: Any
) -> list[Check]:
    """A number falls from an exposure to a later one (-1: the last); nothing if there is none."""
    return [more(claim, *ends, paired=True, **notes) for ends in _ends(by_exposure, first, later)]


def does_not_fall(claim: str, by_exposure: OverSeeds, **notes: Any) -> list[Check]:
    """Nor does it fall from the first exposure to the last."""
    return [no_more(claim, *ends, paired=True, **notes) for ends in _ends(by_exposure, 1, -1)]


def _ends(by_exposure: OverSeeds, first: int, later: int) -> list[tuple[Any, Any]]:
    values = np.array(by_exposure["per_seed"], float)  # (seeds, exposures)
    count = values.shape[1]
    later = count if later == -1 else later
    return [(values[:, first - 1], values[:, later - 1])] if first < later <= count else []


def against_memoryless(
    agents: Agents, ceiling: float, rewards: str = "", beyond: str = ""
) -> list[Check]:
    """epL2RL beats both baselines and their ceiling; the baselines stay within it.

    `rewards` and `beyond` are what the paper says of the two.
    """
    found: list[Check] = []
    for name in ("l2rl", "l2rl-context"):
        if name in agents:
            found.append(stays_within(agents, name, ceiling))
        if name in agents and "epl2rl" in agents:
            found.append(outperforms(agents, "epl2rl", name, paper=rewards))
    if "epl2rl" in agents:
        found.append(exceeds(agents, "epl2rl", ceiling, paper=beyond))
    return found


def input_at_chance(
    agents: Mapping[str, Any], optimum: Mapping[str, Any], chance: str = "chance"
) -> list[Check]:
    """The variant without an r-gate, where it was run; `chance` is its name among the optima."""
    if "epl2rl-input" not in agents:
        return []
    claim, agent = "epl2rl-input is at chance (reward per episode)", agents["epl2rl-input"]
    notes = _with_share(agent, {"paper": AS_INPUT, "tried": TRIED_AS_INPUT})
    return [within(claim, agent["reward"], optimum[chance], **notes)]


def of_section(section: str, found: list[Check]) -> list[Check]:
    """Say of checks which section of the paper they are about."""
    return [check._replace(section=section) for check in found]
