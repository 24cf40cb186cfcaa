"""Charts of a search over hyper-parameters, from what search.json holds."""

from collections.abc import Callable, Sequence
from typing import Any

from reinstate.figures.chart import Chart, Series
from reinstate.figures.numbers import finite
from reinstate.figures.style import BLACK, GREY, label, palette

Trial = dict[str, Any]

PANELS = {  # hyper-parameter → whether it lies on a logarithmic axis, or is a choice of a few
    "learning_rate": True,
    "entropy_cost": True,
    "discount": False,
    "value_cost": False,
}
WIDTH = 0.5  # of the strip over which the points of one choice are spread


def search_panels(document: dict[str, Any]) -> list[Chart]:
    """Show reward against each hyper-parameter, one point per setting; preset and best are marked.

    Settings that failed have no reward: they are crosses at the bottom.
    """
    return [_panel(document, name, logarithmic) for name, logarithmic in PANELS.items()]


def _panel(document: dict[str, Any], name: str, logarithmic: bool) -> Chart:
    trials, agents = document["trials"], list(document["standing"])
    choices = [] if logarithmic else sorted({trial["setting"][name] for trial in trials})

    def place(trial: Trial) -> float:
        """Choices stand at equal distances; the points of each lie beside each other."""
        value: float = trial["setting"][name]
        aside = WIDTH * (trial["number"] / max(len(trials) - 1, 1) - 0.5)
        return value if logarithmic else choices.index(value) + aside

    series = [
        _points(label(agent), colour, trials, [agent], place)
        for agent, colour in zip(agents, palette(agents), strict=True)
    ]
    best = None if document["best"] is None else document["best"]["number"]
    marked = {f"best for {label(document['agent'])}": (best, "ring"), "preset": (0, "diamond")}
    for words, (number, marker) in marked.items():
        chosen = [trial for trial in trials if trial["number"] == number]
        series.append(_points(words, BLACK, chosen, agents, place, marker=marker))
    failed = _points("failed", GREY, trials, agents, place, failed=True, marker="cross")
    return Chart(
        "Search",
        name.replace("_", " "),
        "reward per episode",
        [each for each in [*series, failed] if each.x],
        categories=[f"{choice:g}" for choice in choices],
        include=[y for agent in agents for t in trials if (y := _reward(t, agent)) is not None],
        scatter=True,
        log_x=logarithmic,
    )


def _reward(trial: Trial, agent: str) -> float | None:
    return finite(trial["agents"].get(agent, {}).get("reward"))


def _points(
    name: str,
    colour: str,
    trials: Sequence[Trial],
    agents: Sequence[str],
    place: Callable[[Trial], float],
    failed: bool = False,
    **looks: Any,
) -> Series:
    """Gather these agents' rewards in these trials, or the trials in which they failed."""
    found = [
        (place(trial), reward)
        for agent in agents
        for trial in trials
        if agent in trial["agents"] and ((reward := _reward(trial, agent)) is None) == failed
    ]
    return Series(name, colour, [x for x, _ in found], [y for _, y in found], **looks)
