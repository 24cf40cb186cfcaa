"""Names beside lines, and labels of lines for reference."""

from dataclasses import replace

import pytest

from reinstate.figures.chart import Chart, Line, Series
from reinstate.figures.labels import names_of, place_labels, place_names, spread


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


def test_names_stand_where_lines_end() -> None:
    line = Series("a rather long name of a line", "#E69F00", [1, 2, 3], [1.0, 2.0, None])
    unnamed = Series("no", "#000000", [1], [1.0], in_legend=False)
    (name,) = names_of(Chart("", "", "", [line, unnamed]), 18)
    assert (name.x, name.y, name.text) == (2, 2, "a rather long name\nof a line")
    assert name.series == line
    paired = Chart("", "", "", [line], categories=["uncued", "cued"], paired=True)
    assert names_of(paired, 18) == []  # above its slope


def test_names_of_lines_that_meet_are_moved_apart() -> None:
    ends = {"a": 5.0, "b": 5.0, "c": 0.0}
    chart = Chart("", "", "", [Series(n, "#000000", [1, 2], [1.0, y]) for n, y in ends.items()])
    a, b, c = place_names(chart, names_of(chart, 18), height=100, line=10)
    assert a[0] == b[0] and abs(a[1] - b[1]) == pytest.approx(10)
    assert c == (0, 0)
    (long,) = names_of(Chart("", "", "", [Series("word " * 40, "#000000", [1], [1.0])]), 18)
    assert long.text.count("\n") == 2 and long.text.endswith("…")


def test_labels_of_lines_avoid_curves_each_other_and_the_border() -> None:
    rising = Series("a", "#000000", [0, 1, 2, 3], [0, 10, 10, 10])
    chart = Chart("", "", "", [rising], lines=[Line("best", 10.2), Line("chance", 0.1)])
    best, chance = place_labels(chart, letter=0.02, height=0.05)
    assert best.above and chance.above  # there is no room below
    assert chance.left > 0.4  # the curve starts at the left
    falling = replace(rising, y=[10, 0, 0, 0])
    crowded = Chart("", "", "", [falling], lines=[Line("one", 5.0), Line("two", 5.1)])
    one, two = place_labels(crowded, letter=0.02, height=0.05)
    assert (one.left, one.above) != (two.left, two.above)
    assert one.above is False or two.above is True  # not across the other line
