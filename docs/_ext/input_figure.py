"""Recorded rewards → results/memory-as-input.svg: what the memory is worth as an input."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reinstate.agent import INPUT_SIZES
from reinstate.experiments import EXPERIMENTS
from reinstate.figures.chart import Chart, Line, Series
from reinstate.figures.mpl import draw
from reinstate.figures.style import COLOURS, SPARE
from reinstate.files import read_json, write_atomically

RESULTS = Path(__file__).parents[2] / "results"
FILE = RESULTS / "memory-as-input.svg"
WHOLE = 50  # units of the LSTM, all of them fed
SHARE = "share of epL2RL's gain over chance"
LINES = (Line("chance", 0.0), Line("epL2RL, mean", 1.0))
SHADES = (COLOURS["epl2rl"], COLOURS["l2rl"], COLOURS["l2rl-context"], SPARE[0], SPARE[4])


def charts() -> list[Chart]:
    """Show runs with the whole state, much trained; and compressed ones, little trained."""
    return [_whole_state(), _by_size()]


def _whole_state() -> Chart:
    """One column per experiment at the paper preset, one point per run."""
    series = []
    for place, (name, colour) in enumerate(zip(EXPERIMENTS, SHADES, strict=True), 1):
        found = read_json(RESULTS / name / "results.json")
        agents, chance = found["agents"], found["optimum"]["chance"]
        gains = _gains(agents["epl2rl-input"], agents["epl2rl"], chance)
        series.append(_series(f"Experiment {place}", colour, [place - 1], [gains]))
    return Chart(
        title="Memory as an input",
        of="much training: the whole state",
        x_label="experiment",
        y_label=SHARE,
        series=series,
        lines=LINES,
        categories=[str(place) for place in range(1, len(series) + 1)],
    )


def _by_size() -> Chart:
    """One line per experiment at the quick preset, by how many numbers are fed.

    Few seeds make intervals that say nothing: single runs are shown instead.
    """
    series = []
    agents = {size: f"epl2rl-input-{size}" for size in INPUT_SIZES} | {WHOLE: "epl2rl-input"}
    recorded = read_json(RESULTS / "inputs.json")["experiments"]
    for place, (name, colour) in enumerate(zip(EXPERIMENTS, SHADES, strict=True), 1):
        row = recorded[name]["quick"]
        gains = [
            _gains(row["agents"][agent], row["epl2rl"], row["chance"]) for agent in agents.values()
        ]
        series.append(_series(f"Experiment {place}", colour, list(agents), gains))
    return Chart(
        title="Memory as an input",
        of="little training: the state compressed",
        x_label="numbers fed",
        y_label=SHARE,
        series=series,
        lines=LINES,
        log_x=True,
    )


def _gains(agent: Any, best: Any, chance: float) -> list[float]:
    """Return what each run earns above chance, as a share of what epL2RL does on average."""
    reward = np.asarray(agent["reward"]["per_seed"])
    return [float(share) for share in (reward - chance) / (best["reward"]["mean"] - chance)]


def _series(name: str, colour: str, x: Sequence[float], gains: list[list[float]]) -> Series:
    """Make a series of means, with a row for each seed: some places have fewer."""
    rows = [
        [each[seed] if seed < len(each) else None for each in gains]
        for seed in range(max(map(len, gains)))
    ]
    return Series(name, colour, x, [float(np.mean(each)) for each in gains], per_seed=rows)


def write() -> None:
    """Draw it again where it differs: the same numbers give the same bytes."""
    drawn = draw(charts()).written("svg", dpi=200, metadata={"Date": None})
    if not FILE.exists() or FILE.read_bytes() != drawn:
        write_atomically(FILE, drawn)
