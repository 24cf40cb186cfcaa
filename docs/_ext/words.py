"""What cells of tables are written with: the names that tables.toml may use."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median as median  # for tables.toml, as the others that nothing here uses
from typing import Any

import numpy as np

from reinstate.analysis.intervals import over_seeds as over_seeds
from reinstate.analysis.intervals import with_interval as with_interval
from reinstate.figures.style import label as label
from reinstate.files import read_json
from reinstate.runs.experiment import EXPERIMENTS
from reinstate.runs.provenance import repeatable as repeatable
from reinstate.runs.search import rank_of as rank_of
from reinstate.runs.search import ranked as ranked
from reinstate.runs.size import in_bytes as in_bytes
from reinstate_paper.claims import RECOGNISING as RECOGNISING
from reinstate_paper.claims import SHARES as SHARES
from reinstate_paper.claims import lead as lead
from reinstate_paper.margins import MARGINS as MARGINS
from reinstate_paper.rival_tables import rows as rows_of  # noqa: F401

RESULTS = Path(__file__).parents[2] / "results"
NBSP = "\N{NO-BREAK SPACE}"

Record = Mapping[str, Any]
Rows = list[dict[str, str]]


def markdown(rows: Rows, right: bool = False) -> str:
    """Write a table; what is behind the first column may stand on the right."""
    if not rows:
        return "*Nothing is recorded yet.*"
    rule = ["---", *["--:" if right else "---"] * (len(rows[0]) - 1)]
    lines = [[*rows[0]], rule, *([*row.values()] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def once(rows: Rows) -> Rows:
    """Leave out a first cell that repeats the one above."""
    first, above, kept = next(iter(rows[0])), "", []
    for row in rows:
        kept.append(row | {first: ""} if row[first] == above else row)
        above = row[first]
    return kept


def shown(experiment: str, least: int = 2) -> str:
    """Return the format of an experiment's rewards, with so many decimals at least."""
    number = EXPERIMENTS[experiment].number
    return number.replace("2", "3") if least == 3 else number


def rate(found: Record) -> str:
    return f"{found['median']:,.0f} [{', '.join(f'{each:,.0f}' for each in found['quartiles'])}]"


def times(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def spent(seconds: float) -> str:
    """Write seconds in the unit that suits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def short(commit: str) -> str:
    """Shorten a commit, and keep the `+…` that says that it was changed."""
    first, plus, changed = commit.partition("+")
    return f"{first[:7]}{plus}{changed}"


def made_by_one_command() -> Iterator[Record]:
    """Yield every recorded file that a single command made."""
    for path in sorted(RESULTS.rglob("*.json")):
        document = read_json(path)
        if {"command", "device"} <= document.keys() and "experiments" not in document:
            yield document | {"file": path.relative_to(RESULTS).as_posix()}


def few_shot(card: Record) -> list[Record]:
    """Return what an embedder was tested on, Lake's runs last."""
    rows = [
        row | {"task": f"{row['way']}-way {row['shot']}-shot, {row['rule']}"}
        for row in card["few_shot"]
    ]
    runs = {"task": "Lake's 20 one-shot runs", "kaiser_2017": None}
    return [*rows, card["one_shot_runs"] | runs]


def share_of_optimum(agent: Record) -> str:
    return f"{agent['reward']['mean']:.2f} ({agent['share_of_ceiling']:.1%})"


def mean_over(agent: Record, seeds: Sequence[int]) -> float:
    """Return the mean reward over some of an agent's seeds."""
    rewards = dict(zip(agent["seeds"], agent["reward"]["per_seed"], strict=True))
    return float(np.mean([rewards[seed] for seed in seeds]))


def first_exposure(agent: Record) -> str:
    """Say the mean reward per episode of contexts that are met for the first time."""
    rewards = agent.get("by_exposure", {}).get("reward")
    return f"{rewards['mean'][0]:.2f}" if rewards else "–"


def steps_of(learned_at: Sequence[int | None]) -> str:
    """Write the median over seeds, and how many of them got there."""
    reached = sorted(step for step in learned_at if step is not None)
    if not reached:
        return "–"
    seeds = len(learned_at)
    few = "" if len(reached) == seeds else f" ({len(reached)} of {seeds} seeds)"
    return f"{reached[len(reached) // 2]:,}{few}"
