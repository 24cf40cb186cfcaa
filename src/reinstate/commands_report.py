"""The verb `report`: recorded results → one HTML page."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from reinstate.errors import UserError
from reinstate.options import parse
from reinstate.page import write_page

PROGRAM = "reinstate report"


@dataclass(frozen=True)
class ReportOptions:
    """One self-contained HTML page of recorded results: claims, tables, charts, settings.

    RESULTS are folders that `reinstate reproduce` left (or their results.json), and run folders
    that `reinstate train` and `evaluate` left; runs of the same experiment stand side by side.

      reinstate report reproduction/barcode-bandits
      reinstate report runs/five runs/ten --out compare.html
    """

    results: Annotated[
        tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[RESULTS [RESULTS ...]]")
    ] = ()
    """Folders or results.json files; sections of the page come in their order."""
    out: Path = Path("report.html")
    """The file to write; an earlier report there is replaced, anything else is not."""
    json: bool = False
    """Print where the page is as JSON."""


def report_command(arguments: list[str]) -> None:
    options: ReportOptions = parse(ReportOptions, arguments, ReportOptions(), PROGRAM)
    if not options.results:
        raise UserError(f"report needs results first: {PROGRAM} RESULTS… (folders or results.json)")
    size = write_page(options.results, options.out)
    if options.json:
        print(json.dumps({"report": str(options.out), "bytes": size}))
    else:
        print(f"{options.out} ({size / 1000:,.0f} kB) opens in any browser, offline")
