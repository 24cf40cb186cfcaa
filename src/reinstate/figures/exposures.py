"""Charts of what recall is good for: scores by exposure, altered memories, the r-gate."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from reinstate.analysis.results import Results
from reinstate.figures.chart import (
    Chart,
    Line,
    Series,
    Values,
    at,
    count,
    curve,
    interval,
    is_known,
    part_of,
    points,
    reference_lines,
    sharing_y,
    with_series,
)
from reinstate.figures.style import GREY, STAGES, ShownAgent, shades, shown_agents

# Title, x-label and y-label of each kind of chart.
STEPS = "Steps to the first goal", "exposure to the context", "steps to the first goal"
REGRET = "Cumulative regret", "pull", "cumulative regret"
PROBED = "Reward as trained, and with the memory put to the test", "what is done to the memory"
OVER_EPOCH = "r-gate at each stage", "episode of the epoch", "mean r-gate"
PAIRED = "r-gate without and with a cue", "episodes, by stage", "mean r-gate"
BY_TRIAL = "r-gate on each trial", "trial of the episode", "mean r-gate"

BETTER_KNOWN: dict[str, Any] = {
    "title": "Regret per episode, by how often its better known stimulus was met",
    "x_label": "exposure to the better known stimulus",
    "note": "An episode counts under whichever of its two stimuli was met more often; at exposure"
    " 1 both are new.",
}
QUERIED: dict[str, Any] = {
    "title": "Regret per episode, by how often the queried stimulus was met",
    "x_label": "exposure to the queried stimulus",
    "note": "Each trial counts under the stimulus that is queried; trials are summed. Agents"
    " without a memory are counted likewise.",
}
REGRET_NOTE = (
    "One line per exposure, mean over seeds; points at the ends are single seeds. Bands, where they"
    " were recorded, are 95% intervals."
)
EPOCH_NOTE = (
    "Mean over units and seeds; thin lines are means of single seeds over each block. Bands, where"
    " they were recorded, are 95% intervals."
)
PAIRED_NOTE = "Each thin line is a seed: its mean over uncued and over cued episodes."
TRIAL_NOTE = (
    "Mean over units and seeds, by how often the queried stimulus was met. Later exposures are"
    " drawn thinner, so that none hides another where they agree."
)
RIVALS = {
    "gittins": ("Gittins", (5, 2)),
    "ucb1": ("UCB", (1, 1.2)),
    "thompson": ("Thompson sampling", (4, 1.5, 1, 1.5)),
}
SOUND = "as trained"
PROBES = {  # those whose names do not say it all
    "memory cleared": "nothing comes back",
    "memory misfiled": "what comes back was stored under another stimulus",
}
BLOCKS = ("uncued", "cued")  # of an epoch of the two-step task
DODGE = 0.1  # between agents at one exposure
WIDEST, THINNEST = 5.0, 1.2  # lines that may lie on each other


def by_exposure(results: Results) -> list[Chart]:
    """Show regret, else reward, per episode by how often the context was met.

    Where pairs of stimuli recur, an episode counts under the better known one; a second chart then
    counts each trial under the stimulus that the memory was queried for.
    """
    met = _by_exposure(results, "by_exposure", "regret")
    queried = _by_exposure(results, "by_queried", "regret")
    if met.series and queried.series:
        return sharing_y([replace(met, **BETTER_KNOWN), replace(queried, **QUERIED)])
    return with_series([met if met.series else _by_exposure(results, "by_exposure", "reward")])


def _by_exposure(results: Results, part: str, kind: str) -> Chart:
    series = _each_agent(results, part, kind)
    for name, (label, dash) in RIVALS.items() if series else ():
        mean = at(results["baselines"], name, part, kind, "mean")
        series += curve(label, GREY, {"mean": mean}, dash=dash, width=1.4)
    title = f"{kind.capitalize()} per episode, by how often the context was met"
    return Chart(title, "exposure to the context", f"{kind} per episode", series, dodge=DODGE)


def _each_agent(results: Results, *path: str) -> list[Series]:
    agents = shown_agents(results)
    return [
        s for a in agents for s in curve(a.label, a.colour, at(a.scores, *path), marker=a.marker)
    ]


def steps_to_goal(results: Results) -> list[Chart]:
    """Show Fig. 5b: moves to the first goal by exposure, and those of the optimum.

    A goal never found counts as the whole episode, as it does in the optimum.
    """
    series = _each_agent(results, "maze", "steps_or_end")
    optimum = results["optimum"]
    first, known = optimum.get("steps_first_exposure"), optimum.get("steps_goal_known")
    # Of large mazes only the known goal's is known.
    steps = [first, *[known] * (max((len(s.x) for s in series), default=1) - 1)]
    if series and is_known(steps):
        said = ", ".join(f"{each:.2f}" for each in (first, known) if each is not None)
        best = Series("optimum", GREY, count(steps), steps, detail=said)
        series.append(replace(best, dash=(4, 2), width=1.4))
    return with_series([Chart(*STEPS, series, dodge=DODGE, include=[0.0])])


def regret(results: Results) -> list[Chart]:
    """Show Fig. 3c, d and 4b: cumulative regret by pull, one chart per agent, with the algorithms.

    Lines are means over seeds, one per exposure; points at their ends are single seeds.
    """
    rivals = _rivals_by_pull(results)
    novel, known = (results["optimum"].get(n) for n in ("without_memory", "either_known"))
    # Of an episode with two new stimuli.
    lines = [] if novel is None or known is None else [Line("least without memory", known - novel)]
    charts = []
    for agent in shown_agents(results):
        parts = {"by_exposure": agent.label}
        if at(agent.scores, "retrieval") and at(agent.scores, "by_queried"):
            parts = {"by_exposure": f"{agent.label}, by the better known"}
            parts["by_queried"] = f"{agent.label}, by the queried"
        for part, of in parts.items():
            scores = at(agent.scores, part) or {}
            bands = scores.get("regret_by_step_ci95")
            series = _exposures(scores.get("regret_by_step"), bands, scores.get("regret"))
            every = [*series, *rivals] if series else []
            charts.append(Chart(*REGRET, every, of, lines, note=REGRET_NOTE))
    return sharing_y(charts)


def _exposures(
    curves: Sequence[Values] | None, bands: Sequence[Any] | None, ends: Any = None
) -> list[Series]:
    """Make one line per exposure; the legend names those between which the others lie.

    Those that it names have the band of their intervals, if it was recorded.
    """
    curves, found = curves or (), []
    seeds = ends["per_seed"] if ends else ()  # (seeds, exposures), at the end of each line
    for place, (values, shade) in enumerate(zip(curves, shades(len(curves)), strict=True)):
        named = len(curves) <= 5 or place in (0, 1, len(curves) - 1)
        blank = [None] * (len(values) - 1)
        rows = [[*blank, row[place]] for row in seeds]
        if is_known(values):
            band = [*map(interval, bands[place])] if named and bands else ()
            line = Series(f"exposure {place + 1}", shade, count(values), values, band, rows)
            found.append(replace(line, marker="", width=1.8 if named else 1.0, in_legend=named))
    return found


def _rivals_by_pull(results: Results) -> list[Series]:
    """Average algorithms over exposures: without memory they play all of them alike."""
    found: list[Series] = []
    for name, (label, dash) in RIVALS.items():
        rows = at(results["baselines"], name, "by_exposure", "regret_by_step") or ()
        mean = [sum(column) / len(column) for column in zip(*rows, strict=True)]
        found += curve(label, GREY, {"mean": mean}, dash=dash, width=1.4)
    return found


def probes(results: Results) -> list[Chart]:
    """Show the reward of the same weights with a sound memory, and with an altered one."""
    probed = [a for a in shown_agents(results) if at(a.scores, "probes")]
    names = [SOUND, *dict.fromkeys(name for a in probed for name in a.scores["probes"])]
    series: list[Series] = []
    for agent in probed:
        rewards = {SOUND: at(agent.scores, "reward"), **agent.scores["probes"]}
        places = {float(names.index(name)): reward for name, reward in rewards.items()}
        series += points(agent.label, agent.colour, places)
    meant = "; ".join(f"{name}: {PROBES[name]}" for name in names if name in PROBES)
    said = f"{meant[0].upper()}{meant[1:]}. " if meant else ""
    chart = Chart(
        *PROBED,
        "reward per episode",
        series,
        lines=[line for line in reference_lines(results) if line.label != "chance"],
        categories=names,
        dodge=0.5 / max(len(series), 1),
        note=f"The same frozen weights throughout. {said}Small points are single seeds.",
    )
    return with_series([chart])


def gates(results: Results) -> list[Chart]:
    """Show how far the r-gate opens, of agents that have one."""
    agents = shown_agents(results)
    over_epoch, by_trial = sharing_y(_over_epoch(agents)), sharing_y(_by_trial(agents))
    return [*over_epoch, *sharing_y(_paired(agents)), *by_trial]


def _over_epoch(agents: Sequence[ShownAgent]) -> Iterator[Chart]:
    """Make Fig. 6c: the mean r-gate at each stage, episode by episode through the epoch."""
    for agent in agents:
        scores = at(agent.scores, "gates")
        if not scores or not any(y for row in scores["over_epoch"] for y in row):
            continue
        bands = scores.get("over_epoch_ci95")
        first = scores.get("first_cued")
        marks = [] if first is None else [Line("cued from here on", first + 0.5)]
        series = []
        every = zip(scores["stages"], STAGES, scores["over_epoch"], strict=True)
        for place, (name, shade, mean) in enumerate(every):
            band = [*map(interval, bands[place])] if bands else ()
            blocks = _blocks(scores, place, len(mean))
            series.append(Series(name, shade, count(mean), mean, band, blocks))
        yield Chart(*OVER_EPOCH, series, of=agent.label, marks=marks, note=EPOCH_NOTE)


def _blocks(scores: Any, stage: int, last: int) -> list[Values]:
    """Return each seed's mean over the uncued and over the cued block, as rows for a stage."""
    first_cued = scores.get("first_cued", last)
    rows: list[Values] = []
    for block, inside in (("uncued", range(first_cued)), ("cued", range(first_cued, last))):
        for seed in at(scores, block, "per_seed") or ():
            rows.append([seed[stage] if e in inside else None for e in range(last)])
    return rows


def _paired(agents: Sequence[ShownAgent]) -> Iterator[Chart]:
    """Show, for each stage, how far each seed's gate opens without a cue and with one."""
    for agent in agents:
        scores = at(agent.scores, "gates")
        blocks = [at(scores, block) for block in BLOCKS]
        series: list[Series] = []
        stages = at(scores, "stages") or ()
        for place, (name, shade) in enumerate(zip(stages, STAGES, strict=False)):
            means = {2.0 * place + i: part_of(block, place) for i, block in enumerate(blocks)}
            series += points(name, shade, means)
        if any(y for s in series for y in s.y) and all(len(s.x) == 2 for s in series):
            names = [*BLOCKS] * len(stages)
            looks: Any = {"of": agent.label, "categories": names, "paired": True}
            yield Chart(*PAIRED, series, note=PAIRED_NOTE, **looks)


def _by_trial(agents: Sequence[ShownAgent]) -> Iterator[Chart]:
    """Make one line per exposure of the queried stimulus, each thinner than the one before."""
    for agent in agents:
        curves = at(agent.scores, "r_by_trial")
        lines = _exposures(curves, at(agent.scores, "r_by_trial_ci95"))
        step = (WIDEST - THINNEST) / max(len(lines) - 1, 1)
        series = [replace(line, width=WIDEST - i * step) for i, line in enumerate(lines)]
        if any(y for line in lines for y in line.y):
            yield Chart(*BY_TRIAL, series, of=agent.label, include=[0.0], note=TRIAL_NOTE)
