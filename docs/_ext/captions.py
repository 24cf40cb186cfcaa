"""Pictures of plain pages → figures: the line in italics below a picture is its caption.

A picture that knows a dark scheme of its own is left alone; others are marked, and page.css
turns their paper dark where the page is.
"""

from pathlib import Path
from typing import Any

from docutils import nodes  # type: ignore[import-untyped]
from sphinx.application import Sphinx

OWN_SCHEME = b"prefers-color-scheme"


def caption(app: Sphinx, doctree: nodes.document) -> None:
    """Make a figure of every picture that stands alone, and of every drawing in the page."""
    for paragraph in [*doctree.findall(nodes.paragraph)]:
        if picture := _only(paragraph, nodes.image) or _only(paragraph, nodes.raw):
            if "uri" in picture and not _knows_dark(Path(app.srcdir), picture["uri"]):
                picture["classes"].append("on-paper")
            below = paragraph.next_node(descend=False, siblings=True)
            figure = _figure(picture, _only(below, nodes.emphasis))
            doctree.set_id(figure)
            paragraph.replace_self(figure)


def _only(paragraph: nodes.Node | None, kind: type[nodes.Element]) -> nodes.Element | None:
    """Return what a paragraph consists of, if it is one element of a kind."""
    if isinstance(paragraph, nodes.paragraph) and len(paragraph) == 1:
        return paragraph[0] if isinstance(paragraph[0], kind) else None
    return None


def _figure(picture: nodes.Element, said: nodes.Element | None) -> nodes.figure:
    figure = nodes.figure("", picture.deepcopy())
    if said is not None:
        figure += nodes.caption("", "", *(child.deepcopy() for child in said))
        said.parent.parent.remove(said.parent)
    return figure


def _knows_dark(folder: Path, uri: str) -> bool:
    """Look into a picture; one that is not there is Sphinx's to complain about."""
    file = folder / uri
    return file.is_file() and OWN_SCHEME in file.read_bytes()


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", caption, priority=600)  # after drawings are put into the page
    return {"parallel_read_safe": True, "parallel_write_safe": True}
