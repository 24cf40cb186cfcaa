"""The verb `rejudge`: recorded results judged by the rules of this version."""

from dataclasses import dataclass

from reinstate.analysis.results import CheckRow
from reinstate.cli.shared import OnResults
from reinstate.cli.tables import print_checks, say_next
from reinstate.runs.rejudge import rejudge_file


@dataclass(frozen=True, kw_only=True)
class Rejudge(OnResults):
    """Judge recorded results again, by the rules of this version.

    Optima, intervals, shares of ceilings and verdicts are computed from the recorded settings and
    the numbers of single seeds; nothing is trained or played. Each file is rewritten, with the
    version and commit that judged it under "rejudged", and the figures beside a results.json are
    drawn again.

      reinstate rejudge reproduction/barcode-bandits
    """

    def do(self, command: str) -> dict[str, list[CheckRow]]:
        return {str(path): rejudge_file(path)["checks"] for path in self.results}

    def show(self, result: dict[str, list[CheckRow]]) -> None:
        for path, checks in result.items():
            print(path)
            print_checks(checks)
        say_next(["reinstate", "report", *self.results], "make a page of them")
