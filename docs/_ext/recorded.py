"""Recorded results → text for the pages: tables, claims, commands, single numbers.

Pages type no number that a file under results/ holds. Nothing in here needs Sphinx.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cell_tables
from readme_tables import TABLES
from reinstate.analysis.results import CheckRow, Results
from reinstate.cli.tables import as_text
from reinstate.experiments import EXPERIMENTS
from reinstate.files import read_json
from reinstate.runs.provenance import repeatable

RESULTS = Path(__file__).parents[2] / "results"


def file_of(name: str) -> Path:
    """`water-maze` is its results.json; other files are named with their folder."""
    return RESULTS / (name if name.endswith(".json") else f"{name}/results.json")


def table(kind: str, names: Sequence[str]) -> str:
    return MADE[kind](*(read_json(file_of(name)) for name in names))


def claims_table(results: Results) -> str:
    """The paper's statements beside how they were tested, and whether they held.

    Checks that go beyond the paper have no statement of it.
    """
    rows = [
        [
            check["section"],
            check["paper"],
            f"{check['claim']}: {check['bound']}",
            _ours(check),
            "yes" if check["holds"] else f"no{_tried(check)}",
        ]
        for check in results["checks"]
    ]
    return markdown(["section", "the paper", "tested here", "ours [95%]", "holds"], rows)


def _tried(check: CheckRow) -> str:
    return f"; tried: {check['tried']}" if check["tried"] else ""


def both_claims_table(paper: dict[str, Any], quick: dict[str, Any]) -> str:
    """Every check of two summaries, of the paper preset and of the quick one, side by side."""
    rows = []
    for name, part in paper["experiments"].items():
        pairs = zip(part["checks"], quick["experiments"][name]["checks"], strict=True)
        for check, again in pairs:
            verdicts = [_verdict(each) for each in (check, again)]
            rows.append([check["section"], check["paper"], check["claim"], *verdicts])
    held = [f"{part['totals']['hold']} of {part['totals']['checks']}" for part in (paper, quick)]
    rows.append(["", "", "**hold**", *held])
    return markdown(["section", "the paper", "tested here", "paper preset", "quick preset"], rows)


def _verdict(check: CheckRow) -> str:
    ours = _ours(check)
    return f"yes: {ours}" if check["holds"] else f"**no**: {ours}{_tried(check)}"


def _ours(check: CheckRow) -> str:
    ci95 = check["ci95"]
    interval = f" [{ci95[0]:.3f}, {ci95[1]:.3f}]" if ci95 else ""
    return f"{check['value']:.3f}{interval}"


def optimum_table(results: Results) -> str:
    return values_table(results["optimum"])


def values_table(values: dict[str, Any]) -> str:
    rows = [[name.replace("_", " "), as_text(value)] for name, value in values.items()]
    return markdown(["optimum", "value"], rows)


def solved_table(name: str) -> str:
    """The optimum of an experiment's default settings, solved while the page is built."""
    experiment = EXPERIMENTS[name]
    if experiment.optimum is None:
        raise KeyError(f"{name} has no optimum")
    return values_table(experiment.optimum(experiment.world()))


def command_block(*documents: dict[str, Any]) -> str:
    """The commands that made recorded files, but for where these were put."""
    return "\n".join(["```", *(command_of(document) for document in documents), "```"])


def command_of(document: dict[str, Any]) -> str:
    return repeatable(document["command"])


def files_table() -> str:
    """Every recorded file that a single command made, and where that was run."""
    rows = []
    for path in sorted(RESULTS.rglob("*.json")):
        document = read_json(path)
        if {"command", "device"} <= document.keys() and "experiments" not in document:
            made = document["commit"].partition("+")
            commit = made[0][:7] + made[1] + made[2]
            name = f"`{path.relative_to(RESULTS)}`"
            rows.append([name, f"`{command_of(document)}`", document["device"], f"`{commit}`"])
    return markdown(["file", "command", "device", "commit"], rows)


def number(text: str) -> str:
    """`barcode-bandits optimum.own_memory .2f` → that number, written so."""
    name, path, *spec = text.split()
    value = read_json(file_of(name))
    for part in path.split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return format(value, spec[0] if spec else "")


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


MADE: dict[str, Callable[..., str]] = {
    **TABLES,
    "claims": claims_table,
    "both-claims": both_claims_table,
    "optimum": optimum_table,
    "command": command_block,
    "cell-sizes": lambda document: markdown(*cell_tables.sizes(document)),
    "cell-clips": lambda document: markdown(*cell_tables.clips(document)),
    "cell-variants": lambda document: markdown(*cell_tables.variants(document)),
    "cell-commands": lambda document: markdown(*cell_tables.made(document)),
}
