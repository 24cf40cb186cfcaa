"""Claims on the page: verdicts in words and colour, the paper's own counted, ours apart."""

from pathlib import Path
from typing import Any

from page.reading import Element, read
from page.recorded import EVIL, RESULTS, page_from, small
from reinstate.analysis.verdicts import VERDICTS, count_verdicts, in_words, with_verdicts
from reinstate.figures.markup import with_bounds
from reinstate.figures.page import load, page_of
from reinstate.runs.conclusions import read_results
from reinstate.runs.experiment import find_experiment
from reinstate_paper import PAPER_EXPERIMENTS

RECORDED = [RESULTS / name / "results.json" for name in PAPER_EXPERIMENTS]
OURS = "Our own claims, which the paper does not make"
SAYS = "they say so"


def check(claim: str, p: float = 0.001, **changes: Any) -> dict[str, Any]:
    """A claim of the paper that a value is at least 1; that it is 2 supports it."""
    row = {
        "claim": claim,
        "value": 2.0,
        "ci95": [1.5, 2.5],
        "region": [1.0, None],
        "bound": "at least 1.000",
        "seeds": 10,
        "p": p,
        "section": "4.1",
        "paper": SAYS,
        "tried": "",
    }
    return row | changes


def page_with(*documents: list[dict[str, Any]], alarms: tuple[str, ...] = ()) -> str:
    """A page of results with these claims, one document each; the first has the alarms."""
    return page_from(
        *(
            small() | {"checks": checks, "alarms": [] if number else list(alarms)}
            for number, checks in enumerate(documents)
        )
    )


def groups_of(page: Element) -> list[tuple[str, list[list[str]]]]:
    """Heading and rows of each group of the claims' table."""
    bodies = page.one("section", id="claims").one("table").all("tbody")
    found = []
    for body in bodies:
        head, *rows = body.all("tr")
        (title,) = head.all("th")
        assert title.attributes["scope"] == "rowgroup" and title.attributes["colspan"] == "4"
        assert all(tr.one("th").attributes["scope"] == "row" for tr in rows)
        found.append(
            (title.text, [[c.text for c in tr.walk() if c.name in ("th", "td")] for tr in rows])
        )
    return found


def verdicts_of(page: Element) -> dict[str, str]:
    """Claim → verdict, which its colour says as well as its word."""
    found = {}
    for tr in page.one("section", id="claims").all("tr"):
        for span in (each for each in tr.all("span") if each.attributes["class"] in VERDICTS):
            sign, word = span.text.split(" ")
            assert sign == {"supported": "✓", "contradicted": "✗", "undecided": "?"}[word]
            assert span.attributes["class"] == word
            found[tr.one("th").text] = word
    return found


def said(page: Element) -> list[str]:
    return [p.text for p in page.one("section", id="claims").all("p")]


def test_recorded_claims_are_all_there() -> None:
    documents = [read_results(path) for path in RECORDED]
    page = read(page_of(load(RECORDED)))
    every = with_verdicts([row for document in documents for row in document["checks"]])
    paper, ours = ([c for c in every if bool(c["paper"]) is it] for it in (True, False))
    *groups, (last, own) = groups_of(page)
    sections = [e.section.partition(",")[0] for e in map(find_experiment, PAPER_EXPERIMENTS)]
    titles = [e.title for e in map(find_experiment, PAPER_EXPERIMENTS)]
    assert [title for title, _ in groups] == [
        f"Section {section}: {title}" for section, title in zip(sections, titles, strict=True)
    ]
    assert last == OURS and len(own) == len(ours) > 10
    rows = [row for _, rows in groups for row in rows] + own
    for (claim, says, value, verdict), row in zip(rows, [*paper, *ours], strict=True):
        assert (claim, says) == (row["claim"], row["paper"] or "–")
        assert value == with_bounds(row["value"], row["ci95"])
        assert f" {row['verdict']} claimed: {row['bound']}; p " in verdict
        assert ("after Holm" in verdict) is bool(row["paper"])
        tried = row["tried"] if row["verdict"] != "supported" else ""
        assert verdict.partition("; tried: ")[2] == tried
    counts = count_verdicts(every)
    assert said(page) == [f"{in_words(counts)}."] and counts["claims"] == len(paper)


def test_the_three_verdicts_in_words_and_colour(tmp_path: Path) -> None:
    tried = "this & that"
    page = read(
        page_with(
            [
                check("it is more", 1e-5, tried=tried),
                check("it is less", 0.001, value=0.5, ci95=[0.25, 0.75], tried=tried),
                check("it is about as much", 0.4, section="4.9", tried=tried),
                check("ours", 0.0123, paper="", bound="at most 3"),
            ],
        )
    )
    title = "Experiment 1: barcode bandits"
    assert groups_of(page) == [
        (
            f"Section 4.1: {title}",
            [
                ["it is more", SAYS, "2.000 [1.500, 2.500]",
                 "✓ supported claimed: at least 1.000; p < .001, after Holm p < .001, 10 seeds"],
                ["it is less", SAYS, "0.500 [0.250, 0.750]",
                 "✗ contradicted claimed: at least 1.000; p = .001, after Holm p = .002, 10 seeds"
                 f"; tried: {tried}"],
            ],
        ),
        (
            f"Section 4.9: {title}",
            [
                ["it is about as much", SAYS, "2.000 [1.500, 2.500]",
                 "? undecided claimed: at least 1.000; p = .4, after Holm p = .4, 10 seeds"
                 f"; tried: {tried}"],
            ],
        ),
        (
            OURS,
            [["ours", "–", "2.000 [1.500, 2.500]",
              "✓ supported claimed: at most 3; p = .012, 10 seeds"]],
        ),
    ]  # fmt: skip
    assert [*verdicts_of(page).values()] == ["supported", "contradicted", "undecided", "supported"]
    # Ours are not counted: the paper does not make them.
    assert said(page) == ["1 of 3 claims of the paper supported, 1 contradicted, 1 undecided."]


def test_the_papers_claims_on_a_page_are_one_family(tmp_path: Path) -> None:
    """One of two is shown less surely than alone; ours are each judged alone."""
    one, other = check("one", 0.03), check("other", 0.04)
    assert verdicts_of(read(page_with([one]))) == {"one": "supported"}
    recorded = [each | {"verdict": "supported", "p_holm": 0.03} for each in (one, other)]
    both = read(page_with(recorded[:1], recorded[1:]))  # each as it was judged alone
    assert verdicts_of(both) == {"one": "undecided", "other": "undecided"}
    assert "p = .03, after Holm p = .06" in groups_of(both)[0][1][0][-1]
    ours = [each | {"paper": ""} for each in (one, other)]
    apart = read(page_with(ours[:1], ours[1:]))
    assert verdicts_of(apart) == {"one": "supported", "other": "supported"}
    assert [title for title, _ in groups_of(apart)] == [OURS]  # one heading for all documents
    assert said(apart) == []  # none of the paper's to be counted


def test_alarms_come_first(tmp_path: Path) -> None:
    page = read(page_with([check("one")], alarms=("l2rl earns too much", EVIL)))
    alarm, other, count = page.one("section", id="claims").all("p")
    assert (alarm.text, other.text) == ("Alarm: l2rl earns too much.", f"Alarm: {EVIL}.")
    assert alarm.attributes == other.attributes == {"class": "contradicted"}
    assert count.text == "1 of 1 claims of the paper supported."
    bare = read(page_with([], alarms=("l2rl earns too much",)))  # without any claim
    assert said(bare) == ["Alarm: l2rl earns too much."]
    assert not bare.one("section", id="claims").all("table")
    assert not read(page_with([])).all("section", id="claims")
