"""What cells of tables are written with: the names that tables.toml may use."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reinstate.analysis.verdicts import over_seeds as over_seeds
from reinstate.analysis.verdicts import with_interval as with_interval
from reinstate.choices.model import STRATEGIES as STRATEGIES
from reinstate.figures.style import label as label
from reinstate.runs.experiment import EXPERIMENTS
from reinstate.runs.search import ranked as ranked
from reinstate_paper.claims import RECOGNISING as RECOGNISING
from reinstate_paper.claims import SHARES as SHARES
from reinstate_paper.claims import lead as lead
from reinstate_paper.margins import MARGINS as MARGINS

RESULTS = Path(__file__).parents[2] / "results"
NBSP = "\N{NO-BREAK SPACE}"

Record = Mapping[str, Any]
Rows = list[dict[str, str]]


def markdown(rows: Rows, right: bool = False) -> str:
    """Write a table; what is behind the first column may stand on the right."""
    rule = ["---", *["--:" if right else "---"] * (len(rows[0]) - 1)]
    lines = [[*rows[0]], rule, *([*row.values()] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def repeatable(command: str) -> str:
    """Strip from a recorded command where its files went, and that it was continued."""
    words = shlex.split(command)
    if "--out" in words:
        at = words.index("--out")
        del words[at : at + 2]
    return shlex.join(word for word in words if word != "--resume")


def in_bytes(size: float) -> str:
    """Write the size of a program for people."""
    return f"{size / 1e3:.3g} kB" if size < 1e6 else f"{size / 1e6:.3g} MB"


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
    unit, size = ("ms", 1e-3) if seconds >= 1e-3 else ("µs", 1e-6)
    return f"{seconds / size:.3g} {unit}"


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


def parts_of(summary: Record, document: Record) -> Record:
    """Return what the overview says of an experiment; the document has the recognising agent."""
    experiment = EXPERIMENTS[document["experiment"]]
    place, title = experiment.title.removeprefix("Experiment ").split(": ")
    part = summary["experiments"][experiment.name]
    agents = {**document["agents"], **part["agents"]}
    return {
        **{"place": place, "title": title, "name": experiment.name, "number": experiment.number},
        "earned": {name: agent["reward"]["mean"] for name, agent in agents.items()},
        "optimum": document["optimum"],
        "verdicts": [check["verdict"] for check in part["checks"] if check["paper"]],
    }


def players(document: Record) -> Iterator[Record]:
    """Yield agents, and of the bandit algorithms those that the paper's Fig. 3 shows."""
    experiment = EXPERIMENTS[document["experiment"]]
    number, rivals = experiment.number, ("gittins", "gittins with memory")
    found = {name: document["baselines"].get(name) for name in rivals}
    for name, player in {**document["agents"], **found}.items():
        if player:
            columns = experiment.columns(player).items()
            mean = f"{player['reward']['mean']:{number}}"
            yield {
                "player": f"*{name}*" if name in rivals else name,
                "rewards": mean if name in rivals else with_interval(player["reward"], number),
                "share": None if name in rivals else player["share_of_ceiling"],
                "more": {column: f"{score:{number}}" for column, score in columns},
            }


def milestones(agent: Record) -> Iterator[Record]:
    """Yield weights of strategies: cued while they are learned, uncued at the end."""
    for stone in agent["milestones"]:
        when, weights = f"epoch {stone['epoch']}", stone["weights"]["cued"]
        yield {"when": when, "reward": stone["cued"], "weights": weights}
    weights = agent["choices"]["group"]["uncued"]
    yield {"when": "uncued, at the end", "reward": agent["uncued"], "weights": weights}


def seeds_of(summary: Record) -> str:
    """Count the seeds of each experiment."""
    agents = [next(iter(each["agents"].values())) for each in summary["experiments"].values()]
    return ", ".join(str(len(agent["reward"]["per_seed"])) for agent in agents)
