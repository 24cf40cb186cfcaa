"""Claims, judged → what is contradicted or undecided, then all of them in a table."""

from collections.abc import Iterator, Sequence

from reinstate.analysis.results import CheckRow
from reinstate.analysis.verdicts import count_verdicts, in_words
from reinstate.figures.markup import ABSENT, Markup, folded, joined, row, table, tag, with_bounds
from reinstate.figures.numbers import finite, interval, written
from reinstate.figures.page.documents import Document
from reinstate.figures.page.scores import labelled

HEAD = ("claim", "the paper", "ours [95%]", "verdict")
SIGNS = {"supported": "✓", "contradicted": "✗", "undecided": "?"}
OPEN = "What is contradicted, and what is undecided"
OURS = "Our own claims, which the paper does not make"

Names = Sequence[tuple[str, str]]  # of documents: the identifier on the page, and the heading
Judged = Sequence[Sequence[CheckRow]]  # of documents


def claims(documents: Sequence[Document], names: Names, judged: Judged) -> Markup | None:
    """Show what does not hold or cannot be told, and fold the table of every claim."""
    rows = [row for own in judged for row in own]
    alarms = [alarm for document in documents for alarm in document.results["alarms"]]
    if not rows and not alarms:
        return None
    counts = count_verdicts(rows)
    said = [tag("p", f"{in_words(counts)}.")] if counts["claims"] else []
    open_ones = list(_open(names, judged))
    full = [folded(f"All {len(rows)} claims", _table(names, judged))] if rows else []
    return tag(
        "section",
        tag("h2", OPEN if open_ones else "Claims", id="claims-heading"),
        *(tag("p", f"Alarm: {alarm}.", class_="contradicted") for alarm in alarms),
        *said,
        *([tag("ul", *open_ones, class_="cards open")] if open_ones else []),
        *full,
        id="claims",
        aria_labelledby="claims-heading",
    )


def _open(names: Names, judged: Judged) -> Iterator[Markup]:
    """Make a card for each claim that is contradicted, then for each that is undecided."""
    for verdict in ("contradicted", "undecided"):
        for (name, heading), own in zip(names, judged, strict=True):
            found = [check for check in own if check["verdict"] == verdict]
            yield from (_card(check, name, heading) for check in found)


def _card(check: CheckRow, name: str, heading: str) -> Markup:
    said = [("the paper", check["paper"] or "our own claim, not the paper’s")]
    said += [("claimed", check["bound"]), ("found", f"{_ours(check)}, {_p(check)}")]
    said += [("tried", check["tried"])] if check["tried"] else []
    facts = (joined([tag("dt", k), tag("dd", v)]) for k, v in said)
    where = tag("a", heading, href=f"#{name}")
    return tag(
        "li",
        tag("div", _verdict(check), where, class_="head"),
        tag("strong", check["claim"]),
        tag("dl", *facts, class_="facts"),
        class_=f"card {check['verdict']}-card",
    )


def _table(names: Names, judged: Judged) -> Markup:
    groups: list[list[Markup]] = []
    ours: list[Markup] = [_heading(OURS)]
    for (name, heading), own in zip(names, judged, strict=True):
        groups += _sections(own, name, heading)
        ours += [_check(check) for check in own if not check["paper"]]
    groups += [ours] if len(ours) > 1 else []
    return table("The paper’s claims, and ours", HEAD, *groups, class_="claims")


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
    why = tag("span", f" claimed: {check['bound']}; {_p(check)}", class_="bound")
    tried = check["tried"] if check["verdict"] != "supported" else ""  # to make it hold
    attempts = [tag("span", f"; tried: {tried}", class_="bound")] if tried else []
    cells = check["paper"] or ABSENT, _ours(check), joined([_verdict(check), why, *attempts])
    return row(check["claim"], *map(labelled, cells, HEAD[1:]))


def _verdict(check: CheckRow) -> Markup:
    verdict = check["verdict"]
    return tag("span", f"{SIGNS[verdict]} {verdict}", class_=verdict)


def _ours(check: CheckRow) -> str:
    return with_bounds(finite(check["value"]), interval(check["ci95"]))


def _p(check: CheckRow) -> str:
    p = written(check["p"])
    if (adjusted := check.get("p_holm")) is not None:
        p += f", after Holm {written(adjusted)}"
    return f"{p}, {check['seeds']} seeds" if check["seeds"] > 1 else f"{p}, one seed cannot tell"
