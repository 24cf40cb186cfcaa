"""Names beside lines, and ticks of logarithmic axes."""

import pytest

from reinstate.figures.axes import log_ticks, marks_on_top, spread
from reinstate.figures.chart import Chart, Line, Series
from reinstate.figures.names import names_of, place_names


def test_heights_are_moved_as_little_as_needed() -> None:
    assert spread([], 1, 0, 10) == []
    assert spread([2, 5, 9], 1, 0, 10) == [2, 5, 9]
    assert spread([5, 5], 1, 0, 10) == [4.5, 5.5]
    assert spread([5.2, 1, 5], 1, 0, 10) == pytest.approx([5.6, 1, 4.6])  # in the order given
    assert spread([5, 5, 5.5, 6], 1, 0, 10) == pytest.approx([3.875, 4.875, 5.875, 6.875])


def test_heights_stay_between_the_ends() -> None:
    assert spread([0, 0], 1, 0, 10) == [0, 1]
    assert spread([10, 10, 9.9], 1, 0, 10) == [9, 10, 8]
    crowded = spread([1, 1, 1, 1], 1, 0, 2)  # more than fit
    assert sorted(crowded) == pytest.approx([-1, 0, 1, 2])


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (-0.3, 1.6, [1, 2, 5, 10, 20]),
        (-4, -1, [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1]),
        (-5, 0, [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1]),
        (0, 2.5, [1, 3, 10, 30, 100, 300]),
        (1.35, 1.45, [23, 24, 25, 26, 27, 28]),  # no round power: as on a linear axis
    ],
)
def test_ticks_of_a_logarithmic_axis(low: float, high: float, expected: list[float]) -> None:
    assert log_ticks(low, high) == pytest.approx(expected)


def test_few_ticks_however_many_decades() -> None:
    assert 2 <= len(log_ticks(-20, 20)) <= 7


def test_names_stand_where_lines_end() -> None:
    line = Series("a rather long name of a line", "#E69F00", [1, 2, 3], [1.0, 2.0, None])
    unnamed = Series("no", "#000000", [1], [1.0], in_legend=False)
    (name,) = names_of(Chart("", "", "", [line, unnamed]))
    assert (name.x, name.y, name.text) == (2, 2, "a rather long name\nof a line")
    assert (name.series, name.place) == (line, 0)
    paired = Chart("", "", "", [line], categories=["uncued", "cued"], paired=True)
    assert names_of(paired) == []  # above its slope


def test_names_of_lines_that_meet_are_moved_apart() -> None:
    ends = {"a": 5.0, "b": 5.0, "c": 0.0}
    chart = Chart("", "", "", [Series(n, "#000000", [1, 2], [1.0, y]) for n, y in ends.items()])
    a, b, c = place_names(chart, names_of(chart), height=100, line=10)
    assert a.wanted == b.wanted and abs(a.height - b.height) == pytest.approx(10)
    assert c.height == c.wanted == 0
    (long,) = names_of(Chart("", "", "", [Series("word " * 40, "#000000", [1], [1.0])]))
    assert long.text.count("\n") == 2 and long.text.endswith("…")


def test_marks_are_labelled_where_nothing_is_drawn() -> None:
    high = Series("a", "#000000", [0, 100], [9.0, 9.0])
    chart = Chart("", "", "", [high], marks=[Line("from here", 50)], include=[0.0, 9.3])
    assert marks_on_top(chart, 0.02, 0.1) == [False]
    low = Series("a", "#000000", [0, 100], [1.0, 1.0])
    chart = Chart("", "", "", [low], marks=[Line("from here", 50)], include=[0.0, 9.3])
    assert marks_on_top(chart, 0.02, 0.1) == [True]
