"""Results → lines and tables on a terminal."""

from typing import Any

from rich.console import Console
from rich.table import Table

from reinstate.experiments import EXPERIMENTS
from reinstate.experiments.base import Experiment


def print_experiments() -> None:
    for e in EXPERIMENTS.values():
        print(f"  {e.name:18} {e.summary}")
        print(f"  {'':18} section {e.section}; presets {', '.join(e.presets)}")


def print_agents(experiment: Experiment, agents: dict[str, Any]) -> None:
    """A table: reward with its interval, and a score at the first exposures and the last."""
    scores = {name: experiment.by_exposure(agent) for name, agent in agents.items()}
    shown = max(len(score) for score in scores.values())
    label = experiment.column[-1].replace("_", " ")
    columns = [e for e in (1, 2, 3) if e < shown] + [shown]
    table = Table(title="an episode, frozen weights, fresh tasks", title_justify="left")
    table.add_column("agent")
    table.add_column("reward [95%]", justify="right")
    for e in columns:
        table.add_column(f"{label if e == 1 else ''} {ordinal(e)}".strip(), justify="right")
    for name, agent in agents.items():
        score = scores[name]
        cells = [f"{score[e - 1]:.2f}" if e <= len(score) else "" for e in columns]
        table.add_row(name, with_interval(agent["reward"]), *cells)
    Console().print(table)


def ordinal(number: int) -> str:
    tens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if tens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def with_interval(summary: dict[str, Any]) -> str:
    mean, ci95 = summary["mean"], summary["ci95"]
    return f"{mean:.2f} [{ci95[0]:.2f}, {ci95[1]:.2f}]" if ci95 else f"{mean:.2f} [one seed]"


def print_checks(checks: list[dict[str, Any]]) -> None:
    for check in checks:
        word = "holds" if check["holds"] else "FAILS"
        print(f"{word}: {check['claim']}: {check['value']:.3f}, {check['bound']}")


def as_text(value: Any) -> str:
    """A number, a list of them, or a simulated mean with its interval."""
    if isinstance(value, dict):
        return f"{value['mean']:.4f} ± {value['half_width']:.4f}"
    if isinstance(value, list):
        return "  ".join(f"{each:.4f}" for each in value)
    return str(value) if isinstance(value, bool) else f"{value:.4f}"
