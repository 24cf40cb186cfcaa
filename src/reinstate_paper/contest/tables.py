"""A contest in numbers: one row per agent and event, of what rivals.json holds."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from reinstate_paper.contest.plan import AS_TRAINED

SHARE = 0.9  # of the ceiling


class Row(NamedTuple):
    """An agent in an event."""

    agent: str
    weights: int
    state_bytes: int
    reward: Any  # an OverSeeds, per episode
    of_ceiling: float | None  # its mean as a share of what a memory of the own context can earn
    exposures: list[float]  # reward per episode at each
    learned_at: list[int | None]  # steps to 90% of that, for each seed; None: never
    seconds: float  # of training one seed


def ceiling(optimum: Mapping[str, Any]) -> float | None:
    """Return what an agent can earn that remembers its own context; nothing where it is not known.

    One that remembers the whole epoch may earn more where contexts share out the arms: that is
    `with_memory`.
    """
    for name in ("own_memory", "mean_over_exposures", "with_memory"):
        if name in optimum:
            return float(optimum[name])
    return None


def rows(event: Mapping[str, Any]) -> list[Row]:
    """Return the rows of an event, the highest reward first."""
    best = ceiling(event["optimum"][AS_TRAINED])
    found = [_row(agent, entry, best) for agent, entry in event["agents"].items()]
    return sorted(found, key=lambda row: -row.reward["mean"])


def _row(agent: str, entry: Mapping[str, Any], best: float | None) -> Row:
    judged = entry["worlds"][AS_TRAINED]
    seeds = len(judged["reward"]["per_seed"])
    return Row(
        agent,
        entry["weights"],
        entry["state_bytes"],
        judged["reward"],
        judged["reward"]["mean"] / best if best else None,
        judged["exposures"],
        learned_at(entry["curve"], best),
        entry["seconds"]["training"] / seeds,
    )


def learned_at(curve: Mapping[str, Any], best: float | None) -> list[int | None]:
    """Return after how many steps of its own each seed first earned 90% of the ceiling."""
    per_seed = curve["reward"]["per_seed"]  # (seeds, points)
    steps = [step // len(per_seed) for step in curve["steps"]]
    aim = float("inf") if best is None else SHARE * best
    return [
        next((step for step, reward in zip(steps, rewards, strict=True) if reward >= aim), None)
        for rewards in per_seed
    ]


def kept(event: Mapping[str, Any]) -> dict[str, dict[str, float | None]]:
    """Return, by world and agent, which share of a memory's worth an agent earns.

    (reward − best without memory) / (best with memory of the own context − best without), where
    both are known: 0 is no better than no memory, 1 is perfect.
    """
    shares: dict[str, dict[str, float | None]] = {}
    for world, optimum in event["optimum"].items():
        for agent, entry in event["agents"].items():
            reward = entry["worlds"][world]["reward"]["mean"]
            shares.setdefault(world, {})[agent] = share_of(reward, optimum)
    return shares


def share_of(reward: float, optimum: Mapping[str, Any]) -> float | None:
    """Return the share of a memory's worth that a reward is; None where that is not known."""
    best, without = ceiling(optimum), optimum.get("without_memory")
    if best is None or without is None or best <= without:
        return None
    return float((reward - without) / (best - without))
