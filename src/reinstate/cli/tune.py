"""The verb `tune`: which hyper-parameters suit an experiment, and where its preset stands."""

import json
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Generic

import tyro
from rich.console import Console
from rich.table import Table

from reinstate import devices
from reinstate.cli.options import parse, peek, wants_help
from reinstate.errors import UserError
from reinstate.experiments import EXPERIMENTS
from reinstate.experiments.base import Experiment
from reinstate.runs.progress import Reporter
from reinstate.runs.reproduce import find_experiment
from reinstate.settings import Settings, W
from reinstate.tuning.ranges import Setting
from reinstate.tuning.search import Search, ranked, search
from reinstate.tuning.study import VARIABLE, Study, read_vary, study

PROGRAM = "reinstate tune"
SEEDS = 2  # a search is wide before it is sure
SHOWN = 5  # rows of the table
TRIALS = {"quick": 16, "paper": 64}  # at once: minutes on two cores, or on an accelerator
HELP = f"""\
usage: {PROGRAM} EXPERIMENT [OPTIONS]

Search learning rate, entropy cost, discount and value cost for plain L2RL, as the paper did: many
settings are trained at once, the preset's own first.

experiments: {", ".join(EXPERIMENTS)}

  {PROGRAM} barcode-bandits
  {PROGRAM} barcode-bandits --agents l2rl epl2rl --trials 16
  {PROGRAM} barcode-bandits --optuna 4 --vary hidden_size=25,50 lanes=16,32 --out tuning/shapes

`{PROGRAM} EXPERIMENT --help` explains every setting.
"""


@dataclass(frozen=True)
class TuneOptions(Generic[W]):
    """Search the learner's hyper-parameters: many settings trained at once, side by side.

    A setting's score is the mean reward an episode over the last 10% of training epochs, mean over
    seeds. The preset's own setting is always trial 0, so that its rank is honest. The settings are
    chosen for the first of --agents; the others are trained at the same ones, to see how they do.
    Where rates fall in training, they fall to the same share of their start as the preset's.

    A call that was interrupted, made again, goes on after the last round that was finished.
    """

    settings: Annotated[Settings[W], tyro.conf.arg(name="")]
    preset: str
    """Where defaults come from: quick (a laptop's CPU) or paper (an accelerator)."""
    out: Path
    """Folder for search.json and the figure."""
    agents: Annotated[tuple[str, ...], tyro.conf.arg(aliases=["--agent"])] = ()
    """The agent to search for, then others to train at the same settings."""
    search: Annotated[Search, tyro.conf.arg(name="")] = field(default_factory=Search)
    optuna: int = 0
    """Trials in which Optuna varies what --vary names; each is a search. 0: none."""
    vary: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=A,B …")] = ()
    """Settings that change shapes or programs, with the values to choose from: hidden_size, lanes,
    episodes_per_update, optimizer, max_grad_norm."""
    json: bool = False
    """Print the result as JSON."""

    def __post_init__(self) -> None:
        if self.optuna < 0:
            raise UserError(f"optuna must be a number of trials, or 0 for none, not {self.optuna}")
        if bool(self.optuna) != bool(self.vary):
            raise UserError(
                f"--optuna and --vary go together, as in --optuna 4 --vary lanes=16,32"
                f" ({', '.join(VARIABLE)})"
            )


def tune_command(arguments: list[str]) -> None:
    if not arguments or arguments[0].startswith("-"):
        if wants_help(arguments):
            print(HELP, end="")
            return
        known = ", ".join(EXPERIMENTS)
        raise UserError(f"tune needs an experiment first: {PROGRAM} EXPERIMENT (known: {known})")
    experiment = find_experiment(arguments[0])
    options = _options(experiment, arguments[1:])
    vary = read_vary(options.vary)
    devices.use_all_cores()
    what = (experiment, options.preset, options.agents, options.settings, options.search)
    command = shlex.join(["reinstate", "tune", *arguments])
    if vary:
        wanted = Study(options.optuna, vary)
        document = study(*what, wanted, options.out, Reporter(), command=command)
    else:
        document = search(*what, options.out, Reporter(), command=command)
    if options.json:
        print(json.dumps({**document, "out": str(options.out)}))
    elif vary:
        print_study(experiment, document)
        print(f"search.json and a folder for each of these searches are in {options.out}")
    else:
        print_search(experiment, document)
        print(f"search.json, search.png and search.svg are in {options.out}")


def _options(experiment: Experiment, arguments: list[str]) -> TuneOptions:
    preset = peek(arguments, "--preset", "quick")
    default = TuneOptions(
        replace(experiment.preset(preset), seeds=SEEDS),
        preset,
        Path("tuning") / experiment.name,
        search=Search(trials=TRIALS.get(preset, Search.trials)),
        agents=("l2rl" if "l2rl" in experiment.agents else "l2rl-context",),
    )
    kind = TuneOptions[experiment.world]  # type: ignore[name-defined]
    options: TuneOptions = parse(kind, arguments, default, f"{PROGRAM} {experiment.name}")
    return options


def print_search(experiment: Experiment, document: dict[str, Any]) -> None:
    """The best settings with every agent's reward there, then how the preset does."""
    first, standing = document["agent"], document["standing"]
    order = ranked(document["trials"], first)
    seeds = document["settings"]["seeds"]
    title = f"reward an episode late in training, mean of {seeds} seeds, for {first}"
    table = _table(title, [*standing], "rank")
    for rank, trial in enumerate(order[:SHOWN], 1):
        name = f"{rank} (preset)" if trial["number"] == 0 else str(rank)
        rewards = [_number(experiment, trial["agents"].get(agent)) for agent in standing]
        table.add_row(name, *_setting(trial["setting"]), *rewards)
    Console().print(table)
    for agent, stands in standing.items():
        print(_stands(experiment, agent, stands))
    if document["best"]:
        print(f"the best as options: {document['best']['options']}")
    else:
        print("no setting stayed finite: lower --ranges.learning-rate")


def _stands(experiment: Experiment, agent: str, stands: dict[str, Any]) -> str:
    """The preset's rank among an agent's trials, and that of what was chosen for the first."""
    parts = []
    for name in ("preset", "chosen"):
        place = stands[name]
        if place and not (name == "chosen" and place["rank"] == 1):
            parts.append(f"the {name} setting ranks {place['rank']}, {_number(experiment, place)}")
    best = f"best {_number(experiment, stands['best'])}"
    failed = [f"{stands['failed']} failed"] if stands["failed"] else []
    return f"{agent}, {stands['trials']} settings: {'; '.join([best, *parts, *failed])}"


def print_study(experiment: Experiment, document: dict[str, Any]) -> None:
    """A row a combination, the best first: the best setting of its search."""
    first = document["agent"]
    table = _table(f"the best setting of each search, for {first}", [first], *document["vary"])
    for row in document["studied"]:
        values = [str(value) for value in row["values"].values()]
        best = row["best"]
        setting = _setting(best["setting"]) if best else [""] * len(Setting._fields)
        table.add_row(*values, *setting, _number(experiment, best))
    Console().print(table)


def _table(title: str, agents: list[str], *leading: str) -> Table:
    table = Table(title=title, title_justify="left")
    names = [name.replace("_", " ") for name in (*leading, *Setting._fields)]
    for column in (*names, *agents):
        table.add_column(column, justify="right")
    return table


def _setting(setting: dict[str, float]) -> list[str]:
    return [f"{setting[name]:.3g}" for name in Setting._fields]


def _number(experiment: Experiment, score: dict[str, Any] | None) -> str:
    if score is None:
        return ""
    return "failed" if score["reward"] is None else f"{score['reward']:{experiment.number}}"
