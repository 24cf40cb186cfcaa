"""results/recognition → tables of what recognition is worth: header and rows."""

from typing import Any

import numpy as np

from cell_tables import Lines, rows_of, tested_leads
from reinstate.analysis.intervals import over_seeds, with_interval
from reinstate.runs.experiment import EXPERIMENTS
from reinstate_paper.claims import RECOGNISING, lead

FIRST = ("epl2rl", RECOGNISING)
ALPHA = 0.05


def worth(*documents: Any) -> Lines:
    """Show the agent beside the paper's, on the seeds that both have."""
    lines = []
    for document in documents:
        agents, number = document["agents"], EXPERIMENTS[document["experiment"]].number
        number = number.replace("2", "3")
        claim = next(c for c in document["checks"] if c["claim"].startswith(RECOGNISING))
        seeds = agents[RECOGNISING]["seeds"]
        lines.append(
            [
                document["experiment"],
                f"{seeds[0]} to {seeds[-1]}",
                *(f"{_reward(agents, name):{number}}" for name in FIRST),
                with_interval(over_seeds(lead(agents, RECOGNISING, "epl2rl")), f"+{number}"),
                claim["verdict"],
                f"{document['optimum']['with_memory']:{number}}",
                " → ".join(_first(agents[name]) for name in FIRST),
                f"{agents[RECOGNISING]['slots_used']['mean']:,.0f}",
            ]
        )
    header = ["experiment", "seeds", "epL2RL", "+Recognition", "lead [95%]", "more, or no less?"]
    return [*header, "best possible (a bound)", "first exposures", "entries"], lines


def _reward(agents: Any, name: str) -> float:
    """Return the mean reward over the seeds that both agents have."""
    shared = set.intersection(*(set(agents[each]["seeds"]) for each in FIRST))
    pairs = zip(agents[name]["seeds"], agents[name]["reward"]["per_seed"], strict=True)
    return float(np.mean([reward for seed, reward in pairs if seed in shared]))


def _first(agent: Any) -> str:
    """Say the mean reward per episode of contexts that are met for the first time."""
    rewards = agent.get("by_exposure", {}).get("reward")
    return f"{rewards['mean'][0]:.2f}" if rewards else "–"


def parts(document: dict[str, Any]) -> Lines:
    """Show every variant's lead over the paper's agent, seed by seed, in each experiment.

    Bold: p < .05 after Holm's adjustment for all cells of the table.
    """
    rows = list(rows_of(document))
    found = [(row, *each) for row in rows for each in row.cells.items()]
    leads, odds = tested_leads(found)
    cells: dict[tuple[str, str], str] = {}
    for n, (row, variant, cell) in enumerate(found):
        number = EXPERIMENTS[row.experiment].number
        text = f"{np.mean(cell['reward']['per_seed']):{number}}"
        if n in odds:
            text = with_interval(over_seeds(leads[n]), f"+{number}")
            text = f"**{text}**" if odds[n][1] < ALPHA else text
        cells[variant, row.experiment] = text
    variants = dict.fromkeys(variant for _, variant, _ in found)
    header = ["agent", *(f"{row.experiment} ({_seeds(row)} seeds)" for row in rows)]
    return header, [
        [_label(variant), *(cells.get((variant, row.experiment), "") for row in rows)]
        for variant in variants
    ]


def policies(document: dict[str, Any]) -> Lines:
    """Show how often each policy finds the right class and its newest state, by world."""
    worlds = list(document["policies"])
    rows = list(zip(*document["policies"].values(), strict=True))
    lines = [
        [
            f"{each[0]['policy']}{', ' + str(each[0]['reach']) if each[0]['reach'] else ''}",
            *(f"{one['right']:.0%}, {one['newest']:.0%}, {one['entries']:,.0f}" for one in each),
            f"{each[-1]['written_over_another']:.0%}",
        ]
        for each in rows
    ]
    return ["policy, reach", *worlds, "written over another class, of 400"], lines


def observers(document: dict[str, Any]) -> Lines:
    """Show what an ideal player earns, by what its memory tells it."""
    lines = [[row["told"], f"{row['reward']:.2f}"] for row in document["observers"]]
    return ["told by its memory", "reward per episode"], lines


def tried(document: dict[str, Any]) -> Lines:
    """Show trial runs, by experiment."""
    lines, last = [], ""
    for row in document["runs"]:
        number = EXPERIMENTS[row["experiment"]].number.replace("2", "3")
        name = row["experiment"] if row["experiment"] != last else ""
        numbers = f"{row['reward']:{number}}", f"{row['sd']:{number}}"
        lines.append([name, row["what"], str(row["seeds"]), *numbers])
        last = row["experiment"]
    return ["experiment", "tried", "seeds", "reward", "SD"], lines


def _seeds(row: Any) -> int:
    return len(row.cells["paper"]["seeds"])


def _label(variant: str) -> str:
    return {"paper": "epL2RL (reward)", "recognition": "epL2RL+Recognition"}.get(variant, variant)
