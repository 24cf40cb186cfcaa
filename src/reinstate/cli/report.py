"""The verb `report`: one HTML page of recorded results and runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from reinstate.cli.parsing import Verb
from reinstate.cli.shared import shown
from reinstate.cli.tables import print_table, say
from reinstate.errors import UserError
from reinstate.figures.page import write_page
from reinstate.figures.page.documents import results_in
from reinstate.runs.conclusions import compare


@dataclass(frozen=True, kw_only=True)
class Report(Verb):
    """Make one self-contained HTML page of recorded results: claims, tables, charts, settings.

    RESULTS are folders that `reinstate reproduce` left (or their results.json), and run folders
    that `reinstate train` and `evaluate` left; a folder of such folders stands for all that is in
    it. Agents of one experiment that were trained apart, under the same settings but for seeds, are
    tested together.

      reinstate report reproduction
      reinstate report runs/five runs/ten --out compare.html
      reinstate report reproduction/water-maze --against reproduction/other-seeds
    """

    results: Annotated[
        tuple[Path, ...], Positional, arg(metavar="RESULTS …", help_behavior_hint="(required)")
    ]
    """Folders that `reinstate reproduce` left, their results.json, or folders of evaluated runs."""
    out: Path = Path("report.html")
    """The file to write. A report of ours that is there is replaced, anything else is not."""
    against: Annotated[tuple[Path, ...], shown("RESULTS …", "none")] = ()
    """Other results, such as of other seeds: verdicts are compared claim by claim. A verdict flips
    if one result supports what the other contradicts; undecided is no contradiction."""

    def __post_init__(self) -> None:
        if not self.results:
            raise UserError("report needs results first: reinstate report RESULTS…")

    def do(self, command: str) -> Any:
        found: Any = {"report": str(self.out), "bytes": write_page(self.results, self.out)}
        if self.against:
            rows = compare(results_in(self.results), results_in(self.against))
            found["compared"] = [{**each._asdict(), "mark": each.mark} for each in rows]
        return found

    def show(self, result: Any) -> None:
        if self.against:
            _print_comparison(result["compared"])
        say(f"next: open {self.out} ({result['bytes'] / 1000:,.0f} kB) in any browser, offline")


def _print_comparison(compared: list[dict[str, Any]]) -> None:
    rows: list[list[str]] = []
    for each in compared:
        if rows and rows[-1][0] != each["experiment"]:
            rows.append([])
        pairs = zip(each["verdicts"], each["values"], strict=True)
        cells = [f"{verdict} {value:.3f}" for verdict, value in pairs]
        rows.append([each["experiment"], each["claim"], *cells, each["mark"]])
    left = ["experiment", "claim", "these", "those", ""]
    print_table("verdicts, and the values they are about", left, [], rows)
    marks = [each["mark"] for each in compared]
    same, flips = marks.count(""), marks.count("FLIPS")
    say(f"{same} of {len(marks)} verdicts are the same, {flips} flip")
