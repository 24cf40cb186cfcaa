"""What built pages have beyond the plain ones: report.html, games, a drawing, formulas, tables.

Tables are in the pages themselves: see `fill_pages`. Formulas are MathML: no script, no
fonts, nothing fetched.
"""

import re
from pathlib import Path
from typing import Any

from docutils import nodes  # type: ignore[import-untyped]
from latex2mathml.converter import convert
from sphinx.application import Sphinx

from reinstate.figures.page import write_page
from reinstate.figures.page.play import write_play
from words import NBSP, RESULTS

INLINE = "cell.svg"  # its lines have the colour of the text around them
WITHIN = re.compile(
    r"(?<=\d,) (?=[-+.\d]+\])| (?=[±×])|(?<=[±×]) "
)  # [2.37, 2.40], 8.7 ± 0.1, 4.5 ×


def draw_inline(app: Sphinx, doctree: nodes.document) -> None:
    """Put a drawing into the page instead of a link to it, so that it follows light and dark."""
    for image in [*doctree.findall(nodes.image)]:
        if image["uri"] == INLINE:
            drawing = (Path(app.srcdir) / INLINE).read_text(encoding="utf-8")
            image.replace_self(nodes.raw("", drawing, format="html"))


def keep_together(app: Sphinx, doctree: nodes.document) -> None:
    """Keep each interval in one piece: in a narrow table every blank would become a new line."""
    for table in doctree.findall(nodes.table):
        for text in [*table.findall(nodes.Text)]:
            text.parent.replace(text, nodes.Text(WITHIN.sub(NBSP, text)))


def write_pages(app: Sphinx, exception: Exception | None) -> None:
    """Write what `reinstate report` makes of the records, and `reinstate play` for play.md."""
    if exception is None and app.builder.format == "html":
        write_page([RESULTS], Path(app.outdir) / "report.html")
        write_play(Path(app.outdir) / "maze-and-bandit.html")


def formula(writer: Any, node: nodes.math) -> None:
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def formula_block(writer: Any, node: nodes.math_block) -> None:
    made = convert(node.astext(), display="block")  # it scrolls where it is wider than the page
    writer.body.append(f'<div class="math scrolls">{made}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (formula, None), (formula_block, None))
    app.connect("doctree-read", draw_inline)
    app.connect("doctree-read", keep_together)
    app.connect("build-finished", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
