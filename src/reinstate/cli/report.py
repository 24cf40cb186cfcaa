"""The verb `report`: one HTML page of recorded results and runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reinstate.cli.shared import OnResults
from reinstate.cli.tables import say
from reinstate.figures.page import write_page


@dataclass(frozen=True, kw_only=True)
class Report(OnResults):
    """Make one self-contained HTML page of recorded results: claims, tables, charts, settings.

    RESULTS are folders that `reinstate reproduce` left (or their results.json), and run folders
    that `reinstate train` and `evaluate` left. Sections come in their order; runs of the same
    experiment stand side by side. What `reinstate memory-as-input` and `pretrain` wrote are
    sections too, and a folder of such folders stands for all that is in it.

      reinstate report reproduction/barcode-bandits
      reinstate report reproduction
      reinstate report runs/five runs/ten --out compare.html
    """

    out: Path = Path("report.html")
    """The file to write. A report of ours that is there is replaced, anything else is not."""

    def do(self, command: str) -> Any:
        return {"report": str(self.out), "bytes": write_page(self.results, self.out)}

    def show(self, result: Any) -> None:
        say(f"next: open {self.out} ({result['bytes'] / 1000:,.0f} kB) in any browser, offline")
