"""Recorded rewards → results/memory-as-input.svg: what the memory is worth as an input."""

from dataclasses import replace

import reinstate.figures.page  # noqa: F401  # before what it imports in a circle
from reinstate.figures.chart import Chart, Series
from reinstate.figures.mpl import draw
from reinstate.files import read_json, write_atomically
from reinstate_paper import EXPERIMENTS
from reinstate_paper.inputs_page import SHADES, gains, input_charts, runs_and_mean
from words import RESULTS

FILE = RESULTS / "memory-as-input.svg"
RECORDS = [RESULTS / "inputs.json", *(RESULTS / name / "results.json" for name in EXPERIMENTS)]
NAMES = {name: f"Experiment {place}" for place, name in enumerate(EXPERIMENTS, 1)}


def charts() -> list[Chart]:
    """Show runs with the whole state, much trained; and compressed ones, little trained.

    Few seeds make intervals that say nothing: single runs are shown instead.
    """
    recorded = read_json(RESULTS / "inputs.json")["experiments"]
    rows = {name: {"quick": recorded[name]["quick"]} for name in EXPERIMENTS}
    (by_size,) = input_charts(rows, NAMES)
    plain = replace(by_size, include=(), x_label="numbers fed", note="")
    whole = replace(
        plain,
        of="much training: the whole state",
        x_label="experiment",
        series=_whole_state(),
        log_x=False,
        categories=[str(place) for place in range(1, len(NAMES) + 1)],
    )
    return [whole, replace(plain, of="little training: the state compressed")]


def _whole_state() -> list[Series]:
    """One column per experiment at the paper preset, one point per run."""
    series = []
    for place, (name, colour) in enumerate(zip(EXPERIMENTS, SHADES, strict=True)):
        found = read_json(RESULTS / name / "results.json")
        agents, chance = found["agents"], found["optimum"]["chance"]
        rewards = agents["epl2rl-input"]["reward"]["per_seed"]
        shares = gains(rewards, agents["epl2rl"]["reward"]["mean"], chance)
        series += runs_and_mean(NAMES[name], colour, {float(place): shares})
    return series


def write() -> None:
    """Draw it where records are that it does not show: the same numbers give the same bytes."""
    if not all(record.exists() for record in RECORDS):
        return
    drawn = draw(charts()).written("svg", dpi=200, metadata={"Date": None})
    if not FILE.exists() or FILE.read_bytes() != drawn:
        write_atomically(FILE, drawn)
