"""Formulas as MathML, which browsers set by themselves: no script, no fonts, nothing fetched."""

from typing import Any

from docutils import nodes  # type: ignore[import-untyped]
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    """Set a formula on lines of its own, which scroll where they are too long for the page."""
    formula = convert(node.astext(), display="block")
    writer.body.append(f'<div class="math scrolls">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
