"""From numbers to places in a picture: ranges, ticks, and the paths through points."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

WIDTH, HEIGHT = 480, 300
LEFT, RIGHT, TOP, BOTTOM = 58, 24, 14, 46  # margins: room for ticks and labels, on a phone too

Point = tuple[float, float | None]


class Axes(NamedTuple):
    """The ranges of a chart, and where its numbers lie in the picture."""

    x: tuple[float, float]
    y: tuple[float, float]

    def place_x(self, x: float) -> float:
        return LEFT + (x - self.x[0]) / (self.x[1] - self.x[0]) * (WIDTH - LEFT - RIGHT)

    def place_y(self, y: float) -> float:
        return HEIGHT - BOTTOM - (y - self.y[0]) / (self.y[1] - self.y[0]) * (HEIGHT - TOP - BOTTOM)

    def path(self, points: Iterable[Point]) -> str:
        """A line through the points; an unknown one interrupts it."""
        words, pen = [], "M"
        for x, y in points:
            if y is None:
                pen = "M"
            else:
                words.append(f"{pen}{self.place_x(x):.1f} {self.place_y(y):.1f}")
                pen = "L"
        return "".join(words)


def y_range(values: Sequence[float]) -> tuple[float, float]:
    """From zero, unless all that there is to see would then be squeezed into the upper half."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low > high / 2 > 0:
        low -= 0.15 * (high - low)
    elif low >= 0:
        low = 0.0
    else:
        low -= 0.06 * (high - low)
    high += 0.06 * (high - low)
    return (low, high) if high > low else (low, low + 1)


def ticks(low: float, high: float, most: int = 6, whole: bool = False) -> list[float]:
    """Round numbers within the range, at most so many."""
    rough = (high - low) / most
    scale = 10.0 ** math.floor(math.log10(rough))
    step = next(scale * m for m in (1, 2, 5, 10) if scale * m >= rough * (1 - 1e-9))
    step = max(step, 1.0) if whole else step
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def tick_text(value: float, step: float) -> str:
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value:,.{decimals}f}".replace("-0", "0") if value == 0 else f"{value:,.{decimals}f}"
