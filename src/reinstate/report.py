"""Recorded results → the tables of README.md.

`python -m reinstate.report` writes them; a test fails when README and results drift apart.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reinstate.experiments import EXPERIMENTS
from reinstate.figures import LABELS
from reinstate.runs import read_json, write_atomically

BLOCK = re.compile(r"<!-- (\w+): ([^>]+) -->\n.*?<!-- /\1 -->", re.DOTALL)


def results_table(results: dict[str, Any]) -> str:
    """Each agent's reward with its interval, its share of the ceiling, its score by exposure."""
    experiment, agents = EXPERIMENTS[results["experiment"]], results["agents"]
    label = {"regret": "regret", "steps_or_end": "steps to the goal"}[experiment.column[-1]]
    last = len(experiment.by_exposure(next(iter(agents.values()))))
    lines = [
        f"| agent | reward | share of its ceiling | {label} at exposure 1 | 2 | {last} |",
        "|---|---|---|---|---|---|",
    ]
    for name, agent in agents.items():
        reward, (low, high) = agent["reward"]["mean"], agent["reward"]["ci95"]
        share = f"{agent['share_of_ceiling']:.1%}"
        score = experiment.by_exposure(agent)
        lines.append(_row(LABELS[name], f"{reward:.2f} [{low:.2f}, {high:.2f}]", share, score))
    for name in ("gittins", "gittins with memory"):
        if rival := results["baselines"].get(name):
            reward = f"{rival['reward']['mean']:.2f}"
            lines.append(_row(f"*{name}*", reward, "", experiment.by_exposure(rival)))
    return "\n".join([*lines, "", _provenance(results)])


def _row(name: str, reward: str, share: str, score: list[float]) -> str:
    return f"| {name} | {reward} | {share} | {score[0]:.2f} | {score[1]:.2f} | {score[-1]:.2f} |"


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
