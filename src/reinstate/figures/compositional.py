"""Figures of Experiment 3, from what results.json holds."""

from typing import TYPE_CHECKING, Any

import numpy as np

from reinstate.figures.common import COLOURS, LABELS, SEED_POINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OPTIMUM_LINE: dict[str, Any] = {"color": "0.45", "linewidth": 0.8, "linestyle": (0, (4, 3))}


def regret_by_exposure(results: dict[str, Any]) -> "Figure":
    """Fig. 4b: cumulative regret by trial, a line an exposure; points at their ends are seeds.

    An episode counts under its better known stimulus, or each trial under the one that the memory
    was asked for.
    """
    from matplotlib.figure import Figure

    panels = [
        (f"{LABELS.get(name, name)}, by {words}", agent[scores])
        for name, agent in results["agents"].items()
        for scores, words in (("by_exposure", "the better known"), ("by_queried", "the queried"))
        if scores in agent and (scores == "by_exposure" or agent["retrieval"])
    ]
    figure = Figure(figsize=(2.9 * len(panels) + 0.5, 3.6), layout="constrained")
    every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    least = _least_regret(results.get("optimum") or {})
    for axes, (title, scores) in zip(every, panels, strict=True):
        _curves(axes, scores["regret_by_step"], np.array(scores["regret"]["per_seed"], float))
        if least is not None:
            axes.axhline(least, label="least without memory", zorder=0, **OPTIMUM_LINE)
        axes.set_title(title, loc="left", fontsize=9)
    every[0].set_ylabel("cumulative regret")
    handles, labels = every[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="outside lower center", fontsize=8, ncols=6)
    return figure


def _least_regret(optimum: dict[str, Any]) -> float | None:
    """Of an episode with two new stimuli."""
    if "both_novel" not in optimum:
        return None
    return float(optimum["either_known"] - optimum["both_novel"])


def _curves(axes: "Axes", curves: list[list[float]], seeds: np.ndarray) -> None:
    trials = np.arange(1, len(curves[0]) + 1)
    for exposure, (curve, shade) in enumerate(zip(curves, _shades(len(curves)), strict=True), 1):
        axes.plot(
            trials, np.array(curve, float), color=shade, linewidth=1.6, label=f"exposure {exposure}"
        )
        ends = np.full(len(seeds), trials[-1])
        axes.plot(ends, seeds[:, exposure - 1], color=shade, clip_on=False, **SEED_POINT)
    _tidy(axes, trials)
    axes.set_ylim(bottom=0)


def _exposure(axes: "Axes", exposure: int, curve: list[float], **look: Any) -> None:
    values = np.array(curve, float)  # None, where there was no such trial, becomes NaN
    axes.plot(np.arange(1, len(values) + 1), values, label=f"exposure {exposure}", **look)


def _shades(count: int) -> list[Any]:
    from matplotlib import colormaps

    return [colormaps["viridis"](0.9 * i / max(count - 1, 1)) for i in range(count)]


def _tidy(axes: "Axes", trials: np.ndarray) -> None:
    axes.set_xlabel("trial")
    axes.set_xlim(1, trials[-1])
    axes.spines[["top", "right"]].set_visible(False)


def probes(results: dict[str, Any]) -> "Figure":
    """Reward with a sound memory and with its probes: means, intervals, and each seed."""
    from matplotlib.figure import Figure

    name, agent = _with_probes(results)
    rewards = {"as trained": agent["reward"], **agent.get("probes", {})}
    figure = Figure(figsize=(5.6, 0.42 * len(rewards) + 1.2), layout="constrained")
    axes = figure.subplots()
    for place, reward in enumerate(rewards.values()):
        seeds = reward["per_seed"]
        low, high = reward["ci95"] or (reward["mean"], reward["mean"])
        axes.plot([low, high], [place, place], color=COLOURS.get(name), linewidth=1.2)
        axes.plot(reward["mean"], place, "o", color=COLOURS.get(name), markersize=6)
        axes.plot(seeds, np.full(len(seeds), place + 0.22), color="0.2", **SEED_POINT)
    for label, reward in results["reference_lines"].items():
        if label != "chance":
            axes.axvline(reward, zorder=0, **OPTIMUM_LINE)
            axes.annotate(
                label.replace(" without", "\nwithout"),
                (reward, 1.01),
                xycoords=("data", "axes fraction"),
                ha="center",
                fontsize=7,
                color="0.35",
            )
    axes.set_yticks(range(len(rewards)), list(rewards), fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel(f"reward an episode, {LABELS.get(name, name)}")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _with_probes(results: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The first agent that has a memory to be probed, or whichever was run first."""
    agents = results["agents"]
    name = next((n for n, agent in agents.items() if agent.get("probes")), next(iter(agents)))
    return name, agents[name]


def gates_by_trial(results: dict[str, Any]) -> "Figure":
    """How far the r-gate opens on each trial, by exposure of the stimulus asked for."""
    from matplotlib.figure import Figure

    name, agent = _with_probes(results)
    figure = Figure(figsize=(4.2, 3.1), layout="constrained")
    axes = figure.subplots()
    curves = agent["r_by_trial"]
    trials = np.arange(1, len(curves[0]) + 1)
    for exposure, (curve, shade) in enumerate(zip(curves, _shades(len(curves)), strict=True), 1):
        # Thinner with each, lest the last hide the others: they may well be the same.
        width = 5 / (exposure + 0.6)
        axes.plot(
            trials,
            np.array(curve, float),
            color=shade,
            linewidth=width,
            label=f"exposure {exposure}",
        )
    _tidy(axes, trials)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(f"r-gate, mean over units ({LABELS.get(name, name)})")
    axes.legend(frameon=False, fontsize=8)
    return figure
