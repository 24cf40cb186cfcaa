"""The verbs on recorded results: `report`, `rejudge`, `memory-as-input`, and their `schema`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from reinstate.analysis.results import CheckRow, Results, json_schema
from reinstate.cli.shared import OnResults
from reinstate.cli.tables import print_checks, say, say_next
from reinstate.files import write_json
from reinstate.report import write_page
from reinstate.report.whole_paper import require_replaceable
from reinstate.runs.gather import gather_inputs
from reinstate.runs.rejudge import rejudge_file


@dataclass(frozen=True, kw_only=True)
class Report(OnResults):
    """Make one self-contained HTML page of recorded results: claims, tables, charts, settings.

    RESULTS are folders that `reinstate reproduce` left (or their results.json), and run folders
    that `reinstate train` and `evaluate` left. Sections come in their order; runs of the same
    experiment stand side by side.

      reinstate report reproduction/barcode-bandits
      reinstate report runs/five runs/ten --out compare.html
    """

    out: Path = Path("report.html")
    """The file to write. A report of ours that is there is replaced, anything else is not."""

    def do(self, command: str) -> Any:
        return {"report": str(self.out), "bytes": write_page(self.results, self.out)}

    def show(self, result: Any) -> None:
        say(f"next: open {self.out} ({result['bytes'] / 1000:,.0f} kB) in any browser, offline")


@dataclass(frozen=True, kw_only=True)
class Rejudge(OnResults):
    """Judge recorded results again, by the rules of this version.

    Intervals, shares of ceilings and checks are computed from the recorded numbers of single seeds;
    nothing is trained or played. Each file is rewritten, with the version and commit that judged it
    under "rejudged", and the figures beside a results.json are drawn again.

      reinstate rejudge reproduction/barcode-bandits
    """

    def do(self, command: str) -> dict[str, list[CheckRow]]:
        return {str(path): rejudge_file(path)["checks"] for path in self.results}

    def show(self, result: dict[str, list[CheckRow]]) -> None:
        for path, checks in result.items():
            print(path)
            print_checks(checks)
        say_next(["reinstate", "report", *self.results], "make a page of them")


@dataclass(frozen=True, kw_only=True)
class MemoryAsInput(OnResults):
    """Compare agents whose memory is an input (epl2rl-input and its compressed variants).

    Their rewards are gathered by experiment and preset, beside those of epl2rl and of agents
    without a memory, and what section 4.1 of the paper says about them is checked.

      reinstate reproduce water-maze --agents epl2rl-input epl2rl-input-2 --out inputs
      reinstate memory-as-input reproduction/water-maze inputs
    """

    out: Path = Path("inputs.json")
    """The file to write. One of ours that is there is replaced, anything else is not."""

    def do(self, command: str) -> Any:
        require_replaceable(self.out)
        gathered = gather_inputs(self.results, command)
        write_json(self.out, gathered)
        return gathered

    def show(self, result: Any) -> None:
        print_checks(result["checks"])
        say(f"{self.out} holds the rewards of {', '.join(result['experiments'])}")
        say_next(["reinstate", "report", *self.results], "make a page of the results")


@dataclass(frozen=True)
class Schema:
    """Print the JSON Schema (2020-12) of results.json, which `reinstate reproduce` writes.

    For example:

      reinstate schema > results.schema.json
    """

    json: ClassVar = False  # a schema is JSON always

    def do(self, command: str) -> Any:
        return json_schema(Results)

    def show(self, result: Any) -> None:
        print(json.dumps(result, indent=1))
