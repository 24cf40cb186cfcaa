"""Recorded results → the tables of README.md.

`python -m reinstate.report` writes them; a test fails when README and results drift apart.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reinstate.experiments import EXPERIMENTS
from reinstate.experiments.base import Experiment
from reinstate.figures import LABELS
from reinstate.runs import read_json, write_atomically
from reinstate.tables import with_interval

BLOCK = re.compile(r"<!-- (\w+): ([^>]+) -->\n.*?<!-- /\1 -->", re.DOTALL)


def results_table(results: dict[str, Any]) -> str:
    """Each agent's reward with its interval, its share of the ceiling, and the experiment's scores.

    Of the other players, the two that Fig. 3 of the paper puts beside the agents' own memory.
    """
    experiment, agents = EXPERIMENTS[results["experiment"]], results["agents"]
    columns = list(experiment.columns(next(iter(agents.values()))))
    lines = [_row("agent", "reward", "share of its ceiling", *columns)]
    lines.append("|---" * (3 + len(columns)) + "|")
    for name, agent in agents.items():
        share = "" if agent["share_of_ceiling"] is None else f"{agent['share_of_ceiling']:.1%}"
        reward = with_interval(agent["reward"], experiment.number)
        lines.append(_row(LABELS[name], reward, share, *_scores(experiment, agent)))
    for name in ("gittins", "gittins with memory"):
        if rival := results["baselines"].get(name):
            reward = f"{rival['reward']['mean']:{experiment.number}}"
            lines.append(_row(f"*{name}*", reward, "", *_scores(experiment, rival)))
    return "\n".join([*lines, "", _provenance(results)])


def _scores(experiment: Experiment, player: dict[str, Any]) -> list[str]:
    return [f"{score:{experiment.number}}" for score in experiment.columns(player).values()]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _provenance(results: dict[str, Any]) -> str:
    epl2rl = results["agents"]["epl2rl"]
    return (
        f"`{results['preset']}` preset, {len(epl2rl['seeds'])} seeds, {results['device']},"
        f" {results['seconds']['total']:.0f} s in all, compile included;"
        f" epL2RL trained at {epl2rl['steps_per_second'] / 1e6:.0f} million steps a second."
    )


def growth_table(*mazes: dict[str, Any]) -> str:
    """How reward and cost grow with the maze; shares are of the optimum, or of its upper bound."""
    lines = ["| maze | steps | L2RL | epL2RL | training, each agent |", "|---|---|---|---|---|"]
    for results in mazes:
        task, agents = results["settings"]["task"], results["agents"]
        cells = [
            f"{agents[name]['reward']['mean']:.2f} ({agents[name]['share_of_ceiling']:.1%})"
            for name in ("l2rl", "epl2rl")
        ]
        steps = agents["epl2rl"]["train_steps"]
        seconds = steps / agents["epl2rl"]["steps_per_second"]
        cost = f"{steps / 1e6:,.0f} million steps, {seconds:.0f} s"
        maze = f"{task['height']} × {task['width']}"
        lines.append(f"| {maze} | {task['steps']} | {cells[0]} | {cells[1]} | {cost} |")
    return "\n".join(lines)


TABLES: dict[str, Callable[..., str]] = {"results": results_table, "growth": growth_table}


def fill(text: str, folder: Path) -> str:
    """The text with every block made anew from the recorded files it names."""

    def made(block: re.Match[str]) -> str:
        files = [read_json(folder / name) for name in block[2].split()]
        table = TABLES[block[1]](*files)
        return f"<!-- {block[1]}: {block[2]} -->\n\n{table}\n\n<!-- /{block[1]} -->"

    return BLOCK.sub(made, text)


def main() -> None:
    readme = Path("README.md")
    write_atomically(readme, fill(readme.read_text(), Path()).encode())


if __name__ == "__main__":
    main()
