"""Charts of reward while agents learn, and of what a match in memory tells them.

Is the context known, and which arms are ruled out if it is not?
"""

from dataclasses import replace
from typing import Any

from reinstate.analysis.results import Results
from reinstate.figures.chart import (
    Chart,
    Line,
    Series,
    at,
    brief,
    curve,
    reference_lines,
    with_series,
)
from reinstate.figures.style import GREY, ShownAgent, shown_agents

TITLE, Y_LABEL = "Reward while learning", "reward per episode"
NOTE = "Mean over seeds with a 95% interval; single seeds are thin."
UNITS = ((1e6, "millions"), (1e3, "thousands"))
FEW = 20  # points of a curve that need no logarithmic axis


def training_curves(results: Results) -> list[Chart]:
    """Show reward per episode while learning: mean over seeds, each seed thin, optima as lines.

    Along the x-axis is the experience of one seed's agent, all lanes together. The axis is
    logarithmic, since most is learned early, unless recall is switched on later.
    """
    steps = {agent.name: _steps(agent) for agent in shown_agents(results)}
    most = max((x for own in steps.values() for x in own), default=0.0)
    unit, word = next(((u, f" ({w})") for u, w in UNITS if most >= 2 * u), (1.0, ""))
    series: list[Series] = []
    for agent in shown_agents(results):
        reward, frozen = at(agent.scores, "curve", "reward"), at(agent.scores, "reward", "mean")
        places = [x / unit for x in steps[agent.name]]
        detail = f"{brief(frozen)} frozen" if frozen is not None else ""
        looks: Any = {"detail": detail, "marker": "", "dash": agent.dash}
        series += curve(agent.label, agent.colour, reward, places, **looks)
    marks = _recall(results, most / unit)
    log = not marks and min((len(s.x) for s in series), default=0) >= FEW
    label = f"environment steps{word}{', log scale' if log else ''}"
    guides: Any = {"lines": reference_lines(results), "marks": marks}
    return with_series([Chart(TITLE, label, Y_LABEL, series, log_x=log, note=NOTE, **guides)])


def _steps(agent: ShownAgent) -> list[float]:
    """Return the steps of one seed at each point of the curve; nothing if there is none."""
    curve = agent.scores.get("curve")
    return [x / len(curve["reward"]["per_seed"]) for x in curve["steps"]] if curve else []


def _recall(results: Results, end: float) -> list[Line]:
    """Mark where recall is switched on, if training went on to its end."""
    share = at(results, "settings", "learner", "recall_from")  # a notebook's curve has none
    whole = all(at(agent, "train_steps") for agent in results["agents"].values())
    return [Line("recall on", share * end)] if share and whole and end else []


SIGNALS = {"similarity": ("similarity", (4.0, 2.0)), "r_gate": ("r-gate", ())}  # name and dash
WIDEST, THINNEST = 4.5, 1.5  # lines that may lie on each other
ROC = "Telling known contexts from new ones", "false alarms (share of new)", "hits (share of known)"
AREAS = (
    "Telling known contexts from new ones, by exposure",
    "exposure to the context",
    "area under the ROC (AUC)",
)
MET = "contexts met before in the epoch"
TAKEN = ("First pulls in new contexts", MET, "first pulls on arms of other contexts")
TAKEN_NEXT = (
    "Second pulls in new contexts, where the first paid nothing",
    MET,
    "second pulls, after a loss",
)
ROC_NOTE = (
    "On an episode's first step: how far the r-gate opens, and the similarity of the best match in"
    " memory. Every threshold is a point. The area under a curve is the chance that a known context"
    " gives more than a new one; on the diagonal it is 0.5. Means over seeds."
)
AREAS_NOTE = "Contexts of one exposure against all new ones. Means over seeds."
TAKEN_NOTE = (
    "An arm is taken if it is the good one of a context met before in the epoch: where each context"
    " has an arm of its own, it cannot be that of a new one."
)
CANNOT_TELL = "a player who cannot tell"


def familiarity(results: Results) -> list[Chart]:
    """Show hits against false alarms of each agent's signals, and their area by exposure."""
    hits, areas = (_signals(results, part) for part in ("roc", "auc_by_exposure"))
    roc = Chart(*ROC, hits, include=[0.0, 1.0], diagonal=True, note=ROC_NOTE)
    chance = [Line("chance", 0.5)]
    by_exposure = Chart(*AREAS, areas, lines=chance, include=[1.0], note=AREAS_NOTE)
    return with_series([roc, by_exposure])


def _signals(results: Results, part: str) -> list[Series]:
    """Make a line of every signal of every agent, each thinner than the one before."""
    pairs = [(agent, signal) for signal in SIGNALS for agent in shown_agents(results)]
    lines = [line for pair in pairs for line in _signal(*pair, part)]
    step = (WIDEST - THINNEST) / max(len(lines) - 1, 1)
    return [replace(line, width=WIDEST - i * step) for i, line in enumerate(lines)]


def _signal(agent: ShownAgent, signal: str, part: str) -> list[Series]:
    label, dash = SIGNALS[signal]
    everything = at(agent.scores, "familiarity")
    scores = at(everything, signal)
    area, mean = at(scores, "auc", "mean"), at(scores, part)
    if area is None:
        return []
    met = [float(e) for e in range(2, 2 + len(mean))]
    looks: dict[str, Any] = {"dash": dash, "marker": "", "detail": f"AUC {area:.2f}"}
    x = at(everything, "false_alarms") if part == "roc" else met
    found = curve(f"{agent.label}, {label}", agent.colour, {"mean": mean}, x, **looks)
    if part == "roc":  # every ROC starts in the corner
        found = [replace(line, x=[0.0, *line.x], y=[0.0, *line.y]) for line in found]
    return found


def elimination(results: Results) -> list[Chart]:
    """Show how often pulls in new contexts are on arms that belong to other contexts."""
    charts = []
    for part, words in (("taken", TAKEN), ("taken_next", TAKEN_NEXT)):
        series: list[Series] = []
        blind: list[Series] = []
        for agent in shown_agents(results):
            scores = at(agent.scores, "elimination")
            series += _by_met(agent.label, agent.colour, at(scores, part))
            mean = {"mean": at(scores, "cannot_tell")}
            blind = blind or _by_met(CANNOT_TELL, GREY, mean, dash=(4, 2), width=1.4)
        every = [*series, *blind] if series else []
        charts.append(Chart(*words, every, dodge=0.1, include=[0.0, 1.0], note=TAKEN_NOTE))
    return with_series(charts)


def _by_met(name: str, colour: str, summary: object, **looks: Any) -> list[Series]:
    """Make a line over 0, 1, 2, …; no interval of a share leaves the shares."""
    met = [float(m) for m in range(len(at(summary, "mean") or ()))]
    return [
        replace(line, ci95=[ends and (max(ends[0], 0.0), min(ends[1], 1.0)) for ends in line.ci95])
        for line in curve(name, colour, summary, met, **looks)
    ]
