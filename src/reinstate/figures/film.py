"""Ways through a maze as an animated SVG, without scripts: of a record, or on the page."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from reinstate.figures.chart import Trajectories
from reinstate.figures.markup import Markup, tag
from reinstate.figures.style import EARLY, LATE, colour, mixed

SIZE, EDGE, TOP, BOTTOM = 240, 24, 62, 26  # of a panel: its side, margin, room for captions
AGENT = str(colour("epl2rl")).lower()
MOVING, WIPED = 0.6, 0.98  # parts of a step: the agent moves, then stays; a trail is wiped
PAUSE, SECONDS = 4.0, 0.45  # steps before it starts again; seconds per step
LONGEST = 200  # moves of a way that is animated on the page
CAPTIONS = {1: "first exposure", 2: "second exposure"}
STYLE = """{0}text{{font:11px system-ui,sans-serif;fill:#57606a}}
{0}.caption{{font-size:15px;font-weight:600}}{0}.trail{{stroke-width:4;stroke-linecap:round}}
@media screen and (prefers-reduced-motion:no-preference){{
{0}.moving{{animation:{1:.2f}s linear infinite}}}}
"""


class Move(NamedTuple):
    """A step. Cells are counted row by row."""

    here: int
    landed: int  # the goal, if it is reached, and not yet the respawn
    there: bool  # at the goal


class Walk(NamedTuple):
    """One episode: searches for the goal, which start anew once it is found."""

    exposure: int  # from 1
    goal: int
    moves: Sequence[Move]
    facts: Sequence[str] = ()  # what is said above it

    def searches(self) -> list[list[tuple[int, Move]]]:
        """Cut the numbered moves where the goal was reached."""
        starts = [0, *(n + 1 for n, move in enumerate(self.moves) if move.there)]
        every, ends = list(enumerate(self.moves)), [*starts[1:], len(self.moves)]
        return [every[i:j] for i, j in zip(starts, ends, strict=True) if i < j]


class _Film:
    """The keyframes of everything that moves, and where cells are."""

    def __init__(self, height: int, width: int, walks: Sequence[Walk], name: str) -> None:
        self.height, self.width, self.name = height, width, name
        self.steps = max(len(walk.moves) for walk in walks) + PAUSE
        self.side = max(SIZE // max(width, height), 1)
        self.keyframes: list[str] = []

    def centre(self, cell: int) -> tuple[float, float]:
        y, x = divmod(cell, self.width)
        return (x + 0.5) * self.side, TOP + (y + 0.5) * self.side

    def moving(self, kind: str, stages: Sequence[tuple[float, str]]) -> dict[str, str]:
        """Return the attributes of a shape that is in these stages at these steps."""
        name = f"{self.name}{len(self.keyframes)}"
        body = "".join(f"{100 * step / self.steps:.3f}%{{{what}}}" for step, what in stages)
        self.keyframes.append(f"@keyframes {name}{{{body}}}")
        return {"class_": f"moving {kind}", "style": f"animation-name:{name}"}

    def appearing(self, kind: str, since: float, until: float) -> dict[str, str]:
        """Return those of one that fades in while the agent moves."""
        stages = [(0.0, 0), (since, 0), (since + MOVING, 1), (until, 1)]
        if until < self.steps:
            stages += [(until + 1 - WIPED, 0), (self.steps, 0)]
        return self.moving(kind, [(step, f"opacity:{shown}") for step, shown in stages])


def film(
    height: int, width: int, walks: Sequence[Walk], label: str, ident: str = "", tally: bool = True
) -> Markup:
    """Draw episodes side by side; first searches where motion is unwelcome.

    On a page, `ident` sets its style apart from the page's own.
    """
    drawn = _Film(height, width, walks, f"{ident}-k" if ident else "k")
    panels = []
    for n, walk in enumerate(walks):
        place = f"translate({EDGE + n * (SIZE + EDGE)} {EDGE})"
        goals = _tally(drawn, walk) if tally else []
        panels.append(tag("g", *_panel(drawn, walk), *goals, transform=place))
    across = EDGE + len(walks) * (SIZE + EDGE)
    tall = 2 * EDGE + TOP + height * drawn.side + BOTTOM * tally
    within = f"#{ident} " if ident else ""
    style = STYLE.format(within, SECONDS * drawn.steps) + "".join(drawn.keyframes)
    size: Any = {"width": across, "height": tall}
    return tag(
        "svg",
        tag("title", label),
        tag("style", Markup(style)),
        # A background of its own, so that it reads the same on light and dark pages.
        tag("rect", rx=8, fill="#fff", **size),
        *panels,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {across} {tall}",
        role="img",
        **size,
    )


def _panel(film: _Film, walk: Walk) -> list[Markup]:
    """Draw one episode: what is said of it, the maze, the way, the agent."""
    side = film.side
    width, height = film.width * side, film.height * side
    rows = "".join(f"M0 {TOP + y * side}h{width}" for y in range(film.height + 1))
    columns = "".join(f"M{x * side} {TOP}v{height}" for x in range(film.width + 1))
    x, y = film.centre(walk.goal)
    goal = {"r": f"{0.38 * side:g}", "fill": "#009e73", "fill_opacity": ".3"}
    caption = CAPTIONS.get(walk.exposure, f"exposure {walk.exposure}")
    return [
        tag("text", caption, class_="caption", y=14),
        *(tag("text", fact, y=33 + 17 * n) for n, fact in enumerate(walk.facts)),
        tag("path", d=f"{rows}{columns}", stroke="#d0d7de", fill="none"),
        tag("circle", cx=f"{x:g}", cy=f"{y:g}", **goal),
        *_trails(film, walk),
        _agent(film, walk),
    ]


def _trails(film: _Film, walk: Walk) -> list[Markup]:
    """Draw every move as a line, early orange and late blue; the next search wipes them."""
    shapes, searches = [], walk.searches()
    for n, search in enumerate(searches):
        until = film.steps if n == len(searches) - 1 else search[-1][0] + WIPED
        for place, (step, move) in enumerate(search):
            (x, y), (to_x, to_y) = film.centre(move.here), film.centre(move.landed)
            looks: Any = {"d": f"M{x:g} {y:g}L{to_x:g} {to_y:g}", "opacity": int(n == 0)}
            looks["stroke"] = mixed(EARLY, LATE, place / max(len(search) - 1, 1))
            shapes.append(tag("path", **film.appearing("trail", step, until), **looks))
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
    looks = {"transform": f"translate({x:g} {y:g})", "r": f"{0.22 * film.side:g}"}
    return tag("circle", **moving, **looks, fill=AGENT)


def _tally(film: _Film, walk: Walk) -> list[Markup]:
    bottom = TOP + film.height * film.side
    there = [step for step, move in enumerate(walk.moves) if move.there]
    apart = min(16, (SIZE - 40) / max(len(there), 1))
    dots = [
        tag("circle", **film.appearing("tally", step, film.steps), r=5, fill="#009e73",
            cx=f"{30 + apart * n:g}", cy=bottom + 18)
        for n, step in enumerate(there, 1)
    ]  # fmt: skip
    return [tag("text", "goals", y=bottom + 22), *dots]


def animated_ways(drawing: Trajectories, ident: str) -> Markup | None:
    """Animate, within a page, the ways in the context where knowing it saved most steps.

    Return nothing if no pair of ways has moves, or few enough.
    """
    pairs = [
        pair
        for pair in drawing.pairs
        if all(2 <= len(pair[way]) <= LONGEST + 1 for way in ("first", "second"))
    ]
    if not pairs:
        return None
    pair = max(pairs, key=_saved)
    walks = [_walk(pair, "first", 1), _walk(pair, "second", 2)]
    first, second = (walk.facts[0] for walk in walks)
    title = f"{drawing.of or 'An agent'} meets a context twice, from the same start"
    said = f"First exposure: {first}. Second exposure: {second}."
    choice = (
        f" Of {len(pairs)} such contexts, the second way is shortest in this one, compared with"
        " the first."
    )
    note = tag("p", said, choice if len(pairs) > 1 else "")
    drawn = film(drawing.height, drawing.width, walks, f"{title}. {said}", ident, tally=False)
    # What page.js needs to know, so that it can be stopped and moved by hand.
    most = max(len(walk.moves) for walk in walks)
    known: Any = {"data_seconds": f"{SECONDS * (most + PAUSE):g}", "data_moves": most}
    caption = tag("figcaption", title, note)
    return tag("figure", caption, drawn, class_="replay", id=ident, data_pace=SECONDS, **known)


def _saved(pair: Mapping[str, Any]) -> tuple[bool, int]:
    """Rank pairs: a goal that was never found leaves nothing to remember."""
    found = [pair[way][-1] == pair["goal"] for way in ("first", "second")]
    return all(found), len(pair["first"]) - len(pair["second"])


def _walk(pair: Mapping[str, Any], way: str, exposure: int) -> Walk:
    moves = [Move(cell, landed, landed == pair["goal"]) for cell, landed in pairwise(pair[way])]
    found = f"{len(moves)} step{'s' * (len(moves) > 1)} to the goal"
    said = found if moves[-1].there else "the goal is not found"
    return Walk(exposure, pair["goal"], moves, [said])
