"""Checks of the paper's statements → a table, grouped by the paper's sections."""

from collections.abc import Sequence

from reinstate.analysis.results import CheckRow
from reinstate.figures.markup import ABSENT, Markup, percent, row, table, tag, with_bounds
from reinstate.figures.numbers import finite, interval
from reinstate.report.sources import Document

WORDS = {"<=": "at most", ">=": "at least", "<": "less than", ">": "more than"}
HEAD = ("claim", "the paper", "ours [95%]", "share of its ceiling", "verdict")


def claims(documents: Sequence[Document], groups: Sequence[Sequence[Markup]]) -> Markup:
    """Make a table of every statement of the paper that was tested."""
    verdicts = [check["holds"] for d in documents for check in d.results["checks"]]
    return tag(
        "section",
        tag("h2", "Claims", id="claims-heading"),
        tag("p", f"{sum(verdicts)} of {len(verdicts)} checks of the paper’s statements hold."),
        table("The paper’s claims", HEAD, *groups, class_="claims"),
        id="claims",
        aria_labelledby="claims-heading",
    )


def grouped(document: Document, name: str, heading: str) -> list[list[Markup]]:
    """Make rows for each section of the paper, under a row that names it."""
    groups: dict[str, list[Markup]] = {}
    for check in document.results["checks"]:
        # Results of earlier versions do not name it: it is then the experiment's.
        section = check.get("section") or document.experiment.section.partition(",")[0]
        if section not in groups:
            link = tag("a", heading, href=f"#{name}")
            title = tag("th", f"Section {section}: ", link, colspan=len(HEAD), scope="rowgroup")
            groups[section] = [tag("tr", title, class_="group")]
        groups[section].append(_check(check))
    return list(groups.values())


def _check(check: CheckRow) -> Markup:
    word, kind = ("✓ holds", "holds") if check["holds"] else ("✗ fails", "fails")
    sign, space, rest = check["bound"].partition(" ")
    bound = tag("span", f" against: {WORDS.get(sign, sign)}{space}{rest}", class_="bound")
    tried = "" if check["holds"] else check.get("tried")  # to make a failing claim hold
    attempts = [tag("span", f"; tried: {tried}", class_="bound")] if tried else []
    verdict = tag("td", tag("span", word, class_=kind), bound, *attempts)
    ours = with_bounds(finite(check["value"]), interval(check.get("ci95")))
    return row(
        check["claim"], check.get("paper") or ABSENT, ours, percent(check.get("share")), verdict
    )
