"""The verb `rejudge`: recorded results judged by the rules of this version."""

from dataclasses import dataclass

from reinstate.analysis.results import CheckRow
from reinstate.cli.shared import OnResults
from reinstate.cli.tables import print_checks, say, say_next
from reinstate.files import read_json
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
            say(path)
            print_checks(checks)
        # What `memory-as-input` gathered can be judged again, but has no page.
        pages = [path for path in self.results if path.is_dir() or "agents" in read_json(path)]
        if pages:
            say_next(["reinstate", "report", *pages], "make a page of them")
