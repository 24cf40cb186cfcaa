"""The verb `tune`: which hyper-parameters suit an experiment, and where its preset stands."""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from reinstate.analysis.searches import Score, SearchDocument, Standing, StudyDocument
from reinstate.cli.shared import OnExperiment, S, shown
from reinstate.cli.tables import print_table, say, say_next
from reinstate.errors import UserError
from reinstate.runs.experiment import Experiment
from reinstate.runs.progress import Reporter
from reinstate.sweeps.executors import Crew
from reinstate.tuning.ranges import Candidate
from reinstate.tuning.search import Asked, Search, ranked, search
from reinstate.tuning.study import VARIABLE, Study, read_vary, study

SEEDS = 2  # a search is wide before it is sure
SHOWN = 5  # rows of the table
TRIALS = {"quick": 16, "paper": 64}  # at once: minutes on two cores, or on an accelerator


@dataclass(frozen=True)
class Rounds(Crew):
    """Who trains the rounds of a search."""

    executor: Literal["none", "local", "submitit", "ray"] = "none"  # type: ignore[assignment]
    """Who starts workers, each round of an agent being a job: none, for all in this process; this
    machine; submitit, for Slurm; or the Ray cluster at RAY_ADDRESS."""


@dataclass(frozen=True, kw_only=True)
class Tune(OnExperiment[S]):
    """Search learning rate, entropy cost, discount and value cost: many settings at once.

      reinstate tune barcode-bandits
      reinstate tune barcode-bandits --agents l2rl epl2rl --trials 16
      reinstate tune barcode-bandits --rounds 8 --executor submitit --workers 8
      reinstate tune barcode-bandits --optuna 4 --vary hidden_size=25,50 lanes=16,32 --out shapes

    A setting's score is the mean reward per episode over the last 10% of training epochs, mean over
    seeds. The preset's own setting is always trial 0, so that its rank is honest. The settings are
    chosen for the first of --agents, by default plain L2RL, as in the paper; the others are trained
    at the same ones, to see how they do. Where rates fall in training, they fall to the same share
    of their start as the preset's.

    After an interruption the same command continues after the last round that was finished.
    `reinstate tune EXPERIMENT --help` explains every setting.
    """

    agents: Annotated[tuple[str, ...], tyro.conf.arg(aliases=["--agent"], metavar="NAME …")]
    """The agent to search for, then others to train at the same settings."""
    search: Annotated[Search, tyro.conf.arg(name="")] = field(default_factory=Search)
    optuna: int = 0
    """Trials in which Optuna varies what --vary names; each is a search. 0: none."""
    vary: Annotated[tuple[str, ...], shown("NAME=A,B …", "none")] = ()
    """What Optuna chooses: hidden_size, lanes, episodes_per_update, optimizer, max_grad_norm."""

    crew: Annotated[Rounds, tyro.conf.arg(name="")] = field(default_factory=Rounds)

    def __post_init__(self) -> None:
        if self.optuna < 0:
            raise UserError(f"optuna must be a number of trials, or 0 for none, not {self.optuna}")
        if bool(self.optuna) != bool(self.vary):
            raise UserError(
                f"--optuna and --vary go together, as in --optuna 4 --vary lanes=16,32"
                f" ({', '.join(VARIABLE)})"
            )

    def do(self, command: str) -> Any:
        vary = read_vary(self.vary)
        self.crew.require_installed()
        crew = None if self.crew.executor == "none" else self.crew
        self.start()
        asked = Asked(self.experiment, self.preset, self.agents, self.settings, self.search)
        found: Any
        if vary:
            wanted = Study(self.optuna, vary)
            found = study(asked, wanted, self.out, Reporter(), command=command, crew=crew)
        else:
            found = search(asked, self.out, Reporter(), command=command, crew=crew)
        return {**found, "out": str(self.out)}

    def show(self, result: Any) -> None:
        if self.vary:
            print_study(self.experiment, result)
            say(f"search.json and a folder for each of these searches are in {self.out}")
        else:
            print_search(self.experiment, result)
            say(f"search.json, search.png and search.svg are in {self.out}")
        best = result.get("best") or {}
        varied = [
            f"--{VARIABLE[n]}.{n.replace('_', '-')}={v}" for n, v in best.get("values", {}).items()
        ]
        options = shlex.split((best.get("best") or best).get("options", ""))
        line = ["reinstate", "train", self.name, "--preset", self.preset, "--agent", self.agents[0]]
        say_next([*line, *varied, *options], "train at the best of these settings")

    @classmethod
    def defaults(cls, experiment: Experiment, arguments: list[str]) -> dict[str, Any]:
        plain = [name for name in ("l2rl", "l2rl-context") if name in experiment.agents]
        agents = (*plain, *experiment.agents)[:1]
        return {"agents": agents, "out": Path("tuning") / experiment.name}

    @classmethod
    def for_word(cls, word: str, arguments: list[str]) -> tuple[Any, Any]:
        kind, start = super().for_word(word, arguments)
        trials = Search(trials=TRIALS.get(start.preset, Search.trials))
        return kind, replace(start, settings=replace(start.settings, seeds=SEEDS), search=trials)


def print_search(experiment: Experiment, document: SearchDocument) -> None:
    """Print the best settings with every agent's reward there, then how the preset does."""
    first, standing = document["agent"], document["standing"]
    order = ranked(document["trials"], first)
    seeds = document["settings"]["seeds"]
    title = f"reward per episode late in training, mean of {seeds} seeds, for {first}"
    rows = []
    for rank, trial in enumerate(order[:SHOWN], 1):
        name = f"{rank} (preset)" if trial["number"] == 0 else str(rank)
        rewards = [_number(experiment, trial["agents"].get(agent)) for agent in standing]
        rows.append([name, *_setting(trial["setting"]), *rewards])
    _print_settings(title, ["rank"], standing, rows)
    for agent, stands in standing.items():
        say(_stands(experiment, agent, stands))
    if document["best"]:
        say(f"the best as options: {document['best']['options']}")
    else:
        say("no setting stayed finite: lower --ranges.learning-rate")


def _stands(experiment: Experiment, agent: str, stands: Standing) -> str:
    """Say the preset's rank among an agent's trials, and that of what was chosen for the first."""
    parts = []
    for name in ("preset", "chosen"):
        place = stands[name]
        if place and not (name == "chosen" and place["rank"] == 1):
            parts.append(f"the {name} setting ranks {place['rank']}, {_number(experiment, place)}")
    best = f"best {_number(experiment, stands['best'])}"
    failed = [f"{stands['failed']} failed"] if stands["failed"] else []
    return f"{agent}, {stands['trials']} settings: {'; '.join([best, *parts, *failed])}"


def print_study(experiment: Experiment, document: StudyDocument) -> None:
    """Print one row per combination, the best first: the best setting of its search."""
    first, rows = document["agent"], []
    for row in document["studied"]:
        values = [str(value) for value in row["values"].values()]
        best = row["best"]
        setting = _setting(best["setting"]) if best else [""] * len(Candidate._fields)
        rows.append([*values, *setting, _number(experiment, best)])
    title = f"the best setting of each search, for {first}"
    _print_settings(title, document["vary"], [first], rows)


def _print_settings(
    title: str, leading: Iterable[str], agents: Iterable[str], rows: list[list[str]]
) -> None:
    names = [name.replace("_", " ") for name in (*leading, *Candidate._fields)]
    print_table(title, [], [*names, *agents], rows)


def _setting(setting: dict[str, float]) -> list[str]:
    return [f"{setting[name]:.3g}" for name in Candidate._fields]


def _number(experiment: Experiment, score: Score | None) -> str:
    if score is None:
        return ""
    return "failed" if score["reward"] is None else f"{score['reward']:{experiment.number}}"
