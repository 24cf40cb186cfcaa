"""The verb `tune`: which hyper-parameters suit an experiment, and where its preset stands."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from reinstate.cli.shared import OnExperiment, W
from reinstate.cli.tables import print_table, say, say_next
from reinstate.runs.candidates import Candidate, Ranges
from reinstate.runs.experiment import Experiment
from reinstate.runs.progress import Reporter
from reinstate.runs.search import (
    Asked,
    Search,
    SearchDocument,
    Trial,
    agents_of,
    best_for,
    ranked,
    search,
)

SEEDS = 2  # a search is wide before it is sure
SHOWN = 5  # rows of the table
TRIALS = {"quick": 16, "paper": 64}  # at once: minutes on two cores, or on an accelerator


@dataclass(frozen=True, kw_only=True)
class Tune(OnExperiment[W]):
    """Search learning rate, entropy cost, discount and value cost: many settings at once.

      reinstate tune barcode-bandits
      reinstate tune barcode-bandits --agents l2rl epl2rl --trials 16

    A setting's score is the mean reward per episode over the last 10% of training epochs, mean over
    seeds. The preset's own setting is always trial 0, so that its rank is honest. The settings are
    chosen for the first of --agents, by default plain L2RL, as in the paper; the others are trained
    at the same ones, to see how they do. Where rates fall in training, they fall to the same share
    of their start as the preset's.

    After an interruption the same command continues after the last round that was finished.
    `reinstate tune EXPERIMENT --help-all` explains every setting.
    """

    agents: Annotated[tuple[str, ...], tyro.conf.arg(aliases=["--agent"], metavar="NAME …")]
    """The agent to search for, then others to train at the same settings."""
    search: Annotated[Search, tyro.conf.arg(name="")] = field(default_factory=Search)

    def do(self, command: str) -> SearchDocument:
        self.start()
        asked = Asked(self.experiment, self.preset, self.agents, self.settings, self.search)
        return search(asked, self.out, Reporter(), command=command)

    def show(self, result: SearchDocument) -> None:
        _print_best(self.experiment, result)
        if best_for(result["trials"], result["agent"]) is None:
            say("no setting stayed finite: lower --ranges.learning-rate")
        say(f"search.json, search.png and search.svg are in {self.out}")
        line = ["reinstate", "reproduce", self.name, "--preset", self.preset]
        line += ["--agents", *self.agents, "--rates", str(self.out / "search.json")]
        say_next(line, "train each agent at what was best for it")

    @classmethod
    def defaults(cls, experiment: Experiment, arguments: list[str]) -> dict[str, Any]:
        plain = [name for name in ("l2rl", "l2rl-context") if name in experiment.agents]
        agents = tuple(plain[:1]) or experiment.agents
        return {"agents": agents, "out": Path("tuning") / experiment.name}

    @classmethod
    def for_word(cls, word: str, arguments: list[str]) -> tuple[Any, Any]:
        kind, start = super().for_word(word, arguments)
        ranges = Ranges(**start.experiment.ranges)
        trials = Search(trials=TRIALS.get(start.preset, Search.trials), ranges=ranges)
        return kind, replace(start, common=replace(start.common, seeds=SEEDS), search=trials)


def _print_best(experiment: Experiment, document: SearchDocument) -> None:
    """Print the best settings for the first agent, and the preset's, with all agents' rewards."""
    first, agents = document["agent"], agents_of(document["trials"])

    def reward(agent: str, trial: Trial) -> str:
        if agent not in trial["agents"]:
            return ""
        found = trial["agents"][agent]["reward"]
        return "failed" if found is None else f"{found:{experiment.number}}"

    rows = []
    for rank, trial in enumerate(ranked(document["trials"], first), 1):
        if rank > SHOWN and trial["number"]:
            continue
        name = str(rank) if trial["number"] else f"{rank} (preset)"
        setting = [f"{value:.3g}" for value in trial["setting"].values()]
        rows.append([name, *setting, *(reward(agent, trial) for agent in agents)])
    seeds = document["settings"]["seeds"]
    title = f"reward per episode late in training, mean of {seeds} seeds, for {first}"
    names = [name.replace("_", " ") for name in Candidate._fields]
    print_table(title, [], ["rank", *names, *agents], rows)
