"""What a memory is for: charts of Experiment 3, whose stimuli recur in new pairs.

Which of two stimuli the memory is asked for changes from trial to trial, so exposure can be that
of the better known one or that of the one asked for.
"""

from collections.abc import Sequence
from typing import Any

from reinstate.report.charts import Chart, Series, heights
from reinstate.report.series import (
    at,
    count,
    exposure_lines,
    reference_lines,
    stacked,
    summary_series,
)
from reinstate.report.sources import Document, Player

SOUND = "as trained"
PROBES = {  # those whose names do not say it all
    "memory cleared": "nothing comes back",
    "memory misfiled": "what comes back was stored under another stimulus",
}
WIDEST, THINNEST = 7.0, 1.4  # lines that may lie on each other


def by_queried(document: Document) -> list[Chart]:
    found = [(p, at(p.scores, ("by_queried", "regret"))) for p in document.players]
    series = [
        summary_series(p, count(summary["mean"]), summary)
        for p, summary in found
        if summary is not None
    ]
    chart = Chart(
        "Regret of an episode, by how often the queried stimulus was met",
        "exposure to the stimulus asked for",
        "regret of an episode",
        series,
        note="Each trial counts under the stimulus that its query is for; trials are summed."
        " Agents without a memory are counted likewise.",
    )
    return [chart] if series else []


def side_by_side(met: Sequence[Chart], queried: Sequence[Chart]) -> list[Chart]:
    """By the better known stimulus and by the queried one, with axes of the same height."""
    told = [_by_better_known(c) if c.y_label == queried[0].y_label else c for c in met]
    both = [*told, *queried]
    if len({chart.y_label for chart in both}) > 1:
        return both
    shared = [y for chart in both for y in heights(chart)]
    return [chart._replace(include=shared) for chart in both]


def _by_better_known(chart: Chart) -> Chart:
    return chart._replace(
        title="Regret of an episode, by how often its better known stimulus was met",
        x_label="exposure to the better known stimulus",
        note="An episode counts under whichever of its two stimuli was met more often;"
        " at exposure 1 both are new.",
    )


def probes(document: Document) -> list[Chart]:
    """Reward of the same weights with a sound memory, and with one that is not as it was."""
    probed = [p for p in document.players if p.scores.get("probes")]
    names = list(dict.fromkeys([SOUND, *(name for p in probed for name in p.scores["probes"])]))
    lines = [line for line in reference_lines(document) if line[0] != "chance"]
    chart = Chart(
        "Reward as trained, and with the memory put to the test",
        "what is done to the memory",
        "reward an episode",
        [_rewards(p, names) for p in probed],
        lines,
        categories=names,
        note=_note(names, ceilings=bool(lines)),
    )
    return [chart] if probed else []


def _rewards(player: Player, names: Sequence[str]) -> Series:
    rewards: dict[str, Any] = {**player.scores["probes"], SOUND: player.scores.get("reward")}
    known = {place: name for place, name in enumerate(names) if rewards.get(name) is not None}
    return stacked(player.label, player.colour, [*known], [*known.values()], rewards)


def _note(names: Sequence[str], ceilings: bool) -> str:
    meant = "; ".join(f"{name}: {PROBES[name]}" for name in names if name in PROBES)
    words = ["The same frozen weights throughout", *([meant] if meant else [])]
    words.append("Short dashes are single seeds" + (", long ones ceilings" if ceilings else ""))
    return "".join(f"{w[0].upper()}{w[1:]}. " for w in words).rstrip()


def gates_by_trial(document: Document) -> list[Chart]:
    """For agents that have an r-gate."""
    found = [(p.label, p.scores.get("r_by_trial") or []) for p in document.players]
    return [
        Chart(
            f"r-gate on each trial, a line an exposure: {label}",
            "trial of the episode",
            "mean r-gate",
            _thinning(exposure_lines(rows, first=4)),
            include=[0.0],
            note="Mean over units and seeds, by how often the stimulus asked for was met. Later"
            " exposures are drawn thinner, so that none hides another where they agree.",
        )
        for label, rows in found
        if any(value for row in rows for value in row)
    ]


def _thinning(series: Sequence[Series]) -> list[Series]:
    step = (WIDEST - THINNEST) / max(len(series) - 1, 1)
    return [s._replace(width=WIDEST - i * step) for i, s in enumerate(series)]
