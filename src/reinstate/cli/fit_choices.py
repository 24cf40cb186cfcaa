"""The verb `fit-choices`: a table of two-step choices → weights, figures, a folder."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from reinstate.choices.columns import PARQUET
from reinstate.choices.model import NAMES
from reinstate.choices.participants import interval_and_p
from reinstate.choices.simulated import recovery
from reinstate.cli.options import FitChoicesOptions, pairs, parse
from reinstate.errors import UserError
from reinstate.files import require_empty, require_new
from reinstate.runs.choice_fits import fit_file, save_fit, save_recovery, write_example
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance

PROGRAM = "reinstate fit-choices"
WORK = {
    "one-back": "fitting",
    "learned": "fitting learned values",
    "hierarchical": "sampling the hierarchical model (compiles first; a minute or so)",
}

RATE = 0.5  # at which simulated agents learn values, where these are fitted


def fit_choices_command(arguments: list[str]) -> None:
    options = parse(FitChoicesOptions, arguments, FitChoicesOptions(), PROGRAM)
    columns, common = pairs("--columns", options.columns), pairs("--common", options.common)
    if options.example:
        _example(options, options.example)
    elif options.recovery:
        _recovery(options, options.recovery)
    elif options.file:
        _fit(options, options.file, columns, common)
    else:
        raise UserError(
            f"fit-choices needs a table first: {PROGRAM} FILE (--example FILE.csv writes one)"
        )


def _example(options: FitChoicesOptions, path: Path) -> None:
    if path.suffix in PARQUET:
        raise UserError(f"the example is a CSV file: name it {path.stem}.csv")
    require_new(path, "--example")
    write_example(path, options.seed)
    if options.json:
        print(json.dumps({"example": str(path)}))
    else:
        print(f"{PROGRAM} {path}  fits it")


def _recovery(options: FitChoicesOptions, out: Path) -> None:
    require_empty(out, "choose another --recovery")
    with Reporter().working(f"{WORK[options.model]}: simulated agents"):
        found = recovery(
            seed=options.seed,
            model=options.model,
            alpha=RATE if options.model == "learned" else 1.0,
            prior_sd=options.prior_sd,
        )
    document = {**found, "seed": options.seed, "prior_sd": options.prior_sd, **provenance()}
    save_recovery(document, out)
    if options.json:
        print(json.dumps({**document, "out": str(out)}))
        return
    share, n = document["coverage"], document["intervals"]
    print(f"{share:.1%} of {n} intervals of 95% hold the true weight")
    print(f"recovery.png, recovery.svg, recovery.csv and recovery.json are in {out}")


def _fit(
    options: FitChoicesOptions, path: Path, columns: dict[str, str], common: dict[str, str]
) -> None:
    out = options.out or Path("choice-fit") / path.stem
    require_empty(out, "choose another --out")
    reporter = Reporter()
    with reporter.working(f"{path}: {WORK[options.model]}"):
        document = fit_file(
            path,
            columns,
            common,
            options.model,
            options.skip_bad,
            options.prior_sd,
            options.seed,
        )
    for warning in document["warnings"]:
        reporter.note(f"warning: {warning}")
    save_fit(document, out)
    if options.json:
        print(json.dumps({**document, "out": str(out)}))
        return
    print_data(document["data"])
    print_weights(document)
    print(f"weights.csv, fit.json, choice-weights.png and stay.png (and .svg) are in {out}")


def print_data(data: dict[str, Any]) -> None:
    counts = (
        _number(data["participants"], "participant"),
        _number(data["sessions"], "session"),
        _number(data["episodes"], "episode"),
    )
    print(f"{', '.join(counts)}, {data['cued']:,} of them cued")
    led = [f"{a} → {s}" for a, s in zip(data["actions"], data["states"], strict=True)]
    print(f"taken as common: {', '.join(led)}")


def _number(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def print_weights(document: dict[str, Any]) -> None:
    """A row a weight, a column a part: mean over participants with its interval, and p."""
    group, tested = document["group"], document["model"] != "hierarchical"
    table = Table(title=_title(document), title_justify="left")
    table.add_column("weight")
    for part in group:
        table.add_column(f"{part} [95%]", justify="right")
        if tested:
            table.add_column("p", justify="right")
    names = dict.fromkeys([*NAMES["cued"], *(name for part in group.values() for name in part)])
    for name in names:
        found = [_cells(document, part, name) for part in group]
        cells = [cell for both in found for cell in (both if tested else both[:1])]
        if any(cells):
            table.add_row(name, *cells)
    Console().print(table)


def _title(document: dict[str, Any]) -> str:
    if document["model"] == "hierarchical":
        return "group mean, and where it lies with 95% probability"
    if document["data"]["participants"] == 1:
        return "weights of the only participant; p of z"
    return "mean weights over participants; p of Student's t"


def _cells(document: dict[str, Any], part: str, name: str) -> tuple[str, str]:
    """Mean with interval, and p."""
    weight = document["group"][part].get(name)
    if weight is None:
        return "", ""
    ci95, p = interval_and_p(document, part, name)
    interval = f" [{ci95[0]:.2f}, {ci95[1]:.2f}]" if ci95 else ""
    return f"{weight['mean']:.2f}{interval}", _p(p)


def _p(p: float | None) -> str:
    if p is None:
        return ""
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")
