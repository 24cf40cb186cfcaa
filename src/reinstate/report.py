"""Recorded results → the tables of README.md.

`python -m reinstate.report` writes them; a test fails when README and results drift apart.
"""

import re
from pathlib import Path
from typing import Any

from reinstate.figures import LABELS
from reinstate.runs import read_json, write_atomically

BLOCK = re.compile(r"(<!-- results: (\S+) -->\n).*?(<!-- /results -->)", re.DOTALL)


def results_table(results: dict[str, Any]) -> str:
    """Markdown: each agent's reward with its interval, its share of the ceiling, its regret."""
    last = len(next(iter(results["agents"].values()))["by_exposure"]["exposure"])
    lines = [
        f"| agent | reward | share of its ceiling | regret at exposure 1 | 2 | {last} |",
        "|---|---|---|---|---|---|",
    ]
    for name, agent in results["agents"].items():
        reward, (low, high) = agent["reward"]["mean"], agent["reward"]["ci95"]
        regret = agent["by_exposure"]["regret"]["mean"]
        lines.append(
            f"| {LABELS[name]} | {reward:.2f} [{low:.2f}, {high:.2f}]"
            f" | {agent['share_of_ceiling']:.1%}"
            f" | {regret[0]:.2f} | {regret[1]:.2f} | {regret[-1]:.2f} |"
        )
    for name in ("gittins", "gittins with memory"):
        rival = results["baselines"][name]
        regret = rival["by_exposure"]["regret"]["mean"]
        lines.append(
            f"| *{name}* | {rival['reward']['mean']:.2f} | "
            f" | {regret[0]:.2f} | {regret[1]:.2f} | {regret[-1]:.2f} |"
        )
    seeds = len(next(iter(results["agents"].values()))["seeds"])
    lines += [
        "",
        f"`{results['preset']}` preset, {seeds} seeds, {results['device']},"
        f" {results['seconds']['total']:.0f} s in all, compile included;"
        f" epL2RL trained at {results['agents']['epl2rl']['steps_per_second'] / 1e6:.0f} million"
        " steps a second.",
    ]
    return "\n".join(lines) + "\n"


def fill(text: str, folder: Path) -> str:
    """The text with every results block made anew from the recorded file it names."""
    return BLOCK.sub(
        lambda m: m[1] + "\n" + results_table(read_json(folder / m[2])) + "\n" + m[3], text
    )


def main() -> None:
    readme = Path("README.md")
    write_atomically(readme, fill(readme.read_text(), Path()).encode())


if __name__ == "__main__":
    main()
