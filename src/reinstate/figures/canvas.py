"""Figures that notebooks show by themselves, whether or not pyplot is used there.

The one module that imports matplotlib when it is imported: whoever draws imports it then.
"""

import io

from matplotlib import figure


class Figure(figure.Figure):
    """A figure of matplotlib's."""

    def _repr_png_(self) -> bytes:
        """Draw itself as PNG, which is what a notebook asks for."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=120)
        return buffer.getvalue()
