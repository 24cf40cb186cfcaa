"""Results as lines and tables: wrapped, coloured in a terminal; in a pipe one record per line.

`list` prints lines and has to be quick, so what needs NumPy or JAX is imported where it is used.
"""

import shlex
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from reinstate.errors import printable

if TYPE_CHECKING:
    from reinstate.analysis.results import AgentResults, CheckRow
    from reinstate.runs.experiment import Experiment

PER_EPISODE = "per episode, frozen weights, fresh tasks"  # what tables of agents are about
HANG = 4  # columns by which a terminal indents what a verdict is about
WIDE = 1000  # columns of a pipe: as many as a table needs
COLOURS = {
    "supported": "green",
    "contradicted": "bold red",
    "undecided": "yellow",
    "ALARM": "bold red",
}


def say(text: str, hang: int = 0, then: str = "") -> None:
    """Print one record; a terminal wraps it between words, a pipe gets one line.

    A terminal indents all lines but the first by `hang`, and begins a new one with `then`. A
    verdict that it starts with is coloured. Names in it are text, whatever a terminal or Rich would
    make of them.
    """
    console = Console(highlight=False)
    if console.is_terminal and hang:
        indent = " " * hang
        wrap = textwrap.TextWrapper(console.width, subsequent_indent=indent)
        wrap.break_long_words = wrap.break_on_hyphens = False
        parts = [text, f"{indent}{then}" if then else ""]
        shown = Text("\n".join(wrap.fill(printable(part)) for part in parts if part))
    else:
        shown = _as_text(f"{text} {then}".rstrip())
    for word, colour in COLOURS.items():
        shown.highlight_regex(f"^{word}(?=:)", colour)
    console.print(shown, soft_wrap=not console.is_terminal)


def say_next(command: Iterable[object], why: str) -> None:
    """End by naming the command that comes next, to be copied as it is."""
    say(f"next: {shlex.join(map(str, command))}  # {why}")


def print_table(
    title: str, left: Iterable[str], right: Iterable[str], rows: Iterable[Sequence[str]]
) -> None:
    """Print columns justified to the left and to the right; an empty row starts a new section."""
    table = Table(title=_as_text(title), title_justify="left")
    for column in left:
        table.add_column(_as_text(column))
    for column in right:
        table.add_column(_as_text(column), justify="right")
    for row in rows:
        table.add_row(*map(_as_text, row)) if row else table.add_section()
    console = Console()
    if not console.is_terminal:
        console.width = WIDE
    console.print(table)


def _as_text(cell: str) -> Text:
    """Keep Rich from reading a name such as `[red]` as a colour, and a terminal from obeying it."""
    return Text(printable(cell))


def print_agents(experiment: "Experiment", agents: "Mapping[str, AgentResults]") -> None:
    """Print a table: reward with its interval, and the scores that the experiment is about."""
    from reinstate.analysis.verdicts import with_interval

    scores = {name: experiment.columns(agent) for name, agent in agents.items()}
    columns = list(dict.fromkeys(column for score in scores.values() for column in score))
    rows = []
    for name, agent in agents.items():
        cells = [scores[name].get(column) for column in columns]
        texts = ["" if cell is None else f"{cell:{experiment.number}}" for cell in cells]
        rows.append([name, with_interval(agent["reward"], experiment.number), *texts])
    print_table(PER_EPISODE, ["agent"], ["reward [95%]", *columns], rows)


def print_checks(checks: "Sequence[CheckRow]") -> None:
    """Print one line per claim: the paper's under its section, then ours."""
    paper, ours = ([c for c in checks if bool(c["paper"]) is said] for said in (True, False))
    section = ""
    for check in paper:
        if check["section"] != section:
            section = check["section"]
            say(f"the paper, section {section}")
        _print_check(check)
    if ours:
        say("our own claims")
    for check in ours:
        _print_check(check)


def _print_check(check: "CheckRow") -> None:
    from reinstate.figures.chart import written

    ci95, adjusted = check["ci95"], check.get("p_holm")
    interval = f" [{ci95[0]:.3f}, {ci95[1]:.3f}]" if ci95 else " (one seed cannot tell)"
    p = written(check["p"])
    p += "" if adjusted is None else f", after Holm {written(adjusted)}"
    value = f"{check['value']:.3f}{interval}, claimed {check['bound']}"
    say(f"{check['verdict']}: {check['claim']}:", HANG, f"{value}; {p}")
    if note := check.get("note"):
        say(f"{' ' * HANG}note: {note}", HANG)


def print_alarms(alarms: Iterable[str]) -> None:
    """Print what theory rules out and yet was measured."""
    for alarm in alarms:
        say(f"ALARM: {alarm}")


def as_text(value: Any) -> str:
    """Write a number, a list of them, or a simulated mean with its interval."""
    if isinstance(value, dict):
        return f"{value['mean']:.4f} ± {value['half_width']:.4f}"
    if isinstance(value, list):
        return "  ".join(f"{each:.4f}" for each in value)
    return str(value) if isinstance(value, bool) else f"{value:.4f}"
