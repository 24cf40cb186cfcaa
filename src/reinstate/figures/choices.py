"""Charts of the choice model: weights of strategies, stay probabilities, recovery."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from reinstate.analysis.results import Results
from reinstate.choices.documents import ChoiceFit, Recovery
from reinstate.choices.model import NAMES
from reinstate.choices.model import STRATEGIES as NAMES_OF_STRATEGIES
from reinstate.choices.participants import interval_and_p
from reinstate.choices.stay import COMPANION, ORDER, PANELS
from reinstate.figures.chart import Chart, Line, Series, sharing_y
from reinstate.figures.numbers import at, curve, finite, points
from reinstate.figures.style import COLOURS, STRATEGIES, shown_agents

SHORT = {"perseveration": "persev."}
TITLES = {
    "incremental_uncued": "previous episode, uncued",
    "incremental_cued": "previous episode, cued",
    "episodic": "cued episode",
}
COMPANION_LABEL = "Ritter et al., CogSci 2018"
BLACK = "#000000"
WIDTH = 0.6  # of a category that series share


class _Fitted(NamedTuple):
    """Whose choices were fitted, and what came of it."""

    label: str
    colour: str
    document: Any


def _agents(results: Results) -> list[_Fitted]:
    found = [_Fitted(a.label, a.colour, at(a.scores, "choices")) for a in shown_agents(results)]
    return [each for each in found if each.document]


def _participants(document: ChoiceFit) -> list[_Fitted]:
    """Give weights of a single participant the intervals of the fit itself."""
    group = {
        part: {n: {**w, "ci95": interval_and_p(document, part, n)[0]} for n, w in weights.items()}
        for part, weights in document["group"].items()
    }
    return [_Fitted("participants", COLOURS["epl2rl"], {**document, "group": group})]


def choice_weights(results: Results) -> list[Chart]:
    """Show Fig. 6b: weights of the strategies, agents side by side."""
    return _weights(_agents(results), "seeds")


def fitted_weights(document: ChoiceFit) -> list[Chart]:
    """Show the weights of participants, from the document of `fit_choices`."""
    return _weights(_participants(document), "participants")


def _weights(fitted: Sequence[_Fitted], people: str) -> list[Chart]:
    charts = []
    for part, names in NAMES.items():
        series: list[Series] = []
        for label, colour, document in fitted:
            group = at(document, "group", part)
            places = {float(place): at(group, name) for place, name in enumerate(names)}
            series += points(label, colour, places)
        if series:
            charts.append(
                Chart(
                    "Weights of the strategies",
                    "strategy",
                    "weight (log odds)",
                    series,
                    of=f"{part} episodes",
                    lines=[Line("", 0.0)],
                    categories=[SHORT.get(name, name) for name in names],
                    dodge=WIDTH / len(series),
                    note=f"Means with 95% intervals; small points are single {people}.",
                )
            )
    return sharing_y(charts)


def stay(results: Results) -> list[Chart]:
    """Show stay probabilities, agents side by side, and epL2RL's of the companion paper."""
    return _stay(_agents(results), companion=True)


def fitted_stay(document: ChoiceFit) -> list[Chart]:
    """Show stay probabilities of participants, who may have played another design."""
    return _stay(_participants(document), companion=False)


def _stay(fitted: Sequence[_Fitted], companion: bool) -> list[Chart]:
    people = "seeds" if companion else "participants"
    places = [float(place) for place in range(len(ORDER))]
    charts = []
    for name in PANELS:
        series: list[Series] = []
        for label, colour, document in fitted:
            panel = at(document, "stay", name)
            summary = {
                "mean": at(panel, "mean"),
                "ci95": at(panel, "ci95"),
                "per_seed": at(panel, "per_participant"),
            }
            series += curve(label, colour, summary, places)
        if series and companion:
            theirs = Series(COMPANION_LABEL, BLACK, places, COMPANION[name], marker="ring")
            series.append(replace(theirs, detail="read off a figure, ± .02"))
        if series:
            charts.append(
                Chart(
                    "How often an action is chosen again",
                    "how it went the last time",
                    "P(same action again)",
                    series,
                    of=TITLES[name],
                    lines=[Line("", 0.5)],
                    categories=[each.replace("-", " ") for each in ORDER],
                    include=[0.0, 1.0],
                    dodge=WIDTH / len(series),
                    note=f"Means with 95% intervals; small points are single {people}.",
                )
            )
    return charts


def weights_in_training(results: Results) -> list[Chart]:
    """Show how the strategies' weights on cued episodes come and go while agents learn."""
    charts = []
    for agent in shown_agents(results):
        milestones = {
            epoch: at(milestone, "weights", "cued")
            for milestone in at(agent.scores, "milestones") or ()
            if (epoch := finite(at(milestone, "epoch"))) is not None
        }
        series = [
            s
            for name in NAMES_OF_STRATEGIES
            for s in points(
                name, STRATEGIES[name], {x: at(group, name) for x, group in milestones.items()}
            )
        ]
        if series and _recalls(agent.scores):
            charts.append(
                Chart(
                    "Weights on cued episodes while it learns",
                    "epochs of training",
                    "weight (log odds)",
                    series,
                    of=agent.label,
                    lines=[Line("", 0.0)],
                    note="Means over seeds with 95% intervals; thin lines are single seeds.",
                )
            )
    return sharing_y(charts)


def _recalls(scores: object) -> bool:
    """Say whether an agent has an r-gate that opens: only it has episodic strategies."""
    return bool(finite(at(scores, "r_gate", "mean")))


def recovery(document: Recovery) -> list[Chart]:
    """Show true against recovered weights, from `simulated.recovery`."""
    charts = []
    for part in NAMES:
        own: list[Any] = [row for row in document["rows"] if row["part"] == part]
        groups = {n: [row for row in own if row["strategy"] == n] for n in STRATEGIES}
        series = [
            Series(
                name,
                STRATEGIES[name],
                [row["true"] for row in rows],
                [row["estimate"] for row in rows],
                [(row["low"], row["high"]) for row in rows],
                width=1.0,
            )
            for name, rows in groups.items()
            if rows
        ]
        if series:
            chart = Chart(
                "Recovery of known weights",
                "true weight",
                "recovered weight",
                series,
                of=f"{part} episodes",
                include=[row["true"] for row in document["rows"]],
                scatter=True,
                diagonal=True,
            )
            charts.append(chart)
    return sharing_y(charts)
