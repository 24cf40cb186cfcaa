"""What was measured → charts: steps per second against one size, and against the rival's batch."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from reinstate.bench.cases import AXES
from reinstate.figures.chart import Chart, Interval, Series
from reinstate.figures.style import BLACK, GREY, SPARE, label, palette

Row = Mapping[str, Any]
UNITS = ((1e6, "millions"), (1e3, "thousands"))
NOTE = "Median over repetitions, with quartiles."
DASH = {"train": (), "judge": (4.0, 2.0)}
SAYS = {"train": "training", "judge": "judging"}


def charts(document: Mapping[str, Any]) -> dict[str, list[Chart]]:
    """Return one chart per curve, by the name of its file."""
    found: dict[str, list[Chart]] = {}
    curves = [row for row in document["curves"] if "axis" in row]
    for experiment, axis in dict.fromkeys((row["experiment"], row["axis"]) for row in curves):
        rows = [row for row in curves if (row["experiment"], row["axis"]) == (experiment, axis)]
        found[f"{experiment}-{axis}"] = [_curve(experiment, axis, rows)]
    if "rivals" in document:
        found["rivals"] = [_rivals(document["rivals"])]
    return found


def _curve(experiment: str, axis: str, rows: Sequence[Row]) -> Chart:
    unit, word = _unit(rows)
    agents = [*dict.fromkeys(row["agent"] for row in rows)]
    colours = dict(zip(agents, palette(agents), strict=True))
    series = []
    for (agent, kind), own in groupby(
        sorted(rows, key=lambda row: (agents.index(row["agent"]), row["kind"] != "train")),
        key=lambda row: (row["agent"], row["kind"]),
    ):
        name = f"{label(agent)}, {SAYS[kind]}"
        series.append(_line(name, colours[agent], "value", sorted(own, key=_value), unit, kind))
    title = f"Speed: {experiment.replace('-', ' ')}"
    return Chart(
        title, f"{AXES[axis].label}, log scale", word, series, log_x=True, note=NOTE, include=(0.0,)
    )


def _value(row: Row) -> float:
    return float(row["value"])


def _line(
    name: str, colour: str, x: str, rows: Iterable[Row], unit: float, kind: str = "train"
) -> Series:
    shown = [*rows]
    rates = [row["steps_per_second"] for row in shown]
    spread: list[Interval | None] = [
        (rate["quartiles"][0] / unit, rate["quartiles"][1] / unit) for rate in rates
    ]
    places = [row[x] for row in shown]
    heights = [rate["median"] / unit for rate in rates]
    return Series(name, colour, places, heights, spread, dash=DASH[kind])


def _rivals(rivals: Mapping[str, Any]) -> Chart:
    """Show PyTorch against its batch, by threads, and ours where it was measured."""
    rows = rivals["rows"]
    unit, word = _unit(rows)
    ours = [*dict.fromkeys(row["name"] for row in rows if "threads" not in row)]
    series = []
    for name, colour in zip(ours, palette(["epl2rl", "l2rl"]), strict=False):
        own = sorted((row for row in rows if row["name"] == name), key=lambda row: row["batch"])
        series.append(_line(name, colour, "batch", own, unit))
    threads = sorted({row["threads"] for row in rows if "threads" in row})
    for count, colour in zip(threads, (BLACK, GREY, *SPARE), strict=False):
        own = [row for row in rows if row.get("threads") == count]
        name = f"PyTorch, {count} thread{'s' * (count > 1)}"
        series.append(_line(name, colour, "batch", own, unit))
    x_label = "lanes of all seeds, log scale"
    return Chart(
        "Training barcode bandits", x_label, word, series, log_x=True, note=NOTE, include=(0.0,)
    )


def _unit(rows: Sequence[Row]) -> tuple[float, str]:
    most = max(row["steps_per_second"]["median"] for row in rows)
    unit, word = next(((u, f" ({w})") for u, w in UNITS if most >= 2 * u), (1.0, ""))
    return unit, f"steps per second{word}"
