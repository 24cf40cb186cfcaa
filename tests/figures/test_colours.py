"""Colours that are drawn together: dark enough on white, and apart for colour-blind readers too."""

from collections.abc import Mapping
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

from reinstate.figures import style
from reinstate_paper.noisy_barcodes import NOISY_BARCODES

# Machado, Oliveira and Fernandes 2009: how linear RGB looks to those without green cones.
DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
)
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193, 0.1192, 0.9503]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])
APART = 20.0  # CIELAB; two shades with a common edge are told apart from about 2.3
STEP = 7.0  # between neighbours of a scale, which have an order and names

LINES: dict[str, Mapping[Any, str]] = {
    "agents": {
        name: style.colour(name) or ""
        for name in ("epl2rl", "l2rl", "l2rl-context", "epl2rl-recognition", "epl2rl-input")
    },
    "readers": {
        name: style.colour(name) or "" for name in (*NOISY_BARCODES.agents, "epl2rl-posterior")
    },
    "stages": dict(enumerate(style.STAGES)),
    "strategies": {name: style.STRATEGIES[name] for name in ("IMF", "IMB", "EMF", "EMB")},
    "ways": {"early": style.EARLY, "late": style.LATE},
}


def linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    parts = XYZ @ np.clip(rgb, 0, 1) / WHITE
    f = np.where(parts > 216 / 24389, np.cbrt(parts), (24389 / 27 * parts + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(one: str, other: str, seen: np.ndarray = DEUTERANOPIA) -> float:
    return float(np.linalg.norm(lab(seen @ linear(one)) - lab(seen @ linear(other))))


def test_the_distance_itself() -> None:
    normal = np.eye(3)
    assert distance("#ffffff", "#000000", normal) == pytest.approx(100, abs=0.01)
    assert distance("#d55e00", "#d55e00", normal) == 0
    # A red and a green of the same lightness: far apart for most readers only.
    assert distance("#c04040", "#607830", normal) > 60 > 20 > distance("#c04040", "#607830")


@pytest.mark.parametrize("kind", LINES)
def test_lines_of_one_chart_can_be_told_apart(kind: str) -> None:
    drawn = LINES[kind].items()
    shown = {name: style.readable(colour, style.LIGHT) for name, colour in drawn}
    for colour in shown.values():
        assert style.contrast(colour, style.LIGHT) >= 3
    for (one, a), (other, b) in combinations(shown.items(), 2):
        assert distance(a, b) >= APART, f"{one} and {other}"


@pytest.mark.parametrize("count", [2, 5, 10])
def test_exposures_go_from_dark_to_light_and_none_is_pale(count: int) -> None:
    shades = style.shades(count)
    assert all(style.contrast(shade, style.LIGHT) >= 3 for shade in shades)
    lightness = [lab(linear(shade))[0] for shade in shades]
    assert all(b > a for a, b in pairwise(lightness))  # in grey too
    assert all(distance(a, b) > STEP for a, b in pairwise(shades))


def test_ways_differ_in_grey_too() -> None:
    assert style.luminance(style.EARLY) > 4 * style.luminance(style.LATE)
