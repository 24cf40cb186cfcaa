"""How large everything is that matplotlib draws: on a screen, and in a paper at its final size."""

from dataclasses import dataclass


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
    way: float = 2.0  # width of a way through a maze, in points


SCREEN = Look()
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
    way=1.4,
)
PANEL_LETTER = 8  # points, bold
