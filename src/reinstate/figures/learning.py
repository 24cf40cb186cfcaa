"""Charts of reward while agents learn."""

from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

from reinstate.analysis.results import Results
from reinstate.figures.chart import Chart, Line, Series, with_series
from reinstate.figures.numbers import at, brief, curve, finite, numbers, reference_lines
from reinstate.figures.style import ShownAgent, shown_agents

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
