"""Charts of reward while agents learn."""

from reinstate.analysis.results import Results
from reinstate.figures.chart import Chart
from reinstate.figures.numbers import at, curve, finite, reference_lines
from reinstate.figures.style import ShownAgent, shown_agents


def training_curves(results: Results) -> list[Chart]:
    """Show reward per episode while learning: mean over seeds, each seed thin, optima as lines."""
    series = [
        s
        for agent in shown_agents(results)
        for s in curve(
            agent.label,
            agent.colour,
            at(agent.scores, "curve", "reward"),
            at(agent.scores, "curve", "episodes"),
            detail=_frozen(agent),
            marker="",
        )
    ]
    chart = Chart(
        "Reward while learning",
        "episodes, in each lane",
        "reward per episode",
        series,
        lines=reference_lines(results["reference_lines"]),
        note="Mean over seeds; single seeds are thin.",
    )
    return [chart] if series else []


def _frozen(agent: ShownAgent) -> str:
    """Say what the trained agent earns."""
    reward = finite(at(agent.scores, "reward", "mean"))
    return "" if reward is None else f"{reward:{'.2f' if abs(reward) >= 1 else '.3f'}} frozen"
