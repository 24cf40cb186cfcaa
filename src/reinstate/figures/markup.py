"""HTML by construction: whatever was not built here is text, and is escaped."""

import base64
import hashlib
import html
from collections.abc import Iterable, Sequence
from importlib.resources import files
from string import Template

VOID = ("img", "meta")  # elements without an end
ABSENT = "–"


class Markup(str):
    """HTML that is complete; a plain string is text that is still to be escaped."""


def escaped(text: object) -> Markup:
    return text if isinstance(text, Markup) else Markup(html.escape(str(text)))


def joined(parts: Iterable[object], between: str = "") -> Markup:
    return Markup(between.join(escaped(part) for part in parts))


def tag(name: str, *children: object, **attributes: object) -> Markup:
    """Make an element. Underscores in attributes are hyphens; one at the end is dropped."""
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    end = "" if name in VOID else f"</{name}>"
    return Markup(f"<{name}{written}>{joined(children)}{end}")


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'


def number(value: float | None) -> str:
    """Write about four digits, never in powers of ten unless it is tiny."""
    if value is None:
        return ABSENT
    size = abs(value)
    if 0 < size < 0.001:
        return f"{value:.1e}"
    return f"{value:.1f}" if size >= 100 else f"{value:.3f}"


def percent(share: float | None) -> str:
    return ABSENT if share is None else f"{share:.1%}"


def with_bounds(mean: float | None, ci95: Sequence[float] | None) -> str:
    if mean is None or ci95 is None:
        return number(mean)
    return f"{number(mean)} [{number(ci95[0])}, {number(ci95[1])}]"


def table(
    label: str, head: Sequence[object], *bodies: Sequence[Markup], class_: str | None = None
) -> Markup:
    """Make a table in a box, so that a narrow screen scrolls the box and not the page."""
    columns = [cell if isinstance(cell, Markup) else tag("th", cell, scope="col") for cell in head]
    made = tag(
        "table",
        tag("caption", label, class_="unseen"),
        tag("thead", tag("tr", *columns)),
        *(tag("tbody", *rows) for rows in bodies if rows),
        class_=class_,
    )
    # A group and not a region: a page has too many tables for each to be a landmark of it.
    return tag("div", made, class_="scroll", role="group", aria_label=label, tabindex=0)


def row(first: object, *cells: object, **attributes: object) -> Markup:
    """Make a row whose first cell is its heading."""
    data = (cell if isinstance(cell, Markup) else tag("td", cell) for cell in cells)
    return tag("tr", tag("th", first, scope="row"), *data, **attributes)


def folded(summary: object, *content: object) -> Markup:
    return tag("details", tag("summary", summary), *content)


def part(name: str) -> str:
    """Return a file of the folder of pages."""
    return (files("reinstate.figures.page") / name).read_text(encoding="utf-8")


def framed(verb: str, title: str, style: str, script: str, body: str) -> str:
    """Make a page by this verb; its policy lets no script run but this one."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(part("frame.html")).substitute(
        verb=verb,
        title=title,
        style=style,
        script=script,
        script_hash=f"sha256-{digest}",
        body=body.rstrip(),
    )
