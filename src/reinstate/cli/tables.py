"""Results → lines and tables on a terminal."""

from typing import Any

from rich.console import Console
from rich.table import Table

from reinstate.analysis.intervals import with_interval
from reinstate.experiments import EXPERIMENTS
from reinstate.experiments.base import Experiment


def print_experiments() -> None:
    for e in EXPERIMENTS.values():
        print(f"  {e.name:18} {e.summary}")
        print(f"  {'':18} section {e.section}; presets {', '.join(e.presets)}")


def print_agents(experiment: Experiment, agents: dict[str, Any]) -> None:
    """A table: reward with its interval, and the scores that the experiment is about."""
    scores = {name: experiment.columns(agent) for name, agent in agents.items()}
    columns = list(dict.fromkeys(column for score in scores.values() for column in score))
    table = Table(title="an episode, frozen weights, fresh tasks", title_justify="left")
    table.add_column("agent")
    for column in ("reward [95%]", *columns):
        table.add_column(column, justify="right")
    for name, agent in agents.items():
        cells = [scores[name].get(column) for column in columns]
        texts = ["" if cell is None else f"{cell:{experiment.number}}" for cell in cells]
        table.add_row(name, with_interval(agent["reward"], experiment.number), *texts)
    Console().print(table)


def print_checks(checks: list[dict[str, Any]]) -> None:
    """A line a claim, under the paper's section; results of earlier versions know of none."""
    section = ""
    for check in checks:
        if check.get("section", "") not in ("", section):
            section = check["section"]
            print(f"section {section}")
        word = "holds" if check["holds"] else "FAILS"
        ci95 = check.get("ci95")
        interval = f" [{ci95[0]:.3f}, {ci95[1]:.3f}]" if ci95 else ""
        print(f"{word}: {check['claim']}: {check['value']:.3f}{interval}, {check['bound']}")


def as_text(value: Any) -> str:
    """A number, a list of them, or a simulated mean with its interval."""
    if isinstance(value, dict):
        return f"{value['mean']:.4f} ± {value['half_width']:.4f}"
    if isinstance(value, list):
        return "  ".join(f"{each:.4f}" for each in value)
    return str(value) if isinstance(value, bool) else f"{value:.4f}"
