"""Charts of reward while agents learn, and of what a match in memory tells them.

Is the context known, and which arms are ruled out if it is not?
"""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Any, NamedTuple

from reinstate.analysis.results import Results
from reinstate.figures.chart import Chart, Line, Series, with_series
from reinstate.figures.numbers import at, brief, curve, finite, numbers, reference_lines
from reinstate.figures.style import GREY, ShownAgent, shown_agents

TITLE, Y_LABEL = "Reward while learning", "reward per episode"
NOTE = "Mean over seeds with a 95% interval; single seeds are thin."
UNITS = ((1e6, "millions"), (1e3, "thousands"))
LEARNED = 0.8  # of what an agent gains; if most agents are there …
SOON = 0.1  # … by this share of their training, a linear axis would show little but the rest
FEW = 20  # points of a curve that need no logarithmic axis


class _Experience(NamedTuple):
    """What each agent has seen of its task, and how to say so."""

    of: list[list[float]]  # by agent, at each point of its curve
    named: str


def training_curves(results: Results) -> list[Chart]:
    """Show reward per episode while learning: mean over seeds, each seed thin, optima as lines.

    Along the x-axis is the experience of one seed's agent, all lanes together. The axis is
    logarithmic where most of what is learned is learned early, unless recall is switched on later.
    """
    agents = shown_agents(results)
    x, named = _experience(agents)
    series: list[Series] = []
    for agent, places in zip(agents, x, strict=True):
        reward, frozen = _reward(agent), finite(at(agent.scores, "reward", "mean"))
        looks: Any = {"detail": "" if frozen is None else f"{brief(frozen)} frozen", "marker": ""}
        series += curve(agent.label, agent.colour, reward, places, dash=agent.dash, **looks)
    marks = _recall(results, agents, x)
    log = not marks and _is_early(series)
    label = f"{named}, log scale" if log else named
    guides: Any = {"lines": reference_lines(results), "marks": marks}
    return with_series([Chart(TITLE, label, Y_LABEL, series, log_x=log, note=NOTE, **guides)])


def _reward(agent: ShownAgent) -> object:
    return at(agent.scores, "curve", "reward")


def _experience(agents: Sequence[ShownAgent]) -> _Experience:
    """Count the steps of one seed; episodes of one lane, where a file does not tell the seeds."""
    steps = [_steps(agent) for agent in agents]
    drawn = [own for own, agent in zip(steps, agents, strict=True) if _reward(agent) is not None]
    if not drawn or not all(drawn):
        episodes = [numbers(at(agent.scores, "curve", "episodes")) for agent in agents]
        return _Experience([[x for x in own if x is not None] for own in episodes],
                           "episodes, in each lane")  # fmt: skip
    most = max(x for own in drawn for x in own)
    unit, word = next(((u, f" ({w})") for u, w in UNITS if most >= 2 * u), (1.0, ""))
    return _Experience([[x / unit for x in own] for own in steps], f"environment steps{word}")


def _steps(agent: ShownAgent) -> list[float]:
    """Return the steps of one seed at each point of the curve; nothing if they are not known."""
    seeds, steps = at(_reward(agent), "per_seed"), numbers(at(agent.scores, "curve", "steps"))
    known = [x for x in steps if x is not None and x > 0]
    points = numbers(at(_reward(agent), "mean"))
    if not isinstance(seeds, list) or not seeds or not len(known) == len(steps) == len(points):
        return []
    return [x / len(seeds) for x in known]


def _recall(
    results: Results, agents: Sequence[ShownAgent], x: Sequence[Sequence[float]]
) -> list[Line]:
    """Mark where recall is switched on, if training went on to its end."""
    share = finite(at(results, "settings", "learner", "recall_from"))
    whole = all(at(agent.scores, "train_steps") for agent in agents)
    ends = [max(own) for own in x if own]
    return [Line("recall on", share * max(ends))] if share and whole and ends else []


def _is_early(series: Sequence[Series]) -> bool:
    """Tell whether most agents learn most in the first part of training."""
    shares = [share for s in series if (share := _learned_at(s)) is not None]
    return bool(shares) and median(shares) <= SOON


def _learned_at(series: Series) -> float | None:
    """Return the share of training after which most is learned; none if that says nothing."""
    known = [(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None]
    if len(known) < FEW or min(series.x) <= 0:
        return None
    first, last = known[0][1], known[-1][1]
    if last <= first:
        return None
    return next(x for x, y in known if y >= first + LEARNED * (last - first)) / known[-1][0]


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
    area, mean = finite(at(scores, "auc", "mean")), at(scores, part)
    met = [float(e) for e in range(2, 2 + len(numbers(mean)))]
    if area is None:
        return []
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
    met = [float(m) for m in range(len(numbers(at(summary, "mean"))))]
    return [
        replace(line, ci95=[ends and (max(ends[0], 0.0), min(ends[1], 1.0)) for ends in line.ci95])
        for line in curve(name, colour, summary, met, **looks)
    ]
