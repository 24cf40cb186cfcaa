"""Figures that look the same everywhere, and that notebooks show by themselves.

The one module that imports matplotlib when it is imported: whoever draws imports it then, first.
Nobody's matplotlibrc counts, be it of the working folder, named by MATPLOTLIBRC or at home: with
`text.usetex` it would run LaTeX.
"""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib import figure

# The same bytes every time, and text as text: fonts are embedded whole, as TrueType, and what is
# between dollars is no formula.
STYLE: dict[Any, Any] = {"svg.hashsalt": "reinstate", "svg.fonttype": "none", "pdf.fonttype": 42,
                         "text.parse_math": False, "path.simplify_threshold": 0.4}  # fmt: skip
PLACES = re.compile(rb' (?:d|x|y)="[^"]*"')  # attributes of an SVG that say where things are
CONTROLS = re.compile(rb"[\0-\x08\x0b\x0c\x0e-\x1f]")  # what XML may not hold, and a name may


@contextmanager
def own_style(**changes: Any) -> Iterator[None]:
    """Draw by matplotlib's defaults, whatever it was told elsewhere."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE | changes)
        # A name may be in any script; and of any length: letters that
        # the font lacks are drawn as boxes, and what finds no room is cut off.
        warnings.filterwarnings("ignore", "Glyph .* missing from font|.* sizes collapsed to zero")
        yield


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
