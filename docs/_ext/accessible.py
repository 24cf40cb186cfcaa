"""Pages that a screen reader reads as they are meant: signatures of several lines.

Sphinx sets each parameter as the meaning of a term that is not there; plain lines say the same.
"""

import re
from typing import Any

from sphinx.application import Sphinx

LIST = re.compile(r'<dl>\s*((?:<dd><em class="sig-param">.*?</dd>\s*)+)</dl>', re.DOTALL)


def plain_parameters(body: str) -> str:
    """Make lines of the lists of parameters in a page."""
    return LIST.sub(lambda found: f'<div class="sig-lines">{_lines(found[1])}</div>', body)


def _lines(entries: str) -> str:
    return entries.replace("<dd>", "<div>").replace("</dd>", "</div>")


def rewrite(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if "body" in context:
        context["body"] = plain_parameters(context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", rewrite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
