"""Colours and sizes of what is drawn, in every figure and on the page.

An agent's label and colour stand with its `Maker`. The colours are mostly Okabe and Ito's palette,
and Tol's. Those of one chart are distinct to readers who cannot tell red from green, and dark
enough on white (tests/figures/test_colours.py).
"""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from reinstate.agent import AGENTS, maker_of
from reinstate.analysis.results import AgentResults, Results
from reinstate.figures.chart import Marker

# Lengths drawn and left out, of lines that may lie on others: L2RL's and L2RL+Context's often do.
DASHES = {"l2rl-context": (4.0, 2.0), "epl2rl-input": (1.2, 1.2)}
MARKERS: dict[str, Marker] = {"l2rl": "square", "l2rl-context": "triangle"}  # others have dots
SPARE = ("#E69F00", "#56B4E9", "#AA4499", "#8C564B", "#666666")
BLACK = "#000000"
GREY = "#6E7781"  # of what is no agent: optima, algorithms
STAGES = ("#0072B2", "#E69F00", "#009E73")  # of the two-step task
STRATEGIES = {
    "IMF": "#E69F00",
    "IMB": "#0072B2",
    "EMF": "#A0458C",
    "EMB": "#009E73",
    "bias": "#8C8C8C",
    "perseveration": "#595959",
    "alpha": "#D55E00",
}
# Along inferno, as far as it is dark enough on white.
_SHADES = ("#160B39", "#320A5E", "#510E6C", "#6D186E", "#88226A", "#A52C60", "#C03A51", "#D74B3F",
           "#EA632A")  # fmt: skip
EARLY, LATE = "#D55E00", "#08306B"  # of a way: orange to blue, and light to dark in grey
# Colours of the page behind charts, in its light and in its dark scheme, as in page.css.
LIGHT, DARK = "#ffffff", "#14181d"
CONTRAST = 3.0  # what WCAG 2.2 asks of graphics (1.4.11)
TEXT_CONTRAST = 4.5  # and of text (1.4.3)


@dataclass(frozen=True)
class Look:
    """Sizes of fonts in points, of strokes as shares of what a chart says, of letters in inches."""

    title: float = 9
    label: float = 9  # of axes
    tick: float = 8
    note: float = 7  # beside lines
    stroke: float = 1.0
    marker: float = 1.0
    frame: float = 0.8  # width of axes and guides, in points
    letter: float = 0.055  # width of one of the notes' letters
    line: float = 0.13  # height of a line of notes
    name: int = 24  # most letters in a line of a name
    way: float = 2.0  # width of a way through a maze, in points


SCREEN = Look()
PAGE = Look(label=8.5, tick=8.5, note=7.8, letter=0.064, line=0.14)
# Journals ask for 6 to 8 points, and print lines from a quarter of a point.
PAPER = Look(
    title=7,
    label=7,
    tick=6,
    note=6,
    stroke=0.65,
    marker=0.6,
    frame=0.5,
    letter=0.047,
    line=0.115,
    name=18,
    way=1.4,
)
PANEL_LETTER = 8  # points, bold
# The same bytes every time, and text as text: fonts are embedded whole, as TrueType, and what is
# between dollars is no formula.
STYLE: dict[Any, Any] = {"svg.hashsalt": "reinstate", "svg.fonttype": "none", "pdf.fonttype": 42,
                         "text.parse_math": False, "path.simplify_threshold": 0.4}  # fmt: skip


@contextmanager
def own_style(**changes: Any) -> Iterator[None]:
    """Draw by matplotlib's defaults; as a decorator, all that a function draws.

    Nobody's matplotlibrc counts, be it of the working folder, named by MATPLOTLIBRC or at home:
    with `text.usetex` it would run LaTeX.
    """
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE | changes)
        # A name may be in any script; and of any length: letters that
        # the font lacks are drawn as boxes, and what finds no room is cut off.
        warnings.filterwarnings("ignore", "Glyph .* missing from font|.* sizes collapsed to zero")
        yield


class ShownAgent(NamedTuple):
    """An agent as figures and tables show it."""

    name: str
    label: str
    colour: str
    scores: AgentResults
    dash: Sequence[float] = ()  # of its line, where lines may lie on each other
    marker: Marker = "dot"


def label(agent: str) -> str:
    """Return the name that readers know: the label that an agent brings, or its own name."""
    return (agent in AGENTS and maker_of(agent).label) or agent


def colour(agent: str) -> str | None:
    """Return the colour that an agent brings, as #rrggbb."""
    found = (agent in AGENTS and maker_of(agent).colour) or ""
    return found if re.fullmatch("#[0-9a-fA-F]{6}", found) else None


def palette(agents: Sequence[str]) -> list[str]:
    """Choose a colour for each agent: its own, or a spare one if it has none or it is taken."""
    chosen: list[str] = []
    spare = [c for c in SPARE if c not in map(colour, agents)]
    for place, agent in enumerate(agents):
        own = colour(agent)
        free = [c for c in spare if c not in chosen] or SPARE[place % len(SPARE) :]
        chosen.append(own if own and own not in chosen else free[0])
    return chosen


def shown_agents(results: Results) -> list[ShownAgent]:
    agents = results["agents"]
    shown = []
    for (name, scores), own in zip(agents.items(), palette(list(agents)), strict=True):
        looks = DASHES.get(name, ()), MARKERS.get(name, "dot")
        shown.append(ShownAgent(name, label(name), own, scores, *looks))
    return shown


def shades(count: int) -> list[str]:
    """Return colours from dark to light, for what has an order."""
    places = [(len(_SHADES) - 1) * i / max(count - 1, 1) for i in range(count)]
    return [
        mixed(_SHADES[int(at)], _SHADES[min(int(at) + 1, len(_SHADES) - 1)], at % 1)
        for at in places
    ]


def mixed(one: str, other: str, share: float) -> str:
    """Mix two colours; `share` is the other's."""
    pairs = zip(_rgb(one), _rgb(other), strict=True)
    return "#" + "".join(f"{round((1 - share) * a + share * b):02x}" for a, b in pairs)


def readable(colour: str, background: str, least: float = CONTRAST) -> str:
    """Return the colour itself, or the nearest shade or tint of it that stands out."""
    towards = "#000000" if luminance(background) > 0.2 else "#ffffff"
    mixes = (mixed(colour, towards, step / 25) for step in range(26))
    return next(mix for mix in mixes if contrast(mix, background) >= least)


def contrast(colour: str, background: str) -> float:
    """Return WCAG's ratio, 1 to 21."""
    low, high = sorted((luminance(colour), luminance(background)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """Return the relative luminance of an sRGB colour, 0 to 1."""
    parts = [part / 255 for part in _rgb(colour)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))
