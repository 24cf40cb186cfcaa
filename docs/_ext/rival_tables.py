"""A record of `reinstate reproduce rivals` → tables: a header and rows."""

from typing import Any

from reinstate.analysis.intervals import with_interval
from reinstate.figures.style import label
from reinstate_paper.contest.tables import Row, kept, rows

Table = tuple[list[str], list[list[str]]]
NBSP = "\N{NO-BREAK SPACE}"
NEVER = "–"


def ranking(document: dict[str, Any]) -> Table:
    """Show every agent of every event, the best first."""
    cells = []
    for event in document["events"].values():
        for place, row in enumerate(rows(event)):
            cells.append(["" if place else event["title"], *_cells(row)])
    header = ["task", "agent", "weights", "state", "reward [95%]", "of ceiling"]
    return [*header, "exposures 1, 2, last", "steps to 90%", "seconds per seed"], cells


def _cells(row: Row) -> list[str]:
    reward = with_interval(row.reward).replace(", ", f",{NBSP}")
    share = "" if row.of_ceiling is None else f"{row.of_ceiling:.0%}"
    shown = ", ".join(f"{row.exposures[at]:.2f}" for at in (0, 1, -1))
    size, seconds = f"{row.state_bytes:,}{NBSP}B", f"{row.seconds:.1f}"
    return [label(row.agent), f"{row.weights:,}", size, reward, share, shown, _steps(row), seconds]


def _steps(row: Row) -> str:
    """Write the median over seeds, and how many of them got there."""
    reached = sorted(step for step in row.learned_at if step is not None)
    if not reached:
        return NEVER
    seeds = len(row.learned_at)
    few = "" if len(reached) == seeds else f" ({len(reached)} of {seeds} seeds)"
    return f"{reached[len(reached) // 2]:,}{few}"


def elsewhere(document: dict[str, Any]) -> Table:
    """Show which share of a memory's worth is left in each world, by agent."""
    shares = [(event["title"], kept(event)) for event in document["events"].values()]
    agents = list(dict.fromkeys(a for _, found in shares for each in found.values() for a in each))
    cells = []
    for title, found in shares:
        for place, (world, by_agent) in enumerate(found.items()):
            texts = [_share(by_agent.get(agent)) for agent in agents]
            cells.append(["" if place else title, world, *texts])
    return ["task", "world", *map(label, agents)], cells


def _share(share: float | None) -> str:
    return NEVER if share is None else f"{share:.2f}"


def tuned(document: dict[str, Any]) -> Table:
    """Show the rates that each agent was trained at."""
    cells = []
    for event in document["events"].values():
        for place, (agent, entry) in enumerate(event["agents"].items()):
            rates, learner = entry["rates"], entry["settings"]["learner"]
            cells.append(
                [
                    "" if place else event["title"],
                    label(agent),
                    str(entry["trials"]),
                    f"{rates['learning_rate']:.3g}",
                    f"{rates['entropy_cost']:.3g}",
                    f"{learner['lanes']} × {learner['epochs']:,}",
                    f"{learner['episodes_per_update']}",
                    f"{entry['steps']:,}",
                ]
            )
    header = ["task", "agent", "settings tried", "learning rate", "entropy cost", "lanes × epochs"]
    return [*header, "episodes per update", "steps per seed"], cells
