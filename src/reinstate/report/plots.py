"""A document's numbers → its charts, by what the scores hold rather than by experiment."""

from collections.abc import Sequence
from typing import Any

from reinstate.choices.model import NAMES, STRATEGIES
from reinstate.figures.choices import COLOURS as STRATEGY_COLOURS
from reinstate.figures.choices import SHORT
from reinstate.figures.common import STAGE_COLOURS
from reinstate.report.charts import Chart, Series
from reinstate.report.markup import finite
from reinstate.report.recall import by_queried, gates_by_trial, probes, side_by_side
from reinstate.report.series import (
    at,
    count,
    exposure_lines,
    numbers,
    places,
    reference_lines,
    stacked,
    summary_series,
)
from reinstate.report.sources import Document, Player

GREY = "#6E7781"
RIVALS = {
    "gittins": ("Gittins", "7 3"),
    "ucb1": ("UCB", "2 3"),
    "thompson": ("Thompson", "6 3 2 3"),
}


def charts_of(document: Document) -> dict[str, list[Chart]]:
    """Heading → charts, those that the scores allow."""
    met, queried = by_exposure(document), by_queried(document)
    recall = [*([] if queried else met), *gates(document)]
    made = {
        "Learning, and what came of it": [*training(document), *recall],
        "Regret by exposure": side_by_side(met, queried) if queried else [],
        "What the memory does": [*probes(document), *gates_by_trial(document)],
        "Regret by pull": regret_by_pull(document),
        "Choice weights": [*choice_weights(document), *weights_in_training(document)],
    }
    return {heading: charts for heading, charts in made.items() if charts}


def training(document: Document) -> list[Chart]:
    series = [
        summary_series(p, p.scores["curve"]["episodes"], p.scores["curve"]["reward"])
        for p in document.players
        if "curve" in p.scores
    ]
    title = "Reward while learning, mean over seeds; single seeds thin"
    lines = reference_lines(document)
    chart = Chart(title, "episodes, in each lane", "reward an episode", series, lines)
    return [chart] if series else []


def by_exposure(document: Document) -> list[Chart]:
    """Steps to the goal in mazes, regret of pulls in bandits, else reward."""
    for path, label in (
        (("maze", "steps_or_end"), "steps to the first goal"),
        (("by_exposure", "regret"), "regret of an episode"),
        (("by_exposure", "reward"), "reward an episode"),
    ):
        found = [(p, at(p.scores, path)) for p in document.players]
        series = [
            summary_series(p, count(summary["mean"]), summary)
            for p, summary in found
            if summary is not None
        ]
        if series:
            rest = [*_maze_optimum(document, series), *_rival_scores(document, path)]
            title = f"{label[0].upper()}{label[1:]}, by how often the context was met"
            return [Chart(title, "exposure to the context", label, [*series, *rest])]
    return []


def _maze_optimum(document: Document, series: Sequence[Series]) -> list[Series]:
    optimum = document.results.get("optimum", {})
    if "maze" not in document.players[0].scores or "steps_goal_known" not in optimum:
        return []
    x = max((s.x for s in series), key=len)
    known = finite(optimum["steps_goal_known"])
    # Of large mazes only the known goal's is exact: the line then starts at the second exposure.
    steps = [finite(optimum.get("steps_first_exposure")), *[known] * (len(x) - 1)]
    return [Series("optimum", GREY, x, steps, dash="5 3")]


def _rivals(document: Document) -> list[tuple[str, str, Any]]:
    baselines = document.results.get("baselines", {})
    return [(label, dash, baselines[n]) for n, (label, dash) in RIVALS.items() if n in baselines]


def _rival_scores(document: Document, path: Sequence[str]) -> list[Series]:
    found = [(label, dash, at(scores, path)) for label, dash, scores in _rivals(document)]
    return [
        Series(label, GREY, places(count(s["mean"])), numbers(s["mean"]), dash=dash)
        for label, dash, s in found
        if s is not None
    ]


def regret_by_pull(document: Document) -> list[Chart]:
    """Fig. 3c and d: cumulative regret, a panel an agent, with axes of the same height."""
    path = ("by_exposure", "regret_by_step")
    found = [(p.label, at(p.scores, path)) for p in document.players]
    rivals = [_mean_regret(label, dash, at(s, path)) for label, dash, s in _rivals(document)]
    panels = [(label, [*exposure_lines(rows), *rivals]) for label, rows in found if rows]
    highest = [max(y for s in each for y in s.y if y is not None) for _, each in panels]
    return [
        Chart(f"Cumulative regret: {label}", "pull", "cumulative regret", each, include=highest)
        for label, each in panels
    ]


def _mean_regret(label: str, dash: str, rows: Sequence[Sequence[float]]) -> Series:
    """An algorithm without memory plays every exposure alike."""
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    return Series(label, GREY, places(count(mean)), numbers(mean), dash=dash)


def gates(document: Document) -> list[Chart]:
    """Fig. 6c, for agents that have an r-gate."""
    return [_gates(p) for p in document.players if _reinstates(p)]


def _reinstates(player: Player) -> bool:
    curves = at(player.scores, ("gates", "over_epoch")) or []
    return any(value for curve in curves for value in curve)


def _gates(player: Player) -> Chart:
    found = player.scores["gates"]
    series = [
        Series(str(stage), colour, places(count(curve)), numbers(curve))
        for stage, colour, curve in zip(
            found["stages"], STAGE_COLOURS, found["over_epoch"], strict=True
        )
    ]
    first = finite(found.get("first_cued"))
    marks = [] if first is None else [("cued from here on", first + 0.5)]
    title = f"r-gate at each stage, mean over units: {player.label}"
    return Chart(title, "episode of the epoch", "mean r-gate", series, marks=marks)


def choice_weights(document: Document) -> list[Chart]:
    """Fig. 6b, uncued and cued: agents side by side in each strategy."""
    return [
        Chart(
            f"Weights of the strategies on {part} episodes; dashes are single seeds",
            "strategy",
            "weight (log odds)",
            series,
            categories=[SHORT.get(name, name) for name in names],
        )
        for part, names in NAMES.items()
        if (series := _weights(document, part, names))
    ]


def _weights(document: Document, part: str, names: Sequence[str]) -> list[Series]:
    groups = [(p, at(p.scores, ("choices", "group", part))) for p in document.players]
    return [stacked(p.label, p.colour, range(len(names)), names, g) for p, g in groups if g]


def weights_in_training(document: Document) -> list[Chart]:
    """How the strategies come and go while an agent with a memory learns."""
    return [
        Chart(
            f"Weights on cued episodes while it learns: {p.label}",
            "epochs of training",
            "weight (log odds)",
            _weights_by_epoch(p.scores["milestones"]),
        )
        for p in document.players
        if _reinstates(p) and at((p.scores.get("milestones") or [None])[0], ("weights", "cued"))
    ]


def _weights_by_epoch(milestones: Sequence[Any]) -> list[Series]:
    epochs = [stone["epoch"] for stone in milestones]
    stones = range(len(milestones))
    return [
        stacked(
            name,
            STRATEGY_COLOURS[name],
            epochs,
            stones,
            [stone["weights"]["cued"][name] for stone in milestones],
        )
        for name in STRATEGIES
    ]
