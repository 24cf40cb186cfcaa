"""Figures of a contest: learning, reward by exposure, and what is kept in other worlds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reinstate.figures import mpl
from reinstate.figures.chart import Chart, Line, Marker, Series
from reinstate.figures.style import GREY, label, palette
from reinstate_paper.contest.plan import AS_TRAINED
from reinstate_paper.contest.tables import ceiling, kept, share_of

WIDE, THIN = 2.6, 1.3  # lines of agents that reinstate, and of the others
MARKERS: dict[str, Marker] = {
    "lstm-epoch": "square",
    "gru-epoch": "triangle",
    "lru": "cross",
    "transformer": "square",
    "hcam": "triangle",
}
REMEMBERED = "own context remembered"
NOTES = {
    "learning": "Reward per episode while learning, mean and 95% interval over seeds.",
    "exposures": "Frozen weights, fresh tasks, mean over seeds.",
    "strains": "(reward − best without memory) / (best with memory of the own context − best"
    " without): 0 is no better than no memory, 1 is perfect. Weights are frozen; bars are 95%"
    " intervals over seeds.",
}


def draw(document: Mapping[str, Any], out: Path) -> None:
    """Draw two figures of every event: in the world trained in, and elsewhere."""
    for name, event in document["events"].items():
        mpl.save([learning(event), exposures(event)], out / name, event["title"])
        if (elsewhere := strains(event)).series:
            mpl.save([elsewhere], out / f"{name}-elsewhere", event["title"])


def _lines(event: Mapping[str, Any]) -> list[Line]:
    optimum = event["optimum"][AS_TRAINED]
    named = {
        REMEMBERED: ceiling(optimum),
        "no memory": optimum.get("without_memory"),
        "chance": optimum.get("chance"),
    }
    return [Line(text, float(at)) for text, at in named.items() if at is not None]


def _looks(event: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Give each agent its name, colour and line; those that reinstate have wide ones."""
    agents = list(event["agents"])
    return {
        agent: {
            "name": label(agent),
            "colour": own,
            "width": WIDE if agent.startswith("epl2rl") else THIN,
            "marker": next((m for kind, m in MARKERS.items() if agent.startswith(kind)), "dot"),
        }
        for agent, own in zip(agents, palette(agents), strict=True)
    }


def learning(event: Mapping[str, Any]) -> Chart:
    """Chart reward against a seed's own steps."""
    series = []
    for agent, looks in _looks(event).items():
        curve = event["agents"][agent]["curve"]
        seeds = len(curve["reward"]["per_seed"])
        steps = [step / seeds / 1000 for step in curve["steps"]]
        reward = curve["reward"]
        series.append(Series(x=steps, y=reward["mean"], ci95=reward["ci95"] or (), **looks))
    title, axes = "Learning", ("thousand steps", "reward per episode")
    return Chart(title, *axes, series, lines=_lines(event), note=NOTES["learning"])


def exposures(event: Mapping[str, Any]) -> Chart:
    """Chart reward by exposure."""
    series = []
    for agent, looks in _looks(event).items():
        reward = event["agents"][agent]["worlds"][AS_TRAINED]["exposures"]
        series.append(Series(x=[*range(1, len(reward) + 1)], y=reward, **looks))
    best = event["optimum"][AS_TRAINED].get("own_memory_by_exposure")
    if best:
        x, look = [*range(1, len(best) + 1)], dict[str, Any](dash=(4.0, 3.0), width=1.0)
        series.append(Series("best with own memory", GREY, x, best, in_legend=False, **look))
    title, axes = "After learning", ("exposure to the context", "reward per episode")
    lines = [line for line in _lines(event) if line.label != REMEMBERED]  # a mean over exposures
    return Chart(title, *axes, series, lines=lines, note=NOTES["exposures"])


def strains(event: Mapping[str, Any]) -> Chart:
    """Chart what is left of a memory's worth in every world for which that is known."""
    shares = {
        world: found
        for world, found in kept(event).items()
        if all(share is not None for share in found.values())
    }
    series = []
    for agent, looks in _looks(event).items():
        y = [found[agent] for found in shares.values()]
        ends = [_interval(event, world, agent) for world in shares]
        series.append(Series(x=[*range(len(shares))], y=y, ci95=ends, **looks))
    axes = "world that is met", "share of a memory's worth"
    return Chart(
        "Elsewhere",
        *axes,
        series if len(shares) > 1 else [],
        categories=[_short(world) for world in shares],
        include=(0.0, 1.0),
        dodge=0.08,
        note=NOTES["strains"],
    )


def _interval(event: Mapping[str, Any], world: str, agent: str) -> tuple[float, float] | None:
    """Return the 95% interval of an agent's share of a memory's worth; None for a single seed."""
    ends = event["agents"][agent]["worlds"][world]["reward"]["ci95"] or []
    shares = [
        share for end in ends if (share := share_of(end, event["optimum"][world])) is not None
    ]
    return (shares[0], shares[1]) if len(shares) == 2 else None


def _short(world: str) -> str:
    return world.replace("twice the", "2 ×").replace("five times the", "5 ×")
