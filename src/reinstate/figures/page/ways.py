"""Ways through a maze as small pictures side by side: first exposures above, second ones below."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from reinstate.figures.chart import Trajectories
from reinstate.figures.markup import Markup, tag
from reinstate.figures.mazes import way_through
from reinstate.figures.style import EARLY, LATE, mixed

MOST = 6  # contexts
SIDE, APART, TEXT, LEFT = 96, 14, 18, 20  # of a maze, between two, below one, of the rows' names
LONGEST = 200  # moves of a way that can be told apart
NOTE = (
    "Early moves are orange, late ones blue; a ring is the start, a star the goal. Each column is a"
    " context, met twice from the same start."
)


def small_ways(drawing: Trajectories, ident: str) -> Markup | None:
    """Draw the ways in some contexts; nothing if there are not two, or none is short enough."""
    short = [p for p in drawing.pairs if max(len(p["first"]), len(p["second"])) <= LONGEST + 1]
    if len(short) < 2:
        return None
    pairs, tall = short[:MOST], SIDE * drawing.height / drawing.width
    rows, said = [], []
    for row, exposure in enumerate(("first", "second")):
        top = row * (tall + TEXT + APART)
        rows.append(_name(f"{exposure} exposure", top + tall / 2))
        for column, pair in enumerate(pairs):
            place = f"translate({LEFT + column * (SIDE + APART)} {top:g})"
            rows.append(tag("g", *_panel(drawing, pair, exposure), transform=place))
        said.append(f"{exposure} exposures: {', '.join(_steps(pair, exposure) for pair in pairs)}")
    size = LEFT + len(pairs) * (SIDE + APART) - APART, 2 * (tall + TEXT) + APART
    box = f"-2 -2 {size[0] + 4} {size[1] + 4:g}"
    title = f"Ways of {drawing.of or 'an agent'} to the first goal"
    name = tag("title", f"{title}; {'; '.join(said)}")
    picture = tag("svg", name, *rows, viewBox=box, role="img")
    caption = tag("figcaption", title, tag("p", NOTE))
    return tag("figure", caption, picture, class_="ways", id=ident)


def _name(text: str, middle: float) -> Markup:
    turned = f"translate(10 {middle:g}) rotate(-90)"
    return tag("text", text, text_anchor="middle", transform=turned)


def _panel(drawing: Trajectories, pair: Mapping[str, Any], exposure: str) -> Iterator[Markup]:
    """Draw a maze, and the way of one exposure through it."""
    width, height, side = drawing.width, drawing.height, SIDE / drawing.width
    lines = "".join(f"M0 {y * side:g}h{SIDE}" for y in range(height + 1))
    lines += "".join(f"M{x * side:g} 0v{height * side:g}" for x in range(width + 1))
    yield tag("path", d=lines, class_="walls")
    way, moves = way_through(pair[exposure], width), max(len(pair[exposure]) - 1, 1)
    at = [f"{(x + 0.5) * side:.1f} {(y + 0.5) * side:.1f}" for x, y in way.corners.tolist()]
    for (here, there), (then, now) in zip(pairwise(at), pairwise(way.time), strict=True):
        colour = mixed(EARLY, LATE, float(then + now) / 2 / moves)
        yield tag("path", d=f"M{here}L{there}", stroke=colour)
    goal_y, goal_x = divmod(pair["goal"], width)
    goal = f"translate({(goal_x + 0.5) * side:.1f} {(goal_y + 0.5) * side:.1f})"
    yield tag("path", d="m0-8 2.4 5.2 5.6.6-4.2 3.8 1.2 5.6-5-2.9-5 2.9 1.2-5.6-4.2-3.8 5.6-.6z",
              class_="goal", transform=goal)  # fmt: skip
    x, y = at[0].split()
    yield tag("circle", cx=x, cy=y, r=4, class_="start")
    below = f"{height * side + TEXT - 5:g}"
    yield tag("text", _steps(pair, exposure), x=SIDE / 2, y=below, text_anchor="middle")


def _steps(pair: Mapping[str, Any], exposure: str) -> str:
    moves = len(pair[exposure]) - 1
    if pair[exposure][-1] != pair["goal"]:
        return "not found"
    return "1 step" if moves == 1 else f"{moves} steps"
