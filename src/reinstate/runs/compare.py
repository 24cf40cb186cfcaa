"""Two recorded results, claim by claim: does a verdict survive other seeds?"""

from pathlib import Path
from typing import Any, NamedTuple

from reinstate.analysis.documents import checked
from reinstate.analysis.results import CheckRow, Summary, Verdict, read_results
from reinstate.errors import UserError
from reinstate.figures.numbers import at
from reinstate.files import read_json


class Compared(NamedTuple):
    """A claim that both results judge."""

    experiment: str
    claim: str
    paper: bool  # whether the paper makes it
    verdicts: tuple[Verdict, Verdict]
    values: tuple[float, float]

    @property
    def same(self) -> bool:
        """Whether both came to the same verdict."""
        return self.verdicts[0] == self.verdicts[1]

    @property
    def flips(self) -> bool:
        """Whether one supports what the other contradicts."""
        return set(self.verdicts) == {"supported", "contradicted"}


class Comparison(NamedTuple):
    """What two results say of the same claims, and which claims one of them has alone."""

    claims: list[Compared]
    only_first: list[str]
    only_second: list[str]


def compare(first: Path, second: Path) -> Comparison:
    """Compare the verdicts of two results or summaries, claim by claim."""
    ours, theirs = _claims_of(first), _claims_of(second)
    shared = [key for key in ours if key in theirs]
    if not shared:
        raise UserError(f"{first} and {second} share no claim: name results of one experiment")
    return Comparison(
        claims=[_compared(*key, ours[key], theirs[key]) for key in shared],
        only_first=[": ".join(key) for key in ours if key not in theirs],
        only_second=[": ".join(key) for key in theirs if key not in ours],
    )


def _compared(experiment: str, claim: str, a: CheckRow, b: CheckRow) -> Compared:
    verdicts, values = (a["verdict"], b["verdict"]), (a["value"], b["value"])
    return Compared(experiment, claim, bool(a["paper"]), verdicts, values)


def _claims_of(path: Path) -> dict[tuple[str, str], CheckRow]:
    """Read the claims of a results.json, a summary.json, or a folder with either."""
    summary = path / "summary.json"
    file = summary if summary.exists() else path / "results.json" if path.is_dir() else path
    document = read_json(file)
    if isinstance(document, dict) and "totals" in document:
        named = _claims_of_summary(document, file)
    else:
        results = read_results(file)
        named = [(results["experiment"], row) for row in results["checks"]]
    if any("verdict" not in row for _, row in named):
        raise UserError(f"{file} has claims without a verdict: reinstate rejudge adds them")
    return {(name, row["claim"]): row for name, row in named}


def _claims_of_summary(document: Any, file: Path) -> list[tuple[str, CheckRow]]:
    if at(document, "totals", "hold") is not None:
        raise UserError(
            f"{file} sums up verdicts of an earlier version: make it again with reinstate"
            " reproduce all"
        )
    parts = checked(Summary, document, file)["experiments"]
    return [(name, row) for name, part in parts.items() for row in part["checks"]]
