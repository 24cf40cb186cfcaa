"""Claims, judged → a table: the paper's by its sections, then ours."""

from collections.abc import Sequence

from reinstate.analysis.results import CheckRow
from reinstate.analysis.verdicts import count_verdicts, in_words, with_verdicts
from reinstate.figures.markup import ABSENT, Markup, row, table, tag, with_bounds
from reinstate.figures.numbers import finite, interval, written
from reinstate.report.sources import Document

HEAD = ("claim", "the paper", "ours [95%]", "verdict")
SIGNS = {"supported": "✓", "contradicted": "✗", "undecided": "?"}
OURS = "Our own claims, which the paper does not make"


def claims(documents: Sequence[Document], names: Sequence[tuple[str, str]]) -> Markup | None:
    """Make a table of every claim; those of all documents are one family for Holm's adjustment.

    `names` are each document's identifier on the page, and its heading.
    """
    rows = with_verdicts([check for d in documents for check in d.results["checks"]])
    alarms = [alarm for document in documents for alarm in document.results["alarms"]]
    if not rows and not alarms:
        return None
    left = iter(rows)
    groups: list[list[Markup]] = []
    ours: list[Markup] = [_heading(OURS)]
    for document, (name, heading) in zip(documents, names, strict=True):
        own = [next(left) for _ in document.results["checks"]]
        groups += _sections(own, name, heading)
        ours += [_check(check) for check in own if not check["paper"]]
    groups += [ours] if len(ours) > 1 else []
    counts = count_verdicts(rows)
    said = [tag("p", f"{in_words(counts)}.")] if counts["claims"] else []
    judged = [table("The paper’s claims, and ours", HEAD, *groups, class_="claims")]
    return tag(
        "section",
        tag("h2", "Claims", id="claims-heading"),
        *(tag("p", f"Alarm: {alarm}.", class_="contradicted") for alarm in alarms),
        *said,
        *(judged if groups else []),
        id="claims",
        aria_labelledby="claims-heading",
    )


def _sections(checks: Sequence[CheckRow], name: str, heading: str) -> list[list[Markup]]:
    """Make rows for each section of the paper, under a row that names it."""
    groups: dict[str, list[Markup]] = {}
    for check in checks:
        if check["paper"]:
            section = check["section"]
            link = tag("a", heading, href=f"#{name}")
            first = _heading(f"Section {section}: ", link)
            groups.setdefault(section, [first]).append(_check(check))
    return list(groups.values())


def _heading(*words: str | Markup) -> Markup:
    title = tag("th", *words, colspan=len(HEAD), scope="rowgroup")
    return tag("tr", title, class_="group")


def _check(check: CheckRow) -> Markup:
    verdict = check["verdict"]
    judged = tag("span", f"{SIGNS[verdict]} {verdict}", class_=verdict)
    p = written(check["p"])
    if (adjusted := check.get("p_holm")) is not None:
        p += f", after Holm {written(adjusted)}"
    of = f"{check['seeds']} seeds" if check["seeds"] > 1 else "one seed cannot tell"
    why = tag("span", f" claimed: {check['bound']}; {p}, {of}", class_="bound")
    tried = check["tried"] if verdict != "supported" else ""  # to make it hold
    attempts = [tag("span", f"; tried: {tried}", class_="bound")] if tried else []
    ours = with_bounds(finite(check["value"]), interval(check["ci95"]))
    return row(check["claim"], check["paper"] or ABSENT, ours, tag("td", judged, why, *attempts))
