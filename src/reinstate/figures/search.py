"""Charts of a search over hyper-parameters, from what search.json holds."""

from collections.abc import Sequence
from typing import Any

from reinstate.analysis.searches import SearchDocument, Trial, agents_of, best_for
from reinstate.figures.chart import Chart, Marker, Series
from reinstate.figures.numbers import finite
from reinstate.figures.style import BLACK, GREY, label, palette

PANELS = {  # hyper-parameter → whether it lies on a logarithmic axis, or is a choice of a few
    "learning_rate": True,
    "entropy_cost": True,
    "discount": False,
    "value_cost": False,
}
WIDTH = 0.5  # of the strip over which the points of one choice are spread


def search_panels(document: SearchDocument) -> list[Chart]:
    """Show reward against each hyper-parameter, one point per setting; preset and best are marked.

    Settings that failed have no reward: they are crosses at the bottom.
    """
    return [_panel(document, name, logarithmic) for name, logarithmic in PANELS.items()]


def _panel(document: SearchDocument, name: str, logarithmic: bool) -> Chart:
    trials, agents = document["trials"], agents_of(document["trials"])
    choices = [] if logarithmic else sorted({trial["setting"][name] for trial in trials})
    best, leader = best_for(trials, document["agent"]), label(document["agent"])
    chosen = [best] if best else []
    preset = [trial for trial in trials if trial["number"] == 0]

    def place(trial: Trial) -> float:
        """Choices stand at equal distances; the points of each lie beside each other."""
        value: float = trial["setting"][name]
        aside = WIDTH * (trial["number"] / max(len(trials) - 1, 1) - 0.5)
        return value if logarithmic else choices.index(value) + aside

    def points(
        text: str, colour: str, of: Sequence[Trial], agents: Sequence[str], marker: Marker = "dot"
    ) -> Series:
        """Gather these agents' rewards in these trials; crosses are the trials that failed."""
        entered = [(agent, t) for agent in agents for t in of if agent in t["agents"]]
        rewards = [(place(t), finite(t["agents"][agent].get("reward"))) for agent, t in entered]
        known = [(x, y) for x, y in rewards if (y is None) == (marker == "cross")]
        return Series(text, colour, [x for x, _ in known], [y for _, y in known], marker=marker)

    colours = palette(agents)
    series = [points(label(a), c, trials, [a]) for a, c in zip(agents, colours, strict=True)]
    series += [
        points(f"best for {leader}", BLACK, chosen, agents, "ring"),
        points("preset", BLACK, preset, agents, "diamond"),
        points("failed", GREY, trials, agents, "cross"),
    ]
    shown = [each for each in series if each.x]
    names = [f"{choice:g}" for choice in choices]
    looks: Any = {"categories": names, "scatter": True, "log_x": logarithmic}
    return Chart("Search", name.replace("_", " "), "reward per episode", shown, **looks)
