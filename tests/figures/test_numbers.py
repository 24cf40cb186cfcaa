"""How numbers are written."""

import pytest

from reinstate.figures.numbers import written


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0, "p < .001"),
        (9.99e-4, "p < .001"),
        (0.001, "p = .001"),
        (0.0123, "p = .012"),
        (0.05, "p = .05"),
        (0.1004, "p = .1"),
        (0.5, "p = .5"),
        (0.9999, "p = 1"),
        (1.0, "p = 1"),
    ],
)
def test_a_p_is_written_as_papers_do(p: float, text: str) -> None:
    assert written(p) == text
