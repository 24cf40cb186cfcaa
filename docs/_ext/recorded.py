"""Recorded results → text for the pages: tables, claims, commands, single numbers.

Pages type no number that a file under results/ holds. Nothing in here needs Sphinx.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import bench_tables
import cell_tables
import memory_tables
import recognition_tables
import rival_tables
import scaling_tables
import simulated
import torture_tables
from readme_tables import SUMMARIES, TABLES, agreement, claims_of
from reinstate.analysis.results import CheckRow, Results, Summary
from reinstate.analysis.verdicts import VERDICTS
from reinstate.cli.tables import as_text
from reinstate.figures.numbers import written
from reinstate.figures.style import LABELS
from reinstate.files import read_json
from reinstate.runs.conclusions import read_results
from reinstate.runs.provenance import repeatable
from reinstate_paper.claims import SHARES
from reinstate_paper.margins import MARGINS

RESULTS = Path(__file__).parents[2] / "results"
NBSP = "\N{NO-BREAK SPACE}"


def file_of(name: str) -> Path:
    """`water-maze` is its results.json; other files are named with their folder."""
    name = name.removeprefix("results/")  # as README, in the folder above, says it
    return RESULTS / (name if name.endswith(".json") else f"{name}/results.json")


def read(name: str) -> Any:
    """Read a recorded file; of results, with what follows from them."""
    file = file_of(name)
    document = read_json(file)
    return read_results(file) if "rules" in document else document


def table(kind: str, names: Sequence[str]) -> str:
    return MADE[kind](*map(read, names))


def claims_table(results: Results) -> str:
    """The paper's claims of one document, judged together, and then ours, each judged alone."""
    paper, ours = ([c for c in results["checks"] if bool(c["paper"]) is it] for it in (True, False))
    parts = []
    if paper:
        rows = [[each["paper"], *_judged(each), *_verdict(each)] for each in paper]
        parts.append(markdown(["the paper", *JUDGED, "*p* (Holm)", "verdict"], rows))
    if ours:
        parts += ["Claims of ours, each judged alone:"] if paper else []
        parts.append(markdown([*JUDGED, "verdict"], [[*_judged(c), _verdict(c)[-1]] for c in ours]))
    return "\n\n".join(parts)


AGENT = re.compile(r"(?<![\w-])(?:ep)?l2rl(?:-[a-z]+)?(?:-\d+)?(?![\w-])")
JUDGED = ("tested here", "value [95%]", "*p*")


def _judged(check: CheckRow) -> list[str]:
    return [named(f"{check['claim']}: {check['bound']}"), _value(check), _odds(check["p"])]


def named(claim: str) -> str:
    """Write agents as readers know them; one whose label is a phrase stays a name in code."""
    labels = {name: label for name, label in LABELS.items() if "," not in label}
    return AGENT.sub(lambda found: labels.get(found[0], f"`{found[0]}`"), claim)


def _verdict(check: CheckRow) -> list[str]:
    """The adjusted p and the verdict, with what was tried to make a claim hold that does not."""
    verdict, adjusted = check["verdict"], check["p_holm"]
    tried = f"; tried: {check['tried']}" if check["tried"] and verdict != "supported" else ""
    return ["" if adjusted is None else _odds(adjusted), f"{_stressed(verdict)}{tried}"]


def _stressed(verdict: str) -> str:
    return verdict if verdict == "supported" else f"**{verdict}**"


def _value(check: CheckRow) -> str:
    ci95 = check["ci95"]
    interval = f" [{ci95[0]:.3f},{NBSP}{ci95[1]:.3f}]" if ci95 else ""
    return f"{check['value']:.3f}{interval}"


def _odds(p: float) -> str:
    return written(p).removeprefix("p ").removeprefix("= ").replace(" ", NBSP)


def paper_claims_table(*summaries: Summary) -> str:
    """The paper's claims in several summaries, the first of which has them all; and the counts."""
    rows = _side_by_side(summaries, lambda check: bool(check["paper"]))
    for name in ("claims", *VERDICTS):
        counts = [f"{part['totals'][name]}" for part in summaries]
        rows.append(["", "", f"*{name}*", *counts])
    return markdown(["section", "the paper", "tested here", *SUMMARIES[: len(summaries)]], rows)


def our_claims_table(*summaries: Summary) -> str:
    """Claims that the paper does not make."""
    rows = _side_by_side(summaries, lambda check: not check["paper"])
    return markdown(
        ["section", "tested here", *SUMMARIES[: len(summaries)]],
        [[section, *cells] for section, _, *cells in rows],
    )


def _side_by_side(
    summaries: Sequence[Summary], wanted: Callable[[CheckRow], bool]
) -> list[list[str]]:
    """A row for each claim of the first summary; a summary that lacks it has an empty cell."""
    first, *_ = columns = [claims_of(summary) for summary in summaries]
    rows = []
    for key, check in first.items():
        if wanted(check):
            cells = [_cell(column[key]) if key in column else "" for column in columns]
            claim = named(f"{check['claim']}: {_region(check)}")
            rows.append([check["section"], check["paper"], claim, *cells])
    return rows


def _cell(check: CheckRow) -> str:
    return f"{_stressed(check['verdict'])} {_value(check)}"


def _region(check: CheckRow) -> str:
    low, high = (None if end is None else f"{end:.3g}" for end in check["region"])
    if low and high:
        return f"{low} to {high}"
    return f"≥{NBSP}{low}" if low else f"≤{NBSP}{high}"


def agreement_text(first: Summary, second: Summary) -> str:
    """How far two summaries agree."""
    shared, same, flips = agreement(first, second)
    flip = "none flips" if flips == 0 else f"**{flips} flip**"
    return f"{same} of the {shared} claims that both judge have the same verdict; {flip}."


def margins_table() -> str:
    """What the paper's words are taken to mean: `reinstate_paper.margins`."""
    rows = [
        [each.says, f"{SHARES.get(each.size, each.size)} of {each.of}", each.why]
        for each in MARGINS
    ]
    return markdown(["the paper's words", "smallest effect that counts", "why"], rows)


def optimum_table(results: Results) -> str:
    """List the optima; one that is known by exposure has a small table of its own."""
    optima = {name.replace("_", " "): value for name, value in results["optimum"].items()}
    lists = {name: value for name, value in optima.items() if isinstance(value, list)}
    rows = [[name, as_text(value)] for name, value in optima.items() if name not in lists]
    parts = [markdown(["optimum", "value"], rows)]
    for name, values in lists.items():
        exposures = map(str, range(1, len(values) + 1))
        parts.append(markdown(["exposure", *exposures], [[name, *map(as_text, values)]]))
    return "\n\n".join(parts)


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
            name = f"`{path.relative_to(RESULTS).as_posix()}`"
            rows.append([name, f"`{command_of(document)}`", document["device"], f"`{commit}`"])
    return markdown(["file", "command", "device", "commit"], rows)


def number(text: str) -> str:
    """`barcode-bandits optimum.own_memory .2f` → that number, written so.

    In a list, a part of the path is a place, `min`, `max`, or words of the one claim that has them;
    hyphens may stand for spaces: `two-step checks.IMF-on-uncued.value .2f`.
    """
    name, path, *spec = text.split()
    value = read(name)
    for part in path.split("."):
        if isinstance(value, list):
            value = _in_list(value, part)
        else:
            value = value[part if part in value else part.replace("-", " ")]
    return format(value, spec[0] if spec else "")


def _in_list(values: list[Any], part: str) -> Any:
    if part.isdecimal():
        return values[int(part)]
    if part in ("min", "max"):
        return min(values) if part == "min" else max(values)
    (found,) = [row for row in values if part in row["claim"].replace(" ", "-")]
    return found


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


MADE: dict[str, Callable[..., str]] = {
    **TABLES,
    "claims": claims_table,
    "paper-claims": paper_claims_table,
    "our-claims": our_claims_table,
    "agreement": agreement_text,
    "optimum": optimum_table,
    "command": command_block,
    "kills": lambda document: markdown(*torture_tables.kills(document)),
    "disturbances": lambda document: markdown(*torture_tables.disturbances(document)),
    "readers": lambda document: markdown(*torture_tables.readers(document)),
    "long-runs": lambda document: markdown(*torture_tables.long_runs(document)),
    "scaling": lambda document: markdown(*scaling_tables.grown(document)),
    "scaling-model": lambda document: markdown(*scaling_tables.modelled(document)),
    "scaling-expected": lambda document: markdown(*scaling_tables.expected(document)),
    "bench-busy": bench_tables.busy,
    "bench-speed": lambda document: markdown(*bench_tables.speed(document)),
    "bench-growth": lambda document: markdown(*bench_tables.growth(document)),
    "bench-floors": lambda document: markdown(*bench_tables.floors(document)),
    "bench-rivals": lambda document: markdown(*bench_tables.rivals(document)),
    "bench-parts": lambda document: markdown(*bench_tables.parts(document)),
    "kernel-speed": lambda document: markdown(*bench_tables.kernel_speed(document)),
    "kernel-rewards": lambda *documents: markdown(*bench_tables.kernel_rewards(*documents)),
    "bench-waiting": lambda document: markdown(*bench_tables.waiting(document)),
    "memory-costs": lambda document: markdown(*memory_tables.costs(document)),
    "memory-compared": lambda document: markdown(*memory_tables.compared(document)),
    "cell-sizes": lambda document: markdown(*cell_tables.sizes(document)),
    "cell-clips": lambda document: markdown(*cell_tables.clips(document)),
    "cell-variants": lambda document: markdown(*cell_tables.variants(document)),
    "recognition-worth": lambda *each: markdown(*recognition_tables.worth(*each)),
    "recognition-parts": lambda document: markdown(*recognition_tables.parts(document)),
    "recognition-tried": lambda document: markdown(*recognition_tables.tried(document)),
    "recall-policies": lambda document: markdown(*recognition_tables.policies(document)),
    "recall-observers": lambda document: markdown(*recognition_tables.observers(document)),
    "rivals": lambda document: markdown(*rival_tables.ranking(document)),
    "rivals-elsewhere": lambda document: markdown(*rival_tables.elsewhere(document)),
    "rivals-tuned": lambda document: markdown(*rival_tables.tuned(document)),
    "cell-commands": lambda document: markdown(*cell_tables.made(document)),
}

COMPUTED: dict[str, Callable[[], str]] = {
    "margins": margins_table,
    "coverage": lambda: markdown(*simulated.coverage()),
    "verdict-rates": lambda: markdown(*simulated.verdict_rates()),
}
