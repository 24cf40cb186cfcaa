"""A record → charts and tables: medians and quartiles where they belong."""

from typing import Any

import bench_tables
from reinstate.bench.charts import charts
from reinstate.bench.rivals import best


def rate(median: float) -> dict[str, Any]:
    return {"median": median, "quartiles": [median / 2, 2 * median], "repeats": 3}


def row(value: int, kind: str = "train", **more: Any) -> dict[str, Any]:
    known = {"experiment": "barcode-bandits", "agent": "epl2rl", "axis": "lanes", "kind": kind}
    return {**known, "value": value, "steps_per_second": rate(1000 * value), **more}


PRESET = {name: value for name, value in row(16).items() if name != "axis"}
RIVALS = [
    {"name": "reinstate", "batch": 128, "steps_per_second": rate(4e5)},
    {"name": "PyTorch", "batch": 1, "threads": 1, "steps_per_second": rate(2e3)},
    {"name": "PyTorch", "batch": 1, "threads": 2, "steps_per_second": rate(1e3)},
    {"name": "PyTorch", "batch": 64, "threads": 2, "steps_per_second": rate(3e5)},
]


def test_every_curve_has_a_chart() -> None:
    rows = [PRESET, row(4), row(16), row(4, "judge"), row(2, agent="l2rl"), row(50, axis="hidden")]
    found = charts({"curves": rows})
    assert [*found] == ["barcode-bandits-lanes", "barcode-bandits-hidden"]
    (chart,) = found["barcode-bandits-lanes"]
    named = {series.name: series for series in chart.series}
    assert [*named] == ["epL2RL, training", "epL2RL, judging", "L2RL, training"]
    line = named["epL2RL, training"]
    assert (line.x, line.y) == ([4, 16], [4, 16]) and chart.y_label.endswith("(thousands)")
    assert line.ci95 == [(2, 8), (8, 32)] and not line.dash
    assert named["epL2RL, judging"].dash


def test_rivals_have_a_line_per_number_of_threads() -> None:
    (chart,) = charts({"curves": [], "rivals": {"rows": RIVALS}})["rivals"]
    named = {series.name: series.x for series in chart.series}
    assert named == {"reinstate": [128], "PyTorch, 1 thread": [1], "PyTorch, 2 threads": [1, 64]}


def test_the_best_of_the_rival_is_its_fastest_row() -> None:
    assert best(RIVALS) is RIVALS[3] and best(RIVALS, batch=1) is RIVALS[1]
    assert best(RIVALS[:1]) is None


def test_tables_say_how_many_times_as_fast_and_how_busy_it_was() -> None:
    ours = {"median": 2120.0, "quartiles": [1.5, 3000.0]}
    _, rows = bench_tables.rivals({"rivals": {"rows": [{**RIVALS[1], "ours": ours}]}})
    assert rows == [["PyTorch", "1", "1", "2,000 [1,000, 4,000]", "× 2,120 [1.5, 3,000]"]]
    _, rows = bench_tables.growth({"curves": [row(4, compile={"trace": 1, "xla": 2})]})
    assert rows == [["lanes per seed", "4", "epL2RL", "4,000 [2,000, 8,000]", "", "3.0 s"]]
    assert "Nothing else" in bench_tables.busy({"load": 0.1})
    assert "load average 3.0" in bench_tables.busy({"load": 3.0})
