"""Charts of reward while agents learn."""

from reinstate.analysis.results import Results
from reinstate.figures.chart import Chart, Series, with_series
from reinstate.figures.numbers import at, brief, curve, finite, reference_lines
from reinstate.figures.style import shown_agents

LABELS = "Reward while learning", "episodes, in each lane", "reward per episode"


def training_curves(results: Results) -> list[Chart]:
    """Show reward per episode while learning: mean over seeds, each seed thin, optima as lines."""
    note = "Mean over seeds; single seeds are thin."
    series: list[Series] = []
    for agent in shown_agents(results):
        learned, frozen = at(agent.scores, "curve"), finite(at(agent.scores, "reward", "mean"))
        detail = "" if frozen is None else f"{brief(frozen)} frozen"
        reward, episodes = at(learned, "reward"), at(learned, "episodes")
        series += curve(agent.label, agent.colour, reward, episodes, detail=detail, marker="")
    return with_series([Chart(*LABELS, series, lines=reference_lines(results), note=note)])
