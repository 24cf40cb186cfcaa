"""Two recorded results, claim by claim: does a verdict survive other seeds?"""

from pathlib import Path
from typing import NamedTuple

from reinstate.analysis.results import CheckRow, Summary, Verdict, read_document, read_results
from reinstate.errors import UserError


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


def compare(first: Path, second: Path) -> list[Compared]:
    """Compare what two results or summaries say of the claims that are in both."""
    ours, theirs = _claims_of(first), _claims_of(second)
    shared = [key for key in ours if key in theirs]
    if not shared:
        raise UserError(f"{first} and {second} share no claim: name results of one experiment")
    return [_compared(*key, ours[key], theirs[key]) for key in shared]


def _compared(experiment: str, claim: str, a: CheckRow, b: CheckRow) -> Compared:
    verdicts, values = (a["verdict"], b["verdict"]), (a["value"], b["value"])
    return Compared(experiment, claim, bool(a["paper"]), verdicts, values)


def _claims_of(path: Path) -> dict[tuple[str, str], CheckRow]:
    """Read the claims of a results.json, a summary.json, or a folder with either."""
    summary = path / "summary.json" if path.is_dir() else path
    if summary.name == "summary.json" and summary.exists():
        parts = read_document(Summary, summary)["experiments"]
        named = [(name, row) for name, part in parts.items() for row in part["checks"]]
    else:
        results = read_results(path)
        named = [(results["experiment"], row) for row in results["checks"]]
    return {(name, row["claim"]): row for name, row in named}
