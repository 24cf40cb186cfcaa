"""The paper's Figures 3 to 6, composed of recorded results; and memory as an input."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from statistics import fmean
from typing import Any

from reinstate.agent import INPUT_SIZES
from reinstate.analysis.results import Results
from reinstate.errors import UserError
from reinstate.figures.chart import Chart, Line, Series, sharing_y
from reinstate.figures.exposures import gates, regret, steps_to_goal
from reinstate.figures.learning import training_curves
from reinstate.figures.mazes import trajectories
from reinstate.figures.style import GREY, colour, label
from reinstate_paper.composing import Panel, compose

MEMORY, PLAIN = "epl2rl", "l2rl"
MOST_POINTS = 80  # of a curve in print
HEADROOM = 0.06  # for the label of the highest line
AS_INPUT = "epl2rl-input"  # agents that the paper omits from its plots (section 4.1)
# Lines' labels that fit into a column; captions say the rest.
SHORT = {
    "best with memory (a bound)": "best with memory",
    "best without episodic memory": "best without",
    "ideal with episodic recall": "ideal with memory",
    "ideal without it": "ideal without",
}

Documents = Mapping[str, Results]  # by experiment


def figure_3(documents: Documents, width: str | None = None) -> Any:
    """Compose Figure 3, of barcode and Omniglot bandits."""
    found = (_plotted(documents[name]) for name in ("barcode-bandits", "omniglot-bandits"))
    return compose(_bandits(*found), width or "page")


def figure_4(documents: Documents, width: str | None = None) -> Any:
    """Compose Figure 4, of compositional bandits."""
    return compose(_compositional(_plotted(documents["compositional-bandits"])), width or "column")


def figure_5(documents: Documents, width: str | None = None) -> Any:
    """Compose Figure 5, of the water maze."""
    return compose(_maze(_plotted(documents["water-maze"])), width or "page")


def figure_6(documents: Documents, width: str | None = None) -> Any:
    """Compose Figure 6, of the two-step task."""
    return compose(_two_step(_plotted(documents["two-step"])), width or "page")


def _plotted(results: Results) -> Results:
    """Leave out what the paper does: agents whose memory is an input."""
    agents = {n: a for n, a in results["agents"].items() if not n.startswith(AS_INPUT)}
    return {**results, "agents": agents}


def _only(results: Results, agent: str) -> Results:
    return {**results, "agents": {n: a for n, a in results["agents"].items() if n == agent}}


def _required(charts: Sequence[Any], results: Results, what: str) -> Any:
    """Return the first chart, or say what is not recorded."""
    if not charts:
        raise UserError(f"the results of {results['experiment']} hold no {what} to draw")
    return charts[0]


def _learning(results: Results, chance: bool = True) -> Chart:
    found: Chart = _required(training_curves(results), results, "training curves")
    every = [Line(SHORT.get(text, text), at) for text, at in found.lines]
    chart = replace(found, lines=[line for line in every if chance or line.label != "chance"])
    low, high = chart.y_range
    series = [_thinned(chart, s) for s in chart.series]
    return replace(chart, series=series, include=[high + HEADROOM * (high - low)])


def _thinned(chart: Chart, series: Series) -> Series:
    """Leave out points that would be printed on each other, at the end of a logarithmic axis."""
    low, high = chart.x_range
    kept = [0]
    for n, x in enumerate(series.x[1:], 1):
        if chart.place(x) - chart.place(series.x[kept[-1]]) >= (high - low) / MOST_POINTS:
            kept.append(n)
    kept[-1] = len(series.x) - 1

    def thin(row: Sequence[Any]) -> list[Any]:
        return [row[n] for n in kept if n < len(row)]  # intervals may not be known

    rows = [thin(row) for row in series.per_seed]
    rest: Any = {"ci95": thin(series.ci95), "per_seed": rows}
    return replace(series, x=thin(series.x), y=thin(series.y), **rest)


def _regret(results: Results, agent: str) -> Chart:
    charts = regret(_only(results, agent))
    return replace(_required(charts, results, f"regret of {label(agent)}"), of="")


def _bandits(barcode: Results, omniglot: Results) -> list[Panel]:
    """Figure 3: the memory lets regret fall with every exposure, and without one it does not."""
    learning = sharing_y([_learning(barcode), _learning(omniglot)])
    by_pull = sharing_y([_regret(omniglot, agent) for agent in (MEMORY, PLAIN)])
    titles = ["Barcode bandits", "Omniglot bandits"]
    titles += [f"Omniglot bandits, {label(agent)}" for agent in (MEMORY, PLAIN)]
    charts = [*learning, *by_pull]
    return [Panel(title, [chart]) for title, chart in zip(titles, charts, strict=True)]


def _compositional(results: Results) -> list[Panel]:
    """Figure 4: what is known of one stimulus helps beside another."""
    known = f"{label(MEMORY)}, by exposure to the better known stimulus"
    return [
        # All agents are far above chance, which would squeeze what sets them apart.
        Panel("Compositional bandits", [_learning(results, chance=False)]),
        Panel(known, [_regret(results, MEMORY)]),
    ]


def _maze(results: Results) -> list[Panel]:
    """Figure 5: after one exposure the way to the goal is known."""
    steps = _required(steps_to_goal(results), results, "steps to the goal")
    ways = _required(trajectories(results), results, "trajectories")
    if not ways.pairs:
        raise UserError(f"the results of {results['experiment']} hold no trajectories to draw")
    return [
        Panel("Water maze", [_learning(results)]),
        Panel("Steps to the first goal", [steps]),
        Panel(f"{ways.of}, first exposure to each of these contexts", ways=ways, exposure="first"),
        Panel("The same contexts, second exposure", ways=ways, exposure="second"),
    ]


def _two_step(results: Results) -> list[Panel]:
    """Figure 6: which strategies explain choices, and when the gate opens."""
    from reinstate.figures.choices import strategy_weights

    weights = [replace(c, of=c.of.removesuffix(" episodes")) for c in strategy_weights(results)]
    _required(weights, results, "weights of strategies")
    charts = gates(_only(results, MEMORY))
    paired = [chart for chart in charts if chart.paired]
    slopes = _required(paired, results, "r-gates by block")
    over_epoch = charts[0]
    # Single seeds are the slopes beside it.
    means = [replace(s, per_seed=(), marker="") for s in over_epoch.series]
    return [
        Panel("Episodic two-step task", [_learning(results)]),
        Panel("Weights of strategies", weights),
        Panel(f"r-gate of {label(MEMORY)}", [replace(over_epoch, of="", series=means)]),
        Panel("The same by block, one line per seed", [replace(slopes, of="")]),
    ]


SIZES = {f"{AS_INPUT}-{size}": size for size in INPUT_SIZES} | {AS_INPUT: 50}  # units of the LSTM
INPUTS_NOTE = (
    "What runs earn above chance, as a share of what epL2RL earns above it with the r-gate, by how"
    " many numbers the state is compressed to; 50 is the whole state. Thin lines are single runs."
)


def memory_as_input(results: Results) -> list[Chart]:
    """Show what is left of the memory's worth as an input, where it was compressed."""
    agents, chance = results["agents"], results["optimum"].get("chance")
    if MEMORY not in agents or chance is None or not agents.keys() & {*SIZES} - {AS_INPUT}:
        return []
    series = by_inputs(label(AS_INPUT), colour(AS_INPUT) or GREY, agents, chance)
    return [inputs_chart([series])]


def by_inputs(name: str, colour: str, agents: Mapping[str, Any], chance: float) -> Series:
    """Make a line of mean gains by the numbers fed, as shares of epL2RL's, with all single runs."""
    best = agents[MEMORY]["reward"]["mean"]
    rewards = {
        size: agents[agent]["reward"]["per_seed"]
        for agent, size in SIZES.items()
        if agent in agents
    }
    gains = [[(each - chance) / (best - chance) for each in found] for found in rewards.values()]
    runs = [[*row] for row in zip_longest(*gains)]
    return Series(name, colour, [*rewards], [fmean(each) for each in gains], per_seed=runs)


def inputs_chart(series: Sequence[Series], of: str = "") -> Chart:
    """Put such lines between chance and epL2RL."""
    return Chart(
        title="Memory as an input",
        of=of,
        x_label="numbers fed, log scale",
        y_label="share of epL2RL's gain over chance",
        series=series,
        lines=[Line("chance", 0.0), Line("epL2RL, mean", 1.0)],
        log_x=True,
        note=INPUTS_NOTE,
    )
