"""Charts of the choice model: weights of strategies, stay probabilities, recovery."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any

from reinstate.analysis.results import Results
from reinstate.choices import model
from reinstate.choices.documents import ORDER, PANELS, ChoiceFit, Recovery, interval_and_p
from reinstate.choices.stay import COMPANION
from reinstate.figures.chart import Chart, Line, Series, at, curve, points, sharing_y, with_series
from reinstate.figures.style import BLACK, STRATEGIES, ShownAgent, colour, shown_agents

# Title, x-label and y-label of each kind of chart.
WEIGHTS = "Weights of the strategies", "strategy", "weight (log odds)"
STAY = "How often an action is chosen again", "how it went the last time", "P(same action again)"
TRAINING = "Weights on cued episodes while it learns", "epochs of training", "weight (log odds)"
RECOVERY = "Recovery of known weights", "true weight", "recovered weight"

SHORT = {"perseveration": "persev."}
TITLES = {
    "incremental_uncued": "previous episode, uncued",
    "incremental_cued": "previous episode, cued",
    "episodic": "cued episode",
}
COMPANION_LABEL = "Ritter et al., CogSci 2018"
ZERO, CHANCE = [Line("", 0.0)], [Line("", 0.5)]
MOST_AGENTS = 30  # whose recovered weights are shown with intervals, in one chart per part
WIDTH = 0.6  # of a category that series share
GROUPS = tuple(colour(name) or BLACK for name in ("epl2rl", "l2rl", "l2rl-context", "epl2rl-input"))


def choice_weights(results: Results, shown: Sequence[str] | None = None) -> list[Chart]:
    """Show Fig. 6b: weights of the strategies, or of some of them, agents side by side."""
    return _weights(_agents(results), "seeds", shown)


def fitted_weights(documents: Mapping[str, ChoiceFit]) -> list[Chart]:
    """Show the weights of participants, from documents of `fit_choices` by their labels."""
    return _weights(_participants(documents), "participants")


def stay(results: Results) -> list[Chart]:
    """Show stay probabilities, agents side by side, and epL2RL's of the companion paper."""
    return _stay(_agents(results), "seeds", companion=True)


def fitted_stay(documents: Mapping[str, ChoiceFit]) -> list[Chart]:
    """Show stay probabilities of participants, who may have played another design."""
    return _stay(_participants(documents), "participants", companion=False)


def _agents(results: Results) -> list[ShownAgent]:
    """Return agents with the fits of their choices as scores."""
    return [agent._replace(scores=at(agent.scores, "choices")) for agent in shown_agents(results)]


def _participants(documents: Mapping[str, ChoiceFit]) -> list[ShownAgent]:
    """Give weights of a single participant the intervals of the fit itself."""
    colours = dict(zip(documents, cycle(GROUPS), strict=False))
    shown = []
    for label, document in documents.items():
        group = {
            part: {n: {**w, "ci95": interval_and_p(document, part, n)[0]} for n, w in own.items()}
            for part, own in document["group"].items()
        }
        fit: Any = {**document, "group": group}
        shown.append(ShownAgent("", label, colours[label], fit))
    return shown


def _weights(
    fitted: Sequence[ShownAgent], people: str, shown: Sequence[str] | None = None
) -> list[Chart]:
    charts = []
    for part, every in model.NAMES.items():
        names = [name for name in every if shown is None or name in shown]
        series: list[Series] = []
        for agent in fitted:
            group = at(agent.scores, "group", part)
            places = {float(place): _weight(group, name) for place, name in enumerate(names)}
            series += points(agent.label, agent.colour, places, marker=agent.marker)
        short = [SHORT.get(name, name) for name in names]
        of = f"{part} episodes"
        charts.append(_side_by_side(WEIGHTS, series, short, people, of=of, lines=ZERO))
    return sharing_y(charts)


def _weight(group: object, name: str) -> Any:
    """Return a weight as series know it: what they call seeds are participants here."""
    found = at(group, name)
    return found and {**found, "per_seed": found.get("per_participant")}


def _stay(fitted: Sequence[ShownAgent], people: str, companion: bool) -> list[Chart]:
    places = [float(place) for place in range(len(ORDER))]
    names = [name.replace("unrewarded", "no reward").replace("-", " ") for name in ORDER]
    looks: Any = {"marker": "ring", "detail": "± .02"}
    charts = []
    for panel in PANELS:
        series: list[Series] = []
        for agent in fitted:
            found = at(agent.scores, "stay", panel)
            summary = found and {**found, "per_seed": found.get("per_participant")}
            series += curve(agent.label, agent.colour, summary, places)
            predicted = at(agent.scores, "stay_predicted", panel)
            named = f"{agent.label}, by the model"
            series += curve(named, agent.colour, predicted, places, marker="ring")
        if series and companion:
            series.append(Series(COMPANION_LABEL, BLACK, places, COMPANION[panel], **looks))
        within = [[e and (max(e[0], 0.0), min(e[1], 1.0)) for e in s.ci95] for s in series]
        series = [replace(s, ci95=ends) for s, ends in zip(series, within, strict=True)]
        # A little below 0, so that points there are whole.
        rest: Any = {"of": TITLES[panel], "lines": CHANCE, "include": [-0.02, 1.0]}
        charts.append(_side_by_side(STAY, series, names, people, **rest))
    return with_series(charts)


def _side_by_side(
    labels: tuple[str, str, str], series: list[Series], names: list[str], people: str, **rest: Any
) -> Chart:
    """Make a chart of categories in which no series hides another."""
    note = f"Means with 95% intervals; small points are single {people}."
    dodge = WIDTH / max(len(series), 1)
    return Chart(*labels, series, categories=names, dodge=dodge, note=note, **rest)


def weights_in_training(results: Results) -> list[Chart]:
    """Show how the strategies' weights on cued episodes come and go while agents learn."""
    note = "Means over seeds with 95% intervals; thin lines are single seeds."
    charts = []
    for agent in shown_agents(results):
        if not at(agent.scores, "r_gate", "mean"):
            continue  # an r-gate that never opens: it has no episodic strategies
        milestones = {
            milestone["epoch"]: at(milestone, "weights", "cued")
            for milestone in agent.scores.get("milestones", ())
        }
        series: list[Series] = []
        for name in model.STRATEGIES:
            weights = {epoch: _weight(group, name) for epoch, group in milestones.items()}
            series += points(name, STRATEGIES[name], weights)
        charts.append(Chart(*TRAINING, series, of=agent.label, lines=ZERO, note=note))
    return sharing_y(charts)


def recovery(document: Recovery) -> list[Chart]:
    """Show true against recovered weights, from `reinstate.choices.recovery`.

    Of many agents, each weight has a chart of its own, and intervals would hide the points.
    """
    every: list[Any] = list(document["rows"])
    crowded = len({row["participant"] for row in every}) > MOST_AGENTS
    looks: Any = {"include": [row["true"] for row in every], "scatter": True, "diagonal": True}
    charts = []
    for part in model.NAMES:
        series = []
        for name, own in STRATEGIES.items():
            rows = [row for row in every if row["part"] == part and row["strategy"] == name]
            true, estimates = [row["true"] for row in rows], [row["estimate"] for row in rows]
            ci95 = [] if crowded else [(row["low"], row["high"]) for row in rows]
            series += [Series(name, own, true, estimates, ci95, width=1.0)] if rows else []
        if crowded:
            charts += [Chart(*RECOVERY, [one], of=f"{one.name}, {part}", **looks) for one in series]
        else:
            charts.append(Chart(*RECOVERY, series, of=f"{part} episodes", **looks))
    return sharing_y(charts)
