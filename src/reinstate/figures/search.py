"""A search → four small panels; takes what search.json holds, so that it can be redrawn from it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from reinstate.figures.common import COLOURS, LABELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Trial = dict[str, Any]
Place = Callable[[Trial], float]  # where on the horizontal axis a trial stands

PANELS = {  # hyper-parameter → whether it lies on a logarithmic axis, or is a choice of a few
    "learning_rate": True,
    "entropy_cost": True,
    "discount": False,
    "value_cost": False,
}
WIDTH = 0.5  # of the strip over which the dots of one choice are spread
FAILED = 0.02  # where crosses of failed settings stand, as a share of the panel's height


def search_panels(document: dict[str, Any], title: str) -> "Figure":
    """Reward against each hyper-parameter, a dot a setting; the preset and the best are marked."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.2, 5.0), layout="constrained")
    panels = figure.subplots(2, 2, sharey=True).ravel()
    for axes, (name, logarithmic) in zip(panels, PANELS.items(), strict=True):
        draw_axis = _logarithm if logarithmic else _choices
        place = draw_axis(axes, document["trials"], name)
        for agent in document["standing"]:
            _dots(axes, document["trials"], agent, place)
        for agent in document["standing"]:  # after all dots: it is also the legend's order
            _marks(axes, document, agent, place)
        axes.set_xlabel(name.replace("_", " "))
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[::2]:
        axes.set_ylabel("reward an episode")
    panels[0].set_title(f"{title}, search", loc="left", fontsize=10)
    handles, labels = panels[0].get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    figure.legend(
        unique.values(),
        unique.keys(),
        frameon=False,
        loc="outside lower center",
        fontsize=8,
        ncols=4,
    )
    return figure


def _logarithm(axes: "Axes", trials: list[Trial], name: str) -> Place:
    axes.set_xscale("log")
    return lambda trial: trial["setting"][name]


def _choices(axes: "Axes", trials: list[Trial], name: str) -> Place:
    """Choices at equal distances; the dots of each beside each other, by the trial's number."""
    choices = sorted({trial["setting"][name] for trial in trials})
    axes.set_xticks(range(len(choices)), [f"{choice:g}" for choice in choices])
    axes.set_xlim(-0.6, len(choices) - 0.4)

    def place(trial: Trial) -> float:
        aside = WIDTH * (trial["number"] / max(len(trials) - 1, 1) - 0.5)
        return choices.index(trial["setting"][name]) + aside

    return place


def _points(
    trials: list[Trial], agent: str, place: Place
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each trial that the agent has done: number, place, and reward (NaN where it failed)."""
    done = [trial for trial in trials if agent in trial["agents"]]
    rewards = [trial["agents"][agent]["reward"] for trial in done]
    return (
        np.array([trial["number"] for trial in done]),
        np.array([place(trial) for trial in done]),
        np.array(rewards, float),
    )


def _dots(axes: "Axes", trials: list[Trial], agent: str, place: Place) -> None:
    _, x, y = _points(trials, agent, place)
    dot: Any = {"linestyle": "none", "marker": "o", "markersize": 3.5, "markeredgewidth": 0}
    axes.plot(x, y, color=COLOURS.get(agent), alpha=0.7, label=LABELS.get(agent, agent), **dot)


def _marks(axes: "Axes", document: dict[str, Any], agent: str, place: Place) -> None:
    numbers, x, y = _points(document["trials"], agent, place)
    best = -1 if document["best"] is None else document["best"]["number"]
    first = LABELS.get(document["agent"], document["agent"])
    _mark(axes, x, y, numbers == best, "o", f"best for {first}")
    _mark(axes, x, y, numbers == 0, "D", "preset")
    _crosses(axes, x[np.isnan(y)], agent)


def _crosses(axes: "Axes", x: np.ndarray, agent: str) -> None:
    """Settings that failed have no reward: they stand at the bottom."""
    if len(x):
        cross: Any = {"linestyle": "none", "marker": "x", "markersize": 4}
        y, at_bottom = np.full(x.shape, FAILED), axes.get_xaxis_transform()
        axes.plot(x, y, color=COLOURS.get(agent), transform=at_bottom, **cross)
        axes.plot([], [], color="0.35", label="failed", **cross)


def _mark(
    axes: "Axes", x: np.ndarray, y: np.ndarray, here: np.ndarray, marker: str, label: str
) -> None:
    """Around a dot, so that its colour still says whose it is."""
    style: Any = {"linestyle": "none", "markerfacecolor": "none", "markeredgecolor": "black"}
    axes.plot(x[here], y[here], marker=marker, markersize=8, label=label, zorder=3, **style)
