"""What built pages have beside the plain ones: report.html, the games, a drawing in their colours.

Tables and numbers are in the pages themselves: see `fill_pages`.
"""

from pathlib import Path
from typing import Any

from docutils import nodes  # type: ignore[import-untyped]
from sphinx.application import Sphinx

from reinstate.figures.page import write_page
from reinstate.figures.page.play import write_play
from words import RESULTS

INLINE = "cell.svg"  # its lines have the colour of the text around them


def draw_inline(app: Sphinx, doctree: nodes.document) -> None:
    """Put a drawing into the page instead of a link to it, so that it follows light and dark."""
    for image in [*doctree.findall(nodes.image)]:
        if image["uri"] == INLINE:
            drawing = (Path(app.srcdir) / INLINE).read_text(encoding="utf-8")
            image.replace_self(nodes.raw("", drawing, format="html"))


def write_report(app: Sphinx, exception: Exception | None) -> None:
    """What `reinstate report` makes of the recorded results."""
    if exception is None and app.builder.format == "html":
        write_page([RESULTS], Path(app.outdir) / "report.html")


def write_games(app: Sphinx, exception: Exception | None) -> None:
    """What `reinstate play` makes, which play.md shows in a frame."""
    if exception is None and app.builder.format == "html":
        write_play(Path(app.outdir) / "maze-and-bandit.html")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", draw_inline)
    app.connect("build-finished", write_report)
    app.connect("build-finished", write_games)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
