"""Verbs on recorded results: `report` makes one HTML page of them, `rejudge` judges them anew."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from reinstate.cli.options import parse
from reinstate.cli.tables import print_checks
from reinstate.errors import UserError
from reinstate.experiments.memory_as_input import gather_inputs
from reinstate.files import write_json
from reinstate.report import write_page
from reinstate.report.whole_paper import require_replaceable
from reinstate.runs.rejudge import rejudge_file

PROGRAM = "reinstate report"


@dataclass(frozen=True)
class ReportOptions:
    """One self-contained HTML page of recorded results: claims, tables, charts, settings.

    RESULTS are folders that `reinstate reproduce` left (or their results.json), and run folders
    that `reinstate train` and `evaluate` left; runs of the same experiment stand side by side.

      reinstate report reproduction/barcode-bandits
      reinstate report runs/five runs/ten --out compare.html
      reinstate report reproduction/barcode-bandits reproduction/water-maze --inputs
    """

    results: Annotated[
        tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[RESULTS [RESULTS ...]]")
    ] = ()
    """Folders or results.json files; sections of the page come in their order."""
    out: Path | None = None
    """The file to write, by default report.html; an earlier one of ours there is replaced, anything
    else is not."""
    inputs: bool = False
    """Instead, gather the rewards of agents whose memory is an input (epl2rl-input and its
    compressed variants) as JSON; --out is then inputs.json by default."""
    json: bool = False
    """Print where the page is as JSON."""


def report_command(arguments: list[str]) -> None:
    options: ReportOptions = parse(ReportOptions, arguments, ReportOptions(), PROGRAM)
    if not options.results:
        raise UserError(f"report needs results first: {PROGRAM} RESULTS… (folders or results.json)")
    if options.inputs:
        _gather(options, shlex.join([*PROGRAM.split(), *arguments]))
        return
    out = options.out or Path("report.html")
    size = write_page(options.results, out)
    if options.json:
        print(json.dumps({"report": str(out), "bytes": size}))
    else:
        print(f"{out} ({size / 1000:,.0f} kB) opens in any browser, offline")


def _gather(options: ReportOptions, command: str) -> None:
    out = options.out or Path("inputs.json")
    require_replaceable(out)
    gathered = gather_inputs(options.results, command)
    write_json(out, gathered)
    if options.json:
        print(json.dumps(gathered))
    else:
        print_checks(gathered["checks"])
        print(f"{out} holds the rewards of {', '.join(gathered['experiments'])}")


@dataclass(frozen=True)
class RejudgeOptions:
    """Judge recorded results anew, by the rules of this version.

    Intervals, shares of ceilings and checks are made from the recorded numbers of single seeds;
    nothing is trained or played. Each file is rewritten, with the version and commit that judged it
    under "rejudged", and the figures beside a results.json are drawn again.

      reinstate rejudge reproduction/barcode-bandits
    """

    results: Annotated[
        tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[RESULTS [RESULTS ...]]")
    ] = ()
    """Folders that `reinstate reproduce` left, or their results.json."""
    json: bool = False
    """Print the checks of each file as JSON."""


def rejudge_command(arguments: list[str]) -> None:
    program = "reinstate rejudge"
    options: RejudgeOptions = parse(RejudgeOptions, arguments, RejudgeOptions(), program)
    if not options.results:
        raise UserError(f"rejudge needs results first: {program} RESULTS… (folders or files)")
    checks = {str(path): rejudge_file(path)["checks"] for path in options.results}
    if options.json:
        print(json.dumps(checks))
        return
    for path, found in checks.items():
        print(path)
        print_checks(found)
