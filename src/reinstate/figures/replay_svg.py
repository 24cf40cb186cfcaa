"""Episodes of the water maze as an animated SVG: of a record in a file, of results on the page."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from reinstate.figures.chart import Trajectories
from reinstate.figures.markup import Markup, tag
from reinstate.figures.replay import Frame, memory_text
from reinstate.figures.style import EARLY, LATE, mixed
from reinstate.tasks.water_maze import WaterMaze

SIZE, EDGE, TOP, BOTTOM = 240, 24, 62, 26  # of a panel: its side, margin, room for captions
MOVING, WIPED = 0.6, 0.98  # parts of a step: the agent moves, then stays; a trail is wiped
PAUSE, SECONDS = 4.0, 0.45  # steps before it starts again; seconds per step
LONGEST = 200  # moves of a way that is animated on the page
CAPTIONS = {1: "first exposure", 2: "second exposure"}
STYLE = """{0}text{{font:11px system-ui,sans-serif;fill:#57606a}}
{0}.caption{{font-size:15px;font-weight:600}}{0}.trail{{stroke-width:4;stroke-linecap:round}}
@media screen and (prefers-reduced-motion:no-preference){{
{0}.moving{{animation:{1:.2f}s linear infinite}}}}
"""


class _Film:
    """The keyframes of everything that moves, and where cells are."""

    def __init__(self, height: int, width: int, steps: float, name: str = "k") -> None:
        self.height, self.width, self.steps = height, width, steps
        self.name, self.keyframes = name, list[str]()
        self.side = max(SIZE // max(width, height), 1)

    def centre(self, cell: int) -> tuple[float, float]:
        y, x = divmod(cell, self.width)
        return (x + 0.5) * self.side, TOP + (y + 0.5) * self.side

    def moving(self, kind: str, stages: list[tuple[float, str]]) -> str:
        """Return the attributes of a shape that is in these stages at these steps."""
        name = f"{self.name}{len(self.keyframes)}"
        body = "".join(f"{100 * step / self.steps:.3f}%{{{what}}}" for step, what in stages)
        self.keyframes.append(f"@keyframes {name}{{{body}}}")
        return f'class="moving {kind}" style="animation-name:{name}"'

    def appearing(self, kind: str, since: float, until: float) -> str:
        """Return those of one that fades in while the agent moves."""
        stages = [(0.0, 0), (since, 0), (since + MOVING, 1), (until, 1)]
        if until < self.steps:
            stages += [(until + 1 - WIPED, 0), (self.steps, 0)]
        return self.moving(kind, [(step, f"opacity:{shown}") for step, shown in stages])

    def svg(self, panels: Sequence[Sequence[str]], below: int, label: str, within: str = "") -> str:
        """Put panels side by side; `within` says where alone the style applies."""
        width = EDGE + len(panels) * (SIZE + EDGE)
        height = 2 * EDGE + TOP + self.height * self.side + below
        size, box = f'width="{width}" height="{height}"', f"0 0 {width} {height}"
        style = STYLE.format(within, SECONDS * self.steps) + "".join(self.keyframes)
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" {size} role="img">',
            tag("title", label),
            f"<style>{style}</style>",
            # A background of its own, so that it reads the same on light and dark pages.
            f'<rect {size} rx="8" fill="#fff"/>',
        ]
        for n, shapes in enumerate(panels):
            left = EDGE + n * (SIZE + EDGE)
            lines += [f'<g transform="translate({left} {EDGE})">', *shapes, "</g>"]
        return "\n".join([*lines, "</svg>\n"])


def animated_svg(world: WaterMaze, episodes: list[list[Frame]]) -> str:
    """Draw episodes side by side, without scripts; first searches where motion is unwelcome."""
    film = _Film(world.height, world.width, max(map(len, episodes)) + PAUSE)
    bottom = TOP + world.height * film.side
    panels = []
    for frames in episodes:
        first = frames[0]
        facts = f"context {first.context}", f"retrieved: {memory_text(first)}"
        goals = [f'<text y="{bottom + 22}">goals</text>', *_tally(frames, film, bottom + 18)]
        panels.append([*_panel(frames, film, *facts), *goals])
    return film.svg(panels, BOTTOM, "An agent searches a water maze")


def animated_ways(drawing: Trajectories, ident: str) -> Markup | None:
    """Animate, within a page, the ways in the context where knowing it saved most steps.

    Nothing is drawn but numbers of cells, which `ident` (letters, digits, hyphens) sets apart from
    other animations of the page. Return nothing if no pair of ways has moves, or few enough.
    """
    pairs = [pair for pair in drawing.pairs if all(2 <= n <= LONGEST + 1 for n in _lengths(pair))]
    if not pairs:
        return None
    pair = max(pairs, key=_saved)
    first, second = _frames(pair, "first", 1), _frames(pair, "second", 2)
    film = _Film(drawing.height, drawing.width, max(len(first), len(second)) + PAUSE, f"{ident}-k")
    panels = [_panel(frames, film, _outcome(frames)) for frames in (first, second)]
    title = f"{drawing.of or 'An agent'} meets a context twice, from the same start"
    said = f"First exposure: {_outcome(first)}. Second exposure: {_outcome(second)}."
    choice = (
        f" Of {len(pairs)} such contexts, the second way is shortest in this one, compared with"
    )
    note = tag("p", said, f"{choice} the first." if len(pairs) > 1 else "")
    drawn = Markup(film.svg(panels, 0, f"{title}. {said}", f"#{ident} "))
    # What page.js needs to know, so that it can be stopped and moved by hand.
    moves = {"data_moves": max(len(first), len(second)), "data_pace": SECONDS}
    known: Any = {"class_": "replay", "id": ident, "data_seconds": f"{SECONDS * film.steps:g}"}
    return tag("figure", tag("figcaption", title, note), drawn, **known, **moves)


def _lengths(pair: Mapping[str, Any]) -> tuple[int, int]:
    return len(pair["first"]), len(pair["second"])


def _saved(pair: Mapping[str, Any]) -> tuple[bool, int]:
    """Rank pairs: a goal that was never found leaves nothing to remember."""
    first, second = _lengths(pair)
    found = [pair[way][-1] == pair["goal"] for way in ("first", "second")]
    return all(found), first - second


def _frames(pair: Mapping[str, Any], way: str, exposure: int) -> list[Frame]:
    """Make frames of a way; what only a record knows of them is not drawn."""
    cells, goal = pair[way], pair["goal"]
    frames = []
    for n, (cell, landed) in enumerate(pairwise(cells)):
        there = int(landed == goal)
        known = (n + 1, cell, landed, goal, there, float(there), "", 0.0, exposure, "", None)
        frames.append(Frame(*known, float("inf"), tuple(cells[:n])))
    return frames


def _outcome(frames: Sequence[Frame]) -> str:
    if not frames[-1].reward:
        return "the goal is not found"
    return f"{len(frames)} step{'s' * (len(frames) > 1)} to the goal"


def _panel(frames: list[Frame], film: _Film, *facts: str) -> list[str]:
    """Draw one episode: what is said of it, the maze, the way, the agent."""
    first, side = frames[0], film.side
    width, height = film.width * side, film.height * side
    rows = "".join(f"M0 {TOP + y * side}h{width}" for y in range(film.height + 1))
    columns = "".join(f"M{x * side} {TOP}v{height}" for x in range(film.width + 1))
    x, y = film.centre(first.goal)
    caption = CAPTIONS.get(first.exposure, f"exposure {first.exposure}")
    return [
        tag("text", caption, class_="caption", y=14),
        *(tag("text", fact, y=33 + 17 * n) for n, fact in enumerate(facts)),
        f'<path d="{rows}{columns}" stroke="#d0d7de" fill="none"/>',
        f'<circle cx="{x:g}" cy="{y:g}" r="{0.38 * side:g}" fill="#009e73" fill-opacity=".3"/>',
        *_trails(frames, film),
        _agent(frames, film),
    ]


def _trails(frames: list[Frame], film: _Film) -> list[str]:
    """Draw every move as a line, early orange and late blue; the next search wipes them."""
    shapes = []
    for n, search in enumerate(_searches(frames)):
        until = search[-1].step - 1 + WIPED if search[-1] is not frames[-1] else film.steps
        for share, frame in zip(np.linspace(0, 1, len(search)), search, strict=True):
            (x, y), (to_x, to_y) = film.centre(frame.cell), film.centre(frame.landed)
            colour = mixed(EARLY, LATE, float(share))
            path = f'd="M{x:g} {y:g}L{to_x:g} {to_y:g}" stroke="{colour}"'
            moving = film.appearing("trail", frame.step - 1, until)
            shapes.append(f'<path {moving} opacity="{int(n == 0)}" {path}/>')
    return shapes


def _agent(frames: list[Frame], film: _Film) -> str:
    def at(cell: int) -> str:
        x, y = film.centre(cell)
        return f"transform:translate({x:g}px,{y:g}px)"

    stages = []
    for frame in frames:
        start, after = frame.step - 1.0, at(frame.landed)
        stages += [(start, at(frame.cell)), (start + MOVING, after), (start + WIPED, after)]
    moving = film.moving("agent", [*stages, (film.steps, at(frames[-1].landed))])
    x, y = film.centre(_searches(frames)[0][-1].landed)
    still = f'transform="translate({x:g} {y:g})"'
    return f'<circle {moving} {still} r="{0.22 * film.side:g}" fill="#0072b2"/>'


def _tally(frames: list[Frame], film: _Film, y: int) -> list[str]:
    apart = min(16, (SIZE - 40) / max(frames[-1].goals, 1))
    shapes = []
    for frame in (frame for frame in frames if frame.reward > 0):
        moving, x = film.appearing("tally", frame.step - 1, film.steps), 30 + apart * frame.goals
        shapes.append(f'<circle {moving} r="5" fill="#009e73" cx="{x:g}" cy="{y}"/>')
    return shapes


def _searches(frames: list[Frame]) -> list[list[Frame]]:
    """Cut the episode where the goal was reached."""
    starts = [n for n, frame in enumerate(frames) if not frame.trail]
    return [frames[i:j] for i, j in pairwise([*starts, len(frames)])]
