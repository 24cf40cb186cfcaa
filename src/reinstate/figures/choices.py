"""Figures of the choice model, from the document of `fit_choices`."""

from typing import TYPE_CHECKING, Any

import numpy as np

from reinstate.choices.model import NAMES, STRATEGIES
from reinstate.choices.participants import interval_and_p
from reinstate.choices.stay import COMPANION, PANELS
from reinstate.figures.common import SEED, SEED_POINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, as in the other figures.
COLOURS = {
    "IMF": "#E69F00",
    "IMB": "#0072B2",
    "EMF": "#CC79A7",
    "EMB": "#009E73",
    "bias": "0.55",
    "perseveration": "0.35",
    "alpha": "#D55E00",
}
SHORT = {"perseveration": "persev."}
OUTCOMES = ("rewarded\ncommon", "rewarded\nuncommon", "unrewarded\ncommon", "unrewarded\nuncommon")
TITLES = {
    "incremental_uncued": "previous episode, uncued",
    "incremental_cued": "previous episode, cued",
    "episodic": "cued episode",
}


def choice_weights(document: dict[str, Any]) -> "Figure":
    """Fig. 6b: weights of the strategies, uncued and cued: participants, mean and 95% interval."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.3), layout="constrained")
    parts = [part for part in NAMES if part in document["group"]]
    widths = [len(NAMES[part]) for part in parts]
    row = figure.subplots(1, len(parts), sharey=True, width_ratios=widths, squeeze=False)[0]
    for axes, part in zip(row, parts, strict=True):
        _weights(axes, document, part)
        axes.set_title(f"{part} episodes", loc="left", fontsize=10)
    row[0].set_ylabel("weight (log odds)")
    return figure


def _weights(axes: "Axes", document: dict[str, Any], part: str) -> None:
    axes.axhline(0, color="0.45", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    for place, name in enumerate(NAMES[part]):
        weight, colour = document["group"][part][name], COLOURS[name]
        aside = _spread(len(weight["per_seed"]), 0.3)
        axes.plot(place + aside, weight["per_seed"], "o", color=colour, markersize=3, alpha=0.45)
        ci95, _ = interval_and_p(document, part, name)
        _mean_and_interval(axes, place, weight["mean"], ci95, colour)
    axes.set_xticks(range(len(NAMES[part])), [SHORT.get(name, name) for name in NAMES[part]])
    axes.tick_params(axis="x", labelsize=8)
    axes.set_xlim(-0.6, len(NAMES[part]) - 0.4)
    axes.spines[["top", "right"]].set_visible(False)


def _spread(points: int, width: float) -> np.ndarray:
    """Side by side, so that no participant hides another."""
    return np.linspace(-width, width, points) if points > 1 else np.zeros(points)


def _mean_and_interval(
    axes: "Axes", place: float, mean: float, ci95: list[float] | None, colour: str
) -> None:
    if ci95 is not None:
        axes.plot([place, place], ci95, color=colour, linewidth=2)
    axes.plot(place, mean, "D", color=colour, markersize=6, markeredgecolor="black")


def stay_panels(document: dict[str, Any], companion: bool = True) -> "Figure":
    """Stay probabilities with 95% intervals; hollow markers are the companion paper's.

    Small points are single participants.
    """
    from matplotlib.figure import Figure

    stay = document["stay"]
    panels = [name for name in PANELS if any(stay[name]["episodes"])]
    figure = Figure(figsize=(2.9 * len(panels) + 0.4, 3.4), layout="constrained")
    row = figure.subplots(1, max(len(panels), 1), sharey=True, squeeze=False)[0]
    for axes, name in zip(row, panels, strict=False):
        _stay_panel(axes, stay[name], COMPANION[name] if companion else None)
        axes.set_title(TITLES[name], loc="left", fontsize=10)
    row[0].set_ylabel("P(same action again)")
    if companion:
        handles, labels = row[0].get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, loc="outside lower center", fontsize=8)
    return figure


def _stay_panel(axes: "Axes", panel: dict[str, Any], companion: tuple[float, ...] | None) -> None:
    places = np.arange(len(OUTCOMES))
    mean = np.array(panel["mean"], float)  # None, where nothing was met, becomes NaN
    colours = [COLOURS["IMB"] if rewarded else COLOURS["IMF"] for rewarded in (1, 1, 0, 0)]
    axes.bar(places, mean, color=colours, width=0.65, alpha=0.75)
    for place, ci95 in zip(places, panel["ci95"], strict=True):
        if ci95 is not None:
            axes.plot([place, place], np.clip(ci95, 0, 1), color="black", linewidth=1.4)
    if companion is not None:
        label = "Ritter et al., CogSci 2018 (read off a figure, ± .02)"
        style: Any = {"linestyle": "none", "marker": "o", "markersize": 6}
        style |= {"markerfacecolor": "white", "markeredgecolor": "black", "clip_on": False}
        axes.plot(places, companion, **style, zorder=3, label=label)
    people = np.array(panel.get("per_participant", []), float)  # (participants, 4)
    for row, aside in zip(people, _spread(len(people), 0.24), strict=True):
        axes.plot(places + aside, row, color="black", **SEED_POINT)
    axes.axhline(0.5, color="0.45", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    axes.set_xticks(places, OUTCOMES, fontsize=7)
    axes.set_ylim(0, 1)
    axes.spines[["top", "right"]].set_visible(False)


def recovery_figure(data: dict[str, Any]) -> "Figure":
    """True against recovered weights, with 95% intervals; on the diagonal all is well."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.9), layout="constrained")
    rows = data["rows"]
    parts = [part for part in NAMES if any(row["part"] == part for row in rows)]
    every = [row[name] for row in rows for name in ("true", "low", "high")]
    margin = 0.03 * (max(every) - min(every))
    limits = min(every) - margin, max(every) + margin
    for axes, part in zip(
        figure.subplots(1, len(parts), sharey=True, squeeze=False)[0], parts, strict=True
    ):
        axes.axline((0, 0), slope=1, color="0.45", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
        for name, colour in COLOURS.items():
            own = [row for row in rows if row["part"] == part and row["strategy"] == name]
            if own:
                _recovered(axes, own, name, colour)
        axes.set(xlim=limits, ylim=limits)
        axes.set_title(f"{part} episodes", loc="left", fontsize=10)
        axes.set_xlabel("true weight")
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("recovered weight")
    handles, labels = figure.axes[-1].get_legend_handles_labels()
    figure.legend(
        handles, labels, frameon=False, loc="outside lower center", fontsize=8, ncols=len(labels)
    )
    return figure


def _recovered(axes: "Axes", rows: list[dict[str, Any]], name: str, colour: str) -> None:
    true, estimate = ([row[key] for row in rows] for key in ("true", "estimate"))
    beyond = [
        [row["estimate"] - row["low"] for row in rows],
        [row["high"] - row["estimate"] for row in rows],
    ]
    axes.errorbar(
        true,
        estimate,
        yerr=beyond,
        color=colour,
        label=name,
        linestyle="none",
        marker="o",
        markersize=3,
        elinewidth=0.8,
    )


def weights_in_training(agent: dict[str, Any]) -> "Figure":
    """How the strategies' weights on cued episodes come and go while an agent learns.

    Thin lines are single seeds.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.axhline(0, color="0.45", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    points = [(stone["epoch"], stone["weights"]) for stone in agent.get("milestones", [])]
    points = [(epoch, weights["cued"]) for epoch, weights in points if "cued" in weights]
    for name in STRATEGIES:
        colour = COLOURS[name]
        weights = [group[name] for _, group in points]
        epochs = [epoch for epoch, _ in points]
        axes.plot(
            epochs, [w["mean"] for w in weights], "o-", color=colour, label=name, markersize=3.5
        )
        for seed in zip(*(w["per_seed"] for w in weights), strict=True):
            axes.plot(epochs, seed, color=colour, **SEED)
        if weights and weights[0]["ci95"]:
            low, high = np.array([w["ci95"] for w in weights]).T
            axes.fill_between(epochs, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_xlabel("epochs of training")
    axes.set_ylabel("weight, cued episodes")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, loc="outside upper left", fontsize=8, ncols=4)
    return figure
