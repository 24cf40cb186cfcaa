"""results.json and summary.json → tables of what agents earn, and of claims."""

import re
from collections.abc import Callable, Sequence

from reinstate.agent import AGENTS, Wiring
from reinstate.analysis.results import CheckRow, Results, Summary
from reinstate.analysis.verdicts import VERDICTS
from reinstate.cli.tables import as_text
from reinstate.figures.numbers import written
from reinstate.figures.style import label
from words import NBSP, Rows, markdown

SUMMARIES = ("paper preset", "replicate", "quick preset")  # in the order of the files
AGENT = re.compile(r"(?<![\w-])(?:ep)?l2rl(?:-[a-z]+)?(?:-\d+)?(?![\w-])")


def optimum(document: Results) -> str:
    """List the optima; one that is known by exposure has a small table of its own."""
    optima = {name.replace("_", " "): value for name, value in document["optimum"].items()}
    single = [(n, as_text(value)) for n, value in optima.items() if not isinstance(value, list)]
    parts = [[{"optimum": name, "value": value} for name, value in single]]
    for name, values in optima.items():
        if isinstance(values, list):
            by_exposure = {str(n): as_text(value) for n, value in enumerate(values, 1)}
            parts.append([{"exposure": name} | by_exposure])
    return "\n\n".join(map(markdown, parts))


def claims(document: Results) -> str:
    """Show the paper's claims of one document, tested together, then ours, each tested alone."""
    paper, ours = (
        [_claim(each) for each in document["checks"] if bool(each["paper"]) is its]
        for its in (True, False)
    )
    parts = [markdown(paper)] if paper else []
    if ours:
        parts += ["Claims of ours, each judged alone:"] if paper else []
        parts.append(markdown(ours))
    return "\n\n".join(parts)


def _claim(check: CheckRow) -> dict[str, str]:
    """Show a claim with its adjusted p, and with what was tried where it does not hold."""
    verdict, adjusted = check["verdict"], check["p_holm"]
    last = f"; tried: {check['tried']}" if check["tried"] and verdict != "supported" else ""
    return {
        **({"the paper": check["paper"]} if check["paper"] else {}),
        "tested here": named(f"{check['claim']}: {check['bound']}"),
        "value [95%]": _value(check),
        "*p*": _odds(check["p"]),
        **({"*p* (Holm)": "" if adjusted is None else _odds(adjusted)} if check["paper"] else {}),
        "verdict": f"{_stressed(verdict)}{last}",
    }


def named(claim: str) -> str:
    """Write agents as readers know them; one whose label is a phrase stays a name in code."""
    labels = {n: label(n) for n in AGENTS if isinstance(AGENTS[n], Wiring) and "," not in label(n)}
    return AGENT.sub(lambda found: labels.get(found[0], f"`{found[0]}`"), claim)


def _stressed(verdict: str) -> str:
    return verdict if verdict == "supported" else f"**{verdict}**"


def _value(check: CheckRow) -> str:
    ci95 = check["ci95"]
    interval = f" [{ci95[0]:.3f},{NBSP}{ci95[1]:.3f}]" if ci95 else ""
    return f"{check['value']:.3f}{interval}"


def _odds(p: float) -> str:
    return written(p).removeprefix("p ").removeprefix("= ").replace(" ", NBSP)


def paper_claims(*summaries: Summary) -> str:
    """Show the paper's claims in several summaries, the first of which has all; and the counts."""
    rows = _side_by_side(summaries, of_the_paper=True)
    for name in ("claims", *VERDICTS):
        counts = [str(summary["totals"][name]) for summary in summaries]
        rows.append(dict(zip(rows[0], ["", "", f"*{name}*", *counts], strict=True)))
    return markdown(rows)


def our_claims(*summaries: Summary) -> str:
    """Show claims that the paper does not make."""
    rows = _side_by_side(summaries, of_the_paper=False)
    return markdown([{name: row[name] for name in row if name != "the paper"} for row in rows])


def _side_by_side(summaries: Sequence[Summary], of_the_paper: bool) -> Rows:
    """Make a row for each claim of the first summary; one that lacks it has an empty cell."""
    columns = dict(zip(SUMMARIES, map(claims_of, summaries), strict=False))
    rows = []
    for key, check in columns[SUMMARIES[0]].items():
        if bool(check["paper"]) is of_the_paper:
            row = {"section": check["section"], "the paper": check["paper"]}
            row["tested here"] = named(f"{check['claim']}: {_region(check)}")
            for name, found in columns.items():
                its = found.get(key)
                row[name] = f"{_stressed(its['verdict'])} {_value(its)}" if its else ""
            rows.append(row)
    return rows


def _region(check: CheckRow) -> str:
    low, high = (None if end is None else f"{end:.3g}" for end in check["region"])
    if low and high:
        return f"{low} to {high}"
    return f"≥{NBSP}{low}" if low else f"≤{NBSP}{high}"


def agreement(first: Summary, second: Summary) -> tuple[int, int, int]:
    """Count the claims that both test, alike, and one supporting what the other contradicts."""
    ours, theirs = claims_of(first), claims_of(second)
    pairs = [(ours[key]["verdict"], theirs[key]["verdict"]) for key in ours if key in theirs]
    same = sum(a == b for a, b in pairs)
    return len(pairs), same, sum({*pair} == {"supported", "contradicted"} for pair in pairs)


def agreeing(first: Summary, second: Summary) -> str:
    shared, same, flips = agreement(first, second)
    return f"{same} of {shared} claims, {flips or 'none'} reversed"


def claims_of(summary: Summary) -> dict[tuple[str, str], CheckRow]:
    """Return claims by experiment and text."""
    parts = summary["experiments"].items()
    return {(name, check["claim"]): check for name, part in parts for check in part["checks"]}


TABLES: dict[str, Callable[..., str]] = {
    "optimum": optimum,
    "claims": claims,
    "paper-claims": paper_claims,
    "our-claims": our_claims,
}
