"""The paper's Figures 3 to 6, composed of recorded results; and memory as an input."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from reinstate.agent import INPUT_SIZES
from reinstate.analysis.results import Results
from reinstate.errors import UserError
from reinstate.figures.chart import Chart, Line, Marker, Series, sharing_y
from reinstate.figures.exposures import by_exposure, gates, regret, steps_to_goal
from reinstate.figures.learning import training_curves
from reinstate.figures.mazes import trajectories
from reinstate.figures.mpl import draw, save_figure
from reinstate.figures.style import GREY, colour, label
from reinstate.files import read_json
from reinstate_paper.composing import Panel, compose

if TYPE_CHECKING:
    from reinstate.figures.canvas import Figure

MEMORY, PLAIN = "epl2rl", "l2rl"
MOST_POINTS = 80  # of a curve in print
HEADROOM = 0.06  # for the label of the highest line
AS_INPUT = "epl2rl-input"  # agents that the paper omits from its plots (section 4.1)
# Lines' labels that fit into a column; captions say the rest.
SHORT = {
    "best without episodic memory": "best without",
    "ideal with episodic recall": "ideal with memory",
    "ideal without it": "ideal without",
}

Documents = Mapping[str, Results]  # by experiment


SEEDS = (
    " Thin lines and small points are single seeds, bands and bars 95% intervals over seeds. Agents"
    " whose memory is an input are left out, as in the paper."
)
CAPTIONS = {
    3: "Bandits. (a, b) Reward per episode while learning barcode and Omniglot bandits, against the"
    " environment steps of one seed. Dashed: the most that is possible with an episodic memory (an"
    " upper bound) and without one (exact), and chance. (c) Cumulative regret of epL2RL by pull in"
    " Omniglot bandits with frozen weights, one line per exposure to the context; lines between"
    " exposures 2 and 10 are 3 to 9. Points at pull 10 are single seeds. Grey: bandit algorithms,"
    " which have no memory of earlier episodes. (d) The same of L2RL, for which all exposures are"
    " alike.",
    4: "Compositional bandits. (a) Reward per episode while learning. Recall is switched on halfway"
    " through training. Epochs of training have 20 classes, those of the evaluation 400, among"
    " which recall errs more often: the curve ends above the reward of the evaluation. (b)"
    " Cumulative regret of epL2RL with frozen weights, by the number of exposures to whichever of"
    " the two stimuli was met more often. At exposure 1 both are new. There it lies above the least"
    " that is possible without memory, since a state comes back nevertheless, and nothing tells the"
    " agent that it belongs to another class. Points at pull 10 are single seeds.",
    5: "Water maze. (a) Reward per episode while learning. Dashed: the most that is possible with"
    " an episodic memory (an upper bound) and without one, and a random walk. (b) Steps to the"
    " first goal by exposure, with frozen weights; a goal never found counts as the whole"
    " episode. (c, d) Paths of epL2RL to the first goal at the first and second exposure to the"
    " same contexts, from the same start. Early steps are orange, late ones blue. A path that"
    " takes an edge again is drawn beside its earlier stretch.",
    6: "Episodic two-step task. (a) Reward per episode while learning. Dashed: an ideal player"
    " with episodic recall (exact), the best player known without it (simulated), and chance."
    " (b) Weights of the choice strategies on uncued and cued episodes: incremental and episodic"
    " (I, E), model-free and model-based (MF, MB). Points hide most intervals. (c) The r-gate of"
    " epL2RL at each stage of an episode, mean over units and seeds; the last 50 episodes are"
    " cued. (d) The same by block, one line per seed.",
}


def _captioned(number: int, panels: Sequence[Panel], width: str) -> "Figure":
    figure = compose(panels, width)
    figure.caption = f"Figure {number}. {CAPTIONS[number]}{SEEDS}"
    return figure


def _plotted(results: Results, only: str = "") -> Results:
    """Leave out what the paper does, agents whose memory is an input; or all agents but one."""
    agents = results["agents"].items()
    kept = {n: a for n, a in agents if (n == only if only else not n.startswith(AS_INPUT))}
    return {**results, "agents": kept}


def _required(charts: Sequence[Any], results: Results, what: str) -> Any:
    """Return the first chart, or say what is not recorded."""
    if not charts:
        raise UserError(f"the results of {results['experiment']} hold no {what} to draw")
    return charts[0]


def _learning(results: Results, chance: bool = True) -> Chart:
    found: Chart = _required(training_curves(results), results, "training curves")
    names = SHORT if chance else SHORT | {"best with memory (a bound)": "upper bound"}
    every = [Line(names.get(text, text), at) for text, at in found.lines]
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
    charts = regret(_plotted(results, agent))
    return replace(_required(charts, results, f"regret of {label(agent)}"), of="")


def figure_3(documents: Documents, width: str | None = None) -> "Figure":
    """Compose Figure 3: with memory regret falls with every exposure, and without it does not."""
    names = "barcode-bandits", "omniglot-bandits"
    barcode, omniglot = (_plotted(documents[name]) for name in names)
    learning = sharing_y([_learning(barcode), _learning(omniglot)])
    by_pull = sharing_y([_regret(omniglot, agent) for agent in (MEMORY, PLAIN)])
    titles = ["Barcode bandits", "Omniglot bandits"]
    titles += [f"Omniglot bandits, {label(agent)}" for agent in (MEMORY, PLAIN)]
    charts = [*learning, *by_pull]
    panels = [Panel(title, [chart]) for title, chart in zip(titles, charts, strict=True)]
    return _captioned(3, panels, width or "page")


def figure_4(documents: Documents, width: str | None = None) -> "Figure":
    """Compose Figure 4: what is known of one stimulus helps with another."""
    results = _plotted(documents["compositional-bandits"])
    known = "Regret by number of exposures (larger of the two stimuli)"
    panels = [
        # All agents are far above chance, which would squeeze what sets them apart.
        Panel("Compositional bandits", [_learning(results, chance=False)]),
        Panel(known, [_regret(results, MEMORY)]),
    ]
    return _captioned(4, panels, width or "column")


def figure_5(documents: Documents, width: str | None = None) -> "Figure":
    """Compose Figure 5: after one exposure the way to the goal is known."""
    results = _plotted(documents["water-maze"])
    steps = _required(steps_to_goal(results), results, "steps to the goal")
    ways = _required(trajectories(results), results, "trajectories")
    panels = [
        Panel("Water maze", [_learning(results)]),
        Panel("Steps to the first goal", [steps]),
        Panel(f"{ways.of}, first exposure to each of these contexts", ways=ways, exposure="first"),
        Panel("The same contexts, second exposure", ways=ways, exposure="second"),
    ]
    return _captioned(5, panels, width or "page")


def figure_6(documents: Documents, width: str | None = None) -> "Figure":
    """Compose Figure 6: which strategies explain choices, and when the gate opens."""
    from reinstate.choices.model import STRATEGIES
    from reinstate.figures.choices import choice_weights

    results = _plotted(documents["two-step"])
    every = choice_weights(results, STRATEGIES)  # without bias and perseveration
    weights = [replace(c, of=c.of.removesuffix(" episodes")) for c in every]
    _required(weights, results, "weights of strategies")
    charts = gates(_plotted(results, MEMORY))
    paired = [chart for chart in charts if chart.paired]
    slopes = _required(paired, results, "r-gates by block")
    over_epoch = charts[0]
    # Single seeds are the slopes beside it.
    means = [replace(s, per_seed=(), marker="") for s in over_epoch.series]
    panels = [
        Panel("Episodic two-step task", [_learning(results)]),
        Panel("Weights of strategies", weights),
        Panel(f"r-gate of {label(MEMORY)}", [replace(over_epoch, of="", series=means)]),
        Panel("The same by block, one line per seed", [replace(slopes, of="")]),
    ]
    return _captioned(6, panels, width or "page")


WITHOUT = ("no memory", "chance")


def rewards(results: Results) -> list[Chart]:
    """Show the rewards of agents of many kinds: while they learn, and by exposure."""
    learning, later = training_curves(results), by_exposure(results)
    # The best of all exposures together is none of a single one's.
    low = [line for chart in learning for line in chart.lines if line.label in WITHOUT]
    later = [replace(chart, lines=low, dodge=0.0) for chart in later]
    top = max((y for chart in (*learning, *later) for y in chart.heights), default=1.0)
    return [
        # Many agents' single seeds would hide each other.
        replace(
            c,
            series=[replace(s, per_seed=(), detail="") for s in c.series],
            include=[(1 + HEADROOM) * top],
        )
        for c in (*learning, *later)
    ]


SIZES = [*(f"{AS_INPUT}-{size}" for size in INPUT_SIZES), AS_INPUT]
FED = [*map(str, INPUT_SIZES), "all 50"]  # numbers of the LSTM's units
AMOUNTS = {"quick": "little training", "paper": "much training"}  # of the presets in inputs.json
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#B8860B", "#666666")
SHAPES: tuple[Marker, ...] = ("dot", "square", "triangle", "ring", "cross")
INPUTS_NOTE = (
    "What runs earn above chance, as a share of what epL2RL earns above it with the r-gate, by how"
    " many numbers the state is compressed to. Small points are single runs."
)


def memory_as_input(results: Results) -> list[Chart]:
    """Show what is left of the memory's worth as an input, where it was compressed."""
    agents, chance = results["agents"], results["optimum"].get("chance")
    if MEMORY not in agents or chance is None or not agents.keys() & {*SIZES[:-1]}:
        return []
    own = colour(AS_INPUT) or GREY
    return [_inputs_chart([Series(label(AS_INPUT), own, **_by_inputs(agents, chance))])]


def inputs_charts(inputs: Mapping[str, Any]) -> list[Chart]:
    """Show the same of all experiments of inputs.json, in a panel for each preset."""
    charts = []
    for preset, amount in AMOUNTS.items():
        series = [
            Series(
                f"Experiment {number}",
                COLOURS[number - 1],
                marker=SHAPES[number - 1],
                **_by_inputs(presets[preset]["agents"], presets[preset]["chance"]),
            )
            for number, presets in enumerate(inputs["experiments"].values(), 1)
        ]
        charts.append(_inputs_chart(series, amount))
    return sharing_y(charts)


def _by_inputs(agents: Mapping[str, Any], chance: float) -> dict[str, Any]:
    """Return mean gains by the numbers fed, as shares of epL2RL's, and those of all single runs."""
    best = agents[MEMORY]["reward"]["mean"]
    found = {
        place: [(each - chance) / (best - chance) for each in agents[agent]["reward"]["per_seed"]]
        for place, agent in enumerate(SIZES)
        if agent in agents
    }
    runs = [[*row] for row in zip_longest(*found.values())]
    return {"x": [*found], "y": [fmean(each) for each in found.values()], "per_seed": runs}


def _inputs_chart(series: Sequence[Series], of: str = "") -> Chart:
    """Put such points between chance and epL2RL."""
    return Chart(
        title="Memory as an input",
        of=of,
        x_label="numbers fed to the LSTM",
        y_label="share of epL2RL's gain over chance",
        series=series,
        lines=[Line("chance", 0.0), Line("epL2RL, mean", 1.0)],
        categories=FED,
        dodge=0.7 / len(series),
        note=INPUTS_NOTE,
    )


if __name__ == "__main__":  # inputs.json, and the file to draw
    recorded, out = map(Path, sys.argv[1:])
    save_figure(draw(inputs_charts(read_json(recorded)), "Memory as an input"), out, dpi=200)
