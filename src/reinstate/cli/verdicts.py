"""The verb `verdicts`: two recorded results, claim by claim."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from reinstate.cli.shared import Verb
from reinstate.cli.tables import print_table, say
from reinstate.runs.compare import compare


@dataclass(frozen=True, kw_only=True)
class Verdicts(Verb):
    """Compare two recorded results claim by claim: do verdicts survive other seeds?

    Each is a results.json or a summary.json, or a folder that holds one. A verdict flips if one
    result supports what the other contradicts; undecided is no contradiction.

      reinstate reproduce barcode-bandits --first-seed 5000 --out again
      reinstate verdicts reproduction/barcode-bandits again
    """

    first: Annotated[Path, Positional, arg(metavar="A")]
    """Recorded results."""
    second: Annotated[Path, Positional, arg(metavar="B")]
    """Others of the same experiments, such as of other seeds."""

    def do(self, command: str) -> dict[str, Any]:
        found = compare(self.first, self.second)
        rows = [{**each._asdict(), "same": each.same, "flips": each.flips} for each in found.claims]
        counts = {name: sum(row[name] for row in rows) for name in ("same", "flips")}
        return {**found._asdict(), "claims": rows, **counts}

    def show(self, result: dict[str, Any]) -> None:
        rows: list[list[str]] = []
        for row in result["claims"]:
            experiment = row["experiment"]
            if rows and rows[-1][0] != experiment:
                rows.append([])
            cells = [f"{v} {x:.3f}" for v, x in zip(row["verdicts"], row["values"], strict=True)]
            mark = "FLIPS" if row["flips"] else "" if row["same"] else "differs"
            rows.append([experiment, row["claim"], *cells, mark])
        left = ["experiment", "claim", str(self.first), str(self.second), ""]
        print_table("verdicts, and the values they are about", left, [], rows)
        for path, name in ((self.first, "only_first"), (self.second, "only_second")):
            for claim in result[name]:
                say(f"only in {path}: {claim}")
        count = len(result["claims"])
        say(f"{result['same']} of {count} verdicts are the same, {result['flips']} flip")
