"""Figures that notebooks show by themselves.

The one module that imports matplotlib when it is imported: whoever draws imports it then, first.
"""

import io
import re
from typing import Any

from matplotlib import figure

from reinstate.figures.style import own_style

PLACES = re.compile(rb' (?:d|x|y)="[^"]*"')  # attributes of an SVG that say where things are
CONTROLS = re.compile(rb"[\0-\x08\x0b\x0c\x0e-\x1f]")  # what XML may not hold, and a name may


class Figure(figure.Figure):
    """A figure of matplotlib's."""

    caption: str = ""  # for what is written beside it in a paper

    def _repr_png_(self) -> bytes:
        """Draw itself as PNG, which is what a notebook asks for."""
        return self.written("png", dpi=120)

    def written(self, kind: str, **options: Any) -> bytes:
        """Write itself as a file of this kind."""
        buffer = io.BytesIO()
        with own_style():
            self.savefig(buffer, format=kind, **options)
        content = buffer.getvalue()
        return PLACES.sub(_shortened, CONTROLS.sub(b"?", content)) if kind == "svg" else content


def _shortened(places: re.Match[bytes]) -> bytes:
    """Cut numbers to hundredths of a point, which halves a drawing of many lines."""
    return re.sub(rb"(\.\d\d)\d+", rb"\1", places[0]).replace(b" \nL ", b"L")
