"""Recorded rewards → results/memory-as-input.svg: what the memory is worth as an input."""

from dataclasses import replace
from typing import Any

from reinstate.figures.chart import Chart, Series
from reinstate.figures.mpl import draw
from reinstate.figures.style import COLOURS, SPARE
from reinstate.files import read_json, write_atomically
from reinstate_paper import EXPERIMENTS
from reinstate_paper.figures import by_inputs, inputs_chart
from words import RESULTS

FILE = RESULTS / "memory-as-input.svg"
RECORDS = [RESULTS / "inputs.json", *(RESULTS / name / "results.json" for name in EXPERIMENTS)]
SHADES = (COLOURS["epl2rl"], COLOURS["l2rl"], COLOURS["l2rl-context"], SPARE[0], SPARE[4])


def charts() -> list[Chart]:
    """Show runs with the whole state, much trained; and compressed ones, little trained.

    Few seeds make intervals that say nothing: single runs are shown instead.
    """
    quick = read_json(RESULTS / "inputs.json")["experiments"]
    little = [_series(place, quick[name]["quick"]) for place, name in enumerate(EXPERIMENTS)]
    much = []
    for place, name in enumerate(EXPERIMENTS):
        found = read_json(RESULTS / name / "results.json")
        agents, chance = found["agents"], found["optimum"]["chance"]
        series = _series(place, {"agents": agents, "chance": chance})
        much.append(replace(series, x=[float(place)]))
    plain = replace(inputs_chart(little), x_label="numbers fed", note="")
    whole = replace(
        plain,
        of="much training: the whole state",
        x_label="experiment",
        series=much,
        log_x=False,
        categories=[str(place) for place in range(1, len(EXPERIMENTS) + 1)],
    )
    return [whole, replace(plain, of="little training: the state compressed")]


def _series(place: int, row: dict[str, Any]) -> Series:
    return by_inputs(f"Experiment {place + 1}", SHADES[place], row["agents"], row["chance"])


def write() -> None:
    """Draw it where records are that it does not show: the same numbers give the same bytes."""
    if not all(record.exists() for record in RECORDS):
        return
    drawn = draw(charts()).written("svg", dpi=200, metadata={"Date": None})
    if not FILE.exists() or FILE.read_bytes() != drawn:
        write_atomically(FILE, drawn)
