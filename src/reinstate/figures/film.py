"""Ways through a maze as an animated SVG, without scripts.

Before it moves, and where nothing may move, it shows the first search of each visit.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from reinstate.figures.markup import Markup, tag
from reinstate.figures.style import EARLY, LATE, mixed

SIZE, EDGE, TOP, BOTTOM = 240, 24, 44, 26  # of a panel: its side, margin, room for captions
MOVING, WIPED = 0.6, 0.98  # parts of a step: the agent moves, then stays; a trail is wiped
PAUSE, SECONDS = 4.0, 0.45  # steps before it starts again; seconds per step
POSTER = 3.0  # seconds for which the picture stands still at first
VISITS = {1: "First visit", 2: "Second visit"}
HUES = 8  # of a trail
# Background, text, grid, agent, and ends of a trail, on light and on dark pages.
LIGHT = "#ffffff", "#24292f", "#d0d7de", "#0072b2", EARLY, LATE
DARK = "#0d1117", "#e6edf3", "#444c56", "#58a6ff", EARLY, "#8fc1ff"
STYLE = """text{{font:12px system-ui,sans-serif}}.caption{{font-size:15px;font-weight:600}}
.trail{{stroke-width:4;stroke-linecap:round}}:is(.goal,.tally){{fill:#009e73}}.goal{{fill-opacity:.4}}
{0}
@media screen and (prefers-color-scheme:dark){{{1}}}
@media screen and (prefers-reduced-motion:no-preference){{
.moving{{animation:{2:.2f}s linear {3:g}s infinite}}}}
"""


class Move(NamedTuple):
    """A step. Cells are counted row by row."""

    here: int
    landed: int  # the goal, if it is reached, and not yet the respawn
    there: bool  # at the goal


class Walk(NamedTuple):
    """One episode: searches for the goal, which start again once it is found."""

    exposure: int  # from 1
    goal: int
    moves: Sequence[Move]
    said: str = ""  # of it, below its caption

    def searches(self) -> list[list[tuple[int, Move]]]:
        """Cut the numbered moves where the goal was reached."""
        starts = [0, *(n + 1 for n, move in enumerate(self.moves) if move.there)]
        every, ends = list(enumerate(self.moves)), [*starts[1:], len(self.moves)]
        return [every[i:j] for i, j in zip(starts, ends, strict=True) if i < j]


class _Film:
    """The keyframes of everything that moves, and where cells are."""

    def __init__(self, height: int, width: int, walks: Sequence[Walk]) -> None:
        self.height, self.width = height, width
        self.steps = max(len(walk.moves) for walk in walks) + PAUSE
        self.side = max(SIZE // max(width, height), 1)
        self.keyframes: list[str] = []

    def centre(self, cell: int) -> tuple[float, float]:
        y, x = divmod(cell, self.width)
        return (x + 0.5) * self.side, TOP + (y + 0.5) * self.side

    def moving(self, kind: str, stages: Sequence[tuple[float, str]]) -> dict[str, str]:
        """Return the attributes of a shape that is in these stages at these steps."""
        name = f"k{len(self.keyframes)}"
        body = "".join(f"{100 * step / self.steps:.3f}%{{{what}}}" for step, what in stages)
        self.keyframes.append(f"@keyframes {name}{{{body}}}")
        return {"class_": f"moving {kind}", "style": f"animation-name:{name}"}

    def appearing(self, kind: str, since: float, until: float) -> dict[str, str]:
        """Return those of one that fades in while the agent moves."""
        stages = [(0.0, 0), (since, 0), (since + MOVING, 1), (until, 1)]
        if until < self.steps:
            stages += [(until + 1 - WIPED, 0), (self.steps, 0)]
        return self.moving(kind, [(step, f"opacity:{shown}") for step, shown in stages])


def film(height: int, width: int, walks: Sequence[Walk], label: str) -> Markup:
    """Draw episodes side by side."""
    drawn = _Film(height, width, walks)
    panels = []
    for n, walk in enumerate(walks):
        place = f"translate({EDGE + n * (SIZE + EDGE)} {EDGE})"
        panels.append(tag("g", *_panel(drawn, walk), transform=place))
    across = EDGE + len(walks) * (SIZE + EDGE)
    tall = 2 * EDGE + TOP + height * drawn.side + BOTTOM
    style = STYLE.format(_scheme(*LIGHT), _scheme(*DARK), SECONDS * drawn.steps, POSTER)
    size: Any = {"width": across, "height": tall}
    return tag(
        "svg",
        tag("title", label),
        tag("style", Markup(style + "".join(drawn.keyframes))),
        tag("rect", rx=8, class_="paper", **size),
        *panels,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {across} {tall}",
        role="img",
        **size,
    )


def _scheme(paper: str, text: str, grid: str, agent: str, early: str, late: str) -> str:
    colours = {".paper": f"fill:{paper}", "text": f"fill:{text}", ".grid": f"stroke:{grid}"}
    colours |= {".agent": f"fill:{agent}"}
    colours |= {f".t{n}": f"stroke:{mixed(early, late, n / (HUES - 1))}" for n in range(HUES)}
    return "".join(f"{what}{{{how}}}" for what, how in colours.items())


def _panel(film: _Film, walk: Walk) -> list[Markup]:
    """Draw one episode: what is said of it, the maze, the way, the agent, the goals reached."""
    side = film.side
    width, height = film.width * side, film.height * side
    rows = "".join(f"M0 {TOP + y * side}h{width}" for y in range(film.height + 1))
    columns = "".join(f"M{x * side} {TOP}v{height}" for x in range(film.width + 1))
    x, y = film.centre(walk.goal)
    caption = VISITS.get(walk.exposure, f"Visit {walk.exposure}")
    there = [step for step, move in enumerate(walk.moves) if move.there]
    caption += f": {len(there)} goal{'s' * (len(there) != 1)}"
    apart = min(16, SIZE / max(len(there), 1))
    dots = [
        tag("circle", **film.appearing("tally", step, film.steps), r=5, cx=f"{6 + apart * n:g}",
            cy=TOP + height + 18)
        for n, step in enumerate(there)
    ]  # fmt: skip
    return [
        tag("text", caption, class_="caption", y=10),
        tag("text", walk.said, y=31),
        tag("path", d=f"{rows}{columns}", class_="grid", fill="none"),
        tag("circle", cx=f"{x:g}", cy=f"{y:g}", r=f"{0.38 * side:g}", class_="goal"),
        *_trails(film, walk),
        _agent(film, walk),
        *dots,
    ]


def _trails(film: _Film, walk: Walk) -> list[Markup]:
    """Draw every move as a line, early orange and late blue; the next search wipes them."""
    shapes, searches = [], walk.searches()
    for n, search in enumerate(searches):
        until = film.steps if n == len(searches) - 1 else search[-1][0] + WIPED
        for place, (step, move) in enumerate(search):
            (x, y), (to_x, to_y) = film.centre(move.here), film.centre(move.landed)
            hue = round((HUES - 1) * place / max(len(search) - 1, 1))
            looks: Any = {"d": f"M{x:g} {y:g}L{to_x:g} {to_y:g}", "opacity": int(n == 0)}
            shapes.append(tag("path", **film.appearing(f"trail t{hue}", step, until), **looks))
    return shapes


def _agent(film: _Film, walk: Walk) -> Markup:
    def at(cell: int) -> str:
        x, y = film.centre(cell)
        return f"transform:translate({x:g}px,{y:g}px)"

    stages = []
    for step, move in enumerate(walk.moves):
        after = at(move.landed)
        stages += [(step, at(move.here)), (step + MOVING, after), (step + WIPED, after)]
    moving = film.moving("agent", [*stages, (film.steps, at(walk.moves[-1].landed))])
    x, y = film.centre(walk.searches()[0][-1][1].landed)
    return tag("circle", **moving, transform=f"translate({x:g} {y:g})", r=f"{0.22 * film.side:g}")
