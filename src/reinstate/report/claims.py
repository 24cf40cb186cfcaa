"""Checks of the paper's statements → a table, grouped by the paper's sections."""

from collections.abc import Sequence
from typing import Any

from reinstate.report.markup import ABSENT, Markup, finite, percent, row, table, tag, with_bounds
from reinstate.report.sources import Document

WORDS = {"<=": "at most", ">=": "at least", "<": "less than", ">": "more than"}
HEAD = ("claim", "the paper", "ours [95%]", "share of its ceiling", "verdict")


def claims(documents: Sequence[Document], groups: Sequence[Sequence[Markup]]) -> Markup:
    """Every statement of the paper that was tested, with what became of it."""
    verdicts = [check["holds"] is True for d in documents for check in d.results.get("checks", [])]
    return tag(
        "section",
        tag("h2", "Claims", id="claims-heading"),
        tag("p", f"{sum(verdicts)} of {len(verdicts)} checks of the paper’s statements hold."),
        table("The paper’s claims", HEAD, *groups, class_="claims"),
        id="claims",
        aria_labelledby="claims-heading",
    )


def grouped(document: Document, name: str, heading: str) -> list[list[Markup]]:
    """Rows for each section of the paper, under a row that names it."""
    groups: dict[str, list[Markup]] = {}
    for check in document.results.get("checks", []):
        # Results of earlier versions do not name it: it is then the experiment's.
        section = str(check.get("section") or document.experiment.section.partition(",")[0])
        if section not in groups:
            link = tag("a", heading, href=f"#{name}")
            title = tag("th", f"Section {section}: ", link, colspan=len(HEAD), scope="rowgroup")
            groups[section] = [tag("tr", title, class_="group")]
        groups[section].append(_check(check))
    return list(groups.values())


def _check(check: dict[str, Any]) -> Markup:
    word, kind = ("✓ holds", "holds") if check["holds"] is True else ("✗ fails", "fails")
    bound = tag("span", f" against: {_in_words(check['bound'])}", class_="bound")
    return row(
        check["claim"],
        check.get("paper") or ABSENT,
        with_bounds(finite(check["value"]), _interval(check.get("ci95"))),
        percent(check.get("share")),
        tag("td", tag("span", word, class_=kind), bound, *_tried(check)),
    )


def _tried(check: dict[str, Any]) -> list[Markup]:
    """Where a claim fails, what was done to make it hold."""
    tried = check.get("tried")
    failed = check["holds"] is not True
    return [tag("span", f"; tried: {tried}", class_="bound")] if tried and failed else []


def _interval(ends: Any) -> tuple[float, float] | None:
    low, high = (finite(end) for end in ends) if ends else (None, None)
    return None if low is None or high is None else (low, high)


def _in_words(bound: object) -> str:
    sign, space, rest = str(bound).partition(" ")
    return f"{WORDS.get(sign, sign)}{space}{rest}"
